"""The commands, as a person or a script calls them."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from searchsim import __version__
from searchsim.cli import app, main
from tests.conftest import ROOT

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """Run a command in this process: exit code, stdout, stderr."""

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        out, err = capsys.readouterr()
        code = ended.value.code
        assert isinstance(code, int)
        return code, out, err

    return run


def commands() -> list[list[str]]:
    import typer

    found: list[list[str]] = []

    def walk(command: Any, path: list[str]) -> None:
        found.append(path)
        for name, child in getattr(command, "commands", {}).items():
            walk(child, [*path, name])

    walk(typer.main.get_command(app), [])
    return found


@pytest.mark.parametrize("path", commands(), ids=" ".join)
def test_every_command_has_help_with_an_example(call: Call, path: list[str]) -> None:
    code, out, _ = call(*path, "--help")
    assert code == 0
    is_group = path in (
        [],
        ["corpus"],
        ["world"],
        ["agent"],
        ["local"],
        ["misknow"],
        ["bench"],
        ["study"],
        ["score"],
        ["reproduce"],
    )
    assert is_group or f"Example: searchsim {' '.join(path)}" in " ".join(out.split())


@pytest.mark.parametrize(
    "arguments",
    [
        ["nothing"],
        ["serve", "--port", "x"],
        ["serve", "--corpus", "absent"],
        ["serve", "--engine", "absent"],
        ["serve", "--host", "0.0.0.0"],
        ["serve", "--public"],
        ["serve", "--set", "budget=3"],
        ["serve", "--task", "absent"],
        ["serve", "--task", "anji-bridge", "--set", "budget=9"],
        ["serve", "--task", "anji-bridge", "--set", "budget"],
        ["serve", "--upstream", "gpt-4"],
        ["serve", "--port", "99999"],
        ["serve", "--store", "/nowhere/at/all.sqlite"],
        ["agent", "run", "planner", "--model", "gpt-4o"],
        ["demo", "--model", "gpt-4o"],
        ["world", "show", "a b", "--url", "http://127.0.0.1:9/"],
        ["--home", "/nowhere", "corpus", "list"],
        ["corpus", "check", "/nowhere"],
        ["corpus", "index", "absent"],
        ["corpus", "import", "other", "file"],
        ["corpus", "import", "deepresearch-bench", "/nowhere"],
        ["misknow", "publish", "absent"],
        ["agent", "check", "absent"],
        ["agent", "run", "absent"],
        ["agent", "run", "planner", "--task", "absent"],
        ["agent", "run", "planner", "--set", "stage=pre_synthesis", "--answers", "live"],
        ["agent", "run", "planner", "--answers", "somehow"],
        ["agent", "run", "planner", "--agent-set", "steps"],
        ["agent", "run", "planner", "--agent-set", "x={1: 2}"],
        ["agent", "run", "planner", "--agent-set", "x=!!set {a}"],
        ["agent", "run", "planner", "--answers", "replay", "--answers-file", "/proc/nowhere/x"],
        ["agent", "check", "planner", "--model", "m"],
        ["agent", "check", "deerflow1"],
        ["world", "show", "--url", "http://127.0.0.1:9"],
        ["world", "show", "--url", "file:///etc/passwd"],
        ["demo", "--tasks", "0"],
        ["demo", "--contract", "absent"],
        ["study", "plan", "absent"],
        ["study", "plan", "quickstart", "--log-dir", "/nowhere"],
        ["study", "run", "quickstart"],
        ["study", "run", "quickstart", "--log-dir", "/nowhere/at/all", "--model", "gpt-4o"],
        ["study", "report", "/nowhere", "--out", "/nowhere/report"],
        ["score", "fcar", "/nowhere"],
        ["score", "fcar", "/nowhere", "--judge", "gpt-4o"],
        ["score", "agreement", "--judge", "gpt-4o"],
        ["score", "agreement", "--set", "absent"],
    ],
    ids=" ".join,
)
def test_wrong_use_is_one_line_and_exit_code_2(call: Call, arguments: list[str]) -> None:
    code, out, err = call(*arguments)
    assert code == 2
    lines = err.strip().splitlines()
    assert len(lines) == 1, err
    assert lines[0].startswith("searchsim: ")
    assert "Traceback" not in err
    assert out == ""


def test_an_engine_that_is_away_is_one_line_and_exit_code_1() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "searchsim.cli", "serve", "--port", "0", "--engine", "elasticsearch"],
        env={**os.environ, "SEARCHSIM_ELASTICSEARCH": "http://127.0.0.1:9"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("searchsim: Elasticsearch at http://127.0.0.1:9 can't be reached")
    assert len(done.stderr.strip().splitlines()) == 1


def test_version(call: Call) -> None:
    assert call("--version") == (0, f"{__version__}\n", "")


def test_corpus_list(call: Call) -> None:
    code, out, _ = call("corpus", "list", "--json")
    (entry,) = [c for c in json.loads(out) if c["name"] == "quickstart"]
    assert (code, entry["tasks"], entry["documents"]) == (0, 6, 168)
    assert "quickstart" in call("corpus", "list")[1]


def test_corpus_check(call: Call, tmp_path: Path) -> None:
    code, out, _ = call("corpus", "check", str(ROOT / "corpora" / "quickstart"))
    assert code == 0
    assert "no faults" in out
    assert "budget 5" in out
    assert "bicycle-stability" in out
    (tmp_path / "corpus.yaml").write_text("name: x\ndescription: d\ntoday: 2026-01-01\n")
    (tmp_path / "tasks.jsonl").write_text('{"id": "t"}\nnonsense\n')
    code, out, _err = call("corpus", "check", str(tmp_path))
    assert code == 2
    assert out.splitlines()[0].startswith("tasks.jsonl:1: question:")
    assert out.splitlines()[1].startswith("tasks.jsonl:1: language:")
    assert out.splitlines()[2].startswith("tasks.jsonl:2: not a JSON value")
    code, out, _ = call("corpus", "check", str(tmp_path), "--json")
    assert (code, json.loads(out)["admission"]) == (2, None)


def test_corpus_check_of_tasks_alone(call: Call, tmp_path: Path) -> None:
    (tmp_path / "corpus.yaml").write_text("name: x\ndescription: d\ntoday: 2026-01-01\n")
    (tmp_path / "tasks.jsonl").write_text('{"id": "t", "question": "Why?", "language": "en"}\n')
    code, out, _ = call("corpus", "check", str(tmp_path))
    assert code == 0
    assert "nothing to admit" in out


def test_corpus_index(call: Call) -> None:
    code, out, _ = call("corpus", "index", "quickstart")
    assert code == 0
    assert out == "quickstart is indexed (tantivy)\n"


def test_agent_list(call: Call) -> None:
    code, out, _ = call("agent", "list", "--json")
    assert code == 0
    assert "planner" in [a["name"] for a in json.loads(out)]


def test_factors(call: Call) -> None:
    told = {f["name"]: f for f in json.loads(call("factors", "--json")[1])}
    assert told["budget"]["levels"] == [0, 1, 2, 3, 4, 5]
    assert told["stage"]["default"] == "always"
    assert "pre_synthesis" in call("factors")[1]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., tuple[subprocess.Popen[str], dict[str, Any]]]]:
    """Start `searchsim serve --json` as a process of its own, from a folder of its own."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> tuple[subprocess.Popen[str], dict[str, Any]]:
        process = subprocess.Popen(
            [sys.executable, "-m", "searchsim.cli", "serve", "--json", "--port", "0", *arguments],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ,
        )
        started.append(process)
        assert process.stdout
        line = process.stdout.readline()
        assert line, process.stderr.read() if process.stderr else ""
        return process, json.loads(line)

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream:
                stream.close()


