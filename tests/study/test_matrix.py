"""The planned runs, their cost, and what they can show."""

from __future__ import annotations

import pytest

from searchsim.study.contract import parse
from searchsim.study.matrix import Plan, estimate, plan, power, sides
from tests.study.conftest import ContractData


def test_every_combination_once_and_one_control(data: ContractData) -> None:
    varied = {"budget": [1, 3], "rank": ["front", "back"]}
    fixed = {k: v for k, v in data["fixed"].items() if k != "rank"}
    contract = parse({**data, "factors": varied, "fixed": fixed, "repetitions": 2}, "c.yaml")
    planned = plan(contract)
    labels = ["control"] + [f"budget={b},rank={r}" for b in (1, 3) for r in ("front", "back")]
    assert list(dict.fromkeys(r.label for r in planned.runs)) == labels
    assert len(planned.runs) == len({r.run for r in planned.runs}) == 2 * 2 * 5
    control = next(r for r in planned.runs if r.control)
    assert control.condition == {"authority": "high", "style": "paper", "stage": "always", "rank": "front", "budget": 0}
    assert control.run == "scripted/local/control/bicycle-stability/1"
    assert [r.task for r in planned.runs[:5]] == ["bicycle-stability"] * 5, "all conditions of a task come together"
    assert Plan.of(planned.record()) == planned
    one_apart = [(a["label"], b["label"]) for a, b in sides("levels", planned)]
    assert one_apart == [
        ("budget=1,rank=front", "budget=1,rank=back"),
        ("budget=1,rank=front", "budget=3,rank=front"),
        ("budget=1,rank=back", "budget=3,rank=back"),
        ("budget=3,rank=front", "budget=3,rank=back"),
    ]


def test_nothing_varies_but_the_agents(data: ContractData) -> None:
    contract = parse(
        {**data, "factors": {}, "fixed": {**data["fixed"], "budget": 3}, "agents": ["planner", "scripted"]}, "c.yaml"
    )
    planned = plan(contract)
    assert list(dict.fromkeys(r.label for r in planned.runs)) == ["control", "treated"]
    assert [(a["agent"], b["agent"], a["label"]) for a, b in sides("agents", planned)] == [
        ("planner", "scripted", "treated")
    ]


def test_what_it_takes(data: ContractData) -> None:
    model = {"name": "m", "model": "a/b", "price": {"input": 10, "output": 100}}
    contract = parse({**data, "models": [model, "local"], "agents": ["planner", data["agents"][0]]}, "c.yaml")
    rows = {(r["agent"], r["model"]): r for r in estimate(contract, plan(contract), {})}
    told = rows[("scripted", "m")]
    assert (told["runs"], told["calls"], told["input_tokens"], told["output_tokens"]) == (4, 4, 44, 28)
    assert told["cost"] == pytest.approx((44 * 10 + 28 * 100) / 1e6)
    assert (told["from"], rows[("planner", "m")]["from"]) == ("contract", "unknown")
    assert rows[("planner", "m")]["cost"] is None, "unknown isn't free"
    assert rows[("scripted", "local")]["cost"] == 0
    measured = {("planner", "m"): {"calls": 2.5, "input_tokens": 100.0, "output_tokens": 10.0}}
    row = estimate(contract, plan(contract), measured)[0]
    assert (row["from"], row["calls"], row["input_tokens"]) == ("measured", 10, 400)


def test_what_it_can_show(data: ContractData) -> None:
    planned = plan(parse({**data, "tasks": "all"}, "c.yaml"))
    (row,) = power(planned)
    assert (row["kind"], row["comparisons"], row["pairs"], row["alpha"]) == ("control", 1, 6, 0.05)
    assert row["smallest_significant"] == 1.0, "six of six"
    assert 0.9 < row["detectable"]["0.0"] < 1
    assert row["detectable"]["0.1"] is None
    two = plan(parse(data, "c.yaml"))
    assert power(two)[0]["smallest_significant"] is None, "two pairs can't show anything"
