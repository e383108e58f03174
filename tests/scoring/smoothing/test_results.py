"""Distributions, means with their intervals, and correlations, by hand and by other libraries."""

from __future__ import annotations

from math import sqrt
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr, rankdata, spearmanr
from statsmodels.api import OLS

from searchsim.scoring.smoothing.correlations import correlation, correlations, significance, within
from searchsim.scoring.smoothing.results import distribution, mean_interval, results, summary
from searchsim.scoring.smoothing.scores import BINS, ClaimScore, ReportScores


def report(
    name: str, scores: list[int | None], *, system: str = "s", dataset: str = "d", documents: int = 0, words: int = 0
) -> ReportScores:
    claims = tuple(ClaimScore(score=s, words=10 + i) for i, s in enumerate(scores))
    return ReportScores(report=name, system=system, dataset=dataset, claims=claims, documents=documents, words=words)


def drawn(reports: int, seed: int = 1) -> list[ReportScores]:
    """Reports whose score rises with documents across systems, and falls with words within them."""
    rng = np.random.default_rng(seed)
    found = []
    for s in range(3):
        for d in range(2):
            for i in range(reports):
                words = int(rng.integers(500, 5000))
                centre = 1.5 + s - (words - 2750) / 3000
                scores = [int(np.clip(round(rng.normal(centre, 0.7)), 1, 5)) for _ in range(int(rng.integers(2, 9)))]
                documents = 5 + 10 * s + int(rng.integers(0, 5))
                found.append(
                    report(f"r{i}", list(scores), system=f"s{s}", dataset=f"d{d}", documents=documents, words=words)
                )
    return found


def test_a_distribution_by_hand() -> None:
    assert distribution([1, 2, 2, 3, 4, None, 5, 5, None], unjudged=1) == {
        "claims": 9,
        "scored": 7,
        "unscored": 1,
        "unjudged": 1,
        "mean": pytest.approx(22 / 7),
        "bins": {"1": 1, "2": 2, "3": 1, "4": 1, "5": 2},
        "shares": {"1": 1 / 7, "2": 2 / 7, "3": 1 / 7, "4": 1 / 7, "5": 2 / 7},
        "at_least_3": 4 / 7,
        "at_least_4": 3 / 7,
    }


@pytest.mark.parametrize("scores", [[], [None, None]])
def test_a_distribution_of_nothing(scores: list[int | None]) -> None:
    found = distribution(scores)
    assert (found["claims"], found["scored"], found["unscored"]) == (len(scores), 0, len(scores))
    assert (found["mean"], found["at_least_3"], found["at_least_4"]) == (None, None, None)
    assert set(found["shares"].values()) == {None}


@pytest.mark.parametrize("score", [0, 6, -1])
def test_a_score_that_there_isnt(score: int) -> None:
    with pytest.raises(ValueError, match=str(score)):
        distribution([3, score])


@given(st.lists(st.one_of(st.none(), st.sampled_from(BINS))))
def test_a_distribution_is_whole(scores: list[int | None]) -> None:
    found = distribution(scores)
    known = [s for s in scores if s is not None]
    assert sum(found["bins"].values()) == found["scored"] == len(known)
    assert found["scored"] + found["unscored"] == found["claims"]
    if known:
        assert sum(found["shares"].values()) == pytest.approx(1)
        assert found["mean"] == pytest.approx(fmean(known))
        assert found["at_least_3"] == pytest.approx(found["shares"]["3"] + found["at_least_4"])


def test_an_interval_is_seeded() -> None:
    clusters = [[1, 2, 3], [4, 4], [2], [3, 5, 5, 1]]
    first = mean_interval(clusters, seed=3, resamples=500)
    assert first == mean_interval(clusters, seed=3, resamples=500)
    assert first != mean_interval(clusters, seed=4, resamples=500)


def test_an_interval_by_a_loop() -> None:
    """The same bootstrap, spelled out: reports drawn, all their claims taken."""
    rng = np.random.default_rng(0)
    clusters = [[int(v) for v in rng.integers(1, 6, size=int(n))] for n in rng.integers(1, 12, size=30)]
    means = []
    for _ in range(4000):
        chosen = [clusters[i] for i in rng.integers(0, 30, size=30)]
        means.append(fmean(v for c in chosen for v in c))
    low, high = np.percentile(means, [2.5, 97.5])
    found = mean_interval(clusters)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.02)


def test_claims_that_hang_together_make_an_interval_wider() -> None:
    alike = [[1] * 10, [5] * 10, [1] * 10, [5] * 10, [3] * 10, [3] * 10]
    mixed = [[1, 5, 3, 1, 5, 3, 1, 5, 3, 3]] * 6
    wide, narrow = mean_interval(alike), mean_interval(mixed)
    assert wide is not None
    assert narrow is not None
    assert wide.high - wide.low > 2
    assert narrow.low == narrow.high == pytest.approx(3)


