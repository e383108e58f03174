"""What the commands share: options, output, and opening things."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Annotated

import orjson
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table

from searchsim import corpus as corpora
from searchsim.corpus import Corpus
from searchsim.engine import SearchEngine
from searchsim.engine.opening import ENGINES, EngineChoice, open_engine
from searchsim.injection import load_factors
from searchsim.server.context import Context
from searchsim.store import SqliteStore
from searchsim.upstream import open_upstream
from searchsim.world import Worlds

__all__ = [
    "DEGRADED",
    "ERR",
    "CaOption",
    "CorpusOption",
    "ElasticsearchOption",
    "EngineOption",
    "JsonOption",
    "LastListOption",
    "ModeOption",
    "ModelOption",
    "RecordingsOption",
    "SetOption",
    "UpstreamOption",
    "counting",
    "engine_choice",
    "open_context",
    "open_with_progress",
    "print_json",
    "say",
    "show_table",
]

DEGRADED = 5
"""The exit code where something was made and not all of it counts."""

ERR = Console(stderr=True)
CorpusOption = Annotated[str, typer.Option("--corpus", help="A corpus by name or path.")]
SetOption = Annotated[list[str], typer.Option("--set", help="A factor's level, FACTOR=LEVEL; may stand several times.")]
EngineOption = Annotated[str, typer.Option("--engine", help=f"One of: {', '.join(ENGINES)}.")]
ElasticsearchOption = Annotated[
    str | None, typer.Option("--elasticsearch", help="Elasticsearch's address; else SEARCHSIM_ELASTICSEARCH.")
]
CaOption = Annotated[str | None, typer.Option("--elasticsearch-ca", help="Its certificate authority's file.")]
RecordingsOption = Annotated[
    str | None, typer.Option("--recordings", help="The recorded engine's folder; else the corpus's recordings/.")
]
ModeOption = Annotated[str | None, typer.Option("--recorded-mode", help="once, replay or refresh; else replay.")]
LastListOption = Annotated[
    int | None, typer.Option(help="The number of the last list, for stages that need it.", min=1)
]
UpstreamOption = Annotated[str | None, typer.Option("--upstream", help="The model: a URL, or `local`.")]
ModelOption = Annotated[
    str | None, typer.Option("--model", help="The model to ask the upstream for; else the local one.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Answer in JSON, for programs.")]


def engine_choice(
    engine: str, elasticsearch: str | None, ca: str | None, recordings: str | None, mode: str | None
) -> EngineChoice:
    """The engine that the options name."""
    return EngineChoice(engine, {"url": elasticsearch, "ca": ca}, {"folder": recordings, "mode": mode})


def print_json(value: object) -> None:
    """Answer a program."""
    sys.stdout.write(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode() + "\n")


def say(text: str) -> None:
    """Answer a person."""
    sys.stdout.write(f"{text}\n")


def show_table(table: Table) -> None:
    """Print a table whole: a pipe has no width that it must fit."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=200)
    console.print(table)


async def open_with_progress(corpus: Corpus, choice: EngineChoice) -> SearchEngine:
    """The corpus's engine; a bar on stderr where an index has to be made."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    bar = Progress(*columns, console=ERR, transient=True)
    job = None

    def tell(done: int) -> None:
        nonlocal job
        if job is None:
            bar.start()
            job = bar.add_task(f"indexing {corpus.name}", total=sum(1 for _ in corpus.documents()))
        bar.update(job, completed=done)

    try:
        return await open_engine(corpus, choice, tell)
    finally:
        if job is not None:
            bar.stop()


@asynccontextmanager
async def open_context(
    corpus: str, choice: EngineChoice, store: str | None, upstream: str | None, model: str | None
) -> AsyncIterator[Context]:
    """A server's state over a corpus, closed in the end."""
    loaded = corpora.load(corpus)
    # What a request names and can't be is told before anything is opened.
    load_factors()
    async with AsyncExitStack() as stack:
        opened = await open_with_progress(loaded, choice)
        stack.push_async_callback(opened.close)
        kept = SqliteStore(Path(store) if store else None)
        stack.callback(kept.close)
        behind = None
        if upstream or model:
            behind = open_upstream(upstream, model)
            stack.push_async_callback(behind.close)
        yield Context(Worlds(loaded, opened, kept), behind)


@contextmanager
def counting(what: str) -> Iterator[Callable[[int], None]]:
    """A count on stderr, where the whole isn't known."""
    columns = (SpinnerColumn(), TextColumn("{task.description} {task.completed:,.0f}"))
    with Progress(*columns, console=ERR, transient=True) as bar:
        job = bar.add_task(what, total=None)
        yield lambda done: bar.update(job, completed=done)
