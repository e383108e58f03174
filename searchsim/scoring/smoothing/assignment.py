"""Step 4: the aspect that each passage speaks about, told by its content alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from searchsim import tokens
from searchsim.scoring.smoothing.answers import Answers
from searchsim.scoring.smoothing.aspects import Aspect
from searchsim.scoring.smoothing.claims import Claim
from searchsim.scoring.smoothing.evidence import Evidence
from searchsim.scoring.smoothing.prompts import STEPS, Prompt, fenced

__all__ = ["assign", "groups"]

_MOST = 40
"""Passages in one question: more, and models begin to leave some out."""


async def assign(
    claim: Claim, aspects: Sequence[Aspect], items: Sequence[Evidence], answers: Answers, budget: int
) -> bool:
    """Assign evidence to aspects; nothing else about an item is changed.

    An item of no aspect stays with none, and so does one whose answer couldn't be used; `Evidence.assigned` tells them
    apart.

    Args:
        claim: The claim.
        aspects: Its aspects; where there are none, every item is of none.
        items: Its evidence.
        answers: Who is asked.
        budget: Most tokens of passages in one question.

    Returns:
        Whether all was asked; False in a dry run where something is to ask.
    """
    if not aspects:
        for item in items:
            item.assigned = True
        return True
    asked = True
    known = {a.id for a in aspects}
    for group in groups(items, budget):
        answer = await answers.answer(_prompt(claim, aspects, group), partial(_wrong, count=len(group), known=known))
        asked = asked and not answer.pending
        for told in answer.value["assignments"] if answer.value else ():
            item = group[told["passage"] - 1]
            item.aspect, item.assigned = told["aspect"], True
    return asked


def groups(items: Sequence[Evidence], budget: int) -> list[list[Evidence]]:
    """Evidence in the groups that are asked for together."""
    made: list[list[Evidence]] = []
    room = 0
    for item in items:
        size = tokens.count(item.quote)[0] + 16
        if not made or size > room or len(made[-1]) >= _MOST:
            made.append([])
            room = budget
        made[-1].append(item)
        room -= size
    return made


def _prompt(claim: Claim, aspects: Sequence[Aspect], group: Sequence[Evidence]) -> Prompt:
    """Passages in the order of their documents, without who found them, how strong they are, or what they speak for."""
    listed = "\n".join(f"{'  ' if a.parent else ''}{a.id}. {a.name}: {a.description}" for a in aspects)
    passages = "\n".join(f"{number}. {e.quote}\n   (about: {e.label})" for number, e in enumerate(group, start=1))
    head = f"The claim:\n{fenced(claim.brief)}\nThe aspects:\n{fenced(listed)}\nThe passages:\n"
    return Prompt(STEPS["assignment"], (head, fenced(passages)))


def _wrong(value: Mapping[str, Any], *, count: int, known: set[str]) -> str:
    told = [a["passage"] for a in value["assignments"]]
    if stray := [a["aspect"] for a in value["assignments"] if a["aspect"] is not None and a["aspect"] not in known]:
        return f"aspect {stray[0]!r} is none of the aspects"
    if sorted(told) != list(range(1, count + 1)):
        wrong = sorted(set(range(1, count + 1)) ^ set(told)) or [n for n in told if told.count(n) > 1]
        return f"each passage from 1 to {count} must stand in it once, and passage {wrong[0]} doesn't"
    return ""