def test_two_clusters_by_hand() -> None:
    """Of [1, 1] and [4] are drawn both twice, or each: 1 (¼), 2 (½), 4 (¼)."""
    found = mean_interval([[1, 1], [4]])
    assert found is not None
    assert (found.low, found.high) == (1, 4)
    middle = mean_interval([[1, 1], [4]], confidence=0.4)
    assert middle is not None
    assert (middle.low, middle.high) == (2, 2)


@pytest.mark.parametrize("clusters", [[], [[]], [[1, 2, 3]], [[1, 2], []]])
def test_no_interval_of_one_report(clusters: list[list[float]]) -> None:
    assert mean_interval(clusters) is None


@settings(max_examples=30)
@given(st.lists(st.lists(st.sampled_from(BINS), max_size=5), min_size=2, max_size=8))
def test_an_interval_holds_within_its_values(clusters: list[list[int]]) -> None:
    found = mean_interval(clusters, resamples=200)
    values = [v for c in clusters for v in c]
    if found is None:
        assert sum(bool(c) for c in clusters) < 2
    else:
        assert min(values) <= found.low <= found.high <= max(values)


def test_a_summary_leaves_out_what_isnt_scored() -> None:
    reports = [report("a", [1, 3, None]), report("b", [4]), report("c", [None])]
    found = summary(reports, resamples=200)
    assert (found["reports"], found["claims"], found["scored"], found["unscored"]) == (3, 5, 3, 2)
    assert found["mean"] == pytest.approx(8 / 3)
    assert found["mean_interval"] == [2.0, 4.0]
    low, high = found["at_least_3_interval"]
    assert 0 < low < 2 / 3 < high < 1
    assert found["at_least_4_interval"][1] < high


def test_results_by_report_cell_and_system() -> None:
    reports = [
        report("a", [1, 2], system="x", dataset="one"),
        report("b", [3, None], system="x", dataset="two"),
        report("a", [5], system="y", dataset="one"),
    ]
    found = results(reports, resamples=100, seed=7)
    assert [(r["report"], r["system"], r["dataset"], r["mean"]) for r in found["reports"]] == [
        ("a", "x", "one", 1.5),
        ("b", "x", "two", 3.0),
        ("a", "y", "one", 5.0),
    ]
    assert {(c["dataset"], c["system"]): c["claims"] for c in found["cells"]} == {
        ("one", "x"): 2,
        ("two", "x"): 2,
        ("one", "y"): 1,
    }
    assert {s["system"]: (s["reports"], s["unscored"], s["mean"]) for s in found["systems"]} == {
        "x": (2, 1, 2.0),
        "y": (1, 0, 5.0),
    }
    assert (found["bootstrap"]["resamples"], found["bootstrap"]["seed"], found["bootstrap"]["clusters"]) == (
        100,
        7,
        "reports",
    )


def test_results_of_nothing() -> None:
    found = results([])
    assert (found["reports"], found["cells"], found["systems"]) == ([], [], [])
    assert found["correlations"]["words"]["pooled"] == {"n": 0, "rho": None, "rho_p": None, "r": None, "r_p": None}


# --- correlations ---------------------------------------------------------------------------------------------------


def test_a_plain_correlation_is_scipys() -> None:
    rng = np.random.default_rng(2)
    x = [float(v) for v in rng.integers(0, 9, size=40)]
    y = [v + float(e) for v, e in zip(x, rng.normal(0, 5, size=40), strict=True)]
    found = correlation(x, y)
    rank, plain = spearmanr(x, y), pearsonr(x, y)
    assert found.n == 40
    assert [found.rho, found.r] == pytest.approx([rank.statistic, plain.statistic])
    assert [found.rho_p, found.r_p] == pytest.approx([rank.pvalue, plain.pvalue])


def _slope(x: list[float], y: list[float], groups: list[int]) -> Any:
    """The regression of y on x, which comes first, with an intercept for each group."""
    return OLS(y, [[v, *(float(g == k) for k in sorted(set(groups)))] for v, g in zip(x, groups, strict=True)]).fit()


def test_correlation_within_groups_is_a_regressions() -> None:
    """Its p-value is that of the slope where each group has an intercept of its own."""
    rng = np.random.default_rng(3)
    groups = [int(g) for g in rng.integers(0, 4, size=60)]
    x = [float(v + 3 * g) for v, g in zip(rng.normal(size=60), groups, strict=True)]
    y = [float(0.3 * v - 2 * g + e) for v, g, e in zip(x, groups, rng.normal(size=60), strict=True)]
    found = within(x, y, groups)
    fit = _slope(x, y, groups)
    t = fit.tvalues[0]
    assert found.r == pytest.approx(t / sqrt(t * t + fit.df_resid))
    assert found.r_p == pytest.approx(fit.pvalues[0])
    ranks = {g: [i for i in range(60) if groups[i] == g] for g in set(groups)}
    rx, ry = [0.0] * 60, [0.0] * 60
    for inside in ranks.values():
        for out, values in ((rx, x), (ry, y)):
            for i, rank in zip(inside, rankdata([values[i] for i in inside]), strict=True):
                out[i] = float(rank) / (len(inside) + 1)
    assert found.rho_p == pytest.approx(_slope(rx, ry, groups).pvalues[0])
    pooled = correlation(x, y)
    assert found.rho is not None
    assert pooled.rho is not None
    assert found.rho > 0 > pooled.rho


