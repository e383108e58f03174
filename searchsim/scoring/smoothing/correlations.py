"""Whether reports that cite more, are longer, or claim more are smoother: across systems, within them, and pooled.

Three figures a variable, since they differ in what they can say. *Across*: over the means of each system on each
dataset, so that a system which writes long and smooths much shows. *Within*: over single reports, with what is
peculiar to their system and dataset taken out. *Pooled*: over single reports, nothing taken out, which mixes both.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import asdict, dataclass
from math import fsum, isclose, sqrt
from typing import Any, Literal

from searchsim.scoring.smoothing.scores import ReportScores

__all__ = ["Correlation", "correlation", "correlations", "significance", "within"]


@dataclass(frozen=True, slots=True)
class Correlation:
    """How two variables go together; None where it can't be told.

    Attributes:
        n: Number of points.
        rho: Spearman's rank correlation.
        rho_p: Its two-sided p-value.
        r: Pearson's correlation.
        r_p: Its two-sided p-value.
    """

    n: int
    rho: float | None = None
    rho_p: float | None = None
    r: float | None = None
    r_p: float | None = None


def correlation(x: Sequence[float], y: Sequence[float], clusters: Sequence[Hashable] | None = None) -> Correlation:
    """Spearman's and Pearson's correlation of points.

    Args:
        x: The points' first variable.
        y: Their second.
        clusters: What each point belongs to, where points hang together, as a report's claims do; see `significance`.

    Returns:
        The correlations; None with fewer than three points or where a variable is constant.

    Raises:
        ValueError: The lengths differ.
    """
    return within(x, y, [None] * len(x), clusters)


def within(
    x: Sequence[float],
    y: Sequence[float],
    groups: Sequence[Hashable],
    clusters: Sequence[Hashable] | None = None,
) -> Correlation:
    """The correlations of points within groups: what is left once each group's own level is taken out.

    Pearson's is the pooled within-group correlation, that of the deviations from the groups' means. Spearman's is the
    same of the ranks in each group (mid-ranks for ties), divided by the group's size plus 1 so that large groups'
    ranks aren't the larger. Its p-value is that of the slope in a regression with an intercept a group. With one group
    both are the plain correlations.

    Args:
        x: The points' first variable.
        y: Their second.
        groups: What each point belongs to, as system and dataset.
        clusters: What hangs together within groups; see `significance`.

    Returns:
        The correlations; None where there are too few points (no more than groups + 1) or no variation within groups.

    Raises:
        ValueError: The lengths differ.
    """
    if not len(x) == len(y) == len(groups):
        raise ValueError("each point needs both variables and a group")
    from scipy.stats import rankdata

    places: dict[Hashable, list[int]] = {}
    for i, group in enumerate(groups):
        places.setdefault(group, []).append(i)
    dof = len(x) - len(places) - 1

    def centred(values: Sequence[float], *, ranked: bool) -> list[float]:
        out = [0.0] * len(values)
        for inside in places.values():
            own = [float(values[i]) for i in inside]
            if ranked:
                own = [float(rank) / (len(own) + 1) for rank in rankdata(own)]
            mean = fsum(own) / len(own)
            for i, value in zip(inside, own, strict=True):
                # Equal values mustn't vary by the last bit of their mean.
                out[i] = 0.0 if isclose(value, mean, rel_tol=1e-12) else value - mean
        return out

    def of(*, ranked: bool) -> tuple[float | None, float | None]:
        a, b = centred(x, ranked=ranked), centred(y, ranked=ranked)
        aa, bb = fsum(v * v for v in a), fsum(v * v for v in b)
        if dof < 1 or not aa or not bb:
            return None, None
        r = max(-1.0, min(1.0, fsum(v * w for v, w in zip(a, b, strict=True)) / sqrt(aa) / sqrt(bb)))
        return r, significance(r, dof) if clusters is None else _clustered(a, b, clusters)

    return Correlation(len(x), *of(ranked=True), *of(ranked=False))


def significance(r: float, dof: int) -> float:
    """The two-sided p-value of a correlation: of ``r √(dof / (1 - r²))`` in Student's t with so many degrees.

    It is for points that are independent of each other.

    Args:
        r: From -1 to 1.
        dof: n - 2; less one more for each further group whose level was taken out.
    """
    from scipy.stats import t

    return 0.0 if abs(r) == 1 else float(2 * t.sf(abs(r) * sqrt(dof / (1 - r * r)), dof))


def _clustered(x: Sequence[float], y: Sequence[float], clusters: Sequence[Hashable]) -> float | None:
    """The p-value of a slope whose errors hang together in clusters (Liang & Zeger 1986, Biometrika 73:13-22)."""
    codes = {c: i for i, c in enumerate(dict.fromkeys(clusters))}
    if len(codes) < 3:
        return None
    from statsmodels.api import OLS

    fit = OLS(y, x).fit(cov_type="cluster", cov_kwds={"groups": [codes[c] for c in clusters]}, use_t=True)
    p = float(fit.pvalues[0])
    return p if p == p else None


@dataclass(frozen=True, slots=True)
class _Variable:
    """What is correlated with smoothing: its value of a report, or of each claim."""

    unit: Literal["report", "claim"]
    of: Callable[[ReportScores], float | Sequence[float]]


_VARIABLES = {
    "documents": _Variable("report", lambda r: r.documents),
    "words": _Variable("report", lambda r: r.words),
    "claims": _Variable("report", lambda r: len(r.claims)),
    "claim_words": _Variable("claim", lambda r: [c.words for c in r.claims if c.score is not None]),
}
"""By their keys: documents cited, words of the report, claims of the report, words of a claim."""


@dataclass(frozen=True, slots=True)
class _Point:
    report: ReportScores
    x: float
    y: float

    @property
    def cell(self) -> tuple[str, str]:
        return self.report.system, self.report.dataset


def correlations(reports: Sequence[ReportScores]) -> dict[str, Any]:
    """How smoothing goes with documents cited, words, claims, and words a claim.

    A point is a report (its mean score; reports without a scored claim are left out) or, for the words of a claim, a
    claim, whose p-values then take a report's claims as one cluster. Across systems a point is a system on a dataset:
    the mean over its reports or claims, and the mean score of all its claims.

    Args:
        reports: Of all systems and datasets.

    Returns:
        For each variable JSON with unit (``report`` or ``claim``), and across, within, pooled, each as `Correlation`;
        and by_system, the same as within for each system alone.
    """
    scored = [r for r in reports if r.scores]
    return {name: _correlations(variable, scored) for name, variable in _VARIABLES.items()}


def _correlations(variable: _Variable, reports: Sequence[ReportScores]) -> dict[str, Any]:
    points = [p for r in reports for p in _points(variable, r)]
    systems = list(dict.fromkeys(r.system for r in reports))
    cells: dict[tuple[str, str], list[ReportScores]] = {}
    for report in reports:
        cells.setdefault((report.system, report.dataset), []).append(report)
    clusters = variable.unit == "claim"

    def of(chosen: Sequence[_Point], *, grouped: bool) -> dict[str, Any]:
        groups = [p.cell if grouped else None for p in chosen]
        named = [(*p.cell, p.report.report) for p in chosen] if clusters else None
        return asdict(within([p.x for p in chosen], [p.y for p in chosen], groups, named))

    across = correlation(
        [_mean([p.x for p in points if p.cell == cell]) for cell in cells],
        [_mean([s for r in inside for s in r.scores]) for inside in cells.values()],
    )
    return {
        "unit": variable.unit,
        "across": asdict(across),
        "within": of(points, grouped=True),
        "pooled": of(points, grouped=False),
        "by_system": {s: of([p for p in points if p.report.system == s], grouped=True) for s in systems},
    }


def _points(variable: _Variable, report: ReportScores) -> list[_Point]:
    value = variable.of(report)
    if isinstance(value, Sequence):
        return [_Point(report, x, y) for x, y in zip(value, report.scores, strict=True)]
    return [_Point(report, value, _mean(report.scores))]


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)
