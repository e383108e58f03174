"""What every engine must do, with `Query.matches` as the oracle."""

from __future__ import annotations

import asyncio
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from searchsim.corpus import Corpus
from searchsim.documents import Document
from searchsim.engine import FIELDS, SCORE_DIGITS, SearchEngine
from searchsim.engine.embedded import build
from searchsim.query import parse
from searchsim.text import tokens
from tests.engine.conftest import Maker, Run

WORDS = ["red", "blue", "bridge", "river", "桥梁", "印刷", "stone", "iron", "17.3", "don't", "lighthouse"]
HOSTS = ("a.org", "www.a.org", "b.edu", "news.c.com", "d.co.uk")


def _small() -> list[Document]:
    """Documents over few words, so that random queries meet random documents often."""
    made = []
    for n in range(60):
        title = " ".join(WORDS[(n * k + k) % len(WORDS)] for k in range(1, 3 + n % 3))
        body = " ".join(WORDS[(n * 7 + k * k + k * n) % len(WORDS)] for k in range(4 + n % 23))
        day = None if n % 11 == 0 else date(2023, 1, 1) + timedelta(days=n * 17)
        path = ("news/2024/red-bridge", "x/report.pdf", "Blog/iron-stone_river", "")[n % 4]
        made.append(
            Document(
                id=f"d{n * 37 % 60:02}",
                url=f"https://{HOSTS[n % len(HOSTS)]}/{n}/{path}",
                title=title,
                body=body if n % 9 else "stone",
                source_name="S",
                kind=("paper", "news", "blog", "post", "reference")[n % 5],
                language="en",
                published=day,
            )
        )
    return made


SMALL = _small()


@pytest.fixture(scope="session")
def small(make_engine: Maker) -> SearchEngine:
    return make_engine(SMALL)


TERM = st.sampled_from([*WORDS, '"red blue"', '"blue bridge"', '"桥梁 印刷"', "mid-river"])
FILTER = st.sampled_from(
    [
        "site:a.org",
        "site:org",
        "-site:b.edu",
        "site:(a.org OR b.edu)",
        "site:a.org/0",
        "filetype:pdf",
        "-filetype:pdf",
        "intitle:red",
        '-intitle:"red blue"',
        "inurl:iron",
        "inurl:news/2024",
        "before:2024-03-01",
        "after:2024",
        "-red",
        '-"red blue"',
        "OR",
        "red OR river",
        "印刷 OR stone",
        "AND",
    ]
)
QUERY = st.lists(st.one_of(TERM, FILTER), min_size=1, max_size=6).map(" ".join)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=QUERY, tbs=st.sampled_from(["", "qdr:y", "cdr:1,cd_min:1/1/2024,cd_max:6/1/2024"]))
def test_an_engine_finds_what_matches_and_nothing_else(run: Run[Any], small: SearchEngine, text: str, tbs: str) -> None:
    query = parse(text, tbs=tbs, today=date(2025, 1, 1))
    hits = run(small.search(query, 100))
    assert sorted(h.document.id for h in hits) == sorted(d.id for d in SMALL if query.matches(d))
    assert [(-h.score, h.document.id) for h in hits] == sorted((-h.score, h.document.id) for h in hits)
    assert hits == run(small.search(query, 100))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=QUERY, k=st.integers(1, 30))
def test_a_shorter_list_is_the_start_of_a_longer_one(run: Run[Any], small: SearchEngine, text: str, k: int) -> None:
    query = parse(text)
    assert run(small.search(query, k)) == run(small.search(query, 100))[:k]


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=200))
def test_hostile_queries_are_answered(run: Run[Any], small: SearchEngine, text: str) -> None:
    query = parse(text, today=date(2025, 1, 1))
    hits = run(small.search(query, 10))
    assert all(query.matches(h.document) for h in hits)


def test_kinds_filter(run: Run[Any], small: SearchEngine) -> None:
    hits = run(small.search(parse("red blue bridge river").of_kinds("news"), 100))
    assert hits
    assert {h.document.kind for h in hits} == {"news"}


def test_statistics_are_counted(run: Run[Any], small: SearchEngine) -> None:
    told = run(small.statistics(parse("red 印刷 absent")))
    for name in FIELDS:
        streams = [tokens(getattr(d, name)) for d in SMALL]
        assert told.documents[name] == len(streams)
        assert told.average_length[name] == pytest.approx(sum(map(len, streams)) / len(streams))
        for word in ("red", "印刷", "absent"):
            assert told.frequency[name, word] == sum(word in s for s in streams)


def test_documents_by_id_and_url(run: Run[Any], small: SearchEngine) -> None:
    for known in SMALL[:8]:
        assert run(small.document(known.id)) == known
        assert run(small.document_at(known.url.replace("https://", "http://") + "#part")) == known
    assert run(small.document("none")) is None
    assert run(small.document_at("https://nowhere.example/")) is None


def test_ties_go_by_id(run: Run[Any], make_engine: Maker) -> None:
    twins = [
        Document(
            id=f"t{n:03}",
            url=f"https://a.org/{n}",
            title="same",
            body="same words",
            source_name="S",
            kind="news",
            language="en",
        )
        for n in reversed(range(90))
    ]
    engine = make_engine(twins)
    hits = run(engine.search(parse("same"), 7))
    assert [h.document.id for h in hits] == [f"t{n:03}" for n in range(7)]
    assert len({round(h.score, SCORE_DIGITS) for h in hits}) == 1


def test_no_documents_no_hits(run: Run[Any], make_engine: Maker) -> None:
    engine = make_engine([])
    assert run(engine.search(parse("anything site:a.org"), 10)) == []
    assert set(run(engine.statistics(parse("x"))).documents.values()) == {0}


def test_a_hundred_searches_at_once(run: Run[Any], small: SearchEngine) -> None:
    queries = [parse(f"{WORDS[n % len(WORDS)]} {WORDS[(n * 3 + 1) % len(WORDS)]}") for n in range(100)]
    alone = [run(small.search(q, 10)) for q in queries]

    async def together() -> list[Any]:
        return await asyncio.gather(*(small.search(q, 10) for q in queries))

    assert run(together()) == alone


async def test_chinese_questions_find_chinese_documents(engine: SearchEngine, quickstart: Corpus) -> None:
    for task in quickstart.tasks.values():
        hits = await engine.search(parse(task.question), 5)
        assert {h.document.id.rsplit("-", 1)[0] for h in hits} == {task.id}


def test_a_folder_is_an_index_or_it_is_not(tmp_path: Path) -> None:
    build(lambda: iter(SMALL), tmp_path / "a" / "index")
    assert not [p for p in (tmp_path / "a").iterdir() if p.name != "index"], "nothing is left beside it"
