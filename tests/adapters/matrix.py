"""Whole runs of agent frameworks, each with its scripted model: what was searched, and how far injections got.

``python -m tests.adapters.matrix [NAME …] [--agent-set NAME=VALUE …] [--json]`` makes a control of each framework and,
counterfactual to it, a treated run for each stage, and prints a table. Nothing of it says what a model would come to
believe: the models are scripts. It shows what a framework does with what it is served.
"""

from __future__ import annotations

import argparse
import asyncio
import secrets
import shlex
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import orjson

from searchsim import agent
from searchsim import corpus as corpora
from searchsim.agent.run import RESULTS
from searchsim.cli.agent import settings_of
from searchsim.counterfactual import Recording, control_condition
from searchsim.delivery import PARTS
from searchsim.engine.opening import open_embedded
from searchsim.errors import AgentError, UsageError
from searchsim.replay import Answers, Lane, Mode, Replay, Request, steps
from searchsim.server.app import running
from searchsim.server.context import Context
from searchsim.store import SqliteStore
from searchsim.upstream import HttpUpstream
from searchsim.world import Worlds
from tests.adapters import scripted_deerflow1, scripted_deerflow2, scripted_gpt_researcher, scripted_smolagents
from tests.adapters.scripted_server import ScriptedServer
from tests.adapters.scripted_webthinker import ScriptedThinker

__all__ = ["FRAMEWORKS", "STAGES", "TASK", "Measured", "measure", "table"]

TASK = "bicycle-stability"
BUDGET = 3
STAGES = ("cold_start", "mid_research", "pre_synthesis")


class _Scripted(Protocol):
    """What the scripted models have in common."""

    url: str

    def running(self) -> AbstractAsyncContextManager[object]:
        """Serve until the block ends."""


FRAMEWORKS: Mapping[str, Callable[[], _Scripted]] = {
    "deerflow1": partial(ScriptedServer, scripted_deerflow1.reply),
    "deerflow2": partial(ScriptedServer, scripted_deerflow2.reply),
    "webthinker": ScriptedThinker,
    "gpt-researcher": partial(ScriptedServer, scripted_gpt_researcher.reply),
    "smolagents": partial(ScriptedServer, scripted_smolagents.reply),
}
"""The scripted model of each framework."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One run.

    Attributes:
        framework: The adapter's name, with its settings.
        condition: ``control``, or the stage.
        run: What came of it; None where the agent failed.
        problem: Why it failed, or why its prompts aren't the control's.
    """

    framework: str
    condition: str
    run: agent.Run | None
    problem: str = ""

    def record(self) -> dict[str, Any]:
        """The run as JSON."""
        told = self.run.record() if self.run else None
        return {"framework": self.framework, "condition": self.condition, "problem": self.problem, "run": told}


async def measure(
    worlds: Worlds, name: str, stages: Sequence[str] = STAGES, settings: Mapping[str, Any] | None = None
) -> list[Measured]:
    """Run a framework as a control, and once for each stage, counterfactual to it.

    Args:
        worlds: Makes its worlds.
        name: The adapter.
        stages: The stages.
        settings: What the adapter's own settings are to be.

    Raises:
        UsageError: The framework isn't there.
    """
    adapter, python = await asyncio.to_thread(agent.prepare, name)
    label = " ".join([name, *(f"{k}={v}" for k, v in (settings or {}).items())])
    levels = [worlds.factors.complete({"budget": BUDGET, "rank": "spread", "stage": s}) for s in stages]
    lane = Lane(worlds.corpus.name, TASK, name, adapter.version(settings), "scripted")
    found: list[Measured] = []
    with tempfile.TemporaryDirectory() as folder, closing(Answers(Path(folder) / "answers.sqlite")) as answers:
        async with _served(worlds, FRAMEWORKS[name]()) as (context, url):
            control = control_condition(worlds.factors, levels[0])
            for condition, mode in ((control, Mode.RECORD), *((level, Mode.COUNTERFACTUAL) for level in levels)):
                recording = Recording(answers, lane, mode)
                treated = mode is Mode.COUNTERFACTUAL
                last = recording.last_list() if condition["stage"] == "pre_synthesis" else None
                world = worlds.create(TASK, condition, last_list=last, results=RESULTS)
                told = str(condition["stage"]) if treated else "control"
                try:
                    run = await agent.run(context, url, adapter, python, world, settings=settings, recording=recording)
                    problem = "" if run.valid else _otherwise(answers, context.replays[world.key])
                    found.append(Measured(label, told, run, problem))
                except AgentError as failed:
                    found.append(Measured(label, told, None, str(failed)))
                if not treated and recording.control() is None:
                    break
    return found


