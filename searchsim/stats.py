"""Intervals, paired tests, power and decompositions for proportions of runs.

Pure functions, thin over scipy and statsmodels. Proportions and p-values are fractions from 0 to 1, never percentages.
A difference is the first minus the second. Where there is no data a function gives None, never a nan: no interval of
nothing exists. All are valid where nothing or everything happened, so none rests on a normal approximation of a
proportion at its boundary. Arguments that no data can give raise ValueError. The libraries take seconds to import, so
each function imports its own.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import fsum, gcd, lcm, sqrt

__all__ = [
    "Agreement",
    "Interval",
    "Paired",
    "SensitivitySpecificity",
    "agreement",
    "bounds",
    "clustered_newcombe",
    "clustered_wilson",
    "detectable",
    "effective_size",
    "holm",
    "largest_discordant",
    "mcnemar_exact",
    "midpoint",
    "newcombe_paired",
    "page_trend",
    "pair_counts",
    "power_mcnemar",
    "rogan_gladen",
    "sensitivity_specificity",
    "sign_flip",
    "smallest_significant",
    "wilson",
]

_LATTICE = 100_000
"""Steps either way of the longest exact sign-flip distribution: half a second with 600 clusters."""

_GRID = 1000
"""Detectable differences are found to one part in this many."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A closed interval of proportions, or of differences between proportions."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Paired:
    """Pairs of yes-or-no outcomes, counted.

    Attributes:
        both: Pairs whose outcomes are both true.
        only_first: Pairs of which the first alone is true.
        only_second: Pairs of which the second alone is true.
        neither: Pairs whose outcomes are both false.
    """

    both: int
    only_first: int
    only_second: int
    neither: int

    @property
    def n(self) -> int:
        """Number of pairs."""
        return self.both + self.only_first + self.only_second + self.neither

    @property
    def difference(self) -> float | None:
        """The first's proportion less the second's; None without pairs."""
        return (self.only_first - self.only_second) / self.n if self.n else None


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two raters of the same items agree.

    Attributes:
        n: Number of items.
        exact: Share of items with the same label from both; None without items.
        kappa: Cohen's kappa, from -1 to 1; None where chance alone would make them agree always, as where both give
            one and the same label throughout.
    """

    n: int
    exact: float | None
    kappa: float | None


@dataclass(frozen=True, slots=True)
class SensitivitySpecificity:
    """How well predictions tell what is so from what isn't.

    Attributes:
        positives: Items that are so.
        negatives: Items that aren't.
        sensitivity: Share of the positives predicted so; None without positives.
        specificity: Share of the negatives predicted not so; None without negatives.
        sensitivity_interval: Its Wilson interval, or None.
        specificity_interval: Its Wilson interval, or None.
    """

    positives: int
    negatives: int
    sensitivity: float | None
    specificity: float | None
    sensitivity_interval: Interval | None
    specificity_interval: Interval | None


def wilson(successes: float, n: float, confidence: float = 0.95) -> Interval | None:
    """Wilson's score interval of a proportion (Wilson 1927, JASA 22:209-212), without continuity correction.

    Args:
        successes: How often it happened, 0 to n. A fraction where n is an effective size: proportion · size.
        n: How often it could have; an effective size needn't be whole.
        confidence: Its level, between 0 and 1.

    Returns:
        Limits within [0, 1] that hold the proportion; None where n is 0.

    Raises:
        ValueError: There are more successes than n, fewer than 0, or the level isn't one.
    """
    _open_unit(confidence, "confidence")
    if not 0 <= successes <= n:
        raise ValueError(f"successes must be from 0 to n: {successes} of {n}")
    if n == 0:
        return None
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(successes, n, alpha=1 - confidence, method="wilson")
    # The last bit of a limit may miss a proportion of 0 or 1.
    return Interval(min(float(low), successes / n), max(float(high), successes / n))


def effective_size(values_by_cluster: Sequence[Sequence[float]]) -> float:
    """How many independent values say as much about the mean as these, which cluster.

    n / deff with the design effect ``deff = 1 + (m - 1) ρ`` (Kish 1965, Survey Sampling), where ``m = Σmᵢ²/Σmᵢ`` is
    the size of the cluster that a value is in on average, which makes deff that of the mean over clusters of unequal
    sizes (Donner & Klar 2000, Design and Analysis of Cluster Randomization Trials), and ρ the one-way ANOVA estimate
    of the intraclass correlation, which serves binary values too (Donner 1986, Int. Stat. Rev. 54:67-82; Ridout,
    Demétrio & Firth 1999, Biometrics 55:137-148)::

        ρ = (MSB - MSW) / (MSB + (m₀ - 1) MSW)        m₀ = (n - Σmᵢ²/n) / (k - 1)

    for k clusters, clipped to [0, 1]: no more than independent values would say. Where all values are equal, or there
    is one cluster, ρ is unknown and the size is k, as if repetitions said nothing; so it jumps there, and an interval
    at 0 or 100 % may be wider than with one value changed.

    Args:
        values_by_cluster: The values (0 or 1, or differences of such) of each cluster, as of a task's repetitions.
            Empty clusters don't count.

    Returns:
        The size, from 1 to n; n with one value a cluster; 0.0 without values.
    """
    clusters = [c for c in values_by_cluster if len(c)]
    sizes = [len(c) for c in clusters]
    n, k = sum(sizes), len(clusters)
    if n == k or k == 1 or len({v for c in clusters for v in c}) == 1:
        return float(k)
    means = [fsum(c) / len(c) for c in clusters]
    mean = fsum(v for c in clusters for v in c) / n
    between = fsum(m * (own - mean) ** 2 for m, own in zip(sizes, means, strict=True)) / (k - 1)
    within = fsum((v - own) ** 2 for c, own in zip(clusters, means, strict=True) for v in c) / (n - k)
    weighted = sum(m * m for m in sizes) / n
    m0 = (n - weighted) / (k - 1)
    icc = min(1.0, max(0.0, (between - within) / (between + (m0 - 1) * within)))
    return n / (1 + (weighted - 1) * icc)


def clustered_wilson(values_by_cluster: Sequence[Sequence[int]], confidence: float = 0.95) -> Interval | None:
    """Wilson's interval of a proportion whose values cluster.

    The proportion is over all values alike, the interval that of as many successes in `effective_size` trials, as
    Korn & Graubard (1998, Survey Methodology 24:193-201) do with the exact interval and Dean & Pagano (2015, J. Surv.
    Stat. Methodol. 3:484-503) compare for others; their widening for few clusters (a t in place of a normal quantile)
    isn't applied. With one value a cluster it is `wilson` exactly.

    Args:
        values_by_cluster: Zeros and ones, or booleans, of each cluster.
        confidence: Its level, between 0 and 1.

    Returns:
        Limits within [0, 1] that hold the proportion; None without values.

    Raises:
        ValueError: The level isn't one, or the values aren't zeros and ones.
    """
    values = [v for c in values_by_cluster for v in c]
    if not {*values} <= {0, 1}:
        raise ValueError("values must be 0 or 1")
    scale = effective_size(values_by_cluster) / max(len(values), 1)
    return wilson(sum(values) * scale, len(values) * scale, confidence)


def pair_counts(pairs: Iterable[tuple[bool, bool]]) -> Paired:
    """Count pairs of outcomes.

    Args:
        pairs: First and second outcome of each.
    """
    counts = Counter((bool(first), bool(second)) for first, second in pairs)
    return Paired(counts[True, True], counts[True, False], counts[False, True], counts[False, False])


def mcnemar_exact(only_first: int, only_second: int) -> float:
    """The two-sided p-value of McNemar's exact test that two paired proportions are equal.

    Twice the smaller tail of the discordant pairs' binomial distribution with probability ½, at most 1 (McNemar 1947,
    Psychometrika 12:153-157; Agresti 2013, §11.1).

    Args:
        only_first: Pairs of which the first alone is true.
        only_second: Pairs of which the second alone is true.

    Returns:
        The p-value; 1.0 without discordant pairs.

    Raises:
        ValueError: A count is negative.
    """
    if only_first < 0 or only_second < 0:
        raise ValueError(f"counts of pairs can't be negative: {only_first}, {only_second}")
    from statsmodels.stats.contingency_tables import mcnemar

    return float(mcnemar([[0, only_first], [only_second, 0]], exact=True).pvalue)


def newcombe_paired(pairs: Paired, confidence: float = 0.95) -> Interval | None:
    """Newcombe's interval of the difference between two paired proportions.

    Method 10 of Newcombe (1998, Stat. Med. 17:2635-2650): Wilson's limits of both proportions, squared and added::

        low  = D - √((p₁ - l₁)² - 2φ (p₁ - l₁)(u₂ - p₂) + (u₂ - p₂)²)
        high = D + √((p₂ - l₂)² - 2φ (p₂ - l₂)(u₁ - p₁) + (u₁ - p₁)²)

    where ``φ = C / √((a + b)(c + d)(a + c)(b + d))`` for the pairs a (both), b, c (discordant), d (neither), and C is
    ``B = ad - bc`` where that is negative, else ``max(B - n/2, 0)``; φ is 0 where a proportion is 0 or 1. It isn't
    the inverse of `mcnemar_exact`: the two may disagree on whether a difference is 0.

    Args:
        pairs: The counts.
        confidence: Its level, between 0 and 1.

    Returns:
        Limits within [-1, 1] that hold the difference; None without pairs.

    Raises:
        ValueError: The level isn't one, or a count is negative.
    """
    return _square_and_add(pairs, pairs.n, confidence)


def clustered_newcombe(
    pairs_by_cluster: Sequence[Sequence[tuple[bool, bool]]], confidence: float = 0.95
) -> Interval | None:
    """Newcombe's interval of the difference between paired proportions whose pairs cluster.

    `newcombe_paired` on the same proportions of as many pairs as the `effective_size` of the pairs' differences: the
    interval's width estimates the variance of their mean, so it is their correlation within clusters that counts.
    What makes a task's outcomes alike in both arms cancels, and an arm's own effective size would count it. Without
    a discordant pair the size is the number of clusters.

    Args:
        pairs_by_cluster: First and second outcome of each cluster's pairs, as of a task's repetitions or of runs that
            share a control.
        confidence: Its level, between 0 and 1.

    Returns:
        Limits within [-1, 1] that hold the difference over all pairs alike; None without pairs.

    Raises:
        ValueError: The level isn't one.
    """
    counts = pair_counts(pair for cluster in pairs_by_cluster for pair in cluster)
    differences = [[bool(first) - bool(second) for first, second in cluster] for cluster in pairs_by_cluster]
    return _square_and_add(counts, effective_size(differences), confidence)


def _square_and_add(pairs: Paired, size: float, confidence: float) -> Interval | None:
    """Newcombe's method 10 for the proportions of some pairs, as if there were `size` of them."""
    _open_unit(confidence, "confidence")
    a, b, c, d, n = pairs.both, pairs.only_first, pairs.only_second, pairs.neither, pairs.n
    if min(a, b, c, d) < 0:
        raise ValueError(f"counts of pairs can't be negative: {pairs}")
    scale = size / max(n, 1)
    first = wilson((a + b) * scale, n * scale, confidence)
    second = wilson((a + c) * scale, n * scale, confidence)
    if first is None or second is None:
        return None
    margins = (a + b) * (c + d) * (a + c) * (b + d)
    association = float(a * d - b * c)
    if association > 0:
        # Counts times the scale: the association grows by its square, the correction n/2 by itself.
        association = max(association - n / (2 * scale), 0.0)
    phi = association / sqrt(margins) if margins else 0.0

    def distance(x: float, y: float) -> float:
        return sqrt(max(x * x - 2 * phi * x * y + y * y, 0.0))

    p1, p2, difference = (a + b) / n, (a + c) / n, (b - c) / n
    low = difference - distance(p1 - first.low, second.high - p2)
    high = difference + distance(p2 - second.low, first.high - p1)
    return Interval(max(low, -1.0), min(high, 1.0))


