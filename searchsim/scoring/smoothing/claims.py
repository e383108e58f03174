"""Step 1: the conclusive claims of a report, as stated, and where they stand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from searchsim.scoring.smoothing.chunks import chunks
from searchsim.scoring.smoothing.citations import Citations, strip_marks
from searchsim.scoring.smoothing.prompts import STEPS, Prompt, fenced
from searchsim.scoring.smoothing.quotes import Span, Text

__all__ = ["Claim", "claim_prompts", "place"]


@dataclass(slots=True)
class Claim:
    """A claim in which a report takes a stance or gives a takeaway.

    Attributes:
        id: ``c1``, ``c2`` … in the order of their places.
        text: The claim, readable alone.
        places: Where the sentences that state it stand in the report.
        direction, confidence, scope, qualifications: As the report states them.
        cites: Ids of the documents that its sentences cite.
    """

    id: str
    text: str
    places: list[Span]
    direction: str
    confidence: str
    scope: str
    qualifications: list[str]
    cites: list[str]

    @property
    def brief(self) -> str:
        """The claim as later steps are shown it."""
        stated = f"As stated: direction: {self.direction or '-'}; confidence: {self.confidence or '-'}"
        limits = "; ".join(self.qualifications) or "none"
        return f"{self.text}\n({stated}; scope: {self.scope or '-'}; qualifications: {limits})"


def claim_prompts(report: str, question: str, size: int, overlap: int) -> list[Prompt]:
    """What is asked of a report: once, or for each of its pieces.

    Args:
        report: Its text, without the closing list of references.
        question: What it answers; empty where unknown.
        size: See `chunks`.
        overlap: See `chunks`.
    """
    asked = f"The question that the report answers:\n{fenced(question)}\n" if question.strip() else ""
    pieces = chunks(report, size, overlap)
    told = "The report:\n" if len(pieces) == 1 else "Part {} of {} of the report:\n"
    return [
        Prompt(STEPS["claims"], (asked, told.format(p.number, len(pieces)), fenced(report[p.start : p.end])))
        for p in pieces
    ]


def place(
    report: str, citations: Citations, answers: Iterable[Sequence[Mapping[str, Any]]]
) -> tuple[list[Claim], dict[str, int]]:
    """The claims that were found, where they stand, and how many were dropped.

    Args:
        report: The report.
        citations: What it cites.
        answers: The claims that each of its pieces gave.

    Returns:
        The claims; and counts: not_in_report (claims none of whose sentences stands in the report), sentences_dropped
        (of the other claims), repeated (claims of two pieces that are one).
    """
    # Who copies a sentence may leave out its emphasis, and its citation marks too.
    exact, undressed, bare = Text(report), Text(report, markup=True), Text(report, citations.marks, markup=True)
    dropped = {"not_in_report": 0, "sentences_dropped": 0, "repeated": 0}
    kept: list[tuple[int, Claim]] = []
    for piece, found in enumerate(answers):
        for given in found:
            places = [exact.find(s) or undressed.find(s) or bare.find(strip_marks(s)) for s in given["sentences"]]
            there = sorted({p for p in places if p})
            if not there:
                dropped["not_in_report"] += 1
                continue
            dropped["sentences_dropped"] += places.count(None)
            if any(_repeats(given["claim"], there, piece, other, at) for at, other in kept):
                dropped["repeated"] += 1
                continue
            cites = citations.within(report, there)
            told = {name: given[name] for name in ("direction", "confidence", "scope", "qualifications")}
            kept.append((piece, Claim(id="", text=given["claim"].strip(), places=there, cites=cites, **told)))
    claims = [claim for _, claim in sorted(kept, key=lambda pair: pair[1].places)]
    for number, claim in enumerate(claims, start=1):
        claim.id = f"c{number}"
    return claims, dropped


def _repeats(text: str, places: Sequence[Span], piece: int, other: Claim, at: int) -> bool:
    """Whether a claim is one that is there already: the same words, or the same place seen in another piece."""
    if " ".join(text.split()).casefold() == " ".join(other.text.split()).casefold():
        return True
    return at != piece and places == other.places
