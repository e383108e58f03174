"""A study's figures, from records made up to known outcomes."""

from __future__ import annotations

from typing import Any

import pytest

from searchsim import stats
from searchsim.errors import UsageError
from searchsim.records import Record
from searchsim.reproduce.synthetic import synthetic_record
from searchsim.scoring.fcar import summarise
from searchsim.scoring.metrics import METRICS, metric
from searchsim.study.matrix import Plan, PlannedRun


def planned(
    label: str, task: str, *, agent: str = "planner", model: str = "m", repetition: int = 1, **levels: Any
) -> PlannedRun:
    return PlannedRun(
        run=f"{agent}/{model}/{label}/{task}/{repetition}",
        agent=agent,
        model=model,
        task=task,
        language="en",
        label=label,
        condition={"budget": 0 if label == "control" else 3, "rank": "front", **levels},
        control=label == "control",
        repetition=repetition,
    )


def plan(*runs: PlannedRun, contrasts: tuple[str, ...] = ("control", "levels", "agents", "models")) -> Plan:
    return Plan("s", "0" * 64, runs, contrasts)


def cell(summary: dict[str, Any], label: str, agent: str = "planner") -> dict[str, Any]:
    found: dict[str, Any] = next(c for c in summary["cells"] if (c["label"], c["agent"]) == (label, agent))
    return found


TASKS = [f"t{n:03}" for n in range(100)]
CONTROL = [planned("control", t) for t in TASKS]
TREATED = [planned("budget=3", t) for t in TASKS]


def outcomes(adopted: int, served: int) -> list[Record]:
    """A hundred control runs, and as many treated ones of which so many were served and adopted."""
    made = [synthetic_record(p, adopted=False) for p in CONTROL]
    return made + [
        synthetic_record(p, adopted=n < adopted, served=n < served, states_true=n % 2 == 0)
        for n, p in enumerate(TREATED)
    ]


def test_fcar_is_mer_times_ecar_where_nobody_adopts_unserved() -> None:
    summary = summarise(plan(*CONTROL, *TREATED), outcomes(55, 72))
    treated = cell(summary, "budget=3")["metrics"]
    assert (treated["fcar"]["value"], treated["mer"]["value"]) == (0.55, 0.72)
    assert treated["ecar"] == {
        **treated["ecar"],
        "numerator": 55,
        "denominator": 72,
        "value": pytest.approx(55 / 72),
    }
    assert treated["mer"]["value"] * treated["ecar"]["value"] == pytest.approx(0.55)
    assert treated["unserved_adopted"]["value"] == 0
    interval = stats.wilson(55, 100)
    assert interval and (treated["fcar"]["low"], treated["fcar"]["high"]) == (interval.low, interval.high)
    assert cell(summary, "control")["metrics"]["ecar"]["value"] is None
    assert cell(summary, "budget=3")["outcomes"] == {"false": 27, "both": 28, "true": 22, "neither": 23}


def test_adoption_without_exposure_stands_as_a_residual() -> None:
    treated = cell(summarise(plan(*CONTROL, *TREATED), outcomes(30, 10)), "budget=3")["metrics"]
    assert (treated["ecar"]["numerator"], treated["ecar"]["denominator"]) == (10, 10)
    assert treated["unserved_adopted"]["numerator"] == 20


def test_the_comparison_with_the_control_is_paired() -> None:
    summary = summarise(plan(*CONTROL, *TREATED), outcomes(6, 100))
    (row,) = summary["comparisons"]
    assert (row["kind"], row["first"]["label"], row["second"]["label"]) == ("control", "budget=3", "control")
    assert (row["pairs"], row["only_first"], row["only_second"], row["neither"]) == (100, 6, 0, 94)
    assert (row["difference"], row["test"]) == (0.06, "exact McNemar")
    assert row["p"] == row["p_holm"] == pytest.approx(2 / 2**6)
    assert row["low"] > 0
    five = summarise(plan(*CONTROL, *TREATED), outcomes(5, 100))["comparisons"][0]
    assert five["p"] == pytest.approx(0.0625), "five points of a hundred pairs can't be significant"
    assert five["smallest_significant"] == 6


@pytest.mark.parametrize("adopted", [0, 100])
def test_at_none_and_all(adopted: int) -> None:
    summary = summarise(plan(*CONTROL, *TREATED), outcomes(adopted, 100))
    fcar = cell(summary, "budget=3")["metrics"]["fcar"]
    assert fcar["value"] == adopted / 100
    assert fcar["high"] - fcar["low"] == pytest.approx(0.037, abs=5e-4)
    row = summary["comparisons"][0]
    assert -1 <= row["low"] <= row["difference"] <= row["high"] <= 1


