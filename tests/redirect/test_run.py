"""`searchsim run`, whole."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from searchsim import agent
from searchsim.server.context import Context
from tests.conftest import ROOT


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "searchsim.cli", "run", *arguments]


def searchsim_run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*arguments), capture_output=True, text=True, timeout=60, check=False, cwd=ROOT)


SEARCH = """
import json, sys, urllib.request
request = urllib.request.Request("https://google.serper.dev/search", json.dumps({"q": "gyroscopic bicycle"}).encode(), {"X-API-KEY": "whatever"})
results = json.load(urllib.request.urlopen(request))["organic"]
urllib.request.urlopen(results[0]["link"]).read()
print(results[0]["position"], *sys.argv[1:])
"""


def test_a_program_is_turned_and_its_exit_code_passed_on(tmp_path: Path) -> None:
    options = ["--task", "bicycle-stability", "--set", "rank=front", "--set", "budget=2", "--json", str(tmp_path / "r")]
    result = searchsim_run(*options, "--", sys.executable, "-c", f"{SEARCH}\nsys.exit(7)", "--json", "--", "x")
    assert result.returncode == 7, result.stderr
    assert result.stdout == "1 --json -- x\n", "stdout and the arguments are the program's own"
    lines = result.stderr.splitlines()
    record: dict[str, Any] = json.loads((tmp_path / "r").read_bytes())
    injected = len(record["exposure"]["served"])
    assert lines[-1].endswith(f"searches 1, pages 1, injected {injected}, refused 0")
    assert (record["exit"], record["valid"], record["reasons"], record["hooked"]) == (7, True, [], 1)
    assert record["key"] in lines[0]
    assert record["condition"]["rank"] == "front"
    assert record["exposure"]["opened"], "rank front: the first result is an injected one"


def test_what_was_refused_is_told_and_makes_the_run_invalid(tmp_path: Path) -> None:
    code = """
import socket, urllib.request
for attempt in (lambda: socket.create_connection(("192.0.2.9", 80)), lambda: urllib.request.urlopen("https://api.example/x?key=secret", b"{}")):
    try:
        attempt()
    except OSError as problem:
        print(problem)
"""
    result = searchsim_run("--json", str(tmp_path / "r"), "--", sys.executable, "-c", code)
    assert "searchsim refused a connection to 192.0.2.9:80" in result.stdout
    assert "HTTP Error 404" in result.stdout
    assert "searchsim: refused tcp://192.0.2.9:80\n" in result.stderr
    assert "searchsim: refused https://api.example/x\n" in result.stderr, "without what may be secret"
    assert result.stderr.splitlines()[-1].endswith("searches 0, pages 0, injected 0, refused 2")
    record = json.loads((tmp_path / "r").read_bytes())
    assert not record["valid"]
    assert sorted(record["reasons"]) == [
        "traffic went to 192.0.2.9 and was refused",
        "traffic went to api.example and was refused",
    ]


def test_frameworks_own_settings() -> None:
    code = """
import os, urllib.request, json
url, key = os.environ["SERPER_BASE_URL"], os.environ["SERPER_API_KEY"]
searx = os.environ["SEARX_HOST"]
assert searx == url + "/w/" + key + "/searxng/search", searx
assert "OPENAI_BASE_URL" not in os.environ
print(len(json.load(urllib.request.urlopen(searx + "?q=concrete&format=json"))["results"]) > 0)
"""
    env = {k: v for k, v in os.environ.items() if k != "OPENAI_BASE_URL"}
    arguments = command("--", sys.executable, "-c", code)
    result = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False, cwd=ROOT, env=env)
    assert result.stdout == "True\n", result.stderr
    assert result.stderr.splitlines()[-1].endswith("refused 0")
    assert "searches 1, pages 0" in result.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--", "searchsim-no-such-program"], "can't start searchsim-no-such-program: there is no such program"),
        (["--task", "absent", "--", "true"], "no task 'absent'"),
        (["--allow-host", "https://host/", "--", "true"], "give HOST or HOST:PORT"),
        (["--json", "/nowhere/at/all", "--", "true"], "there is no folder"),
        (["--set", "rank=sideways", "--", "true"], "sideways"),
        ([], "(see --help)"),
    ],
)
def test_wrong_use(arguments: list[str], message: str) -> None:
    result = searchsim_run(*arguments)
    assert result.returncode == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_program_without_hooks_is_told_of() -> None:
    result = searchsim_run("--", "sh", "-c", "kill -9 $$")
    assert result.returncode == 128 + 9
    assert "no Python or Node process took up the hook" in result.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_sockets_that_were_not_routed_are_told(tmp_path: Path) -> None:
    """To another address of this machine, so that nothing leaves it."""
    with socket.socket(type=socket.SOCK_DGRAM) as probe:
        # Connecting a datagram socket sends nothing; it only finds the address that would be used.
        probe.connect(("192.0.2.1", 9))
        own = probe.getsockname()[0]
    with socket.create_server((own, 0)) as server:
        port = server.getsockname()[1]
        script = f"exec 3<>/dev/tcp/{own}/{port}; read -t 1.5 x <&3; true"
        result = searchsim_run("--json", str(tmp_path / "r"), "--", "env", "-u", "HOME", "bash", "-c", script)
    assert f"not routed: a socket of bash to {own}:{port}\n" in result.stderr
    record = json.loads((tmp_path / "r").read_bytes())
    assert record["reasons"] == [f"traffic went to {own}:{port}, past the redirection"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_signals_are_forwarded(number: signal.Signals) -> None:
    code = f"""
import signal, sys
signal.signal({int(number)}, lambda *_: sys.exit(33))
print("ready", flush=True)
signal.pause()
"""
    process = subprocess.Popen(
        command("--", sys.executable, "-c", code),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.wait(20) == 33
        assert process.stderr.read().splitlines()[-1].endswith("refused 0")


ADAPTER = '''# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""An agent that goes astray."""
import json, socket, sys, urllib.request
request = json.load(open(sys.argv[1]))
search = urllib.request.Request("https://google.serper.dev/search?q=bicycle", headers={"X-API-KEY": "written into the code"})
results = json.load(urllib.request.urlopen(search))["organic"]
try:
    socket.create_connection(("192.0.2.9", 80))
except OSError:
    pass
json.dump({"report": str(len(results))}, open(sys.argv[2], "w"))
'''


async def test_agents_are_turned_too(context: Context, url: str, tmp_path: Path) -> None:
    path = tmp_path / "astray.py"
    path.write_text(ADAPTER)
    adapter, python = agent.prepare(str(path))
    result = await agent.run(context, url, adapter, python, context.worlds.create("bicycle-stability"))
    assert result.report == "10"
    assert result.observation.searches == 1
    assert result.reasons == ["traffic went to 192.0.2.9 and was refused"]
