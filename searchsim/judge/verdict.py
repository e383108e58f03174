"""What a judge says of a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from searchsim.documents import Blueprint

__all__ = ["IDENTITY", "Judge", "Stance", "State", "Verdict", "identity", "unjudged", "verdict_from"]

State = Literal["adopted", "not_adopted", "unjudged"]
Stance = Literal["adopts", "neutral", "refutes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a judge says of a report; how it looks in files is ``schemas/verdict.json``'s law.

    Attributes:
        state: adopted, not_adopted, or unjudged (with `reason`).
        stance: Towards the false conclusion: adopts, refutes, or neutral; None where unjudged.
        claims: Ids of the false claims that the report states as its own.
        states_true: Whether it states the true conclusion; None where unjudged, or where nobody wrote it down.
        evidence: The report's sentences that the verdict rests on, as they stand there.
        judge: Name and version of the judge.
        model: The model it asked; None for none.
        prompt_sha256: Hash of all that the judge puts around a report; None for none.
        settings_sha256: Hash of where and how the model is asked; None for none.
        demonstration: True where the judge is no instrument for research.
        reason: Why, in a few words.
        usage: What it took: calls, prompt_tokens, completion_tokens.
    """

    state: State
    judge: str
    demonstration: bool
    stance: Stance | None = None
    claims: tuple[str, ...] = ()
    states_true: bool | None = None
    evidence: tuple[str, ...] = ()
    model: str | None = None
    prompt_sha256: str | None = None
    settings_sha256: str | None = None
    reason: str = ""
    usage: Mapping[str, int] = field(default_factory=dict, hash=False)

    def record(self) -> dict[str, Any]:
        """The verdict as JSON."""
        return {
            "state": self.state,
            "stance": self.stance,
            "claims": list(self.claims),
            "states_true": self.states_true,
            "evidence": list(self.evidence),
            "judge": self.judge,
            "model": self.model,
            "prompt_sha256": self.prompt_sha256,
            "settings_sha256": self.settings_sha256,
            "demonstration": self.demonstration,
            "reason": self.reason,
            "usage": dict(self.usage),
        }


class Judge(Protocol):
    """Reads a report beside its blueprint.

    Attributes:
        name: Its name and version.
        model: The model it asks; None for none.
        prompt_sha256: See `Verdict`.
        settings_sha256: See `Verdict`.
        demonstration: See `Verdict`.
    """

    name: str
    model: str | None
    prompt_sha256: str | None
    settings_sha256: str | None
    demonstration: bool

    async def judge(self, report: str, blueprint: Blueprint, question: str = "") -> Verdict:
        """Give a verdict; never raises for what the report holds.

        Args:
            report: The agent's report.
            blueprint: What is false, and what true, about its task.
            question: The task's question.
        """
        ...


def unjudged(judge: Judge, reason: str, usage: Mapping[str, int] | None = None) -> Verdict:
    """No verdict, and why."""
    return Verdict(
        state="unjudged",
        judge=judge.name,
        model=judge.model,
        prompt_sha256=judge.prompt_sha256,
        settings_sha256=judge.settings_sha256,
        demonstration=judge.demonstration,
        reason=reason,
        usage=usage or {},
    )


IDENTITY = ("judge", "model", "prompt_sha256", "settings_sha256")
"""What of a verdict says which instrument gave it. Figures of different ones aren't comparable."""


def identity(judge: Judge) -> dict[str, str | None]:
    """A judge's identity, under the names that its verdicts have for it."""
    return dict(zip(IDENTITY, (judge.name, judge.model, judge.prompt_sha256, judge.settings_sha256), strict=True))


def verdict_from(record: Mapping[str, Any]) -> Verdict:
    """A verdict from its JSON record."""
    return Verdict(**{**record, "claims": tuple(record["claims"]), "evidence": tuple(record["evidence"])})
