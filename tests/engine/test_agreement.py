"""The same corpus ranks alike on every engine."""

from __future__ import annotations

from typing import Any

import pytest

from searchsim.corpus import Corpus
from searchsim.engine import SearchEngine
from searchsim.engine.elasticsearch import ElasticsearchEngine, ElasticsearchSettings
from searchsim.engine.embedded import EmbeddedEngine
from searchsim.query import parse
from searchsim.store import SqliteStore
from searchsim.validity import reasons
from searchsim.world import Worlds
from tests.engine.conftest import Run
from tests.test_world import ask, texts


@pytest.fixture(scope="module", params=[1, 3])
def elastic(request: pytest.FixtureRequest, quickstart: Corpus, elasticsearch_url: str, run: Run[Any]) -> Any:
    opened = run(ElasticsearchEngine.open(quickstart, ElasticsearchSettings(elasticsearch_url, shards=request.param)))
    yield opened
    run(opened.close())


def test_ranking_agreement(quickstart: Corpus, engine: EmbeddedEngine, elastic: SearchEngine, run: Run[Any]) -> None:
    """Over all questions and sub-queries: the same ten documents, in the same order, with the same scores."""
    compared = overlap = ordered = 0
    worst = 0.0
    for task in quickstart.tasks:
        for text in texts(quickstart, task):
            query = parse(text)
            ours, theirs = run(engine.search(query, 10)), run(elastic.search(query, 10))
            a, b = [h.document.id for h in ours], [h.document.id for h in theirs]
            compared += 1
            overlap += len(set(a) & set(b))
            ordered += a == b
            worst = max(worst, *(abs(x.score - y.score) for x, y in zip(ours, theirs, strict=True)))
            assert [h.document for h in ours] == [h.document for h in theirs], text
    print(
        f"{compared} queries: top-10 overlap {overlap / compared / 10:.3f}, same order {ordered / compared:.3f}, "
        f"largest difference of a score {worst:.4f}"
    )
    assert worst <= 0.002


def test_worlds_serve_the_same_lists(
    quickstart: Corpus, engine: EmbeddedEngine, elastic: SearchEngine, run: Run[Any]
) -> None:
    async def compare() -> int:
        pairs = [Worlds(quickstart, e, SqliteStore()) for e in (engine, elastic)]
        injected = 0
        for task in quickstart.tasks:
            for condition in ({"rank": "front"}, {"stage": "cold_start", "style": "post"}, {"budget": 0}):
                made = [w.create(task, condition) for w in pairs]
                for text in texts(quickstart, task):
                    ours, theirs = [await ask(ws, w, text) for ws, w in zip(pairs, made, strict=True)]
                    assert [(i.document.id, i.injected) for i in ours.items] == [
                        (i.document.id, i.injected) for i in theirs.items
                    ]
                    injected += sum(i.injected for i in ours.items)
                for ws, w in zip(pairs, made, strict=True):
                    assert await reasons(ws, w, list(ws.events(w.key))) == []
        for ws in pairs:
            ws.close()
        return injected

    assert run(compare()) > 100
