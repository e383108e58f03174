"""The statistics: published numbers, brute force where it is possible, and what must hold for any data."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from itertools import product
from math import comb, prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from searchsim.stats import (
    Agreement,
    Interval,
    Paired,
    agreement,
    bounds,
    clustered_newcombe,
    clustered_wilson,
    detectable,
    effective_size,
    holm,
    largest_discordant,
    mcnemar_exact,
    midpoint,
    newcombe_paired,
    page_trend,
    pair_counts,
    power_mcnemar,
    rogan_gladen,
    sensitivity_specificity,
    sign_flip,
    smallest_significant,
    wilson,
)

untimed = settings(deadline=None, max_examples=60)
counts = st.integers(0, 40)
tables = st.builds(Paired, counts, counts, counts, counts)
outcomes = st.lists(st.lists(st.integers(0, 1), max_size=4), max_size=12)
pairs = st.lists(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=4), max_size=12)


def _percent(interval: Interval | None) -> tuple[float, float]:
    assert interval is not None
    return round(100 * interval.low, 1), round(100 * interval.high, 1)


def _digits(interval: Interval | None, digits: int) -> tuple[float, float]:
    assert interval is not None
    return round(interval.low, digits), round(interval.high, digits)


def test_importing_it_is_cheap() -> None:
    code = "import sys, searchsim.stats; print([m for m in ('numpy', 'scipy', 'statsmodels') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


@pytest.mark.parametrize(
    ("percent", "low", "high"), [(54.7, 45.0, 64.1), (60, 50.2, 69.1), (76, 66.8, 83.3), (8, 4.1, 15.0), (0, 0, 3.7)]
)
def test_wilson_at_a_hundred_runs(percent: float, low: float, high: float) -> None:
    assert _percent(wilson(percent, 100)) == (low, high)
    assert _percent(wilson(100 - percent, 100)) == pytest.approx((100 - high, 100 - low))


def test_wilson_at_the_boundaries() -> None:
    assert _percent(wilson(0, 600)) == (0, 0.6)
    assert wilson(0, 0) is None
    none, all_ = wilson(0, 7), wilson(7, 7)
    assert none is not None
    assert all_ is not None
    assert (none.low, all_.high) == (0, 1)
    for successes, n in [(-1, 5), (6, 5), (0, -1)]:
        with pytest.raises(ValueError, match="successes"):
            wilson(successes, n)
    for confidence in (0, 1, 95):
        with pytest.raises(ValueError, match="confidence"):
            wilson(1, 2, confidence)


@untimed
@given(st.floats(0, 1), st.floats(0.5, 1000), st.floats(0.5, 0.999))
def test_wilson_holds_the_proportion(share: float, n: float, confidence: float) -> None:
    interval = wilson(share * n, n, confidence)
    assert interval is not None
    assert 0 <= interval.low <= share * n / n <= interval.high <= 1


def test_effective_size_by_hand() -> None:
    # Means 1, 0, ⅔: MSB 7/9, MSW 1/9, m₀ = 3, ρ = (6/9)/(9/9), deff = 1 + 2·⅔.
    assert effective_size([[1, 1, 1], [0, 0, 0], [1, 0, 1]]) == pytest.approx(9 / (7 / 3))
    assert effective_size([[1, 1], [0, 0], [1, 1]]) == pytest.approx(3)  # repetitions that tell nothing
    assert effective_size([[1, 0], [0, 1], [1, 0]]) == 6  # ρ is negative: no more than independent ones


def test_effective_size_agrees_with_the_analysis_of_variance() -> None:
    from scipy.stats import f_oneway

    clusters = [[1, 1, 1, 0], [0, 0], [1], [0, 0, 0, 0, 1], [1, 1, 0]]
    sizes = [len(c) for c in clusters]
    n, squares = sum(sizes), sum(m * m for m in sizes)
    ratio, m0 = float(f_oneway(*clusters).statistic), (n - squares / n) / (len(clusters) - 1)
    rho = (ratio - 1) / (ratio + m0 - 1)
    assert 0 < rho < 1
    assert effective_size(clusters) == pytest.approx(n / (1 + (squares / n - 1) * rho))


@pytest.mark.parametrize("value", [0, 1])
def test_effective_size_where_all_values_are_equal(value: int) -> None:
    assert effective_size([[value] * 3] * 20) == 20
    assert clustered_wilson([[value] * 3] * 20) == wilson(20 * value, 20)


def test_effective_size_of_little() -> None:
    assert effective_size([]) == effective_size([[], []]) == 0
    assert effective_size([[0, 1, 1]]) == 1
    assert clustered_wilson([]) is clustered_wilson([[]]) is None
    assert clustered_newcombe([]) is clustered_newcombe([[]]) is None
    with pytest.raises(ValueError, match="0 or 1"):
        clustered_wilson([[0, 2]])


@untimed
@given(outcomes)
def test_clusters_never_say_more_than_independent_values(clusters: Sequence[Sequence[int]]) -> None:
    values = [v for c in clusters for v in c]
    size = effective_size(clusters)
    assert min(1, len(values)) <= size <= len(values) + 1e-9
    together, apart = clustered_wilson(clusters), clustered_wilson([[v] for v in values])
    assert apart == wilson(sum(values), len(values))
    if together is None or apart is None:
        assert not values
    else:
        assert 0 <= together.low <= apart.low + 1e-12
        assert apart.high - 1e-12 <= together.high <= 1


def test_pairs_are_counted() -> None:
    counted = pair_counts([(True, True), (True, False), (True, False), (False, True), (False, False)])
    assert counted == Paired(1, 2, 1, 1)
    assert (counted.n, counted.difference) == (5, 0.2)
    assert (pair_counts([]), pair_counts([]).difference) == (Paired(0, 0, 0, 0), None)


def test_mcnemar_by_hand() -> None:
    assert mcnemar_exact(0, 0) == 1
    assert mcnemar_exact(5, 0) == mcnemar_exact(0, 5) == 0.0625
    assert mcnemar_exact(3, 3) == 1
    assert mcnemar_exact(7, 1) == pytest.approx(2 * (1 + 8) / 2**8)
    with pytest.raises(ValueError, match="negative"):
        mcnemar_exact(-1, 2)


@pytest.mark.parametrize(
    ("table", "low", "high"),
    [
        ((20, 12, 2, 16), 0.0562, 0.3292),  # Newcombe 1998, method 10 (method 8 gives 0.0618 to 0.3242)
        ((1, 1, 7, 12), -0.507, -0.026),  # Bentur et al. 2009, in Fagerland, Lydersen & Laake 2014
        ((59, 6, 16, 80), -0.1186, -0.0046),  # Cavo et al. 2012, in R's contingencytables
        ((1, 0, 0, 1), -0.5734, 0.5734),  # R's contingencytables
        ((8, 3, 1, 2), -0.1574, 0.4136),  # Tang et al. 2010, in R's ratesci
        ((7, 25, 2, 68), 0.133, 0.318),  # Chang 2024, in R's ratesci
        ((20, 15, 6, 5), 0.002602, 0.369943),  # PSI's CAMIS, worked by hand: φ is 0
    ],
)
def test_newcombe_as_published(table: tuple[int, int, int, int], low: float, high: float) -> None:
    digits = max(len(str(x).partition(".")[2]) for x in (low, high))
    assert _digits(newcombe_paired(Paired(*table)), digits) == (low, high)


def test_newcombe_at_the_boundaries() -> None:
    assert newcombe_paired(Paired(0, 0, 0, 0)) is None
    alike = newcombe_paired(Paired(10, 0, 0, 0))
    assert alike is not None
    assert alike.low == -alike.high < 0
    for table in (Paired(0, 10, 0, 0), Paired(0, 0, 10, 0)):
        opposite = newcombe_paired(table)
        assert opposite is not None
        assert opposite.low < opposite.high
        assert table.difference in (opposite.low, opposite.high)
    with pytest.raises(ValueError, match="negative"):
        newcombe_paired(Paired(3, -1, 0, 0))


@untimed
@given(tables, st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_newcombe_holds_the_difference_and_is_antisymmetric(table: Paired, confidence: float) -> None:
    interval = newcombe_paired(table, confidence)
    swapped = newcombe_paired(Paired(table.both, table.only_second, table.only_first, table.neither), confidence)
    if interval is None or swapped is None:
        assert table.n == 0
        return
    assert table.difference is not None
    assert -1 <= interval.low <= table.difference <= interval.high <= 1
    assert (swapped.low, swapped.high) == pytest.approx((-interval.high, -interval.low))


def test_newcombe_covers() -> None:
    """Over all tables of 20 pairs, the probability of those whose interval holds the true difference."""
    n = 20
    every = [
        Paired(a, b, c, n - a - b - c) for a in range(n + 1) for b in range(n - a + 1) for c in range(n - a - b + 1)
    ]
    intervals = [(t, newcombe_paired(t)) for t in every]
    for p in [
        (0.25, 0.25, 0.25, 0.25),
        (0.6, 0.2, 0.1, 0.1),
        (0.05, 0.4, 0.05, 0.5),
        (0.02, 0.03, 0.0, 0.95),
        (0.4, 0.3, 0.0, 0.3),
    ]:
        covered = 0.0
        for t, interval in intervals:
            assert interval is not None
            if interval.low <= p[1] - p[2] <= interval.high:
                a, b, c, d = t.both, t.only_first, t.only_second, t.neither
                ways = comb(n, a) * comb(n - a, b) * comb(n - a - b, c)
                covered += ways * prod(q**k for q, k in zip(p, (a, b, c, d), strict=True))
        assert 0.93 < covered <= 1 + 1e-9


@untimed
@given(pairs)
def test_clustered_newcombe_is_newcombe_on_fewer_pairs(clusters: Sequence[Sequence[tuple[bool, bool]]]) -> None:
    flat = [p for c in clusters for p in c]
    together, apart = clustered_newcombe(clusters), newcombe_paired(pair_counts(flat))
    assert clustered_newcombe([[p] for p in flat]) == apart
    if together is None or apart is None:
        assert not flat
        return
    difference = pair_counts(flat).difference
    assert difference is not None
    assert -1 <= together.low <= apart.low + 1e-9
    assert together.low <= difference <= together.high
    assert apart.high - 1e-9 <= together.high <= 1


def test_clustered_newcombe_of_repetitions_that_tell_nothing() -> None:
    tasks = [(True, False)] * 9 + [(False, True)] * 2 + [(True, True)] * 12 + [(False, False)] * 7
    once, thrice = newcombe_paired(pair_counts(tasks)), clustered_newcombe([[t] * 3 for t in tasks])
    assert once is not None
    assert thrice is not None
    assert (thrice.low, thrice.high) == pytest.approx((once.low, once.high))
    # Without a discordant pair too.
    alike = clustered_newcombe([[(True, True), (False, False)]] * 10)
    assert _digits(alike, 9) == _digits(newcombe_paired(Paired(5, 0, 0, 5)), 9)


@untimed
@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 5))
def test_sign_flip_is_mcnemar_with_one_pair_a_cluster(first: int, second: int, alike: int) -> None:
    clusters = [[1]] * first + [[-1]] * second + [[0]] * alike
    assert sign_flip(clusters) == pytest.approx(mcnemar_exact(first, second), rel=1e-9)


@untimed
@given(st.lists(st.lists(st.integers(-1, 1), max_size=4), max_size=7))
def test_sign_flip_tries_all_signs(clusters: Sequence[Sequence[int]]) -> None:
    steps = [sum(c) * 12 // len(c) for c in clusters if c]  # twelfths are exact
    flipped = [
        abs(sum(s * x for s, x in zip(signs, steps, strict=True))) for signs in product((1, -1), repeat=len(steps))
    ]
    expected = sum(x >= abs(sum(steps)) for x in flipped) / len(flipped)
    assert sign_flip(clusters) == pytest.approx(expected)
    assert sign_flip([[-x for x in c] for c in clusters]) == pytest.approx(expected)


def test_sign_flip_of_other_differences() -> None:
    # All one way: two of 2⁵ sets of signs.
    assert sign_flip([[0.1], [0.2], [0.3], [0.7, 0.3], [0.5]]) == pytest.approx(2 / 32)
    many = [[0.1 * i] for i in range(-5, 15)]
    sampled = sign_flip(many)
    assert sampled == sign_flip(many)
    assert sampled == pytest.approx(sign_flip([[i] for i in range(-5, 15)]), abs=0.003)
    assert sign_flip([]) == sign_flip([[]]) == sign_flip([[0, 0], [1, -1]]) == 1


def test_holm() -> None:
    assert holm([]) == []
    assert holm([0.03]) == [0.03]
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.5, 1.0]) == [1, 1, 1]


@settings(untimed, max_examples=20)  # statsmodels collects garbage each time
@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_never_lowers_nor_reorders(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert len(adjusted) == len(p_values)
    assert all(p - 1e-12 <= a <= 1 for p, a in zip(p_values, adjusted, strict=True))
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    assert [adjusted[i] for i in order] == sorted(adjusted)


def test_bounds_of_missing_runs() -> None:
    assert bounds(30, 90, 100) == Interval(0.3, 0.4)
    assert bounds(30, 100, 100) == Interval(0.3, 0.3)
    assert bounds(0, 0, 10) == Interval(0, 1)
    assert bounds(0, 0, 0) is None
    for wrong in [(2, 1, 3), (1, 4, 3), (-1, 0, 0)]:
        with pytest.raises(ValueError, match="planned"):
            bounds(*wrong)


def test_which_gaps_can_be_significant() -> None:
    """The facts of the published study's size, 100 pairs."""
    assert smallest_significant(100) == smallest_significant(6) == 6
    assert smallest_significant(5) is smallest_significant(0) is None
    assert smallest_significant(100, 0.01) == 8
    assert largest_discordant(5, 100) is None
    assert (mcnemar_exact(15, 5) < 0.05, mcnemar_exact(16, 6) < 0.05) == (True, False)
    assert largest_discordant(10, 100) == 20
    assert largest_discordant(21, 600) == 103
    assert largest_discordant(21, 100) == 99  # as many as there can be: always
    assert largest_discordant(0, 100) is largest_discordant(101, 100) is None
    with pytest.raises(ValueError, match="gap"):
        largest_discordant(-1, 100)


