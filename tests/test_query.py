from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchsim.documents import Document
from searchsim.query import AnyOf, Extension, InUrl, Not, Phrase, Query, Site, extension_of, parse, sites_of

TODAY = date(2026, 9, 1)


def document(
    title: str = "A title",
    body: str = "A body",
    url: str = "https://www.a.org/news/2024/red-bridge.html",
    published: date | None = date(2024, 5, 1),
) -> Document:
    return Document(
        id="d", url=url, title=title, body=body, source_name="A", kind="news", language="en", published=published
    )


@pytest.mark.parametrize(
    ("text", "clauses", "words"),
    [
        ("hello world", (), ("hello", "world")),
        ("x site:a.org", (Site("a.org"),), ("x",)),
        ("x site:https://www.a.org/News/", (Site("www.a.org/news"),), ("x",)),
        ("x site:*.edu", (Site("edu"),), ("x",)),
        ("x site:.edu", (Site("edu"),), ("x",)),
        ("x -site:a.org", (Not(Site("a.org")),), ("x",)),
        ("x site:a.org OR site:b.edu", (AnyOf((Site("a.org"), Site("b.edu"))),), ("x",)),
        ("x site:(a.org OR b.edu)", (AnyOf((Site("a.org"), Site("b.edu"))),), ("x",)),
        ("x (site:a.org OR site:b.edu)", (AnyOf((Site("a.org"), Site("b.edu"))),), ("x",)),
        ('"red bridge"', (Phrase(("red", "bridg")),), ("red", "bridg")),
        ("“red bridge”", (Phrase(("red", "bridg")),), ("red", "bridg")),
        ("x -red", (Not(Phrase(("red",))),), ("x",)),
        ('x -"red bridge"', (Not(Phrase(("red", "bridg"))),), ("x",)),
        ("red OR blue x", (AnyOf((Phrase(("red",)), Phrase(("blue",)))),), ("red", "blue", "x")),
        ("red | blue", (AnyOf((Phrase(("red",)), Phrase(("blue",)))),), ("red", "blue")),
        ("red AND blue", (), ("red", "blue")),
        ("intitle:red", (Phrase(("red",), "title"),), ("red",)),
        ('intitle:"red bridge"', (Phrase(("red", "bridg"), "title"),), ("red", "bridg")),
        ("inurl:red-bridge x", (InUrl(("red", "bridg")),), ("x",)),
        ("filetype:pdf x", (Extension("pdf"),), ("x",)),
        ("ext:.PDF x", (Extension("pdf"),), ("x",)),
        ("mid-research", (), ("mid", "research")),
        ('word "word"', (Phrase(("word",)),), ("word", "word")),
    ],
)
def test_operators(text: str, clauses: tuple[object, ...], words: tuple[str, ...]) -> None:
    query = parse(text)
    assert query.clauses == clauses
    assert query.words == words


@pytest.mark.parametrize(
    ("text", "tbs", "since", "until"),
    [
        ("x before:2024-05-01", "", None, date(2024, 5, 1)),
        ("x after:2023", "", date(2023, 1, 1), None),
        ("x after:2023-02 before:2024/3/5", "", date(2023, 2, 1), date(2024, 3, 5)),
        ("x", "qdr:d", date(2026, 8, 31), None),
        ("x", "qdr:w", date(2026, 8, 25), None),
        ("x", "qdr:m6", date(2026, 3, 5), None),
        ("x", "qdr:y", date(2025, 9, 1), None),
        ("x", "qdr:h", date(2026, 8, 31), None),
        ("x", "cdr:1,cd_min:2/1/2023,cd_max:3/1/2023", date(2023, 2, 1), date(2023, 3, 2)),
        ("x", "cdr:1,cd_max:3/1/2023", None, date(2023, 3, 2)),
        ("x after:2024", "cdr:1,cd_min:2/1/2023", date(2024, 1, 1), None),
        ("x", "nonsense", None, None),
        ("x", "cdr:1,cd_min:99/99/2023", None, None),
    ],
)
def test_dates(text: str, tbs: str, since: date | None, until: date | None) -> None:
    query = parse(text, tbs=tbs, today=TODAY)
    assert (query.since, query.until) == (since, until)


def test_what_is_no_date_is_words() -> None:
    assert parse("before:tomorrow").words == ("befor", "tomorrow")


def test_before_excludes_its_day_and_after_includes_it() -> None:
    here = document(published=date(2024, 5, 1))
    assert not parse("title before:2024-05-01").matches(here)
    assert parse("title after:2024-05-01").matches(here)
    assert not parse("title after:2020").matches(document(published=None))


def test_matching() -> None:
    here = document("Red bridges", "They stand over rivers, and the water is blue.")
    assert parse("bridge elephant").matches(here)
    assert not parse("elephant").matches(here)
    assert parse('"water is blue"').matches(here)
    assert not parse('"water blue"').matches(here)
    assert not parse("bridge -water").matches(here)
    assert parse("bridge -elephant").matches(here)
    assert parse("elephant OR water").matches(here)
    assert not parse("bridge (elephant OR giraffe)").matches(here)
    assert parse("intitle:bridge").matches(here)
    assert not parse("intitle:water").matches(here)
    assert parse("site:a.org").matches(here)
    assert parse("site:org").matches(here)
    assert parse("site:a.org/news").matches(here)
    assert not parse("site:a.org/new").matches(here)
    assert not parse("site:b.org").matches(here)
    assert parse("inurl:red").matches(here)
    assert parse("inurl:news/2024").matches(here)
    assert not parse("").matches(here)
    assert not parse("???").matches(here)


def test_a_two_character_chinese_word_is_found() -> None:
    here = document("活字印刷的兴衰", "雕版印刷长期占据主流。")
    for text in ("印刷", "雕版", "“雕版印刷”", "intitle:兴衰"):
        assert parse(text).matches(here), text
    assert not parse("造纸").matches(here)


def test_sites_and_extensions() -> None:
    assert sites_of("https://www.a.org/News/x")[:3] == ["www.a.org", "a.org", "org"]
    assert "a.org/news/x" in sites_of("https://www.a.org/News/x")
    assert extension_of("https://a.org/file.PDF?x=1") == "pdf"
    assert extension_of("https://a.org/page") == extension_of("https://a.org/v1.2/page") == "html"


PIECES = st.sampled_from(
    ["site:", "-", '"', "(", ")", "OR", "AND", "intitle:", "before:", "2024", ":", "a", "桥", " ", "  ", "inurl:", "*"]
)


@given(st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=30).map("".join)), st.text(max_size=40))
def test_no_string_is_an_error(text: str, tbs: str) -> None:
    query = parse(text, tbs=tbs, today=TODAY)
    assert isinstance(query, Query)
    assert query.matches(document()) in (True, False)
    assert hash(query) == hash(parse(text, tbs=tbs, today=TODAY))