def sign_flip(differences_by_cluster: Sequence[Sequence[float]], *, resamples: int = 99_999, seed: int = 0) -> float:
    """The two-sided p-value of a sign-flip test that clusters of paired differences are centred on 0.

    Each cluster's mean difference is as likely one way as the other if the two conditions are alike (Fisher 1935, The
    Design of Experiments, §21); the statistic is the sum of these means, so that each cluster counts once. The
    distribution over all 2ᵏ sets of signs is exact where the means have a small common denominator, as those of
    outcomes have: it is built cluster by cluster. Else `scipy.stats.permutation_test` gives it, exactly up to
    `resamples` sets, beyond by random ones (Phipson & Smyth 2010). With one pair of outcomes a cluster it is
    `mcnemar_exact`.

    Args:
        differences_by_cluster: The differences, first less second, of each cluster's pairs. Empty clusters don't
            count.
        resamples: Number of random sets of signs where not all are tried.
        seed: Of the random sets.

    Returns:
        The p-value; 1.0 without a difference.
    """
    means = [sum(map(Fraction, c), Fraction()) / len(c) for c in differences_by_cluster if len(c)]
    means = [m for m in means if m]  # a 0 is the same with either sign
    if not means:
        return 1.0
    import numpy as np

    unit = lcm(*(m.denominator for m in means))
    steps = [int(m * unit) for m in means]
    common = gcd(*steps)
    steps = [s // common for s in steps]
    reach = sum(map(abs, steps))
    if reach <= _LATTICE:
        null = np.zeros(2 * reach + 1)
        null[reach] = 1
        for step in steps:
            null = (np.roll(null, step) + np.roll(null, -step)) / 2
        extreme = np.abs(np.arange(-reach, reach + 1)) >= abs(sum(steps))
        return min(1.0, float(null[extreme].sum()))
    from scipy.stats import permutation_test

    result = permutation_test(
        (np.array([float(m) for m in means]),),
        np.sum,
        permutation_type="samples",
        vectorized=True,
        n_resamples=resamples,
        batch=10_000,
        rng=np.random.default_rng(seed),
    )
    return float(result.pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted for their number by Holm's step-down method (Holm 1979, Scand. J. Stat. 6:65-70).

    Args:
        p_values: Those of one family of tests.

    Returns:
        The adjusted ones, at most 1, in the same order; an empty list for none.
    """
    if not len(p_values):
        return []
    from statsmodels.stats.multitest import multipletests

    return [float(p) for p in multipletests(p_values, method="holm")[1]]


def bounds(successes: int, judged: int, planned: int) -> Interval | None:
    """The proportions over all planned runs if the missing ones were all 0 and if they were all 1.

    The worst case of missing outcomes (Horowitz & Manski 2000, JASA 95:77-84), without sampling error.

    Args:
        successes: Runs in which it happened.
        judged: Runs of which it is known whether it happened.
        planned: All runs, known or not.

    Returns:
        Both proportions; None where nothing was planned.

    Raises:
        ValueError: Not 0 ≤ successes ≤ judged ≤ planned.
    """
    if not 0 <= successes <= judged <= planned:
        raise ValueError(f"not 0 ≤ successes ≤ judged ≤ planned: {successes}, {judged}, {planned}")
    if planned == 0:
        return None
    return Interval(successes / planned, (successes + planned - judged) / planned)


def smallest_significant(n_pairs: int, alpha: float = 0.05) -> int | None:
    """The fewest discordant pairs, all one way, with which `mcnemar_exact` is below alpha.

    Args:
        n_pairs: Number of pairs.
        alpha: Level of the test, between 0 and 1.

    Returns:
        The number; None where even all pairs wouldn't do.

    Raises:
        ValueError: The level isn't one.
    """
    _open_unit(alpha, "alpha")
    return next((d for d in range(1, n_pairs + 1) if mcnemar_exact(d, 0) < alpha), None)


def largest_discordant(gap: int, n: int, alpha: float = 0.05) -> int | None:
    """The most discordant pairs among which a net gap still brings `mcnemar_exact` below alpha.

    The more pairs differ, the less a gap of so many pairs means; fewer discordant pairs, of the same parity, are
    significant too.

    Args:
        gap: The pairs that differ one way less those that differ the other way, 0 or more.
        n: Number of pairs, concordant ones too.
        alpha: Level of the test, between 0 and 1.

    Returns:
        The number, from gap to n; None where the gap is never significant or n too small for it.

    Raises:
        ValueError: The level isn't one, or the gap is negative.
    """
    _open_unit(alpha, "alpha")
    if gap < 0:
        raise ValueError(f"gap must be 0 or more: {gap}")
    import numpy as np
    from scipy.stats import binom

    discordant = np.arange(gap, n + 1, 2)
    significant = discordant[2 * binom.cdf((discordant - gap) // 2, discordant, 0.5) < alpha]
    return int(significant[-1]) if len(significant) else None


def power_mcnemar(n: int, p_only_first: float, p_only_second: float, alpha: float = 0.05) -> float:
    """The probability that `mcnemar_exact` is below alpha, exactly and unconditionally.

    The sum over all numbers of discordant pairs (binomial in n) of the probability that their split (binomial in
    their number) is significant (Schork & Williams 1980, Commun. Stat. B 9:349-357; Duffy 1984, Biometrics
    40:1005-1015).

    Args:
        n: Number of pairs, 0 or more.
        p_only_first: Probability that of a pair the first alone is true.
        p_only_second: Probability that of a pair the second alone is true.
        alpha: Level of the test, between 0 and 1.

    Raises:
        ValueError: The level isn't one, n is negative, or the probabilities aren't or sum to more than 1.
    """
    _open_unit(alpha, "alpha")
    either = p_only_first + p_only_second
    if n < 0 or min(p_only_first, p_only_second) < 0 or either > 1 + 1e-9:
        raise ValueError(f"not {n} pairs with such probabilities: {p_only_first}, {p_only_second}")
    if either < 1e-12:  # binom.pmf overflows near the smallest floats
        return 0.0
    import numpy as np
    from scipy.stats import binom

    discordant = np.arange(n + 1)
    # The largest smaller count that is significant: the quantile or the one before it; -1 where none is.
    critical = binom.ppf(alpha / 2, discordant, 0.5)
    critical -= 2 * binom.cdf(critical, discordant, 0.5) >= alpha
    share = p_only_first / either
    rejected = binom.cdf(critical, discordant, share) + binom.sf(discordant - critical - 1, discordant, share)
    return min(1.0, float(np.dot(binom.pmf(discordant, n, min(either, 1.0)), rejected)))


def detectable(n: int, alpha: float = 0.05, power: float = 0.8, opposed: float = 0.0) -> float | None:
    """The smallest true difference that `mcnemar_exact` detects with a given power.

    Args:
        n: Number of pairs, 0 or more.
        alpha: Level of the test, between 0 and 1.
        power: The least `power_mcnemar` that will do, between 0 and 1.
        opposed: Share of pairs that truly go the other way, at most ½: `p_only_second`, where `p_only_first` is this
            plus the difference. The more do, the larger the difference must be.

    Returns:
        The difference, rounded up to 0.001; None where the largest possible, 1 - 2 · opposed, isn't detected.

    Raises:
        ValueError: A level isn't one, n is negative, or opposed isn't from 0 to ½.
    """
    _open_unit(alpha, "alpha")
    _open_unit(power, "power")
    if n < 0 or not 0 <= opposed <= 0.5:
        raise ValueError(f"n must be 0 or more and opposed from 0 to ½: {n}, {opposed}")
    steps = range(1, int((1 - 2 * opposed) * _GRID + 1e-9) + 1)
    at = bisect_left(steps, True, key=lambda i: power_mcnemar(n, opposed + i / _GRID, opposed, alpha) >= power)
    return steps[at] / _GRID if at < len(steps) else None


def midpoint(mer_1: float, ecar_1: float, mer_2: float, ecar_2: float) -> tuple[float, float]:
    """The difference between two FCARs, split into the part of exposure and the part of adoption.

    The midpoint rule: the change of each factor at the mean of the other (Kitagawa 1955, JASA 50:1168-1194; the
    Shapley value of two factors, Shorrocks 2013, J. Econ. Inequal. 11:99-126). Of FCAR = MER · ECAR, so an adoption
    without exposure is in neither part.

    Args:
        mer_1: Share of the first's runs that were exposed.
        ecar_1: Share of these that adopted.
        mer_2: Share of the second's runs that were exposed.
        ecar_2: Share of these that adopted.

    Returns:
        The parts of exposure and of adoption, which sum to ``mer_1 · ecar_1 - mer_2 · ecar_2``.
    """
    return (mer_1 - mer_2) * (ecar_1 + ecar_2) / 2, (ecar_1 - ecar_2) * (mer_1 + mer_2) / 2


def agreement(first: Sequence[str], second: Sequence[str]) -> Agreement:
    """How far two raters agree: exactly, and beyond chance (Cohen 1960, Educ. Psychol. Meas. 20:37-46).

    Args:
        first: One rater's label of each item; labels have no order.
        second: The other's of the same items.

    Raises:
        ValueError: One rated more items than the other.
    """
    counts = Counter(zip(first, second, strict=True))
    labels = sorted({*first, *second})
    n = len(first)
    exact = sum(counts[label, label] for label in labels) / n if n else None
    if len(labels) < 2:
        return Agreement(n, exact, None)
    from statsmodels.stats.inter_rater import cohens_kappa

    table = [[counts[row, column] for column in labels] for row in labels]
    return Agreement(n, exact, float(cohens_kappa(table, return_results=False)))


def sensitivity_specificity(
    predicted: Sequence[bool], actual: Sequence[bool], confidence: float = 0.95
) -> SensitivitySpecificity:
    """Of what is so, the share predicted so; of what isn't, the share predicted not so; each with `wilson`.

    Args:
        predicted: What was said of each item, as by a judge.
        actual: What is so, as by people.
        confidence: The intervals' level, between 0 and 1.

    Raises:
        ValueError: The lengths differ, or the level isn't one.
    """
    counts = pair_counts(zip(predicted, actual, strict=True))
    positives, negatives = counts.both + counts.only_second, counts.neither + counts.only_first
    return SensitivitySpecificity(
        positives,
        negatives,
        counts.both / positives if positives else None,
        counts.neither / negatives if negatives else None,
        wilson(counts.both, positives, confidence),
        wilson(counts.neither, negatives, confidence),
    )


def rogan_gladen(apparent: float, sensitivity: float, specificity: float) -> float | None:
    """A proportion corrected for the errors of what measured it.

    ``(apparent + specificity - 1) / (sensitivity + specificity - 1)``, clipped to [0, 1] (Rogan & Gladen 1978, Am. J.
    Epidemiol. 107:71-76).

    Args:
        apparent: The proportion measured.
        sensitivity: Of what is so, the share measured so.
        specificity: Of what isn't, the share measured not so.

    Returns:
        The corrected proportion; None where the measure is no better than chance (sensitivity + specificity ≤ 1).
    """
    informedness = sensitivity + specificity - 1
    if informedness <= 0:
        return None
    return min(1.0, max(0.0, (apparent + specificity - 1) / informedness))


def page_trend(rows: Sequence[Sequence[float]]) -> float | None:
    """The one-sided p-value of Page's test that values rise along the rows (Page 1963, JASA 58:216-230).

    `scipy.stats.page_trend_test`, exact for small tables without ties; with ties it is approximate.

    Args:
        rows: One row a block (an agent, a task), each with one value a level, in the levels' order.

    Returns:
        The p-value; None with fewer than two rows or three levels.

    Raises:
        ValueError: The rows' lengths differ.
    """
    lengths = {len(row) for row in rows}
    if len(lengths) > 1:
        raise ValueError("every row must have one value a level")
    if len(rows) < 2 or min(lengths) < 3:
        return None
    from scipy.stats import page_trend_test

    return float(page_trend_test(rows).pvalue)


def _open_unit(value: float, name: str) -> None:
    if not 0 < value < 1:
        raise ValueError(f"{name} must be between 0 and 1: {value}")
