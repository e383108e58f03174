"""The demonstration: one agent, a few tasks, with and without misleading documents."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup, escape
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

from searchsim import __version__, agent
from searchsim.corpus import Corpus
from searchsim.errors import AgentError, UsageError
from searchsim.server.app import running
from searchsim.server.context import Context
from searchsim.server.render import template
from searchsim.upstream import open_upstream

__all__ = ["marked", "run", "show", "write_page"]

AGENT = "planner"


async def run(
    context: Context, console: Console, upstream: str | None, model: str | None, tasks: int, budgets: Sequence[str]
) -> list[agent.Run]:
    """Run the demonstration, one run after another, with live progress.

    Args:
        context: The server's state, without a model yet.
        console: Where progress is shown.
        upstream: The model, as `open_upstream` takes it.
        model: The same.
        tasks: How many of the corpus's tasks.
        budgets: The levels of the budget.
    """
    worlds = context.worlds
    plan = [(t, b) for t in list(worlds.corpus.tasks)[:tasks] for b in budgets]
    if not plan or not budgets:
        raise UsageError("nothing to run: give at least one task and one budget")
    # The agent must not be able to read what is planned for it.
    context.control_token = secrets.token_hex(16)
    made = [worlds.create(task, {"budget": budget}) for task, budget in plan]
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    context.upstream = open_upstream(upstream, model)
    console.print(f"{len(made)} runs of {AGENT}, one after another; with the local model some 10 to 30 seconds each")
    runs: list[agent.Run] = []
    with Progress(*columns, console=console) as bar:
        job = bar.add_task(f"preparing {AGENT}", total=len(made))
        try:
            adapter, python = await asyncio.to_thread(agent.prepare, AGENT)
            async with running(context) as url:
                for world in made:
                    bar.update(job, description=f"{world.task}, budget {world.condition['budget']}")
                    try:
                        runs.append(await agent.run(context, url, adapter, python, world))
                    except AgentError as failure:
                        console.print(f"{world.task}, budget {world.condition['budget']}: {failure}", markup=False)
                    if not console.is_terminal:
                        # A bar shows nothing in a pipe; a line a run does.
                        console.print(f"done: {world.task}, budget {world.condition['budget']}", markup=False)
                    bar.advance(job)
                bar.update(job, description="done")
        finally:
            await context.upstream.close()
    return runs


def show(runs: Sequence[agent.Run], console: Console) -> None:
    """Print the table of runs, and what it is worth."""
    table = Table(
        "task",
        "condition",
        "searches",
        "served",
        "delivered",
        "adopted",
        "states true",
        "valid",
        "seconds",
        box=None,
    )
    for r in runs:
        table.add_row(
            r.world["task"],
            f"budget {r.world['condition']['budget']}",
            str(r.observation.searches),
            str(len(r.exposure.served)),
            str(len(r.exposure.delivered)),
            {"adopted": "yes", "not_adopted": "no", "unjudged": "unjudged"}[r.verdict.state],
            {True: "yes", False: "no", None: "–"}[r.verdict.states_true],
            "yes" if r.valid else "; ".join(r.reasons),
            f"{r.seconds:.0f}",
        )
    console.print(table)
    console.print(_worth(runs))


def _worth(runs: Sequence[agent.Run]) -> str:
    if any(r.demonstration for r in runs):
        return (
            "A demonstration, no result: a toy model of 135M parameters wrote the reports, and the lexical judge, "
            "which reads words and not meaning, read them."
        )
    return "A demonstration, no result: the lexical judge, which reads words and not meaning, read the reports."


def write_page(corpus: Corpus, runs: Sequence[agent.Run], folder: Path) -> Path:
    """Write a self-contained HTML page of the runs.

    Args:
        corpus: Their corpus.
        runs: The runs.
        folder: Where ``index.html`` goes; it is made where it isn't there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / "index.html"
    shown = [
        {
            "run": r,
            "task": corpus.task(r.world["task"]),
            "blueprint": corpus.blueprints.get(r.world["task"]),
            "report": marked(r.report, r.verdict.evidence if r.verdict.state == "adopted" else ()),
        }
        for r in runs
    ]
    page.write_text(
        template("demo.html", corpus=corpus, runs=shown, worth=_worth(runs), version=__version__, canary=corpus.canary),
        "utf-8",
    )
    return page


def marked(report: str, evidence: Sequence[str]) -> Markup:
    """A report as HTML text with some of its sentences marked."""
    html = escape(report)
    for sentence in sorted(set(evidence), key=len, reverse=True):
        piece = escape(sentence)
        html = html.replace(piece, Markup("<mark>{}</mark>").format(sentence))
    return html