@untimed
@given(st.integers(0, 40), st.integers(0, 40), st.sampled_from([0.001, 0.05, 0.0625, 0.5]))
def test_largest_discordant_tries_all(gap: int, n: int, alpha: float) -> None:
    splits = [((d + gap) // 2, (d - gap) // 2) for d in range(gap, n + 1, 2)]
    significant = [first + second for first, second in splits if mcnemar_exact(first, second) < alpha]
    assert largest_discordant(gap, n, alpha) == max(significant, default=None)
    # Fewer discordant pairs are significant too.
    assert significant == list(range(gap, gap + 2 * len(significant), 2))


def _power(n: int, first: float, second: float, alpha: float) -> float:
    return sum(
        comb(n, b) * comb(n - b, c) * first**b * second**c * (1 - first - second) ** (n - b - c)
        for b in range(n + 1)
        for c in range(n - b + 1)
        if mcnemar_exact(b, c) < alpha
    )


@pytest.mark.parametrize("alpha", [0.05, 0.0625, 0.2])
@pytest.mark.parametrize("n", [0, 1, 5, 6, 13])
def test_power_sums_all_tables(n: int, alpha: float) -> None:
    for first, second in [(0, 0), (1, 0), (0, 1), (0.5, 0.5), (0.25, 0.25), (0.5, 0.125), (0.125, 0.75)]:
        power = power_mcnemar(n, first, second, alpha)
        assert power == pytest.approx(_power(n, first, second, alpha), abs=1e-12)
        assert power == pytest.approx(power_mcnemar(n, second, first, alpha), abs=1e-12)


@untimed
@given(st.integers(0, 600), st.floats(0, 1), st.floats(0, 1))
def test_power_is_a_probability(n: int, either: float, share: float) -> None:
    assert 0 <= power_mcnemar(n, either * share, either * (1 - share)) <= 1
    assert power_mcnemar(n, either / 2, either / 2) < 0.05  # the test keeps its level


def test_power_of_no_such_thing() -> None:
    for wrong in [(-1, 0.1, 0.1), (10, -0.1, 0.2), (10, 0.6, 0.6)]:
        with pytest.raises(ValueError, match="pairs"):
            power_mcnemar(*wrong)
    for alpha in (0, 1):
        with pytest.raises(ValueError, match="alpha"):
            power_mcnemar(10, 0.2, 0.1, alpha)


@pytest.mark.parametrize(("n", "opposed"), [(30, 0.0), (30, 0.1), (100, 0.05), (100, 0.2), (600, 0.1)])
def test_detectable_is_the_smallest(n: int, opposed: float) -> None:
    found = detectable(n, opposed=opposed)
    assert found is not None
    steps = [i / 1000 for i in range(1, int(1000 * (1 - 2 * opposed) + 1e-9) + 1)][:: 1 if n < 100 else 7]
    powers = {d: power_mcnemar(n, opposed + d, opposed) for d in [*steps, found, found - 0.001]}
    assert powers[found] >= 0.8 > powers[found - 0.001]
    assert all((p >= 0.8) == (d >= found) for d, p in powers.items())


def test_detectable_by_hand() -> None:
    # Six pairs are significant if all differ one way: 0.964⁶ = 0.803.
    assert detectable(6) == 0.964
    assert detectable(5) is detectable(0) is detectable(600, opposed=0.5) is None
    assert detectable(100) == 0.078
    with pytest.raises(ValueError, match="opposed"):
        detectable(100, opposed=0.6)
    with pytest.raises(ValueError, match="power"):
        detectable(100, power=1)


@pytest.mark.parametrize(
    ("deerflow", "webthinker", "exposure", "adoption"),
    [((94, 76), (72, 55), 17.30, 3.70), ((97, 60), (98, 50), -0.56, 10.56)],
    ids=["Intern-S1-Pro", "Qwen3.5"],
)
def test_the_published_gaps_decompose(
    deerflow: tuple[int, int], webthinker: tuple[int, int], exposure: float, adoption: float
) -> None:
    (exposed_1, adopted_1), (exposed_2, adopted_2) = deerflow, webthinker
    parts = midpoint(exposed_1 / 100, adopted_1 / exposed_1, exposed_2 / 100, adopted_2 / exposed_2)
    assert (round(100 * parts[0], 2), round(100 * parts[1], 2)) == (exposure, adoption)
    assert sum(parts) == pytest.approx((adopted_1 - adopted_2) / 100)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_the_parts_sum_to_the_difference(mer_1: float, ecar_1: float, mer_2: float, ecar_2: float) -> None:
    exposure, adoption = midpoint(mer_1, ecar_1, mer_2, ecar_2)
    assert exposure + adoption == pytest.approx(mer_1 * ecar_1 - mer_2 * ecar_2, abs=1e-12)
    assert midpoint(mer_2, ecar_2, mer_1, ecar_1) == (-exposure, -adoption)


def test_agreement_by_hand() -> None:
    # Cohen's kappa of [[20, 5], [10, 15]]: (0.7 - 0.5) / (1 - 0.5).
    first = ["yes"] * 25 + ["no"] * 25
    second = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    told = agreement(first, second)
    assert (told.n, told.exact) == (50, 0.7)
    assert told.kappa == pytest.approx(0.4)
    assert agreement(["a", "b"], ["b", "a"]) == Agreement(2, 0, -1)
    assert agreement(["a", "b"], ["a", "b"]) == Agreement(2, 1, 1)
    assert agreement(["a", "a"], ["b", "b"]) == Agreement(2, 0, 0)
    assert agreement(["a"], ["a"]) == Agreement(1, 1, None)
    assert agreement([], []) == Agreement(0, None, None)
    with pytest.raises(ValueError, match="zip"):
        agreement(["a"], [])


def test_sensitivity_and_specificity() -> None:
    actual = [True] * 10 + [False] * 20
    predicted = [True] * 8 + [False] * 2 + [True] * 5 + [False] * 15
    told = sensitivity_specificity(predicted, actual)
    assert (told.positives, told.negatives, told.sensitivity, told.specificity) == (10, 20, 0.8, 0.75)
    assert (told.sensitivity_interval, told.specificity_interval) == (wilson(8, 10), wilson(15, 20))
    only = sensitivity_specificity([True], [True])
    assert (only.sensitivity, only.specificity, only.specificity_interval) == (1, None, None)
    assert sensitivity_specificity([], []).sensitivity is None


def test_rogan_gladen() -> None:
    assert rogan_gladen(0.3, 1, 1) == pytest.approx(0.3)
    assert rogan_gladen(0.4 * 0.9 + 0.6 * 0.2, 0.9, 0.8) == pytest.approx(0.4)
    assert (rogan_gladen(0.1, 0.9, 0.8), rogan_gladen(0.95, 0.9, 0.8)) == (0, 1)
    assert rogan_gladen(0.3, 0.5, 0.5) is rogan_gladen(0.3, 0.2, 0.5) is None


def test_page_trend() -> None:
    assert page_trend([[1, 2, 3], [1, 2, 3]]) == pytest.approx(1 / 36)
    falling = page_trend([[3, 2, 1], [3, 2, 1]])
    assert falling == pytest.approx(1)
    level = page_trend([[1, 1, 1], [1, 1, 1]])
    assert level is not None
    assert level > 0.5
    assert page_trend([]) is page_trend([[1, 2, 3]]) is page_trend([[1, 2], [1, 2]]) is None
    with pytest.raises(ValueError, match="level"):
        page_trend([[1, 2, 3], [1, 2]])
