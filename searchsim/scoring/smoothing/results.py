"""What claims' scores say of reports, of datasets and of systems. Pure functions over scored reports.

A claim without a score is in no mean and no share. How many there are stands beside them: unscored, as its documents
couldn't be had, or unjudged, as a model gave no usable answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from searchsim import stats
from searchsim.scoring.smoothing.correlations import correlations
from searchsim.scoring.smoothing.scores import BINS, ReportScores

__all__ = [
    "MATERIAL",
    "RESAMPLES",
    "SEVERE",
    "distribution",
    "mean_interval",
    "results",
    "spread",
    "summary",
]

MATERIAL = 3
"""From this score on a claim is materially smoother than its evidence."""

SEVERE = 4
"""From this score on a claim needs substantial revision."""

RESAMPLES = 10_000
"""Samples of a bootstrap."""


def distribution(scores: Iterable[int | None], unjudged: int = 0) -> dict[str, Any]:
    """How scores are spread.

    Args:
        scores: A claim's each; None without one.
        unjudged: How many of those without one are unjudged; the others are unscored.

    Returns:
        JSON with claims (their number), scored, unscored, unjudged, mean, bins (how many have each score, by the score
        as text), shares (the same as fractions of those scored), at_least_3 and at_least_4 (fractions too); mean and
        fractions are None where nothing is scored.

    Raises:
        ValueError: A score is none of `BINS`.
    """
    count = Counter(scores)
    if stray := [s for s in count if s is not None and s not in BINS]:
        raise ValueError(f"a score is one of {BINS} or none: {stray[0]}")
    missing = count.pop(None, 0)
    scored = count.total()

    def share(low: int, high: int = max(BINS)) -> float | None:
        return sum(count[b] for b in BINS if low <= b <= high) / scored if scored else None

    return {
        "claims": scored + missing,
        "scored": scored,
        "unscored": missing - unjudged,
        "unjudged": unjudged,
        "mean": sum(b * count[b] for b in BINS) / scored if scored else None,
        "bins": {str(b): count[b] for b in BINS},
        "shares": {str(b): share(b, b) for b in BINS},
        "at_least_3": share(MATERIAL),
        "at_least_4": share(SEVERE),
    }


def mean_interval(
    values_by_cluster: Sequence[Sequence[float]],
    confidence: float = 0.95,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> stats.Interval | None:
    """The percentile bootstrap interval of a mean over all values, whole clusters being drawn.

    The claims of a report hang together, so that reports are drawn with replacement, as many as there are, and each
    brings all its claims (Davison & Hinkley 1997, Bootstrap Methods and their Application, §3.8, its first strategy;
    Field & Welsh 2007, J. R. Stat. Soc. B 69:369-390). The statistic is the ratio of the drawn clusters' sums and
    sizes, so the longer report counts for more, as it does in the mean. `scipy.stats.bootstrap` draws. With few
    clusters such an interval is too narrow.

    Args:
        values_by_cluster: The values of each cluster, as of a report's claims. Empty clusters don't count.
        confidence: Its level, between 0 and 1.
        resamples: Samples drawn.
        seed: Of the draws.

    Returns:
        The limits; None with fewer than two clusters, of which nothing can be drawn.
    """
    clusters = [c for c in values_by_cluster if len(c)]
    if len(clusters) < 2:
        return None
    import numpy as np
    from scipy.stats import bootstrap

    sums, sizes = [sum(c) for c in clusters], [len(c) for c in clusters]
    found = bootstrap(
        (sums, sizes),
        lambda total, n, axis: total.sum(axis=axis) / n.sum(axis=axis),
        paired=True,
        vectorized=True,
        method="percentile",
        n_resamples=resamples,
        batch=1000,
        confidence_level=confidence,
        rng=np.random.default_rng(seed),
    )
    return stats.Interval(float(found.confidence_interval.low), float(found.confidence_interval.high))


def spread(reports: Sequence[ReportScores]) -> dict[str, Any]:
    """The `distribution` of some reports' claims."""
    claims = [c for r in reports for c in r.claims]
    return distribution((c.score for c in claims), sum(c.unjudged for c in claims))


def summary(reports: Sequence[ReportScores], *, resamples: int = RESAMPLES, seed: int = 0) -> dict[str, Any]:
    """Some reports' scores together.

    Args:
        reports: Which.
        resamples: Samples of the bootstrap.
        seed: Of its draws.

    Returns:
        JSON of `distribution` over all their claims, with reports (their number), mean_interval (`mean_interval`, by
        report) and at_least_3_interval, at_least_4_interval (`stats.clustered_wilson`, by report), each a pair or None.
    """
    clusters = [r.scores for r in reports]

    def share_interval(low: int) -> list[float] | None:
        return _pair(stats.clustered_wilson([[int(s >= low) for s in c] for c in clusters]))

    return {
        "reports": len(reports),
        **spread(reports),
        "mean_interval": _pair(mean_interval(clusters, resamples=resamples, seed=seed)),
        "at_least_3_interval": share_interval(MATERIAL),
        "at_least_4_interval": share_interval(SEVERE),
    }


def results(reports: Sequence[ReportScores], *, resamples: int = RESAMPLES, seed: int = 0) -> dict[str, Any]:
    """All figures of some scored reports.

    Args:
        reports: All reports, of any systems and datasets.
        resamples: Samples of each bootstrap.
        seed: Of its draws; the same reports, samples and seed give the same figures.

    Returns:
        JSON with these fields:

        - ``reports``: for each report, system and dataset the `distribution` of its claims
        - ``cells``: for each system and dataset the `summary`
        - ``systems``: for each system the `summary` over all its datasets
        - ``correlations``: see `searchsim.scoring.smoothing.correlations.correlations`
        - ``bootstrap``: method, clusters, confidence, resamples and seed
    """

    def by(key: Callable[[ReportScores], tuple[str, ...]], *names: str) -> list[dict[str, Any]]:
        groups: dict[tuple[str, ...], list[ReportScores]] = {}
        for report in reports:
            groups.setdefault(key(report), []).append(report)
        return [
            {**dict(zip(names, group, strict=True)), **summary(inside, resamples=resamples, seed=seed)}
            for group, inside in groups.items()
        ]

    return {
        "reports": [
            {
                "report": r.report,
                "system": r.system,
                "dataset": r.dataset,
                "documents": r.documents,
                "words": r.words,
                **spread([r]),
            }
            for r in reports
        ],
        "cells": by(lambda r: (r.dataset, r.system), "dataset", "system"),
        "systems": by(lambda r: (r.system,), "system"),
        "correlations": correlations(reports),
        "bootstrap": {
            "method": "percentile",
            "clusters": "reports",
            "confidence": 0.95,
            "resamples": resamples,
            "seed": seed,
        },
    }


def _pair(interval: stats.Interval | None) -> list[float] | None:
    return None if interval is None else [interval.low, interval.high]
