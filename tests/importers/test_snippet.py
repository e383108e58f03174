"""Snippets get the lengths that live ones have, at the ends of sentences or words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from searchsim.importers.snippet import fit
from searchsim.text import SNIPPET_LENGTH

SENTENCE = "The harbour of the town was built of concrete that hardens in sea water, at 58.3 per cent of the cost."


def test_one_that_fits_stays() -> None:
    assert fit(SENTENCE, "Body.") == (SENTENCE, "")


def test_a_cut_is_at_the_end_of_a_sentence() -> None:
    assert fit(f"{SENTENCE} Another sentence follows that is long enough not to fit here.", "") == (
        SENTENCE,
        "shortened",
    )
    chinese = "这座港口用一种在海水中硬化的混凝土建成。" * 12
    shown, change = fit(chinese, "")
    assert (shown[-1], len(shown), change) == ("。", 160, "shortened")


def test_or_of_a_word() -> None:
    shown, _ = fit("a sentence without an end " * 10, "")
    assert shown.endswith(" ...")
    assert shown.removesuffix(" ...").split()[-1] in {"a", "sentence", "without", "an", "end"}


def test_a_short_one_goes_on_with_the_body() -> None:
    assert fit("短。", "正文" * 50) == (f"短。 {'正文' * 50}", "lengthened")
    assert fit("Short.", "Also short.") == ("Short. Also short.", "lengthened")


@given(st.text(min_size=1), st.text(min_size=400, alphabet="ab. 。"))
def test_lengths(snippet: str, body: str) -> None:
    shown, _ = fit(snippet, f"{'x' * 80} {body}")
    low, high = SNIPPET_LENGTH
    assert not shown or low <= len(shown) <= high