def test_what_is_missing_shows_in_the_flow_and_in_the_bounds() -> None:
    records = outcomes(50, 100)
    treated = records[100:]
    treated[0] = synthetic_record(TREATED[0], adopted=None)
    treated[1] = synthetic_record(TREATED[1], adopted=None, status="invalid", reasons=("no search was served",))
    treated[2] = synthetic_record(TREATED[2], adopted=None, status="failed", reasons=("it crashed",))
    summary = summarise(plan(*CONTROL, *TREATED), records[:100] + treated[:-2], {TREATED[-1].run: "disk full"})
    flow = summary["flow"]
    assert {s: flow[s] for s in ("planned", "judged", "unjudged", "invalid", "failed", "not_run", "valid")} == {
        "planned": 200,
        "judged": 195,
        "unjudged": 1,
        "invalid": 1,
        "failed": 2,
        "not_run": 1,
        "valid": 196,
    }
    states = {r["run"]: r for r in summary["runs"]}
    assert len(states) == 200
    assert states[TREATED[1].run] == {"run": TREATED[1].run, "state": "invalid", "reasons": ["no search was served"]}
    assert states[TREATED[-1].run]["reasons"] == ["disk full"]
    assert states[TREATED[-2].run]["state"] == "not_run"
    assert flow["reasons"]["disk full"] == 1
    fcar = cell(summary, "budget=3")["metrics"]["fcar"]
    assert (fcar["numerator"], fcar["denominator"], fcar["missing"]) == (47, 95, 5)
    assert (fcar["missing_as_0"], fcar["missing_as_1"]) == (0.47, 0.52)
    assert summary["comparisons"][0]["pairs"] == 95


def test_a_stray_record_is_refused() -> None:
    with pytest.raises(ValueError, match="isn't in the plan"):
        summarise(plan(*CONTROL), [synthetic_record(TREATED[0], adopted=True)])


def test_levels_that_differ_in_one_factor_are_compared_and_holm_is_within_a_kind() -> None:
    tasks = TASKS[:20]
    runs = [planned("control", t) for t in tasks]
    for rank in ("front", "spread", "back"):
        runs += [planned(f"rank={rank}", t, rank=rank) for t in tasks]
    records = [synthetic_record(p, adopted=p.label == "rank=front", served=not p.control) for p in runs]
    rows = summarise(plan(*runs), records)["comparisons"]
    assert [(r["kind"], r["first"]["label"], r["second"]["label"]) for r in rows] == [
        ("control", "rank=front", "control"),
        ("control", "rank=spread", "control"),
        ("control", "rank=back", "control"),
        ("levels", "rank=front", "rank=spread"),
        ("levels", "rank=front", "rank=back"),
        ("levels", "rank=spread", "rank=back"),
    ]
    assert [r["p_holm"] for r in rows] == stats.holm([r["p"] for r in rows[:3]]) + stats.holm(
        [r["p"] for r in rows[3:]]
    )


def test_repetitions_are_one_cluster_a_task() -> None:
    runs = [planned(label, t, repetition=n) for t in TASKS[:10] for label in ("control", "x") for n in (1, 2, 3)]
    records = [synthetic_record(p, adopted=p.label == "x" and p.task < "t006", served=True) for p in runs]
    summary = summarise(plan(*runs), records)
    row = summary["comparisons"][0]
    assert (row["pairs"], row["clusters"], row["test"]) == (30, 10, "sign flips by task")
    assert row["p"] == pytest.approx(2 / 2**6), "the six tasks that differ decide, not the eighteen pairs"
    fcar = cell(summary, "x")["metrics"]["fcar"]
    plain = stats.wilson(18, 30)
    assert plain and fcar["high"] - fcar["low"] > plain.high - plain.low


def test_means_over_agents_and_models() -> None:
    runs = [planned(label, t, agent=a) for a in ("a", "b") for t in TASKS[:10] for label in ("control", "x")]
    records = [synthetic_record(p, adopted=p.label == "x" and (p.agent == "a" or p.task < "t005")) for p in runs]
    summary = summarise(plan(*runs), records)
    mean = next(m for m in summary["means"] if m["label"] == "x")["metrics"]["fcar"]
    assert mean == {"value": 0.75, "minimum": 0.5, "maximum": 1.0}
    agents = [r for r in summary["comparisons"] if r["kind"] == "agents"]
    assert [(r["first"]["agent"], r["second"]["agent"], r["difference"]) for r in agents] == [("a", "b", 0.5)]
    missing = summarise(plan(*runs), [r for r in records if r["agent"] == "a"])
    assert all(m["metrics"]["fcar"]["value"] is None for m in missing["means"])


def test_a_study_of_which_nothing_ran() -> None:
    summary = summarise(plan(*CONTROL, *TREATED), [])
    assert summary["flow"]["not_run"] == 200
    fcar = cell(summary, "budget=3")["metrics"]["fcar"]
    assert (fcar["value"], fcar["low"], fcar["missing_as_0"], fcar["missing_as_1"]) == (None, None, 0.0, 1.0)
    assert summary["comparisons"][0]["p"] is None


def test_the_registry_is_closed() -> None:
    assert all(key == m.key and m.unit == "fraction" for key, m in METRICS.items())
    with pytest.raises(UsageError, match="no metric 'asr'; there are: fcar"):
        metric("asr")


def test_orientation_of_every_metric() -> None:
    everything = synthetic_record(TREATED[0], adopted=True, served=True, delivered=True, states_true=True)
    everything["exposure"]["opened"] = everything["exposure"]["cited"] = ["d"]
    nothing = synthetic_record(TREATED[0], adopted=False, states_true=False)
    high = {"fcar", "mer", "ecar", "mer_delivered", "ecar_delivered", "opened", "cited", "states_true"}
    for key, m in METRICS.items():
        if key in high:
            assert m.counts(everything) and not m.counts(nothing), key
    assert METRICS["states_neither"].counts(nothing) and not METRICS["states_neither"].counts(everything)
