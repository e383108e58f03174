"""Agents: list, check, run."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.table import Table

from searchsim import agent
from searchsim import corpus as corpora
from searchsim.cli.common import (
    ERR,
    CaOption,
    CorpusOption,
    ElasticsearchOption,
    EngineOption,
    JsonOption,
    LastListOption,
    ModeOption,
    RecordingsOption,
    SetOption,
    engine_choice,
    open_context,
    print_json,
    say,
    show_table,
)
from searchsim.engine.opening import EngineChoice
from searchsim.judge import LexicalJudge, Verdict
from searchsim.judge.verdict import unjudged
from searchsim.server.app import running
from searchsim.upstream import open_upstream
from searchsim.world import parse_settings

__all__ = ["agent_app"]

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
def agent_check(name: Annotated[str, typer.Argument(help="An agent.")]) -> None:
    """Make an agent's environment and say where it is.

    Example: searchsim agent check planner
    """
    with ERR.status(f"preparing {name}"):
        adapter, python = agent.prepare(name)
    say(f"{adapter.name}: ready ({python})")


@agent_app.command("run")
def agent_run(
    name: Annotated[str, typer.Argument(help="An agent.")],
    corpus: CorpusOption = "quickstart",
    task: Annotated[str | None, typer.Option(help="A task's id; else the corpus's first.")] = None,
    settings: SetOption = [],  # noqa: B006
    upstream: Annotated[str | None, typer.Option(help="The model: a URL, or `local`.")] = None,
    model: Annotated[str | None, typer.Option(help="The model to ask the upstream for; else the local one.")] = None,
    engine: EngineOption = "tantivy",
    elasticsearch: ElasticsearchOption = None,
    elasticsearch_ca: CaOption = None,
    recordings: RecordingsOption = None,
    recorded_mode: ModeOption = None,
    store: Annotated[str | None, typer.Option(envvar="SEARCHSIM_STORE", help="Keep the world in this file.")] = None,
    last_list: LastListOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run an agent against a fresh world; print its report and what it was exposed to.

    Example: searchsim agent run planner --task bicycle-stability --set budget=3
    """
    result = asyncio.run(
        _agent_run(
            name,
            corpus,
            task,
            settings,
            upstream,
            model,
            engine_choice(engine, elasticsearch, elasticsearch_ca, recordings, recorded_mode),
            store,
            last_list,
        )
    )
    blueprint = corpora.load(corpus).blueprints.get(result.world["task"])
    judge = LexicalJudge()
    verdict = judge.read(result.report, blueprint) if blueprint else unjudged(judge, "the task has no blueprint")
    if as_json:
        print_json({**result.record(), "verdict": verdict.record()})
    else:
        _show_run(result, verdict)


async def _agent_run(
    name: str,
    corpus: str,
    task: str | None,
    settings: Sequence[str],
    upstream: str | None,
    model: str | None,
    choice: EngineChoice,
    store: str | None,
    last_list: int | None,
) -> agent.Run:
    async with open_context(corpus, choice, store, None, None) as context:
        # Everything that can be wrong with the request is found before a model is loaded.
        chosen = task or next(iter(context.worlds.corpus.tasks), "")
        world = context.worlds.create(chosen, parse_settings(settings), last_list=last_list)
        with ERR.status(f"preparing {name}"):
            adapter, python = await asyncio.to_thread(agent.prepare, name)
        context.upstream = open_upstream(upstream, model)
        # The agent must not be able to read what is planned for it.
        context.control_token = secrets.token_hex(16)
        try:
            async with running(context) as url:
                with ERR.status(f"{name} works on {chosen}"):
                    return await agent.run(context, url, adapter, python, world)
        finally:
            await context.upstream.close()


def _show_run(result: agent.Run, verdict: Verdict) -> None:
    seen, exposure = result.observation, result.exposure
    say(result.report.rstrip())
    say("")
    condition = ", ".join(f"{k} {v}" for k, v in result.world["condition"].items())
    say(f"condition  {condition}")
    say(f"searches   {seen.searches} ({seen.lists} lists), pages {seen.pages}, model calls {seen.models}")
    for label, ids in (
        ("served", exposure.served),
        ("delivered", exposure.delivered),
        ("opened", exposure.opened),
        ("cited", exposure.cited or []),
    ):
        say(f"{label:<10} {len(ids)} misleading{': ' + ', '.join(ids) if ids else ''}")
    claims = f" ({', '.join(verdict.claims)})" if verdict.claims else ""
    true = {True: "yes", False: "no", None: "unjudged"}[verdict.states_true]
    say(f"verdict    {verdict.state}{claims}, states the true conclusion: {true}")
    if result.reasons:
        say(f"invalid    {'; '.join(result.reasons)}")
    if result.demonstration:
        say("A toy model wrote this report and the lexical judge read it: a demonstration, no result.")
    else:
        say("The lexical judge read this report: a demonstration, no result.")
