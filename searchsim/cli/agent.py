"""Agents: list, check, run."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer
import yaml
from rich.table import Table

from searchsim import __version__, agent
from searchsim import corpus as corpora
from searchsim.agent.run import RESULTS, TIMEOUT
from searchsim.cli.common import (
    DEGRADED,
    ERR,
    CaOption,
    CorpusOption,
    ElasticsearchOption,
    EngineOption,
    JsonOption,
    LastListOption,
    ModelOption,
    ModeOption,
    RecordingsOption,
    SetOption,
    UpstreamOption,
    engine_choice,
    open_context,
    print_json,
    say,
    show_table,
)
from searchsim.counterfactual import Recording, control_condition, needs_control
from searchsim.engine.opening import EngineChoice
from searchsim.errors import AgentError, UsageError
from searchsim.home import cache_folder
from searchsim.injection import Level
from searchsim.judge import LexicalJudge, Verdict
from searchsim.judge.verdict import unjudged
from searchsim.replay import Answers, Lane, Mode
from searchsim.server.app import running
from searchsim.upstream import open_upstream
from searchsim.world import parse_settings

__all__ = ["agent_app"]

AgentSetOption = Annotated[
    list[str], typer.Option("--agent-set", help="A setting of the adapter, NAME=VALUE; may stand several times.")
]

agent_app = typer.Typer(help="Agents: list, check, run.", no_args_is_help=True, rich_markup_mode=None)


@agent_app.command("list")
def agent_list(as_json: JsonOption = False) -> None:
    """List the agents that there are adapters for.

    Example: searchsim agent list --json
    """
    found = [{"name": a.name, "summary": a.summary, "path": str(a.path)} for a in agent.adapters().values()]
    if as_json:
        print_json(found)
        return
    table = Table("name", "what", box=None)
    for entry in found:
        table.add_row(entry["name"], entry["summary"])
    show_table(table)


@agent_app.command("check")
def agent_check(
    name: Annotated[str, typer.Argument(help="An agent.")],
    handshake: Annotated[bool, typer.Option("--handshake", help="Prove that its traffic goes through.")] = False,
    appended: Annotated[
        bool, typer.Option("--appended", help="With --handshake: prove that what is appended to a list arrives.")
    ] = False,
    corpus: CorpusOption = "quickstart",
    agent_settings: AgentSetOption = [],  # noqa: B006
    upstream: UpstreamOption = None,
    model: ModelOption = None,
) -> None:
    """Make an agent's environment and say where it is, or what is missing; with --handshake also prove its wiring.

    The handshake runs the agent in a throw-away world until a document that only this world has is in a prompt to its
    model.

    Example: searchsim agent check planner --handshake
    """
    if not handshake and (upstream or model or agent_settings or appended):
        raise UsageError("--upstream, --model, --agent-set and --appended are of --handshake: give it too")
    with ERR.status(f"preparing {name}"):
        adapter, python = agent.prepare(name)
    say(f"{adapter.name}: ready ({python})")
    if (checkout := adapter.checkout()) is not None:
        say(f"{adapter.home}: {checkout}")
    if handshake:
        found = asyncio.run(_handshake(adapter, python, corpus, settings_of(agent_settings), upstream, model, appended))
        say(f"handshake: found after {found['searches']} searches and {found['calls']} model calls")


async def _handshake(
    adapter: agent.Adapter,
    python: Path,
    corpus: str,
    settings: Mapping[str, Any],
    upstream: str | None,
    model: str | None,
    appended: bool,
) -> dict[str, Any]:
    async with open_context(corpus, EngineChoice("tantivy"), None, None, None) as context, AsyncExitStack() as stack:
        context.upstream = open_upstream(upstream, model)
        stack.push_async_callback(context.upstream.close)
        context.control_token = secrets.token_hex(16)
        task = next(iter(context.worlds.corpus.tasks), "")
        async with running(context) as url:
            with ERR.status(f"{adapter.name} shakes hands"):
                return await agent.handshake(context, url, adapter, python, task, settings=settings, appended=appended)


def settings_of(pairs: Sequence[str]) -> dict[str, Any]:
    """The settings of an adapter that ``--agent-set NAME=VALUE`` options give; values are read as YAML's are.

    Raises:
        UsageError: One isn't of that form.
    """
    found: dict[str, Any] = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        try:
            found[name.strip()] = yaml.safe_load(value)
        except yaml.YAMLError:
            found[name.strip()] = value
        if not sign or not name.strip():
            raise UsageError(f"--agent-set {pair}: write NAME=VALUE, e.g. --agent-set steps=3")
        try:
            orjson.dumps(found[name.strip()])
        except TypeError:
            raise UsageError(f"--agent-set {pair}: the value can't be written as JSON: quote it") from None
    return found


@agent_app.command("run")
def agent_run(
    name: Annotated[str, typer.Argument(help="An agent.")],
    corpus: CorpusOption = "quickstart",
    task: Annotated[str | None, typer.Option(help="A task's id; else the corpus's first.")] = None,
    settings: SetOption = [],  # noqa: B006
    agent_settings: AgentSetOption = [],  # noqa: B006
    upstream: UpstreamOption = None,
    model: ModelOption = None,
    answers: Annotated[
        str | None,
        typer.Option(
            help="Where the model's answers come from: live; record (and keep them); counterfactual (the control's "
            "where it asked the same, which is recorded first if it isn't there); replay (recorded ones alone). Else "
            "counterfactual where the stage must know the last list, and live."
        ),
    ] = None,
    answers_file: Annotated[
        Path | None, typer.Option(help="The file that they are kept in; else one in the cache's folder.")
    ] = None,
    repetition: Annotated[int, typer.Option(help="Which repetition the recorded answers are of.", min=1)] = 1,
    timeout: Annotated[float, typer.Option(help="Seconds after which the agent is ended.", min=1)] = TIMEOUT,
    engine: EngineOption = "tantivy",
    elasticsearch: ElasticsearchOption = None,
    elasticsearch_ca: CaOption = None,
    recordings: RecordingsOption = None,
    recorded_mode: ModeOption = None,
    store: Annotated[str | None, typer.Option(envvar="SEARCHSIM_STORE", help="Keep the world in this file.")] = None,
    last_list: LastListOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run an agent against a fresh world; print its report and what it was exposed to. Exit code 5: it isn't valid.

    Example: searchsim agent run planner --task bicycle-stability --set budget=3
    """
    choice = engine_choice(engine, elasticsearch, elasticsearch_ca, recordings, recorded_mode)
    asked = _Asked(name, corpus, task, settings, settings_of(agent_settings), last_list, answers, repetition, timeout)
    result = asyncio.run(_agent_run(asked, choice, upstream, model, store, answers_file))
    blueprint = corpora.load(corpus).blueprints.get(result.world["task"])
    judge = LexicalJudge()
    if not result.valid:
        verdict = unjudged(judge, "the run isn't valid")
    elif blueprint is None:
        verdict = unjudged(judge, "the task has no blueprint")
    else:
        verdict = judge.read(result.report, blueprint)
    if as_json:
        print_json({**result.record(), "verdict": verdict.record()})
    else:
        _show_run(result, verdict)
    if not result.valid:
        raise typer.Exit(DEGRADED)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What `agent run` was asked for."""

    name: str
    corpus: str
    task: str | None
    settings: Sequence[str]
    agent_settings: Mapping[str, Any]
    last_list: int | None
    answers: str | None
    repetition: int
    timeout: float


async def _agent_run(
    asked: _Asked,
    choice: EngineChoice,
    upstream: str | None,
    model: str | None,
    store: str | None,
    answers_file: Path | None,
) -> agent.Run:
    async with open_context(asked.corpus, choice, store, None, None) as context:
        # Everything that can be wrong with the request is found before a model is loaded.
        worlds = context.worlds
        task = asked.task or next(iter(worlds.corpus.tasks), "")
        condition = worlds.factors.complete(parse_settings(asked.settings))
        needed = asked.last_list is None and needs_control(worlds.factors, condition)
        mode = _mode(asked.answers, needed)
        trial = worlds.create(task, condition, last_list=asked.last_list or (1 if needed else None), results=RESULTS)
        worlds.end(trial.key)
        with ERR.status(f"preparing {asked.name}"):
            adapter, python = await asyncio.to_thread(agent.prepare, asked.name)
        behind = open_upstream(upstream, model)
        context.upstream = behind
        # The agent must not be able to read what is planned for it.
        context.control_token = secrets.token_hex(16)
        with closing(Answers(answers_file or cache_folder() / "answers.sqlite")) as answers:
            lane = Lane(
                f"{worlds.corpus.name}@{worlds.corpus.hash}/{context.engine.name}",
                task,
                adapter.name,
                f"{adapter.version(asked.agent_settings)}@{__version__}",
                behind.identity,
                asked.repetition,
            )
            recording = Recording(answers, lane, mode)
            if mode is Mode.REPLAY and needed and recording.control() is None:
                raise UsageError("no control of this task is recorded for this agent and model: record one first")

            async def made(levels: Mapping[str, Level], how: Recording, last_list: int | None) -> agent.Run:
                world = worlds.create(task, levels, last_list=last_list, results=RESULTS)
                what = f"{adapter.name} works on {task}" + ("" if world.plan.documents else " (control)")
                with ERR.status(what):
                    return await agent.run(
                        context,
                        url,
                        adapter,
                        python,
                        world,
                        settings=asked.agent_settings,
                        timeout=asked.timeout,
                        recording=None if how.mode is Mode.LIVE else how,
                    )

            try:
                async with running(context) as url:
                    if mode is Mode.COUNTERFACTUAL and recording.control() is None:
                        ERR.print("no control is recorded yet: it is made first")
                        first = Recording(answers, lane, Mode.RECORD)
                        control = await made(control_condition(worlds.factors, condition), first, None)
                        if not control.valid:
                            raise AgentError(f"the control run isn't valid: {'; '.join(control.reasons)}")
                    last_list = asked.last_list or (recording.last_list() if needed else None)
                    return await made(condition, recording, last_list)
            finally:
                await behind.close()


def _mode(given: str | None, needed: bool) -> Mode:
    """The mode that was asked for, or that the condition needs.

    Raises:
        UsageError: There is no such mode, or the condition needs a control that it has no place for.
    """
    modes = [m.value for m in Mode]
    if given is None:
        return Mode.COUNTERFACTUAL if needed else Mode.LIVE
    if given not in modes:
        raise UsageError(f"--answers {given}: one of {', '.join(modes)}")
    if needed and given not in (Mode.COUNTERFACTUAL.value, Mode.REPLAY.value):
        raise UsageError(
            f"--answers {given}: this stage must know the control's last list: use counterfactual, or give --last-list"
        )
    return Mode(given)


def _show_run(result: agent.Run, verdict: Verdict) -> None:
    seen, exposure = result.observation, result.exposure
    say(result.report.rstrip())
    say("")
    condition = ", ".join(f"{k} {v}" for k, v in result.world["condition"].items())
    say(f"task       {result.world['task']}")
    say(f"condition  {condition}")
    say(f"searches   {seen.searches} ({seen.lists} lists), pages {seen.pages}, model calls {seen.models}")
    for label, ids in (
        ("served", exposure.served),
        ("delivered", exposure.delivered),
        ("opened", exposure.opened),
        ("cited", exposure.cited or []),
    ):
        say(f"{label:<10} {len(ids)} misleading{': ' + ', '.join(ids) if ids else ''}")
    live, replayed = result.calls["live"], result.calls["replayed"]
    if result.mode != "live":
        saved = f"{replayed / (live + replayed):.0%}" if live + replayed else "none"
        say(f"answers    {result.mode}: {live} live, {replayed} replayed, {saved} of the model calls saved")
    if seen.injected:
        say(f"injected   first in list {min(seen.injected)}; lists after it: {seen.searches_after_injection}")
    claims = f" ({', '.join(verdict.claims)})" if verdict.claims else ""
    true = {True: "yes", False: "no", None: "unjudged"}[verdict.states_true]
    say(f"verdict    {verdict.state}{claims}, states the true conclusion: {true}")
    if result.reasons:
        say(f"invalid    {'; '.join(result.reasons)}")
        if result.mode == Mode.COUNTERFACTUAL.value and any("control" in reason for reason in result.reasons):
            say("If the agent or its packages have changed, record the control again: --answers record --set budget=0")
    if exposure.served and not exposure.delivered:
        say("Served, and in no prompt to the model: does the agent show it fewer results than a list holds?")
    if not result.valid:
        return
    if result.demonstration:
        say("A toy model wrote this report and the lexical judge read it: a demonstration, no result.")
    else:
        say("The lexical judge read this report: a demonstration, no result.")
