"""A long text in pieces that a model takes at once; neighbours overlap, so that no quote is lost at a seam."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from searchsim import tokens

__all__ = ["Chunk", "chunks"]

_LONGEST = 400_000
"""White space in a row that a piece has at most: tokenizers look back through it, and fail on a million."""

_SPACE = re.compile(rf"\s{{1,{_LONGEST}}}")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a text.

    Attributes:
        number: From 1.
        start: Its first character's place in the text.
        end: The place after its last.
        tokens: Its tokens.
    """

    number: int
    start: int
    end: int
    tokens: int


def chunks(text: str, size: int, overlap: int) -> list[Chunk]:
    """The pieces of a text: whatever is at most `overlap` tokens long stands whole in one of them.

    Args:
        text: The text.
        size: Most tokens of a piece.
        overlap: Tokens that a piece shares with the one before it.

    Returns:
        The pieces, in order; none where the text is empty.

    Raises:
        ValueError: The overlap isn't smaller than half the size, so that pieces would hardly get on.
    """
    if not 0 <= overlap <= size // 2:
        raise ValueError(f"an overlap of {overlap} is too much for pieces of {size}")
    pieces: list[Chunk] = []
    for start, end in _parts(text):
        places = [start + place for place in (*tokens.starts(text[start:end]), end - start)]
        pieces += [
            Chunk(number, places[low], places[high], high - low)
            for number, (low, high) in enumerate(_spans(len(places) - 1, size, overlap), start=len(pieces) + 1)
        ]
    return pieces


def _parts(text: str) -> Iterator[tuple[int, int]]:
    """The text between cuts through white space that is too long for a tokenizer."""
    start = 0
    for match in _SPACE.finditer(text):
        if len(match[0]) == _LONGEST and match.end() < len(text):
            yield start, match.end()
            start = match.end()
    yield start, len(text)


def _spans(count: int, size: int, overlap: int) -> Iterator[tuple[int, int]]:
    low = 0
    while low < count:
        high = min(low + size, count)
        yield low, high
        if high == count:
            return
        low = high - overlap
