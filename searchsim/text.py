"""What a token is, for all engines, and what a snippet is, for all documents.

A text is folded (NFKC) and its CJK runs are spread into overlapping pairs of characters; one tantivy analyzer then
makes tokens of it: words by regex (``17.3``, ``1,000`` and ``don't`` stay whole), lower case, ASCII, English stems.
The embedded engine runs the same analyzer natively over `spread` text, so `tokens` gives its stream exactly.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from searchsim.documents import Document

__all__ = ["SNIPPET_LENGTH", "analyzer", "field_length", "snippet", "spread", "tokens"]

SNIPPET_LENGTH = (74, 162)
"""Characters of a live snippet, shortest and longest seen (31 recorded answers, median 146)."""

_CJK = re.compile(
    "[\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_WORD = r"[\p{L}\p{N}\p{M}]+(?:[.,'’][\p{L}\p{N}\p{M}]+)*"
_LONGEST_TOKEN = 256


def analyzer() -> TextAnalyzer:
    """A new analyzer; engines register it under a name after every open."""
    return (
        TextAnalyzerBuilder(Tokenizer.regex(_WORD))
        .filter(Filter.remove_long(_LONGEST_TOKEN))
        .filter(Filter.lowercase())
        .filter(Filter.ascii_fold())
        .filter(Filter.stemmer("english"))
        .build()
    )


_analyze = analyzer().analyze


def _pairs(match: re.Match[str]) -> str:
    run = match.group()
    if len(run) == 1:
        return f" {run} "
    return f" {' '.join(run[i : i + 2] for i in range(len(run) - 1))} "


def spread(text: str) -> str:
    """The text as the analyzer wants it: NFKC, CJK runs as overlapping pairs (a run of one stays single).

    A UTF-8 string can't hold lone surrogates; they are replaced first, since clients do send them.
    """
    if text.isascii():
        return text
    text = text.encode("utf-8", "replace").decode("utf-8")
    return _CJK.sub(_pairs, unicodedata.normalize("NFKC", text))


def tokens(text: str) -> list[str]:
    """The token stream of a text, in order, the same for every engine."""
    return list(_analyze(spread(text)))


@lru_cache(maxsize=4096)
def field_length(length: int) -> int:
    """A field's length as engines keep it: in one byte.

    Lucene's ``SmallFloat.intToByte4`` and tantivy's field norms agree: exact up to 40, then four significant
    binary digits, rounded down.

    Args:
        length: Number of tokens.
    """
    if length < 40:
        return length
    rest = length - 24
    shift = max(rest.bit_length() - 4, 0)
    return 24 + ((rest >> shift) << shift)


_ENDS = (". ", "! ", "? ", "\n", "。", "！", "？")
_MARKUP = re.compile(r"^#+\s*|[*_`|]|^\s*[-–]\s+|\[(\d+)\]|^-{3,}$", re.MULTILINE)
_READ = 40_000
_WORDS = 12
_PLACES = 4


@lru_cache(maxsize=65_536)
def snippet(document: Document, words: tuple[str, ...] = ()) -> str:
    """What a result shows of a document: the authored snippet, else the passage nearest to the query.

    Organic and injected documents both come through here, so that nothing but their content tells them apart. The
    passage is where most of the query's words stand close together, from the start of its sentence. Words are looked
    for by their stems, as they stand: to analyse the bodies of ten documents would take longer than the search.

    Args:
        document: The document.
        words: The query's tokens.

    Returns:
        One line of at most 162 characters; a cut ends in `` ...``.
    """
    if document.snippet:
        return _cut(" ".join(document.snippet.split()))
    body = document.body[:_READ]
    start = _sentence_start(body, _densest(body, words))
    return _cut(_clean(body[start : start + 2 * SNIPPET_LENGTH[1]]) or _clean(body))


def _densest(body: str, words: tuple[str, ...]) -> int:
    """Where the window of a snippet's length starts that holds most of the words."""
    folded = body.lower()
    if len(folded) != len(body):
        folded = body
    places: list[tuple[int, int]] = []
    for number, word in enumerate(_telling(words)):
        place = folded.find(word)
        for _ in range(_PLACES):
            if place < 0:
                break
            places.append((place, number))
            place = folded.find(word, place + len(word))
    places.sort()
    best, most, end = 0, 0, 0
    held: Counter[int] = Counter()
    for place, number in places:
        while end < len(places) and places[end][0] < place + SNIPPET_LENGTH[1]:
            held[places[end][1]] += 1
            end += 1
        if len(held) > most:
            best, most = place, len(held)
        held[number] -= 1
        if not held[number]:
            del held[number]
    return best


@lru_cache(maxsize=256)
def _telling(words: tuple[str, ...]) -> list[str]:
    """The words worth looking for: long ones are the rarer ones."""
    return sorted(set(words), key=lambda word: (-len(word), word))[:_WORDS]


def _sentence_start(body: str, place: int) -> int:
    """The start of the sentence at a place; where it is far off, the start of the word."""
    start = max(found + len(end) if (found := body.rfind(end, 0, place)) >= 0 else 0 for end in _ENDS)
    if place - start > SNIPPET_LENGTH[1] // 2:
        start = max(body.rfind(" ", 0, place) + 1, start)
    return start


def _clean(piece: str) -> str:
    return " ".join(_MARKUP.sub("", piece).split())


def _cut(line: str) -> str:
    longest = SNIPPET_LENGTH[1]
    if len(line) <= longest:
        return line
    head = line[: longest - 4]
    space = head.rfind(" ")
    return f"{head[:space] if space > longest // 2 else head} ..."
