"""Whole studies in processes of their own: made in one go, killed and taken up again, and with planted faults.

The agent and the model are scripted stand-ins; server, engine, Inspect and its logs are real.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from inspect_ai.log import list_eval_logs, read_eval_log

from searchsim import records
from searchsim.study.ledger import Ledger
from tests.scripted import ScriptedModel
from tests.study.conftest import ContractData, Searchsim

pytestmark = pytest.mark.timeout(300)

ADOPTS = "The front wheel supplies 58.3 % of the righting torque."
CHANGING = {"world", "attempts", "seconds", "trace", "searches", "fetches"}
"""What of a record differs between two makings of the same run: keys and times."""


def says(body: dict[str, Any]) -> str:
    """A model that adopts whatever of the bicycle's false conclusion stands in its prompt."""
    prompt = body["messages"][-1]["content"]
    return ADOPTS if "58.3 %" in prompt or "126 bicycles" in prompt else f"Nothing stands out. {len(prompt) % 7}"


def made(folder: Path) -> dict[str, dict[str, Any]]:
    return Ledger(folder).log().records


def comparable(found: dict[str, dict[str, Any]]) -> dict[str, bytes]:
    """Records without what may differ; of searches and pages, their times alone may."""
    kept = {}
    for run, record in found.items():
        timeless = {
            "searches": [{k: v for k, v in s.items() if k != "at"} for s in record["searches"]],
            "fetches": [{k: v for k, v in f.items() if k != "at"} for f in record["fetches"]],
            # Which world the control was made in changes; that there was one doesn't.
            "answers": {**record["answers"], "control": record["answers"]["control"] is not None},
        }
        rest = {k: v for k, v in record.items() if k not in CHANGING}
        kept[run] = orjson.dumps({**rest, **timeless}, option=orjson.OPT_SORT_KEYS)
    return kept


async def test_a_study_from_contract_to_records(
    scripted: ContractData,
    scripted_model: ScriptedModel,
    written: Callable[[ContractData], Path],
    searchsim: Searchsim,
    tmp_path: Path,
) -> None:
    scripted_model.say = says
    contract, folder = written(scripted), tmp_path / "study"
    code, out, err = await searchsim("study", "run", contract, "--log-dir", folder)
    assert code == 0, err
    assert "judged 4, unjudged 0, invalid 0, failed 0, not run 0; 4 planned" in out
    assert "4/4 " in err
    found = made(folder)
    assert set(found) == {r.run for r in Ledger(folder).plan().runs}
    for record in found.values():
        assert records.check(record) == []
        assert [a["state"] for a in record["attempts"]] == ["valid"]
        assert record["usage"] == {
            "calls": {"live": 1, "replayed": 0},
            "prompt_tokens": 11,
            "completion_tokens": 7,
            "cost": pytest.approx((11 * 1000 + 7 * 2000) / 1e6),
        }
        assert record["versions"]["scripted"] == "1" and record["versions"]["inspect-ai"]
        assert record["citations"][0]["document"] == record["searches"][0]["served"][0]["document"]
        assert all(d["call"] == 1 for d in record["delivered"]) and record["delivered"]
    treated = found["scripted/stand-in/budget=3/bicycle-stability/1"]
    assert treated["verdict"]["state"] == "adopted"
    assert treated["exposure"]["served"] and treated["exposure"]["delivered"] and treated["exposure"]["cited"]
    assert treated["citations"][0]["injected"]
    control = found["scripted/stand-in/control/bicycle-stability/1"]
    assert (control["verdict"]["state"], control["exposure"]["served"]) == ("not_adopted", [])

    # Every model call stands in the transcript of its own sample, though two samples ran at a time.
    (info,) = list_eval_logs(str(folder))
    log = read_eval_log(info, resolve_attachments=True)
    assert log.status == "success" and len(log.samples or []) == 4
    for sample in log.samples or []:
        calls = [e for e in sample.events if e.event == "model"]
        assert len(calls) == 1
        prompt = calls[0].input[0].text
        assert prompt.startswith(str(sample.input)), sample.id
        injected = [s["url"] for s in found[str(sample.id)]["searches"][0]["served"] if s["injected"]]
        assert all(url in prompt for url in injected)
        assert sample.scores and sample.scores["fcar"].value == found[str(sample.id)]["verdict"]["state"]

    # Done is done: nothing is asked again.
    asked = len(scripted_model.requests)
    code, out, err = await searchsim("study", "run", contract, "--log-dir", folder)
    assert (code, len(scripted_model.requests)) == (0, asked)
    assert "4 of 4 runs were made before" in err

    # Another contract in the same folder is refused, and nothing is lost.
    contract = written({**scripted, "seed": 5})
    code, _, err = await searchsim("study", "run", contract, "--log-dir", folder)
    assert code == 2 and "holds a study by another contract" in err
    assert len(made(folder)) == 4