def fetch(url: str, body: object = None, headers: dict[str, str] | None = None, method: str | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, headers or {}, method=method)
    with urllib.request.urlopen(request, timeout=20) as answer:
        raw = answer.read()
    return json.loads(raw) if raw else None


def test_a_server_by_its_fixed_interface(serve: Callable[..., Any]) -> None:
    process, facts = serve("--corpus", "quickstart")
    assert list(facts) == ["url", "corpus", "engine", "version"]
    assert (facts["corpus"], facts["engine"], facts["version"]) == ("quickstart", "tantivy", __version__)
    url = facts["url"]
    made = fetch(f"{url}/_sim/worlds", {"task": "bicycle-stability", "condition": {"budget": 1}})
    answer = fetch(f"{url}/search", {"q": "gyroscopic bicycle"}, {"X-API-KEY": made["key"]})
    assert len(answer["organic"]) == 10
    asked = time.monotonic()
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=5) == 0
    assert time.monotonic() - asked < 5
    assert process.stderr.read() == ""


def test_a_server_ends_within_five_seconds_with_a_call_in_flight(serve: Callable[..., Any], slow_server: str) -> None:
    process, facts = serve("--task", "bicycle-stability", "--upstream", slow_server, "--model", "scripted")
    body = {"messages": [{"role": "user", "content": "Hi"}]}
    caller = threading.Thread(
        target=lambda: _ignoring(fetch, f"{facts['url']}/v1/chat/completions", body, {"Authorization": "Bearer k"})
    )
    caller.start()
    time.sleep(1)
    asked = time.monotonic()
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=10) == 0
    assert time.monotonic() - asked < 5
    caller.join()


