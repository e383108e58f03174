"""Planned faults: what is asked for, what is drawn, and what a trace tells of it."""

from __future__ import annotations

import json
import re
import statistics
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from searchsim import trace
from searchsim.corpus import Corpus
from searchsim.engine.embedded import EmbeddedEngine
from searchsim.errors import ConditionError
from searchsim.faults import DIALECTS, KINDS, FaultPlan, PlannedFaultError, counted, planned
from searchsim.server.openapi import wire_schemas
from searchsim.server.serper.settings import SerperSettings
from searchsim.store import SqliteStore
from searchsim.validity import reasons
from searchsim.world import Worlds
from tests.test_docs import DOCS, quoted, rows

TASK = "bicycle-stability"


def plan(*faults: dict[str, Any], latency: object = None, seed: str = TASK) -> FaultPlan:
    return FaultPlan.parse(list(faults), latency, seed)


@pytest.mark.parametrize(
    ("faults", "latency", "field"),
    [
        ("x", None, "faults"),
        ({}, None, "faults"),
        ([{"kind": "429", "on": [1]}] * 101, None, "faults"),
        ([3], None, "faults.0"),
        ([{"kind": "429", "on": [1], "at": 1}], None, "faults.0.at"),
        ([{"on": [1]}], None, "faults.0.kind"),
        ([{"kind": "418", "on": [1]}], None, "faults.0.kind"),
        ([{"kind": True, "on": [1]}], None, "faults.0.kind"),
        ([{"kind": ["429"], "on": [1]}], None, "faults.0.kind"),
        ([{"kind": "429"}], None, "faults.0.on"),
        ([{"kind": "429", "on": [1], "share": 0.5}], None, "faults.0.on"),
        ([{"kind": "500", "on": [1]}, {"kind": "429", "on": []}], None, "faults.1.on"),
        ([{"kind": "429", "on": [0]}], None, "faults.0.on"),
        ([{"kind": "429", "on": [True]}], None, "faults.0.on"),
        ([{"kind": "429", "on": [1.0]}], None, "faults.0.on"),
        ([{"kind": "429", "on": 1}], None, "faults.0.on"),
        ([{"kind": "429", "share": 1.1}], None, "faults.0.share"),
        ([{"kind": "429", "share": "0.5"}], None, "faults.0.share"),
        ([{"kind": "429", "share": False}], None, "faults.0.share"),
        ([{"kind": "429", "on": [1], "dialect": "serpapi"}], None, "faults.0.dialect"),
        ([{"kind": "429", "on": [1], "dialect": ["serper"]}], None, "faults.0.dialect"),
        ([{"kind": "no_organic", "on": [1], "dialect": "tavily"}], None, "faults.0.dialect"),
        (None, "slow", "latency"),
        (None, 0.5, "latency"),
        (None, {}, "latency"),
        (None, {"constant": 1, "p50": 2}, "latency"),
        (None, {"constant": -1}, "latency.constant"),
        (None, {"constant": 61}, "latency.constant"),
        (None, {"constant": True}, "latency.constant"),
        (None, {"constant": "1"}, "latency.constant"),
    ],
)
def test_what_cannot_be_planned_names_the_field(faults: Any, latency: Any, field: str) -> None:
    with pytest.raises(ConditionError) as refused:
        FaultPlan.parse(faults, latency, TASK)
    assert refused.value.field == field
    assert str(refused.value)


def test_numbers_and_dialects_say_who_meets_a_fault() -> None:
    faults = plan({"kind": 429, "on": [1, 4]}, {"kind": "500", "on": [1, 2], "dialect": "tavily"})
    assert [f.kind if (f := faults.draw(n)) else None for n in range(1, 6)] == ["429", None, None, "429", None]
    assert [f.kind if (f := faults.draw(n, "tavily")) else None for n in (1, 2, 3)] == ["429", "500", None]
    spoiled = plan({"kind": "no_organic", "on": [1]})
    assert spoiled.draw(1, "serper")
    assert not spoiled.draw(1, "brave"), "only Serper has such answers"


