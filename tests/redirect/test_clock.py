"""The stopped clock, in every Python that is there."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from searchsim.redirect.environment import HOOK

MOMENT = "2026-03-01T12:00:00"
_PYTHONS = [sys.executable, *map(str, sorted(Path.home().glob(".pyenv/versions/3.*/bin/python")))]
PROGRAM = """
import datetime, json, pickle, time
from datetime import date, datetime as imported

class Own(datetime.datetime):
    pass

before = time.time()
told = [
    datetime.datetime.now().isoformat(), imported.now(datetime.timezone.utc).isoformat(), imported.today().isoformat(),
    imported.utcnow().isoformat(), date.today().isoformat(), time.strftime("%Y-%m-%d %H:%M:%S"), time.ctime(),
    list(time.localtime())[:6], list(time.gmtime())[:6], time.asctime(),
]
import io, logging
log = io.StringIO()
handler = logging.StreamHandler(log)
handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%Y"))
logging.getLogger().addHandler(handler)
logging.warning("written")
class Utc(logging.Formatter):
    converter = time.gmtime
assert Utc("%(asctime)s").format(logging.makeLogRecord({"created": 0})).startswith("1970-01-01")
print(json.dumps({
    "log": log.getvalue(),
    "told": told,
    "same types": type(imported.now()) is datetime.datetime and isinstance(Own.now(), Own)
    and pickle.loads(pickle.dumps(imported.now())) == imported.now(),
    "others": [time.strftime("%Y", time.gmtime(0)), time.gmtime(86400)[:3], datetime.date.fromtimestamp(0).year],
    "runs on": time.time() >= before > 1.7e9,
}))
"""
TOLD = [
    "2026-03-01T12:00:00",
    "2026-03-01T12:00:00+00:00",
    "2026-03-01T12:00:00",
    "2026-03-01T12:00:00",
    "2026-03-01",
    "2026-03-01 12:00:00",
    "Sun Mar  1 12:00:00 2026",
    [2026, 3, 1, 12, 0, 0],
    [2026, 3, 1, 12, 0, 0],
    "Sun Mar  1 12:00:00 2026",
]


def _new_enough(python: str) -> bool:
    version = Path(python).resolve().parent.parent.name.split(".")
    return python == sys.executable or (len(version) > 1 and version[1].isdigit() and int(version[1]) >= 8)


@pytest.mark.parametrize("python", [p for p in _PYTHONS if _new_enough(p)])
def test_what_programs_print_stands_still_and_what_they_measure_does_not(python: str) -> None:
    env = {
        "PYTHONPATH": str(HOOK),
        "SEARCHSIM_REDIRECT_URL": "http://127.0.0.1:9",
        "SEARCHSIM_REDIRECT_WORLD": "k",
        "SEARCHSIM_REDIRECT_CLOCK": MOMENT,
        "TZ": "UTC",
    }
    command = [python, "-W", "ignore", "-c", PROGRAM]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["told"] == TOLD
    assert found["others"] == ["1970", [1970, 1, 2], 1970]
    assert found["log"].endswith(" written\n") and found["log"][:4].isdigit(), "logging goes by the clock that runs"
    assert found["same types"] and found["runs on"]


def test_children_inherit_it() -> None:
    program = (
        "import subprocess, sys\n"
        "print(subprocess.run([sys.executable, '-c', 'import datetime; print(datetime.date.today())'], env={}, "
        "capture_output=True, text=True).stdout)"
    )
    env = {
        "PYTHONPATH": str(HOOK),
        "SEARCHSIM_REDIRECT_URL": "http://127.0.0.1:9",
        "SEARCHSIM_REDIRECT_WORLD": "k",
        "SEARCHSIM_REDIRECT_CLOCK": MOMENT,
    }
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "2026-03-01"


def test_a_clock_that_cannot_be_stopped_ends_the_program() -> None:
    env = {"PYTHONPATH": str(HOOK), "SEARCHSIM_REDIRECT_URL": "http://x", "SEARCHSIM_REDIRECT_CLOCK": "noon"}
    done = subprocess.run([sys.executable, "-c", "print('on')"], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 70
    assert "on" not in done.stdout


NODE = """
class Own extends Date {}
const before = Date.now();
console.log(JSON.stringify({
  told: [new Date().toISOString(), Date(), new Own().toISOString()],
  shown: [new Intl.DateTimeFormat("en-GB").format(), new Intl.DateTimeFormat("en-GB").format(new Date(0))],
  others: [new Date(0).toISOString(), new Date(2020, 0, 2).getFullYear(), Date.UTC(1970, 0, 1)],
  same: [new Date() instanceof Date, new Own() instanceof Own, new Own() instanceof Date],
  runs: Date.now() >= before && before > 1.7e12,
}));
"""


def test_nodes_clock_stands_still_too() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node isn't there")
    env = {
        "NODE_OPTIONS": f'--require "{HOOK / "preload.cjs"}"',
        "SEARCHSIM_REDIRECT_URL": "http://127.0.0.1:9",
        "SEARCHSIM_REDIRECT_CLOCK": MOMENT,
        "TZ": "UTC",
    }
    done = subprocess.run([node, "-e", NODE], env=env, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["told"][0] == found["told"][2] == "2026-03-01T12:00:00.000Z"
    assert found["told"][1].startswith("Sun Mar 01 2026 12:00:00")
    assert found["shown"] == ["01/03/2026", "01/01/1970"]
    assert found["others"] == ["1970-01-01T00:00:00.000Z", 2020, 0]
    assert found["same"] == [True, True, True] and found["runs"]
