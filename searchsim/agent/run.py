"""One run of an agent in a world, and what came of it.

An adapter reads one JSON object and writes one:

    in   task {id, question, language}, prompt, key, model, settings, today, home, results, appended, variables, and
         the URLs search, reader, page, model_url
    out  report, and where it knows them: citations, versions, notes
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from searchsim.agent.adapter import Adapter
from searchsim.agent.process import carry_out, fresh_folder
from searchsim.counterfactual import Recording
from searchsim.errors import AgentError
from searchsim.redirect import findings
from searchsim.redirect.environment import framework_variables, redirection
from searchsim.redirect.sockets import watched
from searchsim.replay import Mode, Names, Replay, steps
from searchsim.scoring.exposure import Exposure, Observation, citations, exposure, observation
from searchsim.server.context import Context
from searchsim.trace import Event
from searchsim.validity import reasons
from searchsim.world import World

__all__ = ["APPENDED", "RESULTS", "TIMEOUT", "Run", "request_of", "run", "turned"]

TIMEOUT = 3600.0
RESULTS = 10
"""What a list of an agent's world holds at most: make worlds with it."""
APPENDED = 3
"""How many more may stand at a list's end: an agent's own k must leave room for them."""


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
        mode: Where the model's answers came from.
        control: The key of the control's world, for a counterfactual run.
        versions: As the adapter told them.
        notes: As the adapter told them.
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
    mode: str = "live"
    control: str | None = None
    versions: dict[str, str] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)
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
            "answers": {"mode": self.mode, "control": self.control},
            "valid": self.valid,
            "reasons": self.reasons,
            "demonstration": self.demonstration,
            "seconds": round(self.seconds, 1),
            "versions": self.versions,
            "notes": self.notes,
        }


def request_of(
    context: Context, url: str, adapter: Adapter, world: World, settings: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """What an adapter is asked.

    Args:
        context: The server's state.
        url: Where the server listens.
        adapter: The agent.
        world: Its world.
        settings: What the adapter's own settings are to be.
    """
    task = context.worlds.corpus.task(world.task)
    upstream = context.upstream
    checkout = adapter.checkout()
    return {
        "task": {"id": task.id, "question": task.question, "language": task.language},
        "prompt": task.question,
        "key": world.key,
        "search": url,
        "reader": f"{url}/jina",
        "page": f"{url}/w/{world.key}/page",
        "model_url": f"{url}/v1",
        "model": (upstream.model if upstream else None) or "model",
        "home": str(checkout) if checkout else None,
        "today": context.worlds.corpus.today.isoformat(),
        "results": RESULTS,
        "appended": APPENDED,
        "variables": framework_variables(url, world.key, f"{url}/v1"),
        "settings": {"small": bool(upstream and upstream.demonstration), **(settings or {})},
    }


def turned(context: Context, url: str, world: World, log: Path) -> dict[str, str]:
    """The variables that turn an agent's traffic to its world, and its clock to the corpus's day."""
    clock = f"{context.worlds.corpus.today.isoformat()}T12:00:00"
    return {**redirection(url, world.key, log=log), "SEARCHSIM_REDIRECT_CLOCK": clock}


async def run(
    context: Context,
    url: str,
    adapter: Adapter,
    python: Path,
    world: World,
    *,
    settings: Mapping[str, Any] | None = None,
    timeout: float = TIMEOUT,  # noqa: ASYNC109 - it ends a process, not a coroutine
    recording: Recording | None = None,
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
        recording: Where the model's answers are kept, and where they come from; None asks the model alone.

    Raises:
        AgentError: The process failed, or wrote no answer.
        UsageError: The recording holds no control, or nothing to replay.
    """
    upstream = context.upstream
    request = request_of(context, url, adapter, world, settings)
    with fresh_folder() as folder:
        names = Names(world.key, url, folder.name, adapter.normalise)
        replay = Replay(names=names) if recording is None else recording.open(world, names)
        context.replays[world.key] = replay
        log = folder / "redirection"
        try:
            async with watched(log) as watch:
                variables = turned(context, url, world, log)
                answer, seconds = await carry_out(adapter, python, request, variables, timeout, folder)
        except AgentError as error:
            raise AgentError(_explained(error, context.worlds.events(world.key))) from error
        finally:
            found = findings.read(log)
            found.put_on_record(context.worlds, world)
            world.seal()
    answer = answer or {}
    report = answer["report"]
    events = list(context.worlds.events(world.key))
    seen = observation(events)
    why = await reasons(context.worlds, world, events) + found.reasons(watch.strays)
    if not seen.searches:
        why.append("no search was served")
    if not report.strip():
        why.append("the report is empty")
    done = steps(events)
    if recording is not None:
        why += recording.differs(done)
        if not why:
            recording.close(replay, done)
    replayed = sum(e["event"] == "model" and e["origin"] == "replayed" for e in events)
    return Run(
        agent=adapter.name,
        world=world.record(),
        report=report,
        citations=[str(c) for c in answer.get("citations") or citations(report)],
        observation=seen,
        exposure=exposure(events, list(world.documents()), report),
        calls={"live": seen.models - replayed, "replayed": replayed},
        valid=not why,
        reasons=why,
        demonstration=bool(upstream and upstream.demonstration),
        seconds=seconds,
        mode=replay.mode.value,
        control=recording.control_world() if recording is not None and replay.mode is Mode.COUNTERFACTUAL else None,
        versions={str(k): str(v) for k, v in (answer.get("versions") or {}).items()},
        notes=dict(answer.get("notes") or {}),
        events=events,
    )


def _explained(error: AgentError, events: Iterable[Event]) -> str:
    """What an agent said at its end, and what the gateway had told it: the latter is often the cause."""
    faults = [e["message"] for e in events if e["event"] == "fault" and not e["planned"]]
    return f"{error}; before that: {faults[-1]}" if faults else str(error)