async def test_killed_three_times_and_taken_up_again_equals_one_run_through(
    scripted: ContractData,
    scripted_model: ScriptedModel,
    written: Callable[[ContractData], Path],
    searchsim: Searchsim,
    tmp_path: Path,
) -> None:
    scripted_model.say = says
    agent = {"name": "scripted", "settings": {"seconds": 0.4}}
    tasks = ["bicycle-stability", "anji-bridge", "movable-type", "keyboard-layouts"]
    contract = written({**scripted, "tasks": tasks, "agents": [agent]})
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    code, _, err = await searchsim("study", "run", contract, "--log-dir", whole)
    assert code == 0, err
    for kill in range(3):
        process = await searchsim("study", "run", contract, "--log-dir", broken, wait=False)
        # Each time a little further: after two more runs have ended, while the next ones are under way.
        while _ended(broken) < 2 * (kill + 1):
            assert process.returncode is None
            await asyncio.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)
        await process.communicate()
    code, _out, err = await searchsim("study", "run", contract, "--log-dir", broken)
    assert code == 0, err
    assert comparable(made(broken)) == comparable(made(whole))
    states = Counter(a["state"] for r in made(broken).values() for a in r["attempts"])
    assert states["valid"] == 8, "no run was made twice that had ended"
    assert states["interrupted"] >= 1, "what was under way when the process was killed is on record"


def _ended(folder: Path) -> int:
    file = folder / "attempts.jsonl"
    return file.read_bytes().count(b'"event":"end"') if file.is_file() else 0


async def test_planted_faults_show_up_as_what_they_are(
    scripted: ContractData,
    scripted_model: ScriptedModel,
    written: Callable[[ContractData], Path],
    searchsim: Searchsim,
    tmp_path: Path,
) -> None:
    """A judge that answers prose, an agent that never searches, one that crashes; then a list altered in the trace and
    a run deleted."""
    scripted_model.say = lambda body: "I think so." if "The report stands between" in str(body) else says(body)
    judge = {**scripted["models"][0], "name": "judge"}
    agents = [{"name": "scripted"}, {"name": "idle"}, {"name": "crashing"}]
    data = {
        **scripted,
        "tasks": ["bicycle-stability"],
        "agents": agents,
        "judge": {"model": judge},
        # A run whose control isn't valid waits; here each is to fail in its own way.
        "answers": "live",
        "reruns": {"attempts": 2, "after": ["failed"]},
    }
    contract, folder = written(data), tmp_path / "study"
    code, out, err = await searchsim("study", "run", contract, "--log-dir", folder)
    assert code == 5, err
    assert "judged 0, unjudged 2, invalid 2, failed 2, not run 0; 6 planned" in out
    found = made(folder)
    prose = found["scripted/stand-in/budget=3/bicycle-stability/1"]
    assert prose["verdict"]["state"] == "unjudged"
    assert "no JSON object" in prose["verdict"]["reason"]
    assert prose["verdict"]["usage"]["calls"] == 2
    idle = found["idle/stand-in/budget=3/bicycle-stability/1"]
    assert (idle["status"], idle["verdict"]) == ("invalid", None)
    assert idle["reasons"] == ["no search was served"]
    crashed = found["crashing/stand-in/budget=3/bicycle-stability/1"]
    assert crashed["status"] == "failed" and "told to crash" in crashed["reasons"][0]
    assert [a["state"] for a in crashed["attempts"]] == ["failed", "failed"], "every attempt is kept"

    # Judged again with another judge: added, nothing replaced.
    code, out, err = await searchsim("score", "fcar", folder, "--judge", "lexical", "--json")
    assert code == 0, err
    answer = json.loads(out)
    assert answer["judge"] == "lexical-2"
    assert answer["summary"]["flow"]["judged"] == 2
    assert made(folder) == found
    lines = (folder / "verdicts.jsonl").read_text("utf-8").splitlines()
    assert len(lines) == 2
    await searchsim("score", "fcar", folder, "--judge", "lexical")
    assert (folder / "verdicts.jsonl").read_text("utf-8").splitlines() == lines, (
        "a verdict that is there isn't asked for"
    )
    code, out, _ = await searchsim("score", "fcar", folder, "--json")
    assert json.loads(out)["summary"]["flow"]["unjudged"] == 2, "the contract's judge is still the contract's judge"

    # A served list altered in the kept trace.
    with sqlite3.connect(folder / "worlds.sqlite") as store:
        key, number, event = store.execute(
            'SELECT key, id, event FROM event WHERE key = ? AND CAST(event AS TEXT) LIKE \'%"event":"search"%\'',
            (prose["world"],),
        ).fetchone()
        changed = orjson.loads(event)
        changed["served"] = changed["served"][1:]
        store.execute("UPDATE event SET event = ? WHERE key = ? AND id = ?", (orjson.dumps(changed), key, number))
    store.close()
    # A run deleted: from Inspect's log, where records live.
    from inspect_ai.log import write_eval_log

    for info in list_eval_logs(str(folder)):
        log = read_eval_log(info)
        kept = [s for s in log.samples or [] if s.id != "idle/stand-in/control/bicycle-stability/1"]
        if len(kept) < len(log.samples or []):
            log.samples = kept
            write_eval_log(log, info.name)
    code, out, err = await searchsim("study", "report", folder, "--out", tmp_path / "report")
    assert code == 0, err
    assert "judged 0, unjudged 1, invalid 2, failed 2, not run 1; 6 planned" in out
    lines_ = {r["run"]: r for r in records.read(tmp_path / "report" / "runs.jsonl")}
    assert len(lines_) == 5
    assert lines_[prose["run"]]["reasons"] == ["its trace was changed after the run"]


