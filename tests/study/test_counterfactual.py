"""Studies whose treated runs share their control's answers; handshakes; and what is killed in the middle.

The agent and the model are scripted stand-ins; server, engine, Inspect and its logs are real.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import orjson
import pytest

from searchsim import records
from searchsim.replay import steps
from searchsim.store import SqliteStore
from searchsim.study.ledger import Ledger
from tests.scripted import ScriptedModel
from tests.study.conftest import ContractData, Searchsim

pytestmark = pytest.mark.timeout(300)

TASK = "bicycle-stability"
Written = Callable[[ContractData], Path]


def contract(scripted: ContractData, **settings: Any) -> ContractData:
    """The stages, with an agent that asks the model before each search."""
    return {
        **scripted,
        "tasks": [TASK],
        "factors": {"stage": ["pre_synthesis", "cold_start"]},
        "fixed": {"authority": "high", "style": "paper", "rank": "front", "budget": 3},
        "agents": [{"name": "scripted", "settings": {"searches": 3, "thinks": True, **settings}}],
        "limits": {"parallel": 3},
    }


def made(folder: Path) -> dict[str, dict[str, Any]]:
    return {r["label"]: r for r in Ledger(folder).log().records.values()}


async def test_the_control_is_made_once_and_shared(
    scripted: ContractData, scripted_model: ScriptedModel, written: Written, searchsim: Searchsim, tmp_path: Path
) -> None:
    numbers = count(1)
    scripted_model.say = lambda body: f"Never the same twice: {next(numbers)}."
    folder = tmp_path / "study"
    code, out, err = await searchsim("study", "run", written(contract(scripted)), "--log-dir", folder)
    assert code == 0, err + out
    found = made(folder)
    control, late, early = (found[x] for x in ("control", "stage=pre_synthesis", "stage=cold_start"))
    assert control["answers"] == {"mode": "record", "control": None, "saved": 0.0}
    assert control["usage"]["calls"] == {"live": 4, "replayed": 0}
    assert late["usage"]["calls"] == {"live": 1, "replayed": 3}
    assert late["answers"] == {"mode": "counterfactual", "control": control["world"], "saved": 0.75}
    assert late["usage"]["prompt_tokens"] == 11, "what was replayed has cost nothing"
    assert early["usage"]["calls"] == {"live": 3, "replayed": 1}
    assert len(scripted_model.requests) == 4 + 1 + 3
    assert late["plan"]["last_list"] == 3
    assert [len(s["served"]) for s in late["searches"]] == [10, 10, 13]
    assert late["observation"]["searches_after_injection"] == 0
    assert early["observation"]["searches_after_injection"] == 2
    assert late["exposure"]["delivered"] == late["exposure"]["served"] != []
    with closing(SqliteStore(folder / "worlds.sqlite")) as store:
        mine, theirs = steps(store.events(late["world"])), steps(store.events(control["world"]))
    asked = [[a.request for a in x.asked] for x in (mine, theirs)]
    assert asked[0][:3] == asked[1][:3] and asked[0][3] != asked[1][3]

    code, _, err = await searchsim("study", "report", folder, "--out", tmp_path / "report")
    assert code == 0, err
    page = (tmp_path / "report" / "index.html").read_text("utf-8")
    assert "12 model calls, of which 4 (33.3\u00a0%) were answered from the record" in page
    cells = {c["label"]: c for c in orjson.loads((tmp_path / "report" / "summary.json").read_bytes())["cells"]}
    assert cells["stage=cold_start"]["metrics"]["searched_after"]["numerator"] == 1
    assert cells["stage=cold_start"]["metrics"]["fcar_settled"]["denominator"] == 0
    assert cells["stage=pre_synthesis"]["metrics"]["fcar_settled"]["denominator"] == 1

    # A control whose trace was altered takes the runs with it that share it.
    with closing(sqlite3.connect(folder / "worlds.sqlite")) as store_:
        rows = store_.execute("SELECT id, event FROM event WHERE key = ?", (control["world"],)).fetchall()
        number, event = next((i, orjson.loads(e)) for i, e in rows if b'"search"' in e)
        event["query"] = "another"
        with store_:
            store_.execute(
                "UPDATE event SET event = ? WHERE key = ? AND id = ?", (orjson.dumps(event), control["world"], number)
            )
    checked = {r["label"]: r for r in Ledger(folder).verified(Ledger(folder).log().records.values())}
    assert {label: r["status"] for label, r in checked.items()} == dict.fromkeys(found, "invalid")
    assert "isn't the control's" in checked["stage=pre_synthesis"]["reasons"][-1]


async def test_runs_wait_for_a_control_that_is_not_valid(
    scripted: ContractData, written: Written, searchsim: Searchsim, tmp_path: Path
) -> None:
    data = contract(scripted)
    data["agents"] = [{"name": "scripted", "settings": {"silent": True}}]
    code, out, err = await searchsim("study", "run", written(data), "--log-dir", tmp_path / "study")
    assert code == 4, err
    assert "invalid 1, failed 0, not run 2" in out
    assert "2 runs wait: its control run scripted/stand-in/control/bicycle-stability/1 is invalid" in out


async def test_agents_shake_hands_once(
    scripted: ContractData, scripted_model: ScriptedModel, written: Written, searchsim: Searchsim, tmp_path: Path
) -> None:
    folder = tmp_path / "study"
    file = written({**contract(scripted), "handshake": True})
    code, _, err = await searchsim("study", "run", file, "--log-dir", folder)
    assert code == 0, err
    (line,) = Ledger(folder).handshakes()
    assert (line["agent"], line["model"], line["task"]) == ("scripted", "stand-in", TASK)
    assert line["nonce"] in str(scripted_model.requests[:3])
    assert not any(line["nonce"] in str(r) for r in made(folder).values()), "no run has seen it"
    code, _, err = await searchsim("study", "run", file, "--log-dir", folder)
    assert code == 0 and len(Ledger(folder).handshakes()) == 1

    data = {**contract(scripted), "handshake": True, "agents": [{"name": "idle"}]}
    code, _, err = await searchsim("study", "run", written(data), "--log-dir", tmp_path / "other")
    assert code == 1
    assert "the handshake with agent idle failed: no search reached the simulation" in err.replace("\n", " ")
    assert not (tmp_path / "other" / "attempts.jsonl").exists(), "nothing is spent on it"


async def test_a_contract_that_needs_the_control_and_goes_without(
    scripted: ContractData, written: Written, searchsim: Searchsim, tmp_path: Path
) -> None:
    data = {**contract(scripted), "answers": "live"}
    code, _, err = await searchsim("study", "run", written(data), "--log-dir", tmp_path / "study")
    assert code == 2
    assert "stage pre_synthesis must know the control's last list" in " ".join(err.split())


async def test_an_agent_that_is_killed_is_started_again_as_often_as_the_contract_says(
    scripted: ContractData, written: Written, searchsim: Searchsim, tmp_path: Path
) -> None:
    folder = tmp_path / "study"
    data = {**contract(scripted, seconds=3), "reruns": {"attempts": 2, "after": ["failed"]}}
    data["limits"] = {"parallel": 1}
    process = await searchsim("study", "run", written(data), "--log-dir", folder, wait=False)
    pid = None
    while pid is None:
        assert process.returncode is None
        await asyncio.sleep(0.1)
        pid = _agent_of(process.pid)
    os.kill(pid, signal.SIGKILL)
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode() + out.decode()
    found = made(folder)
    assert [a["state"] for a in found["control"]["attempts"]] == ["failed", "valid"]
    assert "ended with -9" in found["control"]["attempts"][0]["reasons"][0]
    assert [a["state"] for label in found for a in found[label]["attempts"]].count("valid") == 3


def _agent_of(parent: int) -> int | None:
    """The process that runs the adapter."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes()
            status = (folder / "stat").read_text()
        except OSError:
            continue
        if (
            b"scripted.py\0" in command
            and b"request.json" in command
            and int(status.rpartition(")")[2].split()[1]) == parent
        ):
            return int(folder.name)
    return None


