"""Run an agent: an adapter in a process and environment of its own, against one world.

An adapter is a PEP 723 script in ``adapters/``. Its environment is prepared by uv beforehand; then its interpreter is
started in a fresh folder with a fresh HOME and a scrubbed environment, its web traffic turned to the world, whatever
else it may ask for. It reads one JSON object and writes one:

    in   task {id, question, language}, prompt, key, model, settings, and the URLs search, reader, page, model_url
    out  report, and where it knows them: citations, versions, notes
"""

from __future__ import annotations

import ast
import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from searchsim import home
from searchsim.errors import AgentError
from searchsim.redirect import findings
from searchsim.redirect.environment import redirection
from searchsim.redirect.sockets import watched
from searchsim.scoring.exposure import Exposure, Observation, citations, exposure, observation
from searchsim.server.context import Context
from searchsim.trace import Event
from searchsim.validity import reasons
from searchsim.world import World

__all__ = ["Adapter", "Run", "adapters", "prepare", "run"]

TIMEOUT = 3600.0
_PASSED_ON = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "SSL_CERT_FILE")


@dataclass(frozen=True, slots=True)
class Adapter:
    """One adapter script.

    Attributes:
        name: The agent's name.
        path: The script.
        summary: The first line of its docstring.
    """

    name: str
    path: Path
    summary: str


def adapters() -> dict[str, Adapter]:
    """All adapters by name."""
    found = {}
    for name, path in home.instances("adapters"):
        try:
            text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        except (SyntaxError, ValueError) as error:
            text = f"can't be read as Python: {error}"
        found[name] = Adapter(name, path, text.split("\n", 1)[0])
    return found


def prepare(name: str) -> tuple[Adapter, Path]:
    """An adapter and the interpreter of its environment, which is made where it isn't there.

    Raises:
        UsageError: There is no such adapter.
        AgentError: Its environment can't be made; the message has uv's last words.
    """
    path = home.find("adapters", name)
    adapter = adapters().get(name) or Adapter(path.stem, path, "")
    uv = _uv()
    # A script in a read-only place or an installed wheel has no lock beside it: exclude-newer in it pins.
    for command in (["sync", "--script"], ["python", "find", "--script"]):
        done = subprocess.run(  # noqa: S603 - uv with fixed arguments
            [uv, *command, str(path)],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "UV_PYTHON_DOWNLOADS": "never"},
        )
        if done.returncode:
            last = (done.stderr.strip() or done.stdout.strip()).splitlines()
            raise AgentError(f"the environment of agent {name} can't be made: {' '.join(last[-3:])}")
    return adapter, Path(done.stdout.strip().splitlines()[-1])


def _uv() -> str:
    beside = Path(sys.executable).with_name("uv")
    found = str(beside) if beside.is_file() else shutil.which("uv")
    if not found:
        raise AgentError("uv isn't there: install searchsim with its dependencies (uv is one of them)")
    return found


@dataclass(frozen=True, slots=True)
class Run:
    """What came of one agent in one world.

    Attributes:
        agent: The adapter's name.
        world: The world's record.
        report: The agent's report; empty where it wrote none.
        citations: URLs that the report cites.
        observation: What the world did serve.
        exposure: How far the pool's documents got.
        calls: Model calls by origin.
        valid: Whether the run counts.
        reasons: Why it doesn't.
        demonstration: Whether a toy model took part.
        seconds: Wall time of the agent's process.
        versions: As the adapter told them.
        events: The world's trace.
    """

    agent: str
    world: dict[str, Any]
    report: str
    citations: list[str]
    observation: Observation
    exposure: Exposure
    calls: dict[str, int]
    valid: bool
    reasons: list[str]
    demonstration: bool
    seconds: float
    versions: dict[str, str] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)

    def record(self) -> dict[str, Any]:
        """The run as JSON, its trace left out."""
        return {
            "agent": self.agent,
            "world": self.world,
            "report": self.report,
            "citations": self.citations,
            "searches": self.observation.searches,
            "observation": self.observation.record(),
            "exposure": self.exposure.record(),
            "calls": self.calls,
            "valid": self.valid,
            "reasons": self.reasons,
            "demonstration": self.demonstration,
            "seconds": round(self.seconds, 1),
            "versions": self.versions,
        }


