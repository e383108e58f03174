"""The MisKnow paper's figures come out again, and wouldn't from other records."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner

from searchsim import records
from searchsim.cli.reproduce import reproduce_app
from searchsim.records import Record
from searchsim.reproduce import misknow
from searchsim.reproduce.lines import Line
from searchsim.reproduce.misknow_studies import MODELS, OPEN, Study, studies

UNTOLD = {
    "MK-1",
    "MK-2",
    "MK-4.monotone",
    "MK-5.within",
    "MK-8.lower",
    "MK-8.monotone",
    "MK-8.reversed",
    "MK-9.ends",
    "MK-9.order",
    "MK-11.deepseek",
    "MK-12.deepseek.half",
    "MK-13",
    "MK-13.qwen",
    "MK-14.b4",
    "MK-14.b5",
    "MK-15.pre",
    "MK-15.post",
    "MK-15.combined",
    "MK-15.best",
    "MK-16",
}


@pytest.fixture(scope="module")
def made() -> dict[str, Study]:
    return studies()


@pytest.fixture(scope="module")
def answer(made: dict[str, Study]) -> list[Line]:
    return misknow.lines(made)


@pytest.fixture(scope="module")
def found(answer: list[Line]) -> dict[str, Line]:
    return {entry["id"]: entry for entry in answer}


def test_every_figure_is_there_once(answer: list[Line], found: dict[str, Line]) -> None:
    assert len(answer) == len(found)
    assert {f"MK-{n}" for n in range(1, 17)} <= set(found)
    assert {"MK-4.b1", "MK-4.monotone", "MK-7.webthinker.cold_start", "WILSON-60", "POWER-5", "POWER-21"} <= set(found)
    fields = {"id", "what", "unit", "source", "inputs", "published", "relation", "recomputed", "tolerance", "holds"}
    assert all(fields <= entry.keys() <= fields | {"reason"} for entry in found.values())


def test_no_figure_fails_and_only_these_cant_be_told(found: dict[str, Line]) -> None:
    assert [entry for entry in found.values() if entry["holds"] is False] == []
    assert {id_ for id_, entry in found.items() if entry["holds"] is None} == UNTOLD
    for id_ in UNTOLD:
        assert found[id_]["recomputed"] is None
        assert found[id_]["reason"]


def test_what_came_out_was_computed(found: dict[str, Line]) -> None:
    def came_out(id_: str) -> object:
        return found[id_]["recomputed"]

    assert came_out("MK-4.b1") == pytest.approx(328 / 6, abs=1e-6)
    assert came_out("MK-4") == pytest.approx(22 / 6, abs=1e-6)
    assert came_out("MK-6.from_middle") == pytest.approx(248 / 6, abs=1e-6)
    assert came_out("MK-7.webthinker.cold_start") == pytest.approx(83 / 3, abs=1e-6)
    assert came_out("MK-11.webthinker.intern") == pytest.approx([72, 5500 / 72], abs=1e-6)
    assert came_out("WILSON-76") == pytest.approx([66.77, 83.31], abs=0.01)
    assert came_out("POWER-21.most") == 103


def test_the_midpoint_rule_is_the_papers(found: dict[str, Line]) -> None:
    """Both parts sum to the gap; taking exposure at one side's ECAR gives other parts than the printed 17.3."""
    parts = {id_: found[f"MK-12.{id_}"]["recomputed"] for id_ in ("intern.mer", "intern.ecar", "qwen.mer", "qwen.ecar")}
    assert parts["intern.mer"] == pytest.approx(22 * (76 / 94 + 55 / 72) / 2, abs=1e-5)
    assert parts["intern.mer"] + parts["intern.ecar"] == pytest.approx(21, abs=1e-5)
    assert parts["qwen.mer"] + parts["qwen.ecar"] == pytest.approx(10, abs=1e-5)
    for other in ("MK-12.other_1", "MK-12.other_2"):
        assert abs(found[other]["recomputed"] - 17.3) > 0.05


def test_significance_is_said_where_every_split_agrees(found: dict[str, Line]) -> None:
    assert found["MK-13.intern"]["recomputed"] is True
    assert found["MK-13.deepseek"]["recomputed"] is False
    assert "0.0039 to 0.69" in found["MK-13.qwen"]["reason"]


def test_the_studies_are_whole(made: dict[str, Study]) -> None:
    for study in made.values():
        assert [p.run for p in study.plan.runs] == [r["run"] for r in study.records]
        assert len({r["run"] for r in study.records}) == len(study.records)
    assert len(made["open"].records) == 17 * len(OPEN) * 100


def test_records_are_sound(made: dict[str, Study]) -> None:
    """One of each kind in each cell: the rest differ from it in their task alone."""
    kinds: dict[tuple[Any, ...], Record] = {}
    for name, study in made.items():
        for r in study.records:
            kind = (r["verdict"]["state"], bool(r["exposure"]["served"]))
            kinds.setdefault((name, r["agent"], r["model"], r["label"], *kind), r)
    assert len(kinds) > 200
    assert [wrong for r in kinds.values() for wrong in records.check(r)] == []


