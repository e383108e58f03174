from __future__ import annotations

from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from searchsim.documents import Document
from searchsim.text import SNIPPET_LENGTH, field_length, snippet, spread, tokens


def test_tokens_of_both_languages() -> None:
    text = "The Cafés' 17.3% of 1,000 don't run 上海老人 in mid-research GPT-4o"
    assert tokens(text) == (
        [
            "the",
            "cafe",
            "17.3",
            "of",
            "1,000",
            "don't",
            "run",
            "上海",
            "海老",
            "老人",
            "in",
            "mid",
            "research",
            "gpt",
            "4o",
        ]
    )


def test_a_two_character_word_is_one_token_and_a_single_character_stays() -> None:
    assert tokens("印刷") == ["印刷"]
    assert tokens("a 桥 b") == ["a", "桥", "b"]
    assert tokens("１２３ＡＢ") == ["123ab"]


def test_stems_meet() -> None:
    assert tokens("stability") != tokens("stable")
    assert tokens("bicycles") == tokens("bicycle")


@given(st.text(max_size=300))
def test_tokens_never_fail_and_hold_no_space(text: str) -> None:
    for token in tokens(text):
        assert token
        assert " " not in token


@given(st.text(alphabet=st.characters(categories=["Cs", "Lo", "Ll", "Zs"]), max_size=50))
def test_lone_surrogates_do_not_break_tokens(text: str) -> None:
    assert isinstance(tokens(text), list)


def test_spreading_leaves_other_scripts_alone() -> None:
    assert spread("plain text, 12.5%") == "plain text, 12.5%"


def test_field_lengths_are_those_of_lucene() -> None:
    # SmallFloat.byte4ToInt of every byte: what Lucene and tantivy can store, from Lucene's own definition.
    def stored(byte: int) -> int:
        if byte < 24:
            return byte
        bits, shift = (byte - 24) & 7, ((byte - 24) >> 3) - 1
        return 24 + (bits if shift == -1 else (bits | 8) << shift)

    table = [stored(b) for b in range(256)]
    for length in [*range(3000), 10_000, 123_456, 10_000_000]:
        assert field_length(length) == max(v for v in table if v <= length)


def _document(body: str, authored: str | None = None) -> Document:
    return Document(
        id="d",
        url="https://a.org/x",
        title="Title",
        body=body,
        source_name="A",
        kind="news",
        language="en",
        published=date(2025, 1, 1),
        snippet=authored,
    )


def test_an_authored_snippet_is_shown_whatever_the_query() -> None:
    assert snippet(_document("Body.", "Authored  text\nof it."), ("body",)) == "Authored text of it."


def test_without_one_the_passage_nearest_to_the_query_is_shown() -> None:
    body = (
        "# Heading\n\nThe first sentence speaks of ships and sails. The second one is about **lighthouses** on rocks.\n"
    )
    shown = snippet(_document(body), tuple(tokens("lighthouse rock")))
    assert shown == "The second one is about lighthouses on rocks."
    assert "#" not in shown
    assert "*" not in shown


@given(st.text(max_size=600), st.text(max_size=30))
def test_a_snippet_is_one_line_of_bounded_length(body: str, query: str) -> None:
    shown = snippet(_document(body), tuple(tokens(query)))
    assert "\n" not in shown
    assert len(shown) <= SNIPPET_LENGTH[1]


def test_the_passage_is_where_the_words_stand_close_together() -> None:
    filler = "Nothing of note happened in that year and the ledger says so. " * 30
    body = f"{filler}A bridge was planned. {filler}The stone bridge over the river was paid for in salt. {filler}"
    assert snippet(_document(body), ("stone", "bridg", "river", "salt")).startswith("The stone bridge over the river")
    chinese = (
        "那一年没有什么可说的事情发生。" * 40 + "雕版可以存版随需重印，刻工也便宜。" + "后来的事情大家都知道了。" * 30
    )
    assert snippet(_document(chinese), tuple(tokens("存版重印 刻工"))).startswith("雕版可以存版随需重印")
    assert snippet(_document(filler), ("absent",)).startswith("Nothing of note")