async def run(
    context: Context,
    url: str,
    adapter: Adapter,
    python: Path,
    world: World,
    *,
    settings: Mapping[str, Any] | None = None,
    timeout: float = TIMEOUT,  # noqa: ASYNC109 - it ends a process, not a coroutine
) -> Run:
    """Run an agent in a world and say what came of it.

    Args:
        context: The server's state.
        url: Where the server listens.
        adapter: The agent.
        python: The interpreter of its environment.
        world: A world of its own, not used before.
        settings: What the adapter's own settings are to be.
        timeout: Seconds after which the process is ended.

    Raises:
        AgentError: The process failed, or wrote no answer.
    """
    task = context.worlds.corpus.task(world.task)
    upstream = context.upstream
    request = {
        "task": {"id": task.id, "question": task.question, "language": task.language},
        "prompt": task.question,
        "key": world.key,
        "search": url,
        "reader": f"{url}/jina",
        "page": f"{url}/w/{world.key}/page",
        "model_url": f"{url}/v1",
        "model": (upstream.model if upstream else None) or "model",
        "settings": {"small": bool(upstream and upstream.demonstration), **(settings or {})},
    }
    with tempfile.TemporaryDirectory(prefix="searchsim-log-") as folder:
        log = Path(folder) / "log"
        try:
            async with watched(log) as watch:
                env = redirection(url, world.key, log=log)
                answer, seconds = await _process(adapter, python, request, env, timeout)
        finally:
            found = findings.read(log)
            found.put_on_record(context.worlds, world)
    report = answer["report"]
    events = list(context.worlds.events(world.key))
    seen = observation(events)
    why = await reasons(context.worlds, world, events) + found.reasons(watch.strays)
    if not seen.searches:
        why.append("no search was served")
    if not report.strip():
        why.append("the report is empty")
    urls = {d.id: d.url for d in world.documents()}
    return Run(
        agent=adapter.name,
        world=world.record(),
        report=report,
        citations=[str(c) for c in answer.get("citations") or citations(report)],
        observation=seen,
        exposure=exposure(events, world.plan.documents, report, urls),
        calls={"live": seen.models, "replayed": 0},
        valid=not why,
        reasons=why,
        demonstration=bool(upstream and upstream.demonstration),
        seconds=seconds,
        versions={str(k): str(v) for k, v in (answer.get("versions") or {}).items()},
        events=events,
    )


async def _process(
    adapter: Adapter,
    python: Path,
    request: Mapping[str, Any],
    turned: Mapping[str, str],
    timeout: float,  # noqa: ASYNC109
) -> tuple[dict[str, Any], float]:
    """Start the adapter, wait for it, read its answer; gives also the seconds it took."""
    with tempfile.TemporaryDirectory(prefix="searchsim-run-") as name:
        folder = Path(name)
        for part in ("home", "work", "tmp"):
            (folder / part).mkdir()
        (folder / "request.json").write_bytes(orjson.dumps(request))
        env = {k: os.environ[k] for k in _PASSED_ON if k in os.environ}
        env |= {
            "HOME": str(folder / "home"),
            "TMPDIR": str(folder / "tmp"),
            "TZ": "UTC",
            "PYTHONHASHSEED": "0",
            "PYTHONUNBUFFERED": "1",
            **turned,
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
                code = await asyncio.wait_for(process.wait(), timeout)
            except TimeoutError:
                raise AgentError(f"agent {adapter.name} wasn't done after {timeout:.0f} s and was ended") from None
            finally:
                _end(process)
                await process.wait()
        seconds = loop.time() - started
        tail = (folder / "log").read_text("utf-8", "replace").strip().splitlines()
        if code:
            raise AgentError(f"agent {adapter.name} ended with {code}: {(tail or ['it said nothing'])[-1][:600]}")
        try:
            answer = orjson.loads((folder / "answer.json").read_bytes())
        except (OSError, orjson.JSONDecodeError) as problem:
            raise AgentError(f"agent {adapter.name} wrote no answer: {problem}") from problem
    if not isinstance(answer, dict) or not isinstance(answer.get("report"), str):
        raise AgentError(f"agent {adapter.name} answered without a report")
    for part, kind in (("citations", list), ("versions", dict)):
        if not isinstance(answer.get(part) or kind(), kind):
            raise AgentError(f"agent {adapter.name} answered with {part} that are no {kind.__name__}")
    return answer, seconds


def _end(process: asyncio.subprocess.Process) -> None:
    """End the process with everything it started (it leads a group of its own)."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
