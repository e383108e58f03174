"""A study's folder: what is appended stays, what was cut off never happened, and judges don't overrule each other."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from searchsim.errors import UsageError
from searchsim.judge import LexicalJudge, ModelJudge, Verdict
from searchsim.judge.verdict import identity
from searchsim.records import Record
from searchsim.reproduce.synthetic import synthetic_record
from searchsim.study.contract import parse
from searchsim.study.ledger import Attempts, Ledger
from searchsim.study.matrix import Plan, plan
from tests.study.conftest import ContractData


@pytest.fixture
def ledger(data: ContractData, tmp_path: Path) -> Ledger:
    contract = parse(data, "c.yaml")
    return Ledger.create(tmp_path / "study", contract, plan(contract))


def record(ledger: Ledger, number: int = 0, status: str = "valid") -> Record:
    return synthetic_record(ledger.plan().runs[number], adopted=None, status=status)


def test_the_folder_is_the_studys_own(ledger: Ledger, data: ContractData, tmp_path: Path) -> None:
    contract = parse(data, "c.yaml")
    again = Ledger.create(ledger.folder, contract, plan(contract))
    assert again.plan() == plan(contract)
    assert again.parsed().sha256 == contract.sha256, "the contract that is kept is the one that was begun"
    other = parse({**data, "seed": 9}, "c.yaml")
    with pytest.raises(UsageError, match="by another contract"):
        Ledger.create(ledger.folder, other, plan(other))
    with pytest.raises(UsageError, match="holds no study"):
        Ledger(tmp_path / "nowhere").plan()
    with pytest.raises(UsageError, match="holds no study"):
        Ledger(tmp_path / "nowhere").contract()
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "x.eval").touch()
    with pytest.raises(UsageError, match="something else"):
        Ledger.create(foreign, contract, plan(contract))


def test_what_was_changed_after_the_study_began_is_told(ledger: Ledger, data: ContractData) -> None:
    contract = parse(data, "c.yaml")
    file, plan_file = ledger.folder / "contract.yaml", ledger.folder / "plan.json"
    whole, whole_plan = file.read_text("utf-8"), plan_file.read_bytes()
    file.write_text(whole.replace("Does it work?", "Does it?"), "utf-8")
    with pytest.raises(UsageError, match=r"contract\.yaml .* was changed after"):
        ledger.contract()
    file.write_text(whole, "utf-8")
    kept = orjson.loads(whole_plan)
    for changed in ({**kept, "runs": kept["runs"][:-1]}, {**kept, "runs": [*kept["runs"], kept["runs"][0]]}):
        plan_file.write_bytes(orjson.dumps(changed))
        with pytest.raises(UsageError, match=r"plan\.json .* was changed after"):
            ledger.plan()
    for name, other in (("judge", {"judge": "lexical-0"}), ("factors", {}), ("agents", {"scripted": "0"})):
        plan_file.write_bytes(orjson.dumps({**kept, "terms": {**kept["terms"], name: other}}))
        with pytest.raises(UsageError, match=f"the study's {name} isn't what it was"):
            Ledger.create(ledger.folder, contract, plan(contract))
    plan_file.write_text("[]", "utf-8")
    with pytest.raises(UsageError, match="holds no study"):
        ledger.plan()


def test_folders_that_cannot_be_had(data: ContractData, tmp_path: Path) -> None:
    contract = parse(data, "c.yaml")
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "under"):
        with pytest.raises(UsageError, match=r"can't hold a study|holds no study"):
            Ledger.create(folder, contract, plan(contract))


@pytest.mark.parametrize("line", ["[1]", "{}", '{"run": "r", "verdict": {}}', '{"verdict": null}'])
def test_lines_that_are_no_verdict(ledger: Ledger, line: str) -> None:
    (ledger.folder / "verdicts.jsonl").write_text(f"{line}\n", "utf-8")
    with pytest.raises(UsageError, match=r"verdicts\.jsonl:1"):
        ledger.verdicts()


@pytest.mark.parametrize("line", ["[1]", "5", "{}", '{"event": "end", "run": "r", "attempt": 1, "at": ""}'])
def test_lines_that_are_no_attempt(ledger: Ledger, line: str) -> None:
    (ledger.folder / "attempts.jsonl").write_text(f"{line}\n", "utf-8")
    with pytest.raises(UsageError, match=r"attempts\.jsonl:1"):
        ledger.attempts()


def test_a_record_without_its_trace_does_not_count(ledger: Ledger) -> None:
    (found,) = ledger.verified([record(ledger)])
    assert (found["status"], found["reasons"]) == ("invalid", ["its trace isn't in the study's store any more"])
    assert not (ledger.folder / "worlds.sqlite").exists()


def test_one_process_at_a_time(ledger: Ledger) -> None:
    with ledger.locked(), pytest.raises(UsageError, match="another process works"), ledger.locked():
        pass
    with ledger.locked():
        pass


def test_attempts_are_kept_and_told(ledger: Ledger) -> None:
    run = ledger.plan().runs[0].run
    attempts = ledger.attempts()
    attempts.start(run, 1, "w1")
    assert [a["state"] for a in attempts.of(run)] == ["interrupted"], "until it ends"
    assert attempts.ended(run) is None
    attempts.start(run, 2, "w2")
    attempts.end(run, 2, 1.5, record(ledger, status="failed"))
    again = ledger.attempts()
    assert [(a["attempt"], a["world"], a["state"], a["seconds"]) for a in again.of(run)] == [
        (1, "w1", "interrupted", None),
        (2, "w2", "failed", 1.5),
    ]
    assert (again.ended(run) or {})["status"] == "failed"
    assert again.of("another") == []
    again.start(run, 3, "w3")
    assert again.ended(run) is None
    assert len(again.repeated(run)) == 0


def test_a_line_that_was_cut_off_never_happened(ledger: Ledger) -> None:
    run = ledger.plan().runs[0].run
    ledger.attempts().start(run, 1, "w1")
    path = ledger.folder / "attempts.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:20])
    again = Attempts(path)
    assert len(again.of(run)) == 1
    again.start(run, 2, "w2")
    assert [a["world"] for a in Attempts(path).of(run)] == ["w1", "w2"]
    path.write_bytes(whole[:20] + b"\n" + whole)
    with pytest.raises(UsageError, match=r"attempts\.jsonl:1"):
        Attempts(path)


def verdict(state: str, judge: str = "lexical-2", model: str | None = None) -> Verdict:
    return Verdict(state=state, judge=judge, model=model, demonstration=True, reason=state)  # type: ignore[arg-type]


def test_a_judge_can_mend_its_own_silence_and_nothing_else(ledger: Ledger) -> None:
    given = {**record(ledger), "verdict": verdict("unjudged").record()}

    def state(judge: LexicalJudge | ModelJudge) -> str | None:
        (found,) = ledger.judged_by([given], identity(judge))
        return str(found["verdict"]["state"]) if found["verdict"] else None

    async def silent(_: object) -> tuple[str, dict[str, int]]:
        return "", {}

    lexical, model = LexicalJudge(), ModelJudge(silent, "m")
    assert (state(lexical), state(model)) == ("unjudged", None)
    ledger.append_verdict(given, verdict("adopted", "another"))
    assert state(lexical) == "unjudged"
    ledger.append_verdict(given, verdict("not_adopted"))
    ledger.append_verdict(given, verdict("adopted"))
    assert state(lexical) == "not_adopted", "the first verdict stands"
    assert [v["verdict"]["state"] for v in ledger.verdicts()] == ["adopted", "not_adopted", "adopted"]
    invalid = {**record(ledger, status="invalid"), "run": given["run"]}
    assert ledger.judged_by([invalid], identity(lexical))[0]["verdict"] is None
    assert [j["judge"] for j in ledger.judges([given])] == ["lexical-2", "another"]


def test_what_runs_took_on_average(ledger: Ledger) -> None:
    several = [record(ledger, n) for n in range(2)]
    several[1]["usage"] = {**several[1]["usage"], "calls": {"live": 4, "replayed": 0}, "prompt_tokens": 100}
    found = ledger.measured([*several, record(ledger, 2, status="failed")])
    assert found == {("scripted", "local"): {"calls": 2.0, "input_tokens": 50.0, "output_tokens": 0.0}}


def test_plans_are_kept_whole(ledger: Ledger) -> None:
    assert Plan.of(ledger.plan().record()) == ledger.plan()
    assert ledger.open_runs(ledger.plan(), ledger.log()) == [r.run for r in ledger.plan().runs]
    assert ledger.verified([]) == []
