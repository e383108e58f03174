"""The pool's scores are the engine's own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from searchsim.corpus import Corpus
from searchsim.engine import SearchEngine
from searchsim.engine.embedded import EmbeddedEngine, build
from searchsim.query import parse
from searchsim.relevance import PoolDocument, bm25, score, score_pool


def _queries(corpus: Corpus) -> list[tuple[str, str]]:
    return [(t.id, text) for t in corpus.tasks.values() for text in (t.question, *t.sub_queries)]


async def test_a_pool_document_scores_as_if_it_were_indexed(
    quickstart: Corpus, engine: EmbeddedEngine, tmp_path: Path
) -> None:
    """An organic document is scored like a pool's and compared with what the engine says of it."""
    misleading = next(iter(quickstart.misleading.values()))[0]
    compared = 0
    for _, text in _queries(quickstart):
        query = parse(text)
        statistics = await engine.statistics(query)
        for hit in await engine.search(query, 30):
            twin = replace(misleading, title=hit.document.title, body=hit.document.body)
            assert score(PoolDocument.of(twin), query, statistics, engine.fields) == pytest.approx(
                hit.score, abs=0.0015
            )
            compared += 1
    assert compared > 500


async def test_the_pool_scores_as_in_a_copy_of_the_index_that_holds_it(quickstart: Corpus, tmp_path: Path) -> None:
    """With the pool indexed too, the statistics are the copy's, and so are the scores on both sides."""
    pools = [d for pool in quickstart.misleading.values() for d in pool if d.authority == "high"]
    folder = tmp_path / "copy"
    build(lambda: iter([*quickstart.documents(), *pools]), folder)
    copy = EmbeddedEngine(folder)
    compared = 0
    for task, text in _queries(quickstart):
        query = parse(text)
        told = await copy.statistics(query)
        theirs = {h.document.id: h.score for h in await copy.search(query, 300)}
        for document in pools:
            if document.task == task and document.id in theirs:
                assert score(PoolDocument.of(document), query, told, copy.fields) == pytest.approx(
                    theirs[document.id], abs=0.0015
                )
                compared += 1
    assert compared > 300


async def test_what_does_not_match_is_not_scored(quickstart: Corpus, engine: SearchEngine) -> None:
    pool = [PoolDocument.of(d) for d in quickstart.misleading["bicycle-stability"]]
    assert await score_pool(pool, parse("印刷"), engine) == []
    assert await score_pool(pool, parse("bicycle site:nowhere.example"), engine) == []
    scored = await score_pool(pool, parse("gyroscopic bicycle wheel"), engine)
    assert [s for _, s in scored] == sorted((s for _, s in scored), reverse=True)


def test_the_formula_by_hand() -> None:
    # N=10, n=2: idf = ln(1 + 8.5/2.5) = 1.481605; tf=3, length=average: 3·2.2/(3+1.2) = 1.571429
    assert bm25(3, 100, 100.0, 10, 2) == pytest.approx(1.481605 * 1.571429, abs=1e-5)
    assert bm25(0, 100, 100.0, 10, 2) == 0
