"""One agent's process: a fresh folder and HOME, a scrubbed environment, its traffic turned to the world."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from searchsim.agent.adapter import Adapter
from searchsim.errors import AgentError

__all__ = ["carry_out", "fresh_folder"]

_PARTS = ("home", "work", "tmp")
_PASSED_ON = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "SSL_CERT_FILE")
_LOOK = 0.2
"""Seconds between two looks at whether a process may end early."""


@contextmanager
def fresh_folder() -> Iterator[Path]:
    """The folder of one run, gone afterwards. Its name is drawn, and no part of what the agent asks a model."""
    with tempfile.TemporaryDirectory(prefix="searchsim-run-") as name:
        folder = Path(name)
        for part in _PARTS:
            (folder / part).mkdir()
        yield folder


async def carry_out(
    adapter: Adapter,
    python: Path,
    request: Mapping[str, Any],
    variables: Mapping[str, str],
    timeout: float,  # noqa: ASYNC109 - it ends a process, not a coroutine
    folder: Path,
    *,
    until: Callable[[], bool] | None = None,
) -> tuple[dict[str, Any] | None, float]:
    """Start the adapter, wait for it, read its answer.

    Args:
        adapter: The agent.
        python: The interpreter of its environment.
        request: What it is asked.
        variables: Put on top of its environment: the redirection's.
        timeout: Seconds after which it is ended.
        folder: A fresh one.
        until: Ends it early, where it becomes true.

    Returns:
        Its answer, None where it was ended early, and the seconds that it took.

    Raises:
        AgentError: The process failed, or wrote no answer.
    """
    (folder / "request.json").write_bytes(orjson.dumps(request))
    env = {k: os.environ[k] for k in _PASSED_ON if k in os.environ}
    env |= {
        "HOME": str(folder / "home"),
        "TMPDIR": str(folder / "tmp"),
        "TZ": "UTC",
        "PYTHONHASHSEED": "0",
        "PYTHONUNBUFFERED": "1",
        **variables,
    }
    loop = asyncio.get_running_loop()
    started = loop.time()
    with (folder / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            str(python),
            str(adapter.path.resolve()),
            str(folder / "request.json"),
            str(folder / "answer.json"),
            cwd=folder / "work",
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = await asyncio.wait_for(_ended(process, until), timeout)
        except TimeoutError:
            raise AgentError(f"agent {adapter.name} wasn't done after {timeout:.0f} s and was ended") from None
        finally:
            _end(process)
            await process.wait()
    seconds = loop.time() - started
    if code is None:
        return None, seconds
    tail = (folder / "log").read_text("utf-8", "replace").strip().splitlines()
    if code:
        raise AgentError(f"agent {adapter.name} ended with {code}: {(tail or ['it said nothing'])[-1][:600]}")
    return _answer(adapter, folder / "answer.json"), seconds


async def _ended(process: asyncio.subprocess.Process, until: Callable[[], bool] | None) -> int | None:
    """The process's exit code; None where it may end early."""
    if until is None:
        return await process.wait()
    while True:
        if until():
            return None
        try:
            return await asyncio.wait_for(process.wait(), _LOOK)
        except TimeoutError:
            continue


def _answer(adapter: Adapter, file: Path) -> dict[str, Any]:
    try:
        answer = orjson.loads(file.read_bytes())
    except (OSError, orjson.JSONDecodeError) as problem:
        raise AgentError(f"agent {adapter.name} wrote no answer: {problem}") from problem
    if not isinstance(answer, dict) or not isinstance(answer.get("report"), str):
        raise AgentError(f"agent {adapter.name} answered without a report")
    for part, kind in (("citations", list), ("versions", dict), ("notes", dict)):
        if not isinstance(answer.get(part) or kind(), kind):
            raise AgentError(f"agent {adapter.name} answered with {part} that are no {kind.__name__}")
    return answer


def _end(process: asyncio.subprocess.Process) -> None:
    """End the process with everything it started (it leads a group of its own)."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
