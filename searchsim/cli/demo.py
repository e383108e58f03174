"""The demonstration."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from searchsim import agent
from searchsim import corpus as corpora
from searchsim.cli.common import (
    ERR,
    CaOption,
    CorpusOption,
    ElasticsearchOption,
    EngineOption,
    engine_choice,
    open_context,
    say,
)

__all__ = ["demo"]


def demo(
    out: Annotated[Path, typer.Option(help="The folder for the page.")] = Path("demo"),
    corpus: CorpusOption = "quickstart",
    tasks: Annotated[int, typer.Option(help="How many of the corpus's tasks.", min=1)] = 3,
    budgets: Annotated[str, typer.Option(help="The budgets, with commas.")] = "0,3",
    engine: EngineOption = "tantivy",
    elasticsearch: ElasticsearchOption = None,
    elasticsearch_ca: CaOption = None,
    upstream: Annotated[str | None, typer.Option(help="The model: a URL, or `local`.")] = None,
    model: Annotated[str | None, typer.Option(help="The model to ask the upstream for; else the local one.")] = None,
) -> None:
    """Run the planner on a few tasks with and without misleading documents, and show what came of it.

    Example: searchsim demo --tasks 1
    """
    from searchsim.demo import run as run_demo
    from searchsim.demo import show, write_page

    choice = engine_choice(engine, elasticsearch, elasticsearch_ca, None, None)

    async def go() -> list[agent.Run]:
        async with open_context(corpus, choice, None, None, None) as context:
            return await run_demo(context, ERR, upstream, model, tasks, [b.strip() for b in budgets.split(",")])

    loaded = corpora.load(corpus)
    runs = asyncio.run(go())
    console = Console()
    show(runs, console if console.is_terminal else Console(width=160))
    page = write_page(loaded, runs, out)
    say(f"\nEach run with its searches, what was served where, and its report: {page}")