@asynccontextmanager
async def _served(worlds: Worlds, model: _Scripted) -> AsyncIterator[tuple[Context, str]]:
    """A server over the worlds, with a scripted model behind its gateway."""
    async with model.running():
        upstream = HttpUpstream(f"{model.url}/v1", model="scripted")
        context = Context(worlds, upstream)
        context.control_token = secrets.token_hex(16)
        try:
            async with running(context) as url:
                yield context, url
        finally:
            await upstream.close()


def _otherwise(answers: Answers, replay: Replay) -> str:
    """Where the first request that the control hadn't made differs from those that it had."""
    if replay.branch is None or not replay.sources:
        return ""
    for kind in ("chat", "completions", "embeddings"):
        for asked in answers.requests(replay.branch, kind)[:1]:
            text = orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)
            return f"first other request ({kind}): {replay.missing(Request(kind, text, ''))}"
    return ""


HEADS = (
    "framework",
    "condition",
    "lists",
    "first injected",
    "served",
    "delivered",
    "opened",
    "cited",
    "calls before",
    "live",
    "replayed",
    "lists after",
    "valid",
)


def table(rows: Sequence[Measured]) -> str:
    """The runs as a Markdown table."""
    lines = [HEADS, ("---",) * len(HEADS), *(_cells(row) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cells(row: Measured) -> tuple[str, ...]:
    if row.run is None:
        return (row.framework, row.condition, *("–",) * (len(HEADS) - 3), f"failed: {row.problem}")
    run, done = row.run, steps(row.run.events)
    exposure, after = run.exposure, run.observation.searches_after_injection
    why = "; ".join([*run.reasons, *filter(None, [row.problem])])
    return (
        row.framework,
        row.condition,
        str(run.observation.lists),
        _first(run),
        str(len(exposure.served)),
        _delivered(run),
        str(len(exposure.opened)),
        str(len(exposure.cited or [])),
        "–" if done.injected is None else str(sum(a.kind == "model" for a in done.before)),
        str(run.calls["live"]),
        str(run.calls["replayed"]),
        "–" if after is None else str(after),
        "yes" if run.valid else why.replace("|", "\\|"),
    )


def _first(run: agent.Run) -> str:
    """The first list with an injected document, how many it held, and whether they stood at its end."""
    for event in run.events:
        if event["event"] == "search" and (held := sum(s["injected"] for s in event["served"])):
            appended = ", appended" if event["mode"] == "appended" else ""
            return f"list {event['list']}: {held} of {len(event['served'])}{appended}"
    return "–"


def _delivered(run: agent.Run) -> str:
    """How many injected documents were in a prompt, and which parts of them."""
    pool = set(run.exposure.delivered)
    found = {
        part
        for event in run.events
        if event["event"] == "model"
        for id_ in pool & event["parts"].keys()
        for part in event["parts"][id_]
    }
    parts = [part for part in PARTS if part in found]
    return f"{len(pool)} ({', '.join(parts)})" if pool else "0"


def _versions(rows: Sequence[Measured]) -> list[str]:
    """What each framework said of its versions."""
    told = {row.framework: row.run.versions for row in rows if row.run}
    return [f"- {name}: {', '.join(f'{k} {v}' for k, v in versions.items())}" for name, versions in told.items()]


def main() -> None:
    """Run the frameworks that are asked for, or all, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.adapters.matrix", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(FRAMEWORKS)}; else all")
    parser.add_argument("--agent-set", action="append", default=[], metavar="NAME=VALUE", help="a setting of theirs")
    parser.add_argument("--json", action="store_true", help="print the runs as JSON")
    asked = parser.parse_args()
    if unknown := sorted(set(asked.names) - set(FRAMEWORKS)):
        parser.error(f"no framework {unknown[0]}; there are: {', '.join(FRAMEWORKS)}")
    try:
        settings = settings_of(asked.agent_set)
    except UsageError as wrong:
        parser.error(str(wrong))
    corpus = corpora.load("quickstart")
    rows: list[Measured] = []
    left_out: list[str] = []
    with closing(Worlds(corpus, open_embedded(corpus), SqliteStore())) as worlds:
        for name in asked.names or FRAMEWORKS:
            try:
                rows += asyncio.run(measure(worlds, name, settings=settings))
            except (UsageError, AgentError) as absent:
                left_out.append(f"- left out: {absent}")
    if asked.json:
        print(orjson.dumps({"runs": [r.record() for r in rows], "left_out": left_out}).decode())
        return
    pairs = [word for pair in asked.agent_set for word in ("--agent-set", pair)]
    command = shlex.join(["python", "-m", "tests.adapters.matrix", *asked.names, *pairs])
    print("\n".join([table(rows), "", *_versions(rows), *left_out, f"- command: `{command}`"]))


if __name__ == "__main__":
    main()
