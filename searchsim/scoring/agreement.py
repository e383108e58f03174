"""How far a judge agrees with people: its verdicts on excerpts that were labelled by hand, or its scores of claims."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from searchsim import stats
from searchsim.documents import Blueprint, Excerpt
from searchsim.judge import Judge, Verdict
from searchsim.scoring.smoothing.correlations import correlation

__all__ = ["Judged", "agreement", "judge_excerpts", "ordinal_agreement", "ordinal_alpha"]


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


def ordinal_agreement(
    first: Sequence[int | None], second: Sequence[int | None], *, scale: Sequence[int], threshold: int
) -> dict[str, Any]:
    """Agreement of two raters who score the same items on a scale that has an order.

    Args:
        first: One rater's score of each item, as a judge's; None for unscored.
        second: The other's, as a person's.
        scale: The scores that can be given, lowest first.
        threshold: From this score on an item is flagged.

    Returns:
        JSON with n (items that both scored), unscored (the rest), exact, within_one (shares of n), rho (Spearman),
        alpha (`ordinal_alpha`), kappa (Cohen's, of flagged or not), flagged (items that the first flags), ppv (of
        these the share that the second flags too) and its Wilson interval. A figure is None where it is undefined:
        nothing is scored, or nothing is flagged, or a rater's labels are all the same (rho, kappa).

    Raises:
        ValueError: One rated more items than the other, or a score isn't on the scale.
    """
    # A score that is written as 2.0 is the scale's 2.
    on = {score: score for score in scale}
    scored = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    pairs = [(on.get(a, a), on.get(b, b)) for a, b in scored]
    n = len(pairs)
    one, other = [a for a, _ in pairs], [b for _, b in pairs]
    alpha = ordinal_alpha([one, other], scale=scale)
    flags = [(a >= threshold, b >= threshold) for a, b in pairs]
    both = stats.agreement([str(a) for a, _ in flags], [str(b) for _, b in flags])
    flagged = sum(a for a, _ in flags)
    right = sum(a and b for a, b in flags)
    return {
        "n": n,
        "unscored": len(first) - n,
        "exact": stats.agreement([str(a) for a in one], [str(b) for b in other]).exact,
        "within_one": sum(abs(scale.index(a) - scale.index(b)) <= 1 for a, b in pairs) / n if n else None,
        "rho": correlation(one, other).rho,
        "alpha": alpha,
        "kappa": both.kappa,
        "flagged": flagged,
        "ppv": right / flagged if flagged else None,
        "ppv_interval": _pair(stats.wilson(right, flagged)),
    }


def ordinal_alpha(ratings: Sequence[Sequence[int | None]], *, scale: Sequence[int]) -> float | None:
    """Krippendorff's alpha of scores that have an order (Krippendorff 2019, Content Analysis, 4th ed., ch. 12).

    Args:
        ratings: For each rater the score of each item; None for unscored.
        scale: The scores that can be given, lowest first.

    Returns:
        Alpha, 1 for perfect agreement and 0 for that of chance; None where no item is scored by two, or all scores of
        such items are the same, so that chance has no meaning.

    Raises:
        ValueError: The raters' lengths differ, or a score isn't on the scale.
    """
    items = list(zip(*ratings, strict=True))
    if stray := {s for item in items for s in item if s is not None} - {*scale}:
        raise ValueError(f"a score is one of {tuple(scale)} or none: {min(stray)}")
    paired = [item for item in items if sum(s is not None for s in item) > 1]
    if len({s for item in paired for s in item if s is not None}) < 2:
        return None
    from krippendorff import alpha

    # Which item it is doesn't matter to alpha, only how often each score was given to it.
    counts = [[item.count(s) for s in scale] for item in paired]
    return float(alpha(value_counts=counts, value_domain=list(scale), level_of_measurement="ordinal"))


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