def _ignoring(call: Callable[..., Any], *arguments: Any) -> None:
    with contextlib.suppress(OSError, http.client.HTTPException):
        call(*arguments)


def test_an_unusable_cache_is_named(serve: Callable[..., Any], call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCHSIM_CACHE", "/proc/nowhere")
    code, _, err = call("corpus", "index", "quickstart")
    assert code == 2
    assert "set SEARCHSIM_CACHE" in err


def test_worlds_are_kept_in_a_store(serve: Callable[..., Any], tmp_path: Path) -> None:
    store = str(tmp_path / "worlds.sqlite")
    process, facts = serve("--store", store)
    fetch(f"{facts['url']}/_sim/worlds", {"task": "bicycle-stability", "key": "kept"})
    fetch(f"{facts['url']}/search", {"q": "gyroscopic bicycle"}, {"X-API-KEY": "kept"})
    process.kill()
    process.wait()
    _, facts = serve("--store", store)
    shown = fetch(f"{facts['url']}/_sim/worlds/kept")
    assert shown["observation"]["searches"] == 1
    assert shown["valid"]


def test_one_world_whatever_the_key(serve: Callable[..., Any]) -> None:
    _, facts = serve("--task", "bicycle-stability", "--set", "budget=2", "--set", "rank=front")
    answer = fetch(f"{facts['url']}/search", {"q": "gyroscopic bicycle"}, {"X-API-KEY": "anything"})
    shown = fetch(f"{facts['url']}/_sim/worlds/{facts['key']}")
    assert shown["condition"]["budget"] == 2
    assert shown["observation"]["injected"]["1"]
    assert answer["organic"]


def test_the_world_commands(serve: Callable[..., Any], call: Call) -> None:
    _, facts = serve()
    url = facts["url"]
    code, out, _ = call("world", "create", "bicycle-stability", "--set", "budget=1", "--key", "mine", "--url", url)
    assert (code, json.loads(out)["key"]) == (0, "mine")
    assert [w["key"] for w in json.loads(call("world", "show", "--url", url)[1])["worlds"]] == ["mine"]
    assert json.loads(call("world", "show", "mine", "--url", url)[1])["observation"]["searches"] == 0
    code, _, err = call("world", "create", "bicycle-stability", "--key", "mine", "--url", url)
    assert (code, len(err.strip().splitlines())) == (2, 1)
    assert call("world", "end", "mine", "--url", url) == (0, "", "")
    assert call("world", "show", "mine", "--url", url)[0] == 2


def test_a_port_in_use(serve: Callable[..., Any], call: Call) -> None:
    _, facts = serve()
    code, _, err = call("serve", "--port", facts["url"].rsplit(":", 1)[1])
    assert code == 2
    assert "--port" in err


def test_a_public_server_wants_its_token(serve: Callable[..., Any]) -> None:
    _, facts = serve("--public", "--control-token", "secret")
    with pytest.raises(urllib.error.HTTPError) as refused:
        fetch(f"{facts['url']}/_sim/tasks")
    assert refused.value.code == 401
    refused.value.close()
    assert fetch(f"{facts['url']}/_sim/tasks", headers={"Authorization": "Bearer secret"})["tasks"]


def test_an_agent_run_by_its_fixed_interface(call: Call, scripted_server: str) -> None:
    code, out, err = call(
        "agent", "run", "planner", "--task", "bicycle-stability", "--set", "budget=1", "--upstream", scripted_server,
        "--model", "scripted", "--json",
    )  # fmt: skip
    assert code == 0, err
    told = json.loads(out)
    assert {"report", "citations", "world", "searches", "exposure", "calls", "valid", "reasons"} <= set(told)
    assert told["valid"]
    assert told["calls"]["replayed"] == 0
    code, out, _ = call(
        "agent", "run", "planner", "--corpus", "quickstart", "--upstream", scripted_server, "--model", "scripted"
    )
    assert code == 0
    assert "verdict" in out
    assert "a demonstration, no result" in out


@pytest.fixture
def slow_server() -> Iterator[str]:
    """A scripted model that thinks for a minute."""
    yield from _scripted_process("  m.delay = 60\n")


@pytest.fixture
def scripted_server() -> Iterator[str]:
    """The scripted model in a process of its own, because commands bring their own event loop."""
    yield from _scripted_process("")


def _scripted_process(more: str) -> Iterator[str]:
    code = (
        "import asyncio, sys\nfrom tests.scripted import ScriptedModel\n"
        "async def go():\n async with ScriptedModel.running() as m:\n"
        + more
        + "  print(m.url, flush=True)\n  await asyncio.sleep(300)\n"
        "asyncio.run(go())"
    )
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    try:
        yield f"{process.stdout.readline().strip()}/v1"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_study_is_planned_by_its_fixed_interface(call: Call) -> None:
    code, out, err = call("study", "plan", "rank", "--json")
    assert code == 0, err
    told = json.loads(out)
    assert len(told["runs"]) == 24
    assert told["estimate"][0]["calls"] and told["power"][0]["kind"] == "control"
    code, out, _ = call("study", "plan", "rank", "--model", "local")
    assert code == 0
    assert "24 runs" in out and "held fixed: authority high" in out


def test_agreement_is_printed(call: Call) -> None:
    code, out, _ = call("score", "agreement", "--judge", "lexical", "--set", "held_out", "--json")
    assert code == 0
    rows = json.loads(out)["rows"]
    assert (rows[0]["group"], rows[0]["n"]) == ("held_out", 36)
    assert "held out, zh" in call("score", "agreement")[1]


def test_published_figures_are_recomputed(call: Call) -> None:
    code, out, _ = call("reproduce", "misknow", "--json")
    assert code == 0
    lines = json.loads(out)
    assert {"id", "published", "recomputed", "holds"} <= set(lines[0])
    assert not [line for line in lines if line["holds"] is False]
    assert all(line["reason"] for line in lines if line["holds"] is None)


def test_a_run_that_is_not_valid_is_no_success(call: Call) -> None:
    code, out, _ = call(
        "agent", "run", "command", "--upstream", "http://127.0.0.1:9/v1", "--agent-set", "command=echo hello", "--json"
    )
    told = json.loads(out)
    assert code == 5
    assert (told["report"].strip(), told["valid"], told["reasons"]) == ("hello", False, ["no search was served"])
    assert told["verdict"]["state"] == "unjudged"


def test_without_a_command_the_help_is_told() -> None:
    done = subprocess.run([sys.executable, "-m", "searchsim.cli"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Commands:" in done.stderr and len(done.stderr.splitlines()) > 10
