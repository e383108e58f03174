"""The charts, for studies of all shapes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from searchsim.report import figures
from searchsim.report.figures import Chart
from searchsim.report.svg import COLOURS, inline
from searchsim.reproduce.synthetic import synthetic_record
from searchsim.scoring.fcar import summarise
from tests.report.made import contract_of, plan_of

TEXT = "{http://www.w3.org/2000/svg}text"


def drawn(factors: dict[str, list[Any]], models: Sequence[str], adopted: bool | None = True) -> list[Chart]:
    plan = plan_of(factors, list(models), ["tea"])
    records = [synthetic_record(p, adopted=adopted, served=True, states_true=None) for p in plan.runs]
    return figures.draw(contract_of(factors, list(models)), summarise(plan, records))


def words(chart: Chart) -> list[str]:
    return ["".join(t.itertext()) for t in ElementTree.fromstring(chart.svg).iter(TEXT)]


@pytest.mark.parametrize(
    ("adopted", "told"), [(True, ["100\u00a0%", "1/1"]), (False, ["0\u00a0%", "0/1"]), (None, ["–"])]
)
def test_one_condition(adopted: bool | None, told: list[str]) -> None:
    charts = drawn({"budget": [3]}, ["alpha"], adopted)
    assert [c.name for c in charts] == ["fcar", "exposure", "outcomes"]
    fcar = words(charts[0])
    assert {"control", "budget=3", "planner × alpha", *told} <= set(fcar)
    assert ("nothing judged" in fcar) is (adopted is None)
    assert {"Served", "Delivered", "Opened", "Cited", "Adopted"} <= set(words(charts[1]))
    assert ("n = 1" in words(charts[2])) is (adopted is not None)


def test_whiskers_at_the_ends_are_drawn() -> None:
    """At 0 and at 100 % the interval goes one way, and isn't cut off at the axis."""
    for adopted in (False, True):
        fcar = drawn({"budget": [3]}, ["alpha"], adopted)[0].svg
        whiskers = re.findall(r'<g id="LineCollection_1">(.*?)</g>', fcar, re.DOTALL)
        ends = [float(x) for x in re.findall(r"[ML] ([\d.]+) ", whiskers[0])]
        assert len(ends) == 4 and max(ends) - min(ends) > 50
        assert "clip-path" not in whiskers[0]


def test_many_conditions_and_models() -> None:
    factors: dict[str, list[Any]] = {
        "budget": [1, 3],
        "rank": ["front", "back", "spread"],
        "stage": ["always", "first_list"],
    }
    models = [f"model-{n}" for n in range(6)]
    charts = drawn(factors, models)
    for kind in ("fcar", "budget", "exposure", "outcomes"):
        parts = [c for c in charts if c.kind == kind]
        assert [c.name for c in parts] == ([f"{kind}-{n + 1}" for n in range(len(parts))] if len(parts) > 1 else [kind])
        told = [w for c in parts for w in words(c)]
        assert all(any(m in w for w in told) for m in models), kind
        for chart in parts:
            height = float(ElementTree.fromstring(chart.svg).attrib["height"].removesuffix("pt"))
            assert height <= 72 * 12.5, chart.name
    shown = [w for c in charts if c.kind == "fcar" for w in words(c)]
    assert sum(w == "planner × model-0" for w in shown) == 1
    assert "budget=3, rank=back, stage=first_list" in shown


@pytest.mark.parametrize(
    ("factors", "models", "titles", "lines"),
    [
        ({"budget": [1, 3]}, 1, [], []),
        ({"budget": [1, 3]}, 2, [], ["planner × m0", "planner × m1"]),
        (
            {"budget": [1, 3], "rank": ["front", "back"]},
            2,
            ["rank=front", "rank=back"],
            ["planner × m0", "planner × m1"],
        ),
        (
            {"budget": [1, 3], "rank": ["front", "back"]},
            4,
            [f"planner × m{n}" for n in range(4)],
            ["rank=front", "rank=back"],
        ),
    ],
)
def test_budget_lines(factors: dict[str, list[Any]], models: int, titles: list[str], lines: list[str]) -> None:
    chart = next(c for c in drawn(factors, [f"m{n}" for n in range(models)]) if c.kind == "budget")
    told = words(chart)
    assert {*titles, *lines} <= set(told)
    # The control's budget is among the ticks.
    assert {"0", "1", "3"} <= set(told)
    assert sum(w == "budget (n = 1)" for w in told) == max(len(titles), 1)


def test_a_control_that_is_no_budget_begins_no_line() -> None:
    factors: dict[str, list[Any]] = {"budget": [1, 3]}
    plan = plan_of(factors, ["alpha"], ["tea"])
    records = [synthetic_record(p, adopted=True) for p in plan.runs]
    contract = {**contract_of(factors, ["alpha"]), "control": {"stage": "placebo"}}
    chart = next(c for c in figures.draw(contract, summarise(plan, records)) if c.kind == "budget")
    assert words(chart).count("0") == 1  # of the other axis


def test_files_have_plain_colours_and_stay_the_same() -> None:
    first, again = (drawn({"budget": [1, 3]}, ["alpha", "beta"]) for _ in range(2))
    assert first == again
    for chart in first:
        root = ElementTree.fromstring(chart.svg)
        assert root.find(".//{http://purl.org/dc/elements/1.1/}date") is None
        assert COLOURS["paper"] in chart.svg
        assert "var(" not in chart.svg
        used = set(re.findall(r"#[0-9a-f]{6}\b", chart.svg))
        assert used <= set(COLOURS.values()), used - set(COLOURS.values())


def test_whatever_a_name_holds() -> None:
    """No mathematics, no markup, and no warning for letters that the layout's font lacks."""
    name = 'm$x_1$ <&"> 模型'
    chart = drawn({"budget": [3]}, [name])[0]
    assert f"planner × {name}" in words(chart)
    html = inline(chart.svg, "one", 'a "label" <x>')
    root = ElementTree.fromstring(html)
    assert root.get("aria-label") == 'a "label" <x>'
    assert {str(e.get("id"))[:4] for e in root.iter() if e.get("id")} == {"one-"}


def test_the_users_settings_do_not_count(tmp_path: Path) -> None:
    import matplotlib

    before = drawn({"budget": [3]}, ["alpha"])
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "black", "svg.fonttype": "path"}):
        assert drawn({"budget": [3]}, ["alpha"]) == before
        assert matplotlib.rcParams["font.size"] == 30


def test_nothing_planned() -> None:
    assert figures.draw({"factors": {}, "control": {}}, {"cells": []}) == []
