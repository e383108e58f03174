"""Children inherit the redirection, however they are started and with whatever environment."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.redirect.conftest import Turned, pythons

CHILD = """
import sys, urllib.request
try:
    urllib.request.urlopen("https://child.example/" + sys.argv[1])
except Exception as problem:
    print(problem)
"""
WAYS = {
    "run": "subprocess.run([py, '-c', CHILD, 'run'], env=bare)",
    "empty": "subprocess.run([py, '-c', CHILD, 'empty'], env={})",
    "inherited": "subprocess.run([py, '-c', CHILD, 'inherited'])",
    "shell": "subprocess.run(['sh', '-c', 'exec \"$0\" -c \"$1\" shell', py, CHILD], env=bare)",
    "spawned": "subprocess.run([py, '-c', CHILD, 'spawned'], env=bare, close_fds=False)",
    "asyncio": "asyncio.run(started())",
    "posix_spawn": "os.waitpid(os.posix_spawn(py, [py, '-c', CHILD, 'posix_spawn'], bare), 0)",
    "spawnve": "os.spawnve(os.P_WAIT, py, [py, '-c', CHILD, 'spawnve'], bare)",
    "execve": "os.fork() or os.execve(py, [py, '-c', CHILD, 'execve'], bare); os.wait()",
    "execvp": "os.fork() or os.execvp(py, [py, '-c', CHILD, 'execvp']); os.wait()",
    "fork": "process('fork')",
    "spawn": "process('spawn')",
    "forkserver": "process('forkserver')",
    "cleared": "os.environ.clear(); subprocess.run([py, '-c', CHILD, 'cleared'])",
    "system": "os.system(shlex.quote(py) + ' -c ' + shlex.quote(CHILD) + ' system')",
}
PARENT = f"""
import asyncio, multiprocessing, os, shlex, subprocess, sys, urllib.request
CHILD = {CHILD!r}
py, bare = sys.executable, {{"PATH": os.environ["PATH"]}}
async def started():
    child = await asyncio.create_subprocess_exec(py, "-c", CHILD, "asyncio", env=bare)
    await child.wait()
def ask(way):
    sys.argv[1:] = [way]
    exec(CHILD)
def process(way):
    child = multiprocessing.get_context(way).Process(target=ask, args=(way,))
    child.start()
    child.join()
if __name__ == "__main__":
    for way in {list(WAYS.values())!r}:
        exec(way)
"""


@pytest.mark.parametrize("python", [p for p in pythons() if "/3.8" in p or "/3.13" in p or p == sys.executable])
async def test_every_way_of_starting_a_child(turned: Turned, tmp_path: Path, python: str) -> None:
    parent = tmp_path / "parent.py"
    parent.write_text(PARENT)
    result = await turned(python, "-W", "ignore", str(parent))
    assert result.code == 0, result.err
    assert result.out.count("HTTP Error 404") == len(WAYS), result.err
    assert result.pages() == {f"https://child.example/{way}" for way in WAYS}
    assert result.refused() == []
    assert result.found.unhooked == ()


async def test_children_that_no_hook_enters_are_told_of(turned: Turned) -> None:
    code = """
import os, subprocess, sys
for options in (["-I"], ["-E"], ["-S"], ["-bI"], ["-W", "ignore", "-E"]):
    subprocess.run([sys.executable, *options, "-c", "pass"])
for options in (["-c", "-I"], ["-W", "ignore"], ["-s"], ["-u", "-m", "this"]):
    subprocess.run([sys.executable, *options, *([] if options[0] in "-c-u" else ["-c", "pass"])], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
"""
    result = await turned(sys.executable, "-c", code)
    assert [u.partition(" ")[2] for u in result.found.unhooked] == [
        "-I -c pass",
        "-E -c pass",
        "-S -c pass",
        "-bI -c pass",
        "-W ignore -E -c pass",
    ]


async def test_a_childs_own_paths_and_options_are_kept(turned: Turned) -> None:
    code = """
import os, subprocess, sys
show = "import os; print(os.environ.get('PYTHONPATH'), os.environ['NODE_OPTIONS'].split('preload.cjs')[1])"
subprocess.run([sys.executable, "-c", show], env={"PYTHONPATH": "/theirs", "NODE_OPTIONS": "--no-warnings"})
"""
    result = await turned(sys.executable, "-c", code)
    assert result.out.split() == ["/theirs", '"', "--no-warnings"], result.err
