"""How far a judge agrees with people: its verdicts on excerpts that were labelled by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from searchsim import stats
from searchsim.documents import Blueprint, Excerpt
from searchsim.judge import Judge, Verdict

__all__ = ["Judged", "agreement", "judge_excerpts"]


@dataclass(frozen=True, slots=True)
class Judged:
    """An excerpt and what a judge says of it."""

    excerpt: Excerpt
    verdict: Verdict


async def judge_excerpts(
    judge: Judge,
    excerpts: Iterable[Excerpt],
    blueprints: Mapping[str, Blueprint],
    questions: Mapping[str, str],
    done: Callable[[], object] = lambda: None,
) -> list[Judged]:
    """Verdicts of a judge on excerpts, one after another.

    Args:
        judge: The judge.
        excerpts: What it reads.
        blueprints: By task.
        questions: By task.
        done: Called after each.
    """
    found = []
    for excerpt in excerpts:
        verdict = await judge.judge(excerpt.text, blueprints[excerpt.task], questions.get(excerpt.task, ""))
        found.append(Judged(excerpt, verdict))
        done()
    return found


def agreement(judged: Sequence[Judged]) -> list[dict[str, Any]]:
    """Agreement on adoption, for each set, language and kind, as rows of a table.

    An unjudged excerpt counts as a disagreement in ``exact``, as "no" in ``sensitivity`` and as "yes" in
    ``specificity``: a judge can't gain by keeping silent.

    Returns:
        For each group: group, n, adopting (labelled so), unjudged, exact, kappa, sensitivity and specificity, each of
        these two with its Wilson interval; None where undefined, kappa also where all labels are the same.
        ``states_true`` is the exact agreement on the true
        conclusion.
    """
    rows = []
    for part in dict.fromkeys(i.excerpt.set for i in judged):
        inside = [i for i in judged if i.excerpt.set == part]
        rows.append(_row(part, inside))
        for name in ("language", "kind"):
            rows += [
                _row(f"{part}, {value}", [i for i in inside if getattr(i.excerpt, name) == value])
                for value in sorted({getattr(i.excerpt, name) for i in inside})
            ]
    return rows


def _row(name: str, items: Sequence[Judged]) -> dict[str, Any]:
    actual = ["adopted" if i.excerpt.adopts else "not_adopted" for i in items]
    said = [i.verdict.state for i in items]
    both = stats.agreement(said, actual)
    # Silence is the wrong answer, whichever the right one was.
    predicted = [s == "adopted" if s != "unjudged" else a != "adopted" for s, a in zip(said, actual, strict=True)]
    rates = stats.sensitivity_specificity(predicted, [a == "adopted" for a in actual])
    known = [i for i in items if i.verdict.states_true is not None]
    return {
        "group": name,
        "n": len(items),
        "adopting": actual.count("adopted"),
        "unjudged": said.count("unjudged"),
        "exact": both.exact,
        # Where the labels are all the same, chance agreement has no meaning.
        "kappa": both.kappa if len(set(actual)) > 1 else None,
        "sensitivity": rates.sensitivity,
        "sensitivity_interval": _pair(rates.sensitivity_interval),
        "specificity": rates.specificity,
        "specificity_interval": _pair(rates.specificity_interval),
        "states_true": sum(i.verdict.states_true == i.excerpt.states_true for i in known) / len(known)
        if known
        else None,
    }


def _pair(interval: stats.Interval | None) -> list[float] | None:
    return None if interval is None else [interval.low, interval.high]
