"""What a report will take, told beforehand: what can be known exactly, and what is an estimate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import ceil
from typing import Any

from searchsim import tokens
from searchsim.scoring.smoothing.answers import Answers
from searchsim.scoring.smoothing.pipeline import Scored
from searchsim.scoring.smoothing.prompts import STEPS

__all__ = ["CLAIMS", "Estimate", "estimate"]

CLAIMS = 7
"""Claims that a report is taken to have before it was read: about what the published reports have."""

_PASSAGES = 1.5
"""Passages that a piece of a document is taken to give a reader for a claim."""

_PROPOSED = 3
"""Aspects that a document is taken to propose for a claim."""

_ANSWER = {
    "claims": 1500,
    "support": 400,
    "skeptic": 400,
    "proposals": 300,
    "merge": 1000,
    "assignment": 500,
    "judge": 600,
}
"""Tokens that an answer is taken to have."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a step will take.

    Attributes:
        step: The step.
        kept: Answers that are kept already.
        calls: Calls to be made; answers that can't be used, which are asked for once more, aren't counted.
        exact: Whether that number is known; else it is an estimate.
        prompt_tokens: Of these calls, counted with tiktoken as far as the prompts are known.
        completion_tokens: Estimated from the number of calls.
    """

    step: str
    kept: int
    calls: int
    exact: bool
    prompt_tokens: int
    completion_tokens: int

    def record(self) -> dict[str, Any]:
        """It as JSON."""
        return asdict(self)


def estimate(scored: Scored, answers: Answers) -> list[Estimate]:
    """What is still to ask of a report, by step.

    A step's number is exact as soon as the answers of the steps before it are kept: of the claims at once, of the
    evidence once the claims are known, of the rest once the evidence is.

    Args:
        scored: A dry run's outcome.
        answers: What the dry run counted.
    """
    more = dict.fromkeys(STEPS, 0.0)
    sizes = dict.fromkeys(STEPS, 0.0)

    def add(step: str, calls: float, each: float) -> None:
        more[step] += calls
        sizes[step] += calls * (each + _count(STEPS[step].system) + 100)

    documents = scored.resolved
    pieces = sum(len(d.chunks) for d in documents)
    read = sum(d.tokens for d in documents) / max(pieces, 1)
    guessed = ceil(CLAIMS * scored.pending / max(scored.pieces, 1)) if documents else 0
    # A claim of which nothing is known yet beyond its documents.
    for step in ("support", "skeptic"):
        add(step, guessed * pieces, read)
    waiting = ["evidence"] * guessed + [c.pending for c in scored.claims if c.pending]
    for first in waiting:
        passages = 2 * _PASSAGES * pieces
        if first == "evidence":
            add("proposals", len(documents), 60 * passages / max(len(documents), 1))
        if first in ("evidence", "proposals"):
            add("merge", 1, 40 * _PROPOSED * len(documents))
        if first in ("evidence", "proposals", "merge"):
            add("assignment", max(1, ceil(passages / 40)), 60 * min(passages, 40) + 300)
        if first != "judge":
            add("judge", 1, min(100 * passages, scored.settings.evidence) + 300)
    return [
        Estimate(
            step=step,
            kept=tally.calls,
            calls=tally.planned + round(more[step]),
            exact=not more[step],
            prompt_tokens=tally.planned_tokens + round(sizes[step]),
            completion_tokens=(tally.planned + round(more[step])) * _ANSWER[step],
        )
        for step, tally in answers.tally.items()
    ]


def _count(text: str) -> int:
    return tokens.count(text)[0]


def whole(estimates: list[Estimate]) -> Mapping[str, int]:
    """The sums: calls, prompt_tokens, completion_tokens."""
    return {name: sum(getattr(e, name) for e in estimates) for name in ("calls", "prompt_tokens", "completion_tokens")}
