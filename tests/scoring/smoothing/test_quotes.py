"""Verbatim quotes, and texts in pieces."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from searchsim import tokens
from searchsim.scoring.smoothing.chunks import chunks
from searchsim.scoring.smoothing.quotes import Text

PAGE = "Results.\n\nBread wrapped in a “wet\u00a0towel” stayed\nfresh for 6 days; rye bread’s crust didn't. 面包在湿\n毛巾里保鲜六天。Ｗｉｄｅ letters, ﬁne print."


@pytest.mark.parametrize(
    ("quote", "there"),
    [
        ("stayed\nfresh for 6 days", "stayed\nfresh for 6 days"),
        ("stayed fresh  for 6 days", "stayed\nfresh for 6 days"),
        ('Bread wrapped in a "wet towel" stayed', "Bread wrapped in a “wet\u00a0towel” stayed"),
        ("rye bread's crust didn’t", "rye bread’s crust didn't"),
        ('"Bread wrapped in a wet towel"', "Bread wrapped in a “wet\u00a0towel"),
        ("...stayed fresh for 6 days…", "stayed\nfresh for 6 days"),
        ("面包在湿毛巾里保鲜六天。", "面包在湿\n毛巾里保鲜六天。"),
        ("Wide letters, fine print", "Ｗｉｄｅ letters, ﬁne print"),
    ],
)
def test_white_space_and_quotation_marks_may_differ(quote: str, there: str) -> None:
    place = Text(PAGE).find(quote)
    assert place
    assert PAGE[slice(*place)] == there


@pytest.mark.parametrize(
    "quote",
    [
        "stayed fresh for 7 days",
        "Stayed fresh for 6 days",
        "Bread wrapped in a wet towel ... fresh for 6 days",
        "Bread wrapped in a towel stayed fresh",
        "days",
        "",
        "…",
        "“”\"'",
    ],
)
def test_words_may_not(quote: str) -> None:
    assert Text(PAGE).find(quote) is None


def test_a_quote_is_looked_for_where_it_was_shown_first() -> None:
    text = Text("It keeps a week. " * 3)
    assert text.find("It keeps a week.", 20) == (34, 50)
    assert text.find("It keeps  a week.", 20) == (34, 50)
    assert text.find("It keeps  a week.", 40) == (0, 16)


def test_what_a_report_dresses_its_sentences_with() -> None:
    report = "So **bread _keeps_** [1] for a week [2, 3], at least.\n\nOther."
    marks = [(21, 24), (36, 42)]
    assert report[slice(*marks[0])] == "[1]"
    assert report[slice(*marks[1])] == "[2, 3]"
    text = Text(report, marks, markup=True)
    assert text.find("So bread keeps for a week, at least.") == (0, report.index("\n"))
    assert text.find("So bread keeps [1] for a week") is None
    assert Text(report, markup=True).find("So bread keeps [1] for a week") == (0, 35)


@given(st.text(max_size=60), st.text(max_size=20), st.text(max_size=60))
def test_what_is_there_is_found(before: str, quote: str, after: str) -> None:
    text = Text(f"{before} {quote} {after}")
    place = text.find(quote)
    if place is None:
        assert sum(c.isalnum() for c in quote.strip()) < 8 or "..." in quote or "…" in quote
    else:
        assert text.text[slice(*place)]


@settings(deadline=None, max_examples=60)
@given(st.text(alphabet="ab cd.桥🥖\n", max_size=600), st.integers(4, 40), st.data())
def test_whatever_fits_the_overlap_stands_whole_in_a_piece(text: str, size: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(0, size // 2))
    pieces = chunks(text, size, overlap)
    starts = [*tokens.starts(text), len(text)]
    assert [p.number for p in pieces] == list(range(1, len(pieces) + 1))
    assert (pieces[0].start, pieces[-1].end) == (0, len(text)) if text else pieces == []
    for low in range(len(starts) - 1):
        high = min(low + max(overlap, 1), len(starts) - 1)
        assert any(p.start <= starts[low] and starts[high] <= p.end for p in pieces)
    assert all(p.tokens <= size for p in pieces)


def test_an_overlap_that_would_never_end() -> None:
    with pytest.raises(ValueError, match="too much"):
        chunks("bread", 10, 6)


def test_without_an_encoding_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_encoding", lambda: None)
    assert tokens.starts("") == []
    assert tokens.starts("abcdefghi") == [0, 4, 8]
    assert tokens.starts("桥桥桥桥") == [0, 2, 3]
    pieces = chunks("bread and towels " * 50, 40, 10)
    assert all(len(p.__class__.__slots__) == 4 and p.tokens <= 40 for p in pieces)
    assert pieces[-1].end == 850
