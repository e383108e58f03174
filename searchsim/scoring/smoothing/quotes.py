"""Verbatim quotes: whether a text has one, and where.

What a model quotes is taken only where it stands in the text. White space, quotation marks and the width of characters
may differ, as they do between a page and what a model writes; what is kept is the text's own wording at that place.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property

__all__ = ["SHORTEST", "Span", "Text"]

Span = tuple[int, int]
"""A place in a text: its first character and the one after its last."""

SHORTEST = 8
"""Letters and digits that a quote needs: less stands in any text."""

_MARKS = frozenset("\"'`´‘’‚‛“”„‟«»‹›「」『』〝〞＂＇")
_OUTER = re.compile(r"^[\s\W]*?(?:\.{3}|…)+|(?:\.{3}|…)+[\s\W]*$")


class Text:
    """A text that quotes are looked up in.

    Attributes:
        text: The text.
    """

    def __init__(self, text: str, skip: Sequence[Span] = (), *, markup: bool = False) -> None:
        """Take a text; it is folded when it is first needed.

        Args:
            text: The text.
            skip: Spans that quotes may leave out, in order: citation marks.
            markup: Whether quotes may leave out Markdown's emphasis.
        """
        self.text = text
        self._skip = skip
        self._folds = _DRESSED if markup else _PLAIN

    def find(self, quote: str, start: int = 0) -> Span | None:
        """Where a quote stands; None where it doesn't, or is too short to tell.

        Args:
            quote: The quote. Dots of omission around it are taken for no part of it.
            start: Where to look first; the rest of the text is looked through after it.
        """
        bare = _OUTER.sub("", quote.strip())
        if sum(c.isalnum() for c in bare) < SHORTEST:
            return None
        if (place := self.text.find(bare, start)) >= 0:
            return place, place + len(bare)
        wanted = "".join(self._folds[c] for c in bare)
        folded, places = self._folded
        at = folded.find(wanted, bisect_left(places, start))
        if at < 0:
            at = folded.find(wanted)
        if at < 0 or not wanted:
            return None
        return places[at], places[at + len(wanted) - 1] + 1

    @cached_property
    def _folded(self) -> tuple[str, array[int]]:
        """The folded text, and the place of each of its characters in the text."""
        parts: list[str] = []
        places = array("I")
        folds = self._folds
        at = 0
        for low, high in [*self._skip, (len(self.text), len(self.text))]:
            for place in range(at, low):
                if folded := folds[self.text[place]]:
                    parts.append(folded)
                    places.extend([place] * len(folded)) if len(folded) > 1 else places.append(place)
            at = max(at, high)
        return "".join(parts), places


class _Folds(dict[str, str]):
    """How each character is compared, remembered; some are dropped."""

    def __init__(self, dropped: str = "") -> None:
        super().__init__(dict.fromkeys(dropped, ""))

    def __missing__(self, character: str) -> str:
        folded = self[character] = _fold(character)
        return folded


def _fold(character: str) -> str:
    """A character as quotes are compared: nothing for white space and marks of quotation and formatting."""
    if character.isascii():
        return "" if character.isspace() or character in _MARKS else character
    if character in _MARKS or unicodedata.category(character) == "Cf":
        return ""
    return "".join(c for c in unicodedata.normalize("NFKC", character) if not c.isspace() and c not in _MARKS)


_PLAIN = _Folds()
_DRESSED = _Folds("*_\\")
