"""Programs whose traffic is turned to a world of a running server. Nothing of it leaves this machine."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from searchsim.agent.adapter import uv
from searchsim.redirect import findings
from searchsim.redirect.environment import environment
from searchsim.redirect.findings import Findings
from searchsim.server.context import Context
from searchsim.world import World


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a program."""

    code: int
    out: str
    err: str
    found: Findings
    events: list[dict[str, Any]]

    def pages(self) -> set[str]:
        return {e["url"] for e in self.events if e["event"] == "page"}

    def refused(self) -> list[str]:
        return [url for _, url in self.found.refused] + [e["url"] for e in self.events if e["event"] == "refused"]


Turned = Callable[..., Awaitable[Outcome]]


@pytest.fixture
def world(context: Context) -> World:
    """The world that traffic is turned to."""
    return context.worlds.create("bicycle-stability", {"rank": "front"})


@pytest.fixture
def turned(context: Context, url: str, world: World, tmp_path: Path) -> Turned:
    """Run a program with its traffic turned to the world."""

    async def run(*command: str, allow: Sequence[str] = (), env: dict[str, str] | None = None) -> Outcome:
        log = tmp_path / "log"
        given = {"PATH": os.environ["PATH"], **(env or {})}
        process = await asyncio.create_subprocess_exec(
            *command,
            env={**given, **environment(url, world.key, allow=allow, log=log, inherited=given)},
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        try:
            out, err = await asyncio.wait_for(process.communicate(), 60)
        except TimeoutError:
            process.kill()
            raise
        events = list(context.worlds.events(world.key))
        return Outcome(process.returncode or 0, out.decode(), err.decode(), findings.read(log), events)

    return run


def pythons() -> list[str]:
    """This interpreter, and those from 3.8 on that pyenv has here."""
    found = sorted(Path.home().glob(".pyenv/versions/3.*/bin/python"), key=lambda p: _minor(p))
    return [sys.executable, *(str(p) for p in found if _minor(p) >= 8)]


def _minor(python: Path) -> int:
    return int(python.parts[-3].split(".")[1])


@pytest.fixture(scope="session")
def extras(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An interpreter with clients that nothing else here needs."""
    folder = tmp_path_factory.mktemp("extras") / "venv"
    python = str(folder / "bin" / "python")
    for command in (
        ["venv", "--quiet", "--python", sys.executable, str(folder)],
        ["pip", "install", "--quiet", "--python", python, "aiohttp", "ddgs", "httplib2", "uvloop"],
    ):
        subprocess.run([uv(), *command], check=True, env={**os.environ, "UV_PYTHON_DOWNLOADS": "never"})
    return python
