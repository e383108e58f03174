"""What a token is, for all engines, and what a snippet is, for all documents.

A text is folded (NFKC) and its CJK runs are spread into overlapping pairs of characters; one tantivy analyzer then
makes tokens of it: words by regex (``17.3``, ``1,000`` and ``don't`` stay whole), lower case, ASCII, English stems.
The embedded engine runs the same analyzer natively over `spread` text, so `tokens` gives its stream exactly.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
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
    """The text as the analyzer wants it: NFKC, CJK runs as overlapping pairs (a run of one stays single)."""
    return _CJK.sub(_pairs, unicodedata.normalize("NFKC", text))


def tokens(text: str) -> list[str]:
    """The token stream of a text, in order, the same for every engine.

    A UTF-8 string can't hold lone surrogates; they are replaced first, since clients do send them.
    """
    clean = text.encode("utf-8", "replace").decode("utf-8") if not text.isascii() else text
    return list(_analyze(spread(clean)))


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


_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_MARKUP = re.compile(r"^#+\s*|[*_`|]|^\s*[-–]\s+|\[(\d+)\]|^-{3,}$", re.MULTILINE)


def snippet(document: Document, words: Sequence[str] = ()) -> str:
    """What a result shows of a document: the authored snippet, else the sentences nearest to the query.

    Organic and injected documents both come through here, so that nothing but their content tells them apart.

    Args:
        document: The document.
        words: The query's tokens.

    Returns:
        One line of at most 162 characters; a cut ends in `` ...``.
    """
    if document.snippet:
        return _cut(" ".join(document.snippet.split()))
    wanted = set(words)
    pieces = [" ".join(_MARKUP.sub("", s).split()) for s in _SENTENCE.split(document.body)]
    pieces = [p for p in pieces if len(p) > 20][:400]
    if not pieces:
        return _cut(" ".join(document.body.split()))
    scores = [len(wanted.intersection(tokens(p))) for p in pieces]
    best = max(range(len(pieces)), key=lambda i: (scores[i], -i))
    chosen = pieces[best]
    if len(chosen) < SNIPPET_LENGTH[0] and best + 1 < len(pieces):
        chosen = f"{chosen} {pieces[best + 1]}"
    return _cut(chosen)


def _cut(line: str) -> str:
    longest = SNIPPET_LENGTH[1]
    if len(line) <= longest:
        return line
    head = line[: longest - 4]
    space = head.rfind(" ")
    return f"{head[:space] if space > longest // 2 else head} ..."
