"""Step 5: what the judge sees of a claim, and what it must answer."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from searchsim import tokens
from searchsim.scoring.smoothing.aspects import Aspect
from searchsim.scoring.smoothing.claims import Claim
from searchsim.scoring.smoothing.evidence import Evidence
from searchsim.scoring.smoothing.prompts import STEPS, Prompt, fenced

__all__ = ["judge_prompt", "within"]

_STRENGTHS = ("strong", "moderate", "weak")


def within(items: Sequence[Evidence], budget: int) -> list[Evidence]:
    """The evidence that there is room for in a question, in its order.

    Where there isn't room for all, every side of every aspect is cut to about as many passages: its weakest go first,
    and of equally strong ones the last. One of each stays, also beyond the budget: a side that has evidence mustn't
    look empty.

    Args:
        items: The evidence.
        budget: Most tokens of it.
    """
    if sum(len(_line(e).encode()) for e in items) <= budget:
        return list(items)
    sides: dict[tuple[str | None, str], list[Evidence]] = {}
    for item in sorted(items, key=lambda e: _STRENGTHS.index(e.strength)):
        sides.setdefault((item.aspect, item.stance), []).append(item)
    kept: set[str] = set()
    growing = list(sides.values())
    rank = 0
    while growing := [side for side in growing if len(side) > rank]:
        for side in list(growing):
            size = tokens.count(_line(side[rank]))[0]
            if rank and size > budget:
                growing.remove(side)
            else:
                kept.add(side[rank].id)
                budget -= size
        rank += 1
    return [e for e in items if e.id in kept]


def judge_prompt(
    question: str,
    claim: Claim,
    aspects: Sequence[Aspect],
    items: Sequence[Evidence],
    titles: dict[str, str],
    shown: Collection[str] | None = None,
) -> Prompt:
    """What the judge is asked: the question, the claim, and the evidence by aspect, that of none last.

    Args:
        question: The report's question; empty where unknown.
        claim: The claim.
        aspects: Its aspects.
        items: Its evidence.
        titles: The documents' titles, by id.
        shown: The ids of the evidence that there is room for, as of `within`; None for all. How much is left out is
            said where it would stand.
    """
    seen = {e.id for e in items} if shown is None else frozenset(shown)
    lines: list[str] = []
    for aspect in aspects:
        lines.append(f"{aspect.id}. {aspect.name}: {aspect.description}")
        own = [e for e in items if e.aspect == aspect.id]
        if own or not any(a.parent == aspect.id for a in aspects):
            lines += _sides(own, seen)
    lines.append("Of no aspect:")
    lines += _sides([e for e in items if e.aspect is None], seen)
    used = dict.fromkeys(e.document for e in items if e.id in seen)
    named = "\n".join(f"{id_}: {' '.join(titles[id_].split())[:200] or '(untitled)'}" for id_ in used) or "(none)"
    evidence = "\n".join(lines)
    return Prompt(
        STEPS["judge"],
        (
            f"The question that the report answers:\n{fenced(question.strip() or '(not given)')}\n",
            f"The claim:\n{fenced(claim.brief)}\n",
            f"The documents:\n{fenced(named)}\n",
            f"The evidence:\n{fenced(evidence)}",
        ),
    )


def _sides(items: Sequence[Evidence], seen: Collection[str]) -> list[str]:
    return [
        "  In support:",
        *_lines([e for e in items if e.stance == "support"], seen),
        "  To qualify, limit or contradict it:",
        *_lines([e for e in items if e.stance == "skeptic"], seen),
    ]


def _lines(items: Sequence[Evidence], seen: Collection[str]) -> list[str]:
    lines = [_line(e) for e in items if e.id in seen]
    if more := len(items) - len(lines):
        lines.append(f"  - (and {more} more, none stronger than these, left out for want of room)")
    return lines or ["  - (nothing)"]


def _line(item: Evidence) -> str:
    quote, note = " ".join(item.quote.split()), " ".join(item.note.split())
    return f"  - [{item.document}, {item.strength}, {item.kind}] {quote} — {note}"