Change = Callable[[Record], None]


def _flip(record: Record) -> None:
    state = record["verdict"]["state"]
    record["verdict"]["state"] = "adopted" if state == "not_adopted" else "not_adopted"


def _hide(record: Record) -> None:
    record["exposure"]["served"] = []


def _changed(made: Mapping[str, Study], changes: Mapping[tuple[str, str], Change]) -> dict[str, Study]:
    """The studies with some records changed, named by study and run."""
    altered = dict(made)
    for (name, run), change in changes.items():
        kept = list(altered[name].records)
        at = next(i for i, r in enumerate(kept) if r["run"] == run)
        kept[at] = copy.deepcopy(kept[at])
        change(kept[at])
        altered[name] = replace(altered[name], records=tuple(kept))
    return altered


def _failing(made: Mapping[str, Study]) -> set[str]:
    return {entry["id"] for entry in misknow.lines(made) if entry["holds"] is False}


deepseek, qwen, intern = MODELS


def test_one_altered_record_is_found_in_its_figures_alone(made: dict[str, Study]) -> None:
    changes = {
        ("open", f"webthinker/{qwen}/control/task-7/1"): (_flip, {"MK-3", "MK-3.all"}),
        ("open", f"webthinker/{qwen}/budget=1/task-1/1"): (_flip, {"MK-4.b1"}),
        ("open", f"deerflow/{deepseek}/stage=first_list,rank=front/task-1/1"): (_flip, {"MK-5", "MK-5.front"}),
        ("open", f"webthinker/{intern}/stage=cold_start/task-1/1"): (
            _flip,
            {"MK-6", "MK-6.cold_start", "MK-7.webthinker.cold_start"},
        ),
        ("open", f"deerflow/{qwen}/authority=medium/task-1/1"): (_flip, {"MK-8.medium"}),
        ("open", f"deerflow/{qwen}/style=post/task-99/1"): (_flip, {"MK-9", "MK-9.post"}),
        ("gemini", "gemini-deep-research/gemini-deep-research/style=blog/task-1/1"): (_flip, {"MK-14.blog"}),
        ("defense", f"deerflow/{intern}/defense=combined/task-1/1"): (
            _flip,
            {"MK-15.intern.combined", "MK-15.interaction"},
        ),
    }
    altered = _changed(made, {run: change for run, (change, _) in changes.items()})
    assert _failing(altered) == set().union(*(ids for _, ids in changes.values()))


def test_one_altered_verdict_of_the_default_condition(made: dict[str, Study]) -> None:
    failing = _failing(_changed(made, {("open", f"deerflow/{qwen}/default/task-1/1"): _flip}))
    assert {"MK-4.b3", "MK-8", "MK-8.high", "MK-9", "MK-9.paper", "MK-10.deerflow", "MK-10.qwen"} <= failing
    assert {"MK-11.deerflow.qwen", "MK-12.qwen", "WILSON-60"} <= failing
    assert not failing & {"MK-10.webthinker", "MK-10.intern", "MK-12.intern", "MK-5.spread", "WILSON-76"}


def test_one_run_less_that_was_served(made: dict[str, Study]) -> None:
    """Task 94 was served but didn't adopt; task 1 adopted, which then is no part of ECAR."""
    failing = _failing(_changed(made, {("open", f"deerflow/{intern}/default/task-94/1"): _hide}))
    assert {"MK-11.deerflow.mer", "MK-11.deerflow.intern", "MK-12", "MK-12.intern.mer"} <= failing
    assert not failing & {"MK-11.residual", "MK-10", "MK-10.intern", "MK-8.high", "MK-12.intern"}
    failing = _failing(_changed(made, {("open", f"deerflow/{intern}/default/task-1/1"): _hide}))
    assert {"MK-11.residual", "MK-12.intern"} <= failing
    assert "MK-10.intern" not in failing


def test_the_command_answers_a_program(found: dict[str, Line], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(misknow, "lines", lambda: list(found.values()))
    result = CliRunner().invoke(reproduce_app, ["misknow", "--json"])
    assert result.exit_code == 0
    assert orjson.loads(result.stdout) == list(found.values())


def test_the_command_answers_a_person(found: dict[str, Line], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(misknow, "lines", lambda: list(found.values()))
    result = CliRunner().invoke(reproduce_app, ["misknow"])
    assert result.exit_code == 0
    assert all(id_ in result.stdout for id_ in found)
    assert "can't be told: the six configurations' cells aren't printed" in result.stdout
    told = len(found) - len(UNTOLD)
    assert f"{len(found)} figures: {told} hold, 0 don't, {len(UNTOLD)} can't be told." in result.stdout
    assert "it replicates nothing" in result.stdout


def test_the_command_fails_with_a_figure(found: dict[str, Line], monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = [{**found["MK-4.b1"], "recomputed": 54.5, "holds": False}]
    monkeypatch.setattr(misknow, "lines", lambda: wrong)
    for arguments in (["misknow"], ["misknow", "--json"]):
        assert CliRunner().invoke(reproduce_app, arguments).exit_code == 1
