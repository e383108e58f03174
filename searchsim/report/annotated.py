"""A report's text with its claims marked where they stand, block by block, so that each can have notes at its side."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from markupsafe import Markup, escape

__all__ = ["Block", "blocks"]

_GAP = re.compile(r"\n(?:[ \t]*\n)+")
_HEADING = re.compile(r"#{1,6} [^\n]*")

_Place = tuple[int, int, Mapping[str, Any]]
"""Where a claim or a citation stands, and which."""


@dataclass(frozen=True, slots=True)
class Block:
    """A part of the text that has no empty line in it.

    Attributes:
        html: Its text, with marks and links to ``#c…`` (claims) and ``#d…`` (documents).
        claims: The claims that stand in it, in order.
        heading: It is a line that Markdown takes for a heading.
        closing: It belongs to the closing list of references.
    """

    html: Markup
    claims: list[Mapping[str, Any]]
    heading: bool
    closing: bool


def blocks(
    text: str, body: int, claims: Sequence[Mapping[str, Any]], documents: Sequence[Mapping[str, Any]]
) -> list[Block]:
    """A report's text, block by block. Whatever stands in it, it stays text.

    Args:
        text: The report.
        body: Where its closing list of references begins.
        claims: With ``id``, ``score`` and ``places``. Where the first of these begins there is an element ``at-ID``.
        documents: With ``id`` and ``marks``; an element ``at-ID`` likewise.
    """
    stated = [(a, b, c) for c in claims for a, b in c["places"]]
    cited = [(a, b, d) for d in documents for a, b in d["marks"]]
    anchors = {e["id"] for _, _, e in (*stated, *cited)}
    found = []
    for start, end in _spans(text, body):
        own = [p for p in stated if p[0] < end and p[1] > start]
        marks = [p for p in cited if p[0] < end and p[1] > start]
        found.append(
            Block(
                html=_html(text, start, end, own, marks, anchors),
                claims=list({c["id"]: c for _, _, c in sorted(own, key=lambda p: p[:2])}.values()),
                heading=_HEADING.fullmatch(text, start, end) is not None,
                closing=start >= body,
            )
        )
    return found


def _spans(text: str, body: int) -> Iterator[tuple[int, int]]:
    """Where blocks begin and end."""
    for low, high in ((0, body), (body, len(text))):
        start = low
        for gap in (*_GAP.finditer(text, low, high), None):
            end = gap.start() if gap else high
            if text[start:end].strip():
                yield start, end
            start = gap.end() if gap else high


def _html(text: str, start: int, end: int, own: Sequence[_Place], marks: Sequence[_Place], anchors: set[str]) -> Markup:
    """A block's text. Elements to be led to are made for what stands in it, and taken from those still to be made."""
    edges = {start, end, *(edge for a, b, _ in (*own, *marks) for edge in (a, b) if start < edge < end)}
    out: list[Markup] = []
    inside: dict[str, Mapping[str, Any]] = {}
    for low, high in pairwise(sorted(edges)):
        claims = _there(low, high, own)
        if claims.keys() != inside.keys():
            out += [Markup("</mark>")] if inside else []
            out += [_ref(c) for id_, c in inside.items() if id_ not in claims]
            out += _anchors(claims, anchors)
            if claims:
                score = max(c["score"] or 0 for c in claims.values())
                out.append(Markup('<mark class="s{}">').format(score))
            inside = claims
        documents = _there(low, high, marks)
        out += _anchors(documents, anchors)
        out.append(_cited(text[low:high], list(documents)))
    out += [Markup("</mark>")] if inside else []
    # A claim that goes on in the next block has its number at the end of each.
    out += [_ref(c) for c in inside.values()]
    return Markup("").join(out)


def _there(low: int, high: int, places: Sequence[_Place]) -> dict[str, Mapping[str, Any]]:
    """What covers a piece of the text, by id."""
    return {e["id"]: e for a, b, e in places if a <= low and high <= b}


def _anchors(those: Iterable[str], anchors: set[str]) -> list[Markup]:
    first = [id_ for id_ in those if id_ in anchors]
    anchors.difference_update(first)
    return [Markup('<span id="at-{}"></span>').format(id_) for id_ in first]


def _ref(claim: Mapping[str, Any]) -> Markup:
    id_, score = claim["id"], claim["score"]
    return Markup('<a class="ref s{}" href="#{}">{}: {}</a>').format(score or 0, id_, id_, score or "no score")


def _cited(piece: str, ids: Sequence[str]) -> Markup:
    """A piece of the text that leads to the documents that it cites."""
    match ids:
        case []:
            return escape(piece)
        case [id_]:
            return Markup('<a class="cite" href="#{}">{}</a>').format(id_, piece)
        case _:
            links = Markup(" ").join(Markup('<a href="#{0}">{0}</a>').format(id_) for id_ in ids)
            return escape(piece) + Markup('<span class="cites">{}</span>').format(links)
