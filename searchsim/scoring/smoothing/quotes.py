"""Verbatim quotes: whether a text has one, and where.

What a model quotes is taken only where it stands in the text, from the edge of a word to that of another. White space,
quotation marks, dashes and the width of characters may differ, as they do between a page and what a model writes, and
so may a hyphen in a word, which may stand there because a line ends; what is kept is the text's own wording at that
place.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain

from searchsim.scoring.smoothing.references import LINK

__all__ = ["SHORTEST", "Span", "Text", "undressed"]

Span = tuple[int, int]
"""A place in a text: its first character and the one after its last."""

SHORTEST = 8
"""Letters and digits that a quote needs: less stands in any text."""

_MARKS = frozenset("\"'`´‘’‚‛“”„‟«»‹›「」『』〝〞＂＇")
_OMISSION = re.compile(r"[\[(]?(?:\.{3}|…)[.…]*[\])]?")
_DASHES = re.compile(r"(?<=[^\W\d_])-+(?=[^\W\d_])")
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\ud7ff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)
"""Writing that has no spaces between words, or has endings that stick to them: a quote may begin anywhere."""

_BROKEN = re.compile(r"[-\u2010][ \t\r]*\n\s*|\u00ad\s*")
"""What stands in a word that a line's end breaks."""


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
        bare = _trimmed(quote)
        if sum(c.isalnum() for c in bare) < SHORTEST:
            return None
        for at in _all(self.text, bare, start):
            if not self._cuts(at) and not self._cuts(at + len(bare)):
                return at, at + len(bare)
        wanted = _DASHES.sub("", "".join(self._folds[c] for c in bare))
        folded, places = self._folded
        low = bisect_left(places, start)
        for at in chain(_all(folded, wanted, low), _all(folded, wanted, 0, low + len(wanted) - 1)) if wanted else ():
            end = at + len(wanted)
            # Some characters are folded to several.
            inside = (at > 0 and places[at - 1] == places[at]) or (end < len(places) and places[end - 1] == places[end])
            found = places[at], places[end - 1] + 1
            if not inside and not any(map(self._cuts, found)):
                return found
        return None

    @cached_property
    def undressed(self) -> Text:
        """The same, where quotes may leave out Markdown's emphasis and links' addresses; see `undressed`."""
        skip: list[Span] = []
        for link in LINK.finditer(self.text):
            if link["image"]:
                skip.append(link.span())
            else:
                skip += [(link.start(), link.start("text")), (link.end("text"), link.end())]
        return Text(self.text, skip, markup=True)

    def _cuts(self, place: int) -> bool:
        """Whether an edge at a place cuts a word or a number."""
        left, right = self.text[max(place - 40, 0) : place], self.text[place : place + 40]
        if not left or not right:
            return False
        if right[0].isdigit():
            return bool(re.search(r"\d[.,]?$", left))
        if left[-1].isdigit():
            return bool(re.match(r"[.,]\d", right))
        if broken := _BROKEN.match(right):
            return _in_word(left[-1]) and right[broken.end() :][:1].islower()
        if right[0].islower() and (broken := re.search(rf"(?:{_BROKEN.pattern})$", left)):
            return _in_word(left[: broken.start()][-1:])
        return _in_word(left[-1]) and _in_word(right[0])

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
        whole, kept, at = "".join(parts), array("I"), 0
        for match in _DASHES.finditer(whole):
            kept += places[at : match.start()]
            at = match.end()
        return _DASHES.sub("", whole), kept + places[at:]


def undressed(quote: str) -> str:
    """A quote without links' addresses, which who quotes may leave out; see `Text.undressed`."""
    return LINK.sub(lambda m: "" if m["image"] else m["text"], quote)


def _trimmed(quote: str) -> str:
    """A quote without dots of omission around it, and what else but letters stands outside them."""
    bare = quote.strip()
    head = re.match(r"\W*", bare)
    if first := _OMISSION.search(bare, 0, head.end() if head else 0):
        bare = bare[first.end() :]
    tail = re.match(r"\W*", bare[::-1])
    if last := _OMISSION.search(bare, len(bare) - (tail.end() if tail else 0)):
        bare = bare[: last.start()]
    return bare.strip()


def _all(text: str, wanted: str, low: int, high: int | None = None) -> Iterator[int]:
    """Where a string stands in a part of a text."""
    at = text.find(wanted, low, high)
    while at >= 0:
        yield at
        at = text.find(wanted, at + 1, high)


def _in_word(character: str) -> bool:
    """Whether a character is part of a word that spaces part from others."""
    return (character.isalpha() or unicodedata.category(character)[0] == "M") and not _UNSPACED.match(character)


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
    category = unicodedata.category(character)
    if character in _MARKS or category == "Cf":
        return ""
    if category == "Pd" or character == "\u2212":
        return "-"
    # A raised figure is a power or a note: ten to the fifth is not 105.
    if unicodedata.decomposition(character).startswith("<super>"):
        return character
    return "".join(c for c in unicodedata.normalize("NFKC", character) if not c.isspace() and c not in _MARKS)


_PLAIN = _Folds()
_DRESSED = _Folds("*_\\")