def test_shares_are_drawn_from_task_and_number_alone() -> None:
    asked = {"kind": "500", "share": 0.2}
    drawn = [bool(plan(asked).draw(n)) for n in range(1, 2001)]
    assert 0.17 < sum(drawn) / len(drawn) < 0.23
    assert drawn == [bool(plan(asked).draw(n)) for n in range(1, 2001)]
    assert drawn != [bool(plan(asked, seed="other").draw(n)) for n in range(1, 2001)]
    assert drawn != [bool(plan({"kind": "429", "on": [9999]}, asked).draw(n)) for n in range(1, 2001)]
    assert not any(plan({"kind": "500", "share": 0}).draw(n) for n in range(1, 200))
    assert all(plan({"kind": "500", "share": 1}).draw(n) for n in range(1, 200))


def test_live_latency_has_the_live_quantiles() -> None:
    live = plan(latency="live")
    waits = sorted(live.wait(n) for n in range(1, 10_001))
    assert statistics.median(waits) == pytest.approx(0.640, rel=0.03)
    assert waits[9_500] == pytest.approx(1.35, rel=0.04)
    assert waits[-1] <= 10
    assert live.wait(7) == plan(latency="live").wait(7) != live.wait(8)
    assert plan(latency={"constant": 2}).wait(3) == 2
    assert plan().wait(1) == 0


def test_the_schema_of_a_worlds_request_knows_the_kinds() -> None:
    fault = wire_schemas("control")["new_world"]["properties"]["faults"]["items"]["properties"]
    assert fault["kind"]["anyOf"][0]["enum"] == list(KINDS)
    assert fault["dialect"]["enum"] == list(DIALECTS)


def test_a_trace_tells_how_many_requests_there_were() -> None:
    faults = plan(*({"kind": kind, "on": [1]} for kind in KINDS)).faults
    events = [planned(f, range(n, n + 1), "serper") for n, f in enumerate(faults, start=1)]
    # The list whose rows are spoiled is on record itself.
    assert counted(events) == len(KINDS) - 1
    assert counted([planned(faults[0], range(3, 6), "serper")]) == 3, "a batch that failed at its third query"
    assert counted([trace.fault(where="upstream", status=502, message="gone", planned=True)]) == 0


async def test_faults_outlive_the_server(quickstart: Corpus, engine: EmbeddedEngine, tmp_path: Path) -> None:
    file = tmp_path / "worlds.sqlite"
    worlds = Worlds(quickstart, engine, SqliteStore(file))
    asked = [{"kind": "429", "on": [2, 4]}]
    world = worlds.create(TASK, key="k", faults=asked, latency={"constant": 0})
    assert world.record()["plan"]["faults"] == asked
    assert world.record()["plan"]["latency"] == {"constant": 0}

    async def ask(worlds: Worlds, text: str) -> int:
        return (await worlds.search(worlds.get("k"), dialect="tavily", endpoint="search", text=text)).number

    assert await ask(worlds, "bicycle") == 1
    with pytest.raises(PlannedFaultError) as failed:
        await ask(worlds, "bicycle trail")
    assert (failed.value.status, failed.value.message) == (429, "Too many requests")
    worlds.close()

    again = Worlds(quickstart, engine, SqliteStore(file))
    assert again.get("k").record() == world.record()
    assert await ask(again, "bicycle trail") == 2, "a retry is a request of its own, and the list has the next number"
    with pytest.raises(PlannedFaultError):
        await ask(again, "bicycle")
    events = list(again.events("k"))
    assert [e["event"] for e in events] == ["search", "fault", "search", "fault"]
    assert events[1]["where"] == "request 2, tavily"
    assert events[1]["planned"]
    assert await reasons(again, again.get("k"), events) == []
    again.close()


def test_the_docs_tell_every_kind_and_an_example_that_works(worlds: Worlds) -> None:
    assert [kind for row in rows("http.md", "fault") for kind in quoted(row[0])] == list(KINDS)
    found = re.search(r"```json\n(\{\n  \"task\".*?)```", (DOCS / "http.md").read_text("utf-8"), re.DOTALL)
    assert found
    example = json.loads(found[1])
    Draft202012Validator(wire_schemas("control")["new_world"]).validate(example)
    assert FaultPlan.parse(example["faults"], example["latency"], TASK).latency
    settings = SerperSettings.parse(example["serper"])
    assert settings.record() == example["serper"]
    plan = worlds.create(**example).record()["plan"]
    assert {name: plan[name] for name in ("faults", "latency", "serper")} == {
        name: example[name] for name in ("faults", "latency", "serper")
    }
