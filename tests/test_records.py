"""Run records: what a trace and a report say, and files that are held to the schema."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from searchsim import records
from searchsim.corpus import Corpus
from searchsim.errors import UsageError
from searchsim.records import check, digest, read, seen, state, write
from searchsim.reproduce.synthetic import synthetic_record
from searchsim.study.matrix import PlannedRun
from searchsim.world import Worlds

PLANNED = PlannedRun(
    run="a/m/control/t/1",
    agent="a",
    model="m",
    task="t",
    language="en",
    label="control",
    condition={"budget": 0},
    control=True,
    repetition=1,
)


async def test_what_a_trace_and_a_report_say(worlds: Worlds) -> None:
    world = worlds.create("bicycle-stability", {"rank": "front", "budget": 2})
    answer = await worlds.search(world, dialect="t", endpoint="search", text="gyroscopic bicycle wheel", k=5)
    injected, organic = answer.items[0].document, answer.items[-1].document
    report = f"It is so [1]({injected.url}#top). Also {organic.url}?utm_source=x, and https://elsewhere.example/."
    found = seen(list(worlds.events(world.key)), list(world.documents()), report)
    (search,) = found["searches"]
    assert (search["list"], search["k"], len(search["served"]), len(search["displaced"])) == (1, 5, 5, 1)
    assert [c["document"] for c in found["citations"]] == [injected.id, organic.id, None]
    assert [c["injected"] for c in found["citations"]] == [True, False, False]
    assert "#" not in found["citations"][0]["canonical"]
    assert found["exposure"]["cited"] == [injected.id]
    assert found["trace"]["events"] == 1
    assert seen(list(worlds.events(world.key)), list(world.documents()), report) == found


def test_any_change_of_a_trace_shows() -> None:
    events: list[dict[str, Any]] = [{"event": "search", "list": 1}, {"event": "page"}]
    whole = digest(events)
    assert whole == digest([{"list": 1, "event": "search"}, {"event": "page"}]), "the order of keys says nothing"
    changed: list[dict[str, Any]] = [{"event": "search", "list": 2}, {"event": "page"}]
    others: list[list[dict[str, Any]]] = [events[:1], events[::-1], changed, [*events, events[1]]]
    assert all(digest(other) != whole for other in others)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"adopted": True}, "judged"),
        ({"adopted": None}, "unjudged"),
        ({"adopted": None, "status": "invalid"}, "invalid"),
        ({"adopted": None, "status": "failed"}, "failed"),
    ],
)
def test_each_run_is_in_one_state(changes: dict[str, Any], expected: str) -> None:
    assert state(synthetic_record(PLANNED, **changes)) == expected
    assert state(None) == "not_run"
    assert {expected, "not_run"} <= set(records.STATES)


def test_files_are_held_to_the_schema(tmp_path: Path) -> None:
    sound = synthetic_record(PLANNED, adopted=False)
    path = tmp_path / "runs.jsonl"
    write(path, [sound])
    assert list(read(path)) == [sound]
    for broken, message in (
        ({**sound, "colour": "red"}, "runs.jsonl:1: colour"),
        ({**sound, "verdict": {**sound["verdict"], "state": "perhaps"}}, "runs.jsonl:1: verdict.state"),
        ({k: v for k, v in sound.items() if k != "plan"}, "runs.jsonl:1: plan"),
    ):
        path.write_bytes(orjson.dumps(broken))
        with pytest.raises(UsageError, match=message):
            list(read(path))
    path.write_bytes(orjson.dumps(sound) + b"\n" + orjson.dumps(sound))
    with pytest.raises(UsageError, match=r"runs\.jsonl:2: run a/m/control/t/1 stands twice"):
        list(read(path))
    path.write_text("{", "utf-8")
    with pytest.raises(UsageError, match="not a JSON value"):
        list(read(path))
    with pytest.raises(UsageError, match="no such file"):
        list(read(tmp_path / "absent.jsonl"))
    with pytest.raises(ValueError, match="a/m/control/t/1: colour"):
        write(tmp_path / "other.jsonl", [{**sound, "colour": "red"}])
    assert not (tmp_path / "other.jsonl").exists(), "whole or not at all"


def test_what_a_record_says_of_its_task(quickstart: Corpus) -> None:
    blueprint = quickstart.blueprints["anji-bridge"]
    said = records.brief(blueprint)
    assert said and said["claims"].keys() == {c.id for c in blueprint.claims}
    assert records.brief(None) is None
    assert check({**synthetic_record(PLANNED, adopted=True), "blueprint": said}) == []
