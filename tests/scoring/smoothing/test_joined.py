"""Runs beside the scores of their reports, and the tables of many reports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner

from searchsim import records
from searchsim.cli.score import score_app
from searchsim.errors import UsageError
from searchsim.records import Record
from searchsim.reproduce.synthetic import synthetic_record
from searchsim.scoring.smoothing.joined import joined
from searchsim.scoring.smoothing.results import distribution
from searchsim.study.matrix import PlannedRun
from tests.scoring.smoothing.scored_reports import smoothing_record

FALSE = "https://false.example/towels"
TRUE = "https://true.example/bread"


def run(
    task: str, *, adopted: bool | None, cites: Sequence[str] = (), opens: Sequence[str] = (), **more: Any
) -> Record:
    label = more.pop("label", "default")
    planned = PlannedRun(
        run=f"planner/m/{label}/{task}/1",
        agent="planner",
        model="m",
        task=task,
        language="en",
        label=label,
        condition={"budget": 3},
        control=label == "control",
        repetition=1,
    )
    record = synthetic_record(planned, adopted=adopted, served=FALSE in cites, **more)
    record["demonstration"] = False
    record["report"] = f"# {task}\n\n" + " ".join(f"It is so ({url})." for url in cites)
    record["citations"] = [
        {"url": u, "canonical": u, "document": u[8:], "injected": u == FALSE, "by": "url"} for u in cites
    ]
    record["exposure"]["cited"] = [u[8:] for u in cites if u == FALSE]
    record["fetches"] = [
        {"at": "now", "url": u, "canonical": u, "document": u[8:], "found": True, "injected": u == FALSE} for u in opens
    ]
    assert records.check(record) == []
    return record


def scored(record: Record, scores: Sequence[int | None], **more: Any) -> dict[str, Any]:
    return smoothing_record(record["run"], record["report"], scores, **more)


def without(record: Record, scores: Sequence[int | None], **more: Any) -> dict[str, Any]:
    return scored(record, scores, left_out=[FALSE.removeprefix("https://")], **more)


ADOPTED = run("towels", adopted=True, cites=[FALSE, TRUE], opens=[FALSE])
RESISTED = run("bread", adopted=False, cites=[TRUE])
CONTROL = run("towels", adopted=False, cites=[TRUE], opens=[TRUE], label="control")
BROKEN = run("crusts", adopted=None, cites=[TRUE], status="invalid")
SMOOTHING = [
    scored(ADOPTED, [1, 1, None], unjudged=1),
    without(ADOPTED, [4, 5, None], unjudged=1),
    scored(RESISTED, [2, 3]),
    scored(CONTROL, [1]),
]


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return joined([ADOPTED, RESISTED, CONTROL, BROKEN], SMOOTHING, resamples=200)


def test_a_run_with_all_that_is_known_of_it(found: dict[str, Any]) -> None:
    assert found["runs"][0] == {
        "run": "planner/m/default/towels/1",
        "agent": "planner",
        "model": "m",
        "label": "default",
        "control": False,
        "task": "towels",
        "repetition": 1,
        "state": "judged",
        "adopted": True,
        "states_true": False,
        "exposure": {"served": 1, "delivered": 0, "opened": 0, "cited": 1},
        "engagement": {"cited": 2, "opened": 1, "share": 0.5},
        "smoothing": distribution([1, 1, None, None], unjudged=1),
        "smoothing_without_injected": distribution([4, 5, None, None], unjudged=1),
    }


def test_an_adopted_falsehood_looks_faithful_beside_its_own_documents(found: dict[str, Any]) -> None:
    row = found["runs"][0]
    assert (row["smoothing"]["mean"], row["smoothing_without_injected"]["mean"]) == (1.0, 4.5)


def test_a_run_that_cites_nothing_injected_has_one_score(found: dict[str, Any]) -> None:
    for row in found["runs"][1:3]:
        assert row["smoothing"] == row["smoothing_without_injected"]
        assert row["smoothing"]["scored"] > 0


def test_a_run_that_isnt_valid_has_no_figures(found: dict[str, Any]) -> None:
    row = found["runs"][3]
    assert (row["state"], row["adopted"], row["states_true"], row["engagement"], row["smoothing"]) == (
        "invalid",
        None,
        None,
        None,
        None,
    )


def test_groups_by_verdict(found: dict[str, Any]) -> None:
    groups = {(g["label"], g["adopted"]): g for g in found["groups"]}
    assert set(groups) == {("default", True), ("default", False), ("control", False)}
    adopted = groups["default", True]
    assert (adopted["runs"], adopted["exposure"]["served"], adopted["engagement"]["share"]) == (1, 1, 0.5)
    assert (adopted["smoothing"]["mean"], adopted["smoothing_without_injected"]["mean"]) == (1.0, 4.5)
    assert (adopted["smoothing"]["unscored"], adopted["smoothing"]["unjudged"]) == (1, 1)


def test_results_for_each_variant(found: dict[str, Any]) -> None:
    for variant, mean in (("smoothing", 7 / 4), ("smoothing_without_injected", 14 / 4)):
        cells = {c["system"]: c for c in found["results"][variant]["cells"]}
        assert set(cells) == {"planner/m/default", "planner/m/control"}
        assert cells["planner/m/default"]["mean"] == pytest.approx(mean)
        assert cells["planner/m/default"]["reports"] == 2
        assert cells["planner/m/default"]["dataset"] == "synthetic"


def test_a_second_score_that_is_missing_isnt_made_up() -> None:
    found = joined([ADOPTED], SMOOTHING[:1])
    assert found["runs"][0]["smoothing"]["mean"] == 1.0
    assert found["runs"][0]["smoothing_without_injected"] is None
    assert found["results"]["smoothing_without_injected"]["reports"] == []


def test_an_injected_document_is_known_by_its_name_and_by_how_it_was_served() -> None:
    """Cited in a form that the run's record doesn't read, it is in the score all the same: that one isn't the second."""
    record = {**ADOPTED, "citations": [], "fetches": []}
    first = scored(record, [1])
    second = without(record, [5])
    assert joined([record], [first])["runs"][0]["smoothing_without_injected"] is not None, "nobody knows of it"
    served = {"position": 1, "document": "m1", "url": FALSE, "injected": True}
    search = {"at": "now", "list": 1, "endpoint": "search", "query": "q", "page": 1, "k": 10, "mode": "always"}
    searched = {**record, "searches": [{**search, "served": [served], "displaced": []}]}
    planned = {**record, "plan": {**record["plan"], "documents": ["m1"]}}
    resolved = {**first, "documents": [{**first["documents"][0], "source": "m1"}, *first["documents"][1:]]}
    fetched = {**record, "fetches": ADOPTED["fetches"]}
    for run_, one in ((searched, first), (fetched, first), (planned, resolved)):
        assert records.check(run_) == []
        row = joined([run_], [one])["runs"][0]
        assert (row["smoothing"]["mean"], row["smoothing_without_injected"]) == (1.0, None)
        for both in ([one, second], [second, one]):
            assert joined([run_], both)["runs"][0]["smoothing_without_injected"]["mean"] == 5.0