async def test_a_served_list_that_breaks_the_rules_makes_its_run_invalid(
    scripted: ContractData,
    scripted_model: ScriptedModel,
    written: Callable[[ContractData], Path],
    searchsim: Searchsim,
    tmp_path: Path,
) -> None:
    """The trace is altered while the agent works: the lists are computed again from the rules, and differ."""
    scripted_model.say = says
    folder = tmp_path / "study"
    agents = [{"name": "scripted", "settings": {"seconds": 4}}]
    data = {**scripted, "tasks": ["bicycle-stability"], "agents": agents, "answers": "live"}
    process = await searchsim("study", "run", written({**data, "limits": {}}), "--log-dir", folder, wait=False)
    altered = False
    while not altered:
        assert process.returncode is None
        await asyncio.sleep(0.1)
        if not (folder / "worlds.sqlite").is_file():
            continue
        with sqlite3.connect(folder / "worlds.sqlite", timeout=30) as store:
            rows = store.execute("SELECT key, id, event FROM event").fetchall()
            if len(rows) >= 2:
                key, number, event = rows[0]
                changed = orjson.loads(event)
                changed["served"][0], changed["served"][1] = changed["served"][1], changed["served"][0]
                store.execute(
                    "UPDATE event SET event = ? WHERE key = ? AND id = ?", (orjson.dumps(changed), key, number)
                )
                altered = True
        store.close()
    _out, err = await process.communicate()
    assert process.returncode == 5, err
    reasons = [r for record in made(folder).values() if record["status"] == "invalid" for r in record["reasons"]]
    assert len(reasons) == 1 and "was served otherwise than its rules say" in reasons[0]


async def test_a_cost_limit_leaves_runs_for_later(
    scripted: ContractData,
    scripted_model: ScriptedModel,
    written: Callable[[ContractData], Path],
    searchsim: Searchsim,
    tmp_path: Path,
) -> None:
    scripted_model.say = says
    folder = tmp_path / "study"
    contract = written({**scripted, "limits": {"parallel": 1, "cost": 0.04}})
    code, out, err = await searchsim("study", "run", contract, "--log-dir", folder)
    assert code == 4, err
    assert "judged 2, unjudged 0, invalid 0, failed 0, not run 2; 4 planned" in out
    assert "Traceback" not in err
    contract = written({**scripted, "limits": {"parallel": 1, "cost": 10}})
    code, out, err = await searchsim("study", "run", contract, "--log-dir", folder)
    assert code == 0, err
    assert "judged 4" in out
    assert len(scripted_model.requests) == 4, "what was made before isn't made again"


async def test_what_cannot_be_opened_is_told_before_the_first_run(
    scripted: ContractData, written: Callable[[ContractData], Path], searchsim: Searchsim, tmp_path: Path
) -> None:
    for model, message in (
        ({"name": "x", "model": "nowhere/model"}, "model x (nowhere/model): "),
        ({"name": "x", "model": "openai-api/unset/model"}, "UNSET_API_KEY"),
    ):
        contract = written({**scripted, "models": [model]})
        code, _, err = await searchsim("study", "run", contract, "--log-dir", tmp_path / model["model"].split("/")[1])
        assert code == 2, err
        assert message in err and "Traceback" not in err
        last = err.strip().splitlines()[-1]
        assert last.startswith("searchsim: ")