def test_one_group_is_no_group() -> None:
    x, y = [1.0, 2.0, 3.0, 5.0], [2.0, 1.0, 4.0, 4.0]
    assert within(x, y, ["g"] * 4) == correlation(x, y)


@pytest.mark.parametrize(
    ("x", "y"),
    [([], []), ([1.0, 2.0], [1.0, 2.0]), ([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]), ([0.1, 0.2, 0.3], [0.7, 0.7, 0.7])],
)
def test_no_correlation(x: list[float], y: list[float]) -> None:
    found = correlation(x, y)
    assert (found.n, found.rho, found.rho_p, found.r, found.r_p) == (len(x), None, None, None, None)


def test_a_perfect_correlation() -> None:
    found = correlation([1.0, 2.0, 3.0], [2.0, 4.0, 6.0])
    assert [found.rho, found.rho_p, found.r, found.r_p] == pytest.approx([1, 0, 1, 0], abs=1e-6)
    assert significance(-1, 10) == 0.0


def test_lengths_must_be_the_same() -> None:
    with pytest.raises(ValueError, match="each point"):
        correlation([1.0], [1.0, 2.0])


@given(
    st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50), st.integers(0, 2), st.integers(0, 5)), max_size=25)
)
def test_correlations_stay_within_bounds(points: list[tuple[int, int, int, int]]) -> None:
    x, y, groups, clusters = ([p[i] for p in points] for i in range(4))
    for found in (correlation(x, y), within(x, y, groups), within(x, y, groups, clusters)):
        assert found.n == len(points)
        assert (found.rho is None) == (found.rho_p is None) or found.rho_p is None
        for value in (found.rho, found.r):
            assert value is None or -1 <= value <= 1
        for p in (found.rho_p, found.r_p):
            assert p is None or 0 <= p <= 1
    forth, back = correlation(x, y), correlation(y, x)
    assert (forth.rho is None) == (back.rho is None)
    if forth.rho is not None:
        assert forth.rho == pytest.approx(back.rho)


def test_what_goes_with_smoothing() -> None:
    """Across systems documents go with it, within them words go against it."""
    reports = drawn(25)
    found = correlations(reports)
    documents, words = found["documents"], found["words"]
    assert (documents["unit"], documents["across"]["n"], documents["pooled"]["n"]) == ("report", 6, 150)
    assert documents["across"]["r"] > 0.9
    assert documents["pooled"]["rho"] > 0.3
    assert abs(documents["within"]["rho"]) < 0.2
    assert words["within"]["rho"] < -0.5
    assert words["within"]["rho_p"] < 1e-6
    assert set(words["by_system"]) == {"s0", "s1", "s2"}
    assert all(one["rho"] < 0 for one in words["by_system"].values())
    means = [fmean(r.scores) for r in reports]
    assert words["pooled"]["rho"] == pytest.approx(spearmanr([r.words for r in reports], means).statistic)


def test_across_systems_a_claim_counts_once() -> None:
    """As in a table's mean, the longer report counts for more; of reports' features it doesn't."""
    reports = [
        report("a", [1], system="x", documents=2),
        report("b", [5, 5, 5], system="x", documents=4),
        report("a", [2], system="y", documents=1),
        report("a", [3], system="z", documents=9),
    ]
    across = correlations(reports)["documents"]["across"]
    assert across["n"] == 3
    assert across["r"] == pytest.approx(pearsonr([3, 1, 9], [4, 2, 3]).statistic)


def test_claims_of_a_report_are_one_cluster() -> None:
    """The same claims ten times over say no more, though a naive p-value would fall."""
    rng = np.random.default_rng(5)
    once = [report(f"r{i}", [int(v) for v in rng.integers(1, 6, size=4)]) for i in range(20)]

    def repeated(times: int) -> list[ReportScores]:
        return [
            ReportScores(report=r.report, system=r.system, dataset=r.dataset, claims=r.claims * times) for r in once
        ]

    one, ten = (correlations(repeated(times))["claim_words"]["pooled"] for times in (1, 10))
    assert (one["n"], ten["n"]) == (80, 800)
    assert one["r"] == pytest.approx(ten["r"])
    assert ten["r_p"] == pytest.approx(one["r_p"], rel=0.1)
    assert significance(ten["r"], 798) < significance(one["r"], 78)


def test_a_report_without_a_scored_claim_is_no_point() -> None:
    reports: list[Any] = [report("a", [1, 2]), report("b", [None]), report("c", [3]), report("d", [4])]
    found = correlations(reports)
    assert (found["claims"]["pooled"]["n"], found["claim_words"]["pooled"]["n"]) == (3, 4)