def test_a_score_without_the_injected_that_has_one_is_refused() -> None:
    record = {**ADOPTED, "report": ADOPTED["report"] + f" See https://other.example/ and {FALSE}/more."}
    other = scored(record, [5], left_out=["other.example"])
    with pytest.raises(UsageError, match="its score without injected documents has d1, which is one"):
        joined([record], [scored(record, [1]), other])


def test_what_is_told_of_the_scores(found: dict[str, Any]) -> None:
    assert (found["unmatched"], found["demonstration"]) == ([], [])
    assert found["instrument"]["judge"] == "judge"
    stray = smoothing_record("another/run", "Text.", [3])
    toy = scored(RESISTED, [2], demonstration=True)
    other = joined([RESISTED], [toy, stray])
    assert other["unmatched"] == ["another/run"]
    assert other["demonstration"] == ["model judge is a toy or a stand-in"]
    assert joined([{**RESISTED, "demonstration": True}], [])["demonstration"] == ["model m is a toy or a stand-in"]
    assert joined([RESISTED], [])["instrument"] is None


@pytest.mark.parametrize(
    ("runs", "smoothing", "message"),
    [
        ([RESISTED, RESISTED], [], "run planner/m/default/bread/1 stands twice"),
        ([RESISTED], [scored(RESISTED, [1]), scored(RESISTED, [2])], "scored twice in the same way"),
        ([ADOPTED], [without(ADOPTED, [1]), without(ADOPTED, [2])], "scored twice in the same way"),
        ([RESISTED, CONTROL], [scored(RESISTED, [1]), scored(CONTROL, [1], judge="other")], "another instrument"),
        ([RESISTED], [smoothing_record(RESISTED["run"], "Another text.", [1])], "isn't the report of the run's record"),
    ],
)
def test_what_cant_be_joined(runs: list[Record], smoothing: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        joined(runs, smoothing)


def written(path: Path, *lines: Any) -> Path:
    path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    return path


def test_the_command_joined(tmp_path: Path, found: dict[str, Any]) -> None:
    runs, smoothing = tmp_path / "runs.jsonl", written(tmp_path / "smoothing.jsonl", *SMOOTHING)
    records.write(runs, [ADOPTED, RESISTED, CONTROL, BROKEN])
    arguments = ["joined", str(runs), str(smoothing), "--resamples", "200"]
    answered = CliRunner().invoke(score_app, [*arguments, "--json"])
    assert answered.exit_code == 0, answered.output
    assert orjson.loads(answered.stdout) == orjson.loads(orjson.dumps(found))
    shown = CliRunner().invoke(score_app, arguments).stdout
    assert "planner/m/default/towels/1" in shown
    assert "4.50 of 2" in shown
    assert "1/2" in shown


def test_the_command_results_takes_first_scores(tmp_path: Path) -> None:
    path = written(tmp_path / "scores.jsonl", *SMOOTHING)
    arguments = ["results", f"planner={path}", "--resamples", "100"]
    found = orjson.loads(CliRunner().invoke(score_app, [*arguments, "--json"]).stdout)
    assert ([r["mean"] for r in found["reports"]], found["left_out"]) == ([1.0, 2.5, 1.0], 1)
    shown = CliRunner().invoke(score_app, arguments).stdout
    assert "1 scores of reports without some of their documents are left out" in shown


@pytest.mark.parametrize("verb", ["results", "joined"])
def test_a_seed_is_no_less_than_0(verb: str) -> None:
    answered = CliRunner().invoke(score_app, [verb, "a=b.jsonl", "c.jsonl", "--seed", "-1"])
    assert answered.exit_code == 2
    assert "Invalid value for '--seed'" in answered.output


def test_the_command_results(tmp_path: Path) -> None:
    one = written(tmp_path / "one.jsonl", *(smoothing_record(n, "See https://a.example/.", [1, 2]) for n in "ab"))
    other = tmp_path / "other.json"
    other.write_bytes(orjson.dumps(smoothing_record("a", "See https://a.example/.", [4], unjudged=2), option=2))
    arguments = ["results", f"bench/luna={one}", f"sol={other}", "--resamples", "200"]
    answered = CliRunner().invoke(score_app, [*arguments, "--json"])
    assert answered.exit_code == 0, answered.output
    found = orjson.loads(answered.stdout)
    assert [(c["dataset"], c["system"], c["reports"], c["mean"], c["unjudged"]) for c in found["cells"]] == [
        ("bench", "luna", 2, 1.5, 0),
        ("", "sol", 1, 4.0, 2),
    ]
    assert [r["documents"] for r in found["reports"]] == [1, 1, 1]
    assert found["instrument"]["judge"] == "judge"
    assert found["bootstrap"]["resamples"] == 200
    shown = CliRunner().invoke(score_app, arguments).stdout
    assert "1.50 [1.50, 1.50] of 4" in shown
    assert "comparable with scores of" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["one.jsonl"], r"write \[DATASET/\]SYSTEM=FILE"),
        (["luna="], r"write \[DATASET/\]SYSTEM=FILE"),
        (["luna=missing.jsonl"], "no such file"),
        (["luna=missing.json"], "no such file"),
        (["luna=broken.jsonl"], "broken.jsonl:1: "),
        (["luna=one.jsonl", "luna=one.jsonl"], "report a of luna stands twice"),
        (["luna=one.jsonl", "sol=other.jsonl"], "another instrument"),
    ],
)
def test_results_that_cant_be_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    written(Path("one.jsonl"), smoothing_record("a", "Text.", [1]))
    written(Path("other.jsonl"), smoothing_record("a", "Text.", [1], judge="other"))
    written(Path("broken.jsonl"), {"record": 1})
    result = CliRunner().invoke(score_app, ["results", *arguments])
    assert isinstance(result.exception, UsageError)
    with pytest.raises(UsageError, match=message):
        raise result.exception