MODEL = """
import http.server, json, sys, time

class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        print(json.dumps(body["messages"][-1]["content"][:40]), flush=True)
        time.sleep(0.5)
        answer = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "usage":
            {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}, "choices": [{"index": 0,
            "finish_reason": "stop", "message": {"role": "assistant", "content": "Noted."}}]}
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


async def _model(port: int) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", MODEL, str(port), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )


async def test_a_model_that_is_killed_and_comes_back(
    scripted: ContractData, written: Written, searchsim: Searchsim, tmp_path: Path
) -> None:
    """The model's server is killed in the middle of an answer; the study goes on when it is there again."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = tmp_path / "study"
    data = contract(scripted)
    data["models"] = [{**scripted["models"][0], "base_url": f"http://127.0.0.1:{port}/v1"}]
    data |= {"limits": {"parallel": 1, "seconds": 60}, "reruns": {"attempts": 3, "after": ["failed", "invalid"]}}
    server = await _model(port)
    process = await searchsim("study", "run", written(data), "--log-dir", folder, wait=False)
    assert server.stdout is not None
    await server.stdout.readline()
    await server.stdout.readline()
    server.kill()
    await server.wait()
    await asyncio.sleep(1)
    server = await _model(port)
    try:
        out, err = await process.communicate()
    finally:
        server.kill()
        await server.wait()
    assert process.returncode == 0, err.decode() + out.decode()
    found = made(folder)
    assert sorted(found) == ["control", "stage=cold_start", "stage=pre_synthesis"]
    assert all(records.state(r) == "judged" for r in found.values())
    ended = Counter(a["state"] for r in found.values() for a in r["attempts"])
    assert ended["valid"] == 3, "no run is lost or doubled"


async def test_a_study_that_is_killed_at_any_point_shares_its_control_all_the_same(
    scripted: ContractData, scripted_model: ScriptedModel, written: Written, searchsim: Searchsim, tmp_path: Path
) -> None:
    numbers = count(1)
    scripted_model.say = lambda body: f"Never the same twice: {next(numbers)}."
    folder = tmp_path / "study"
    file = written({**contract(scripted, seconds=0.5), "limits": {"parallel": 1}})
    for calls in (2, 5, 7):
        process = await searchsim("study", "run", file, "--log-dir", folder, wait=False)
        while len(scripted_model.requests) < calls:
            assert process.returncode is None
            await asyncio.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
        await process.communicate()
    code, _, err = await searchsim("study", "run", file, "--log-dir", folder)
    assert code == 0, err
    found = made(folder)
    assert {r["status"] for r in found.values()} == {"valid"}
    assert {r["answers"]["control"] for r in found.values() if not r["control"]} == {found["control"]["world"]}
    assert [a["state"] for a in found["control"]["attempts"]].count("valid") == 1
    assert Ledger(folder).verified(found.values()) == list(found.values())
