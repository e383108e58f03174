"""Step 5: what the judge sees of a claim, and what it must answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from searchsim.scoring.smoothing.aspects import Aspect
from searchsim.scoring.smoothing.claims import Claim
from searchsim.scoring.smoothing.evidence import Evidence
from searchsim.scoring.smoothing.prompts import STEPS, Prompt, fenced

__all__ = ["judge_prompt"]


def judge_prompt(
    question: str, claim: Claim, aspects: Sequence[Aspect], items: Sequence[Evidence], titles: dict[str, str]
) -> Prompt:
    """What the judge is asked: the question, the claim, and all evidence by aspect, that of none last.

    Args:
        question: The report's question; empty where unknown.
        claim: The claim.
        aspects: Its aspects.
        items: Its evidence.
        titles: The documents' titles, by id.
    """
    lines: list[str] = []
    for aspect in aspects:
        lines.append(f"{aspect.id}. {aspect.name}: {aspect.description}")
        own = [e for e in items if e.aspect == aspect.id]
        if own or not any(a.parent == aspect.id for a in aspects):
            lines += _sides(own)
    lines.append("Of no aspect:")
    lines += _sides([e for e in items if e.aspect is None])
    used = dict.fromkeys(e.document for e in items)
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


def _sides(items: Sequence[Evidence]) -> list[str]:
    return [
        "  In support:",
        *_lines(e for e in items if e.stance == "support"),
        "  To qualify, limit or contradict it:",
        *_lines(e for e in items if e.stance == "skeptic"),
    ]


def _lines(items: Iterable[Evidence]) -> list[str]:
    return [
        f"  - [{e.document}, {e.strength}, {e.kind}] {' '.join(e.quote.split())} — {' '.join(e.note.split())}"
        for e in items
    ] or ["  - (nothing)"]
