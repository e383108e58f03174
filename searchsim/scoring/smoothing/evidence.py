"""Step 2: what the cited documents say to a claim, as a support reader and a skeptic reader find it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from searchsim.scoring.smoothing.chunks import Chunk
from searchsim.scoring.smoothing.claims import Claim
from searchsim.scoring.smoothing.prompts import STEPS, Prompt, fenced
from searchsim.scoring.smoothing.quotes import Text, undressed

__all__ = ["STANCES", "Evidence", "Stance", "evidence_prompt", "numbered", "take", "titled"]

Stance = Literal["support", "skeptic"]
STANCES: tuple[Stance, ...] = ("support", "skeptic")
_STRENGTHS = ("weak", "moderate", "strong")


@dataclass(slots=True)
class Evidence:
    """A passage that bears on a claim.

    Attributes:
        id: ``e1``, ``e2`` … within its claim, by document and place.
        stance: Which reader found it.
        kind: How it bears: supports, concedes; contradicts, limits, conditions, alternative.
        document: The document's id.
        start, end: Its place in the document's text.
        quote: The text there.
        label: Its aspect, as the reader named it.
        note: How it bears on the claim.
        strength: weak, moderate, strong.
        chunk: The piece of the document that it was found in.
        aspect: The id of the aspect it was assigned to; None for none.
        assigned: Whether that was told; False where no usable answer was.
    """

    id: str
    stance: Stance
    kind: str
    document: str
    start: int
    end: int
    quote: str
    label: str
    note: str
    strength: str
    chunk: int
    aspect: str | None = None
    assigned: bool = False


def evidence_prompt(stance: Stance, claim: Claim, title: str, piece: str, chunk: Chunk, count: int) -> Prompt:
    """What a reader is asked.

    Args:
        stance: Which reader.
        claim: The claim.
        title: The document's title; empty where unknown.
        piece: The fenced text of a piece of the document.
        chunk: That piece.
        count: How many pieces the document has.
    """
    part = "The document" if count == 1 else f"Part {chunk.number} of {count} of the document"
    return Prompt(STEPS[stance], (f"The claim:\n{fenced(claim.brief)}\n{titled(title)}{part}:\n", piece))


def titled(title: str) -> str:
    """A document's title as prompts give it, which is as little to be trusted as its text; empty where unknown."""
    named = " ".join(title.split())[:200]
    return f"The document's title:\n{fenced(named)}\n" if named else ""


def take(
    stance: Stance, document: str, text: Text, chunk: Chunk, answer: Mapping[str, Any]
) -> tuple[list[Evidence], int]:
    """The passages of an answer that stand in the document, and how many don't."""
    kept, dropped = [], 0
    for given in answer["evidence"]:
        place = text.find(given["quote"], chunk.start) or text.undressed.find(undressed(given["quote"]), chunk.start)
        if place is None:
            dropped += 1
            continue
        start, end = place
        told = {name: given[name] for name in ("kind", "note", "strength")}
        quote = text.text[start:end]
        label = given["aspect"]
        kept.append(
            Evidence(
                id="", stance=stance, document=document, start=start, end=end, quote=quote, label=label,
                chunk=chunk.number, **told,
            )
        )  # fmt: skip
    return kept, dropped


def numbered(items: Iterable[Evidence], documents: Sequence[str]) -> tuple[list[Evidence], int]:
    """A claim's evidence in order, with ids; and how many were the same passage, found again.

    Args:
        items: The evidence.
        documents: The documents' ids, in order.
    """
    order = {id_: number for number, id_ in enumerate(documents)}
    kept: list[Evidence] = []
    merged = 0
    for item in sorted(items, key=lambda e: (order[e.document], e.start, e.end, e.stance, e.chunk)):
        twin = next((e for e in reversed(kept[-50:]) if _same(e, item)), None)
        if twin is None:
            kept.append(item)
            continue
        merged += 1
        twin.strength = max(twin.strength, item.strength, key=_STRENGTHS.index)
        if item.end - item.start > twin.end - twin.start:
            twin.start, twin.end, twin.quote = item.start, item.end, item.quote
    for number, item in enumerate(kept, start=1):
        item.id = f"e{number}"
    return kept, merged


def _same(one: Evidence, other: Evidence) -> bool:
    """Whether two are one passage: of one reader and document, the same text; in different pieces, half of it."""
    if (one.document, one.stance) != (other.document, other.stance):
        return False
    if one.chunk == other.chunk:
        return (one.start, one.end) == (other.start, other.end)
    shared = min(one.end, other.end) - max(one.start, other.start)
    return shared * 2 >= min(one.end - one.start, other.end - other.start)
