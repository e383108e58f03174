"""Corpora: list, check, index, import, synthesize."""

from __future__ import annotations

import asyncio
from datetime import date
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from searchsim import corpus as corpora
from searchsim import home
from searchsim.admission import Rate, rates
from searchsim.cli.common import (
    CaOption,
    ElasticsearchOption,
    EngineOption,
    JsonOption,
    counting,
    engine_choice,
    open_with_progress,
    print_json,
    say,
    show_table,
)
from searchsim.corpus import Corpus
from searchsim.engine.opening import EngineChoice
from searchsim.errors import UsageError
from searchsim.importers import IMPORTERS, run_import

__all__ = ["corpus_app"]

corpus_app = typer.Typer(help="Corpora: list, check, index, import.", no_args_is_help=True, rich_markup_mode=None)


@corpus_app.command("list")
def corpus_list(as_json: JsonOption = False) -> None:
    """List the corpora that are found.

    Example: searchsim corpus list --json
    """
    found = corpora.installed()
    if as_json:
        print_json(found)
        return
    table = Table("name", "tasks", "documents", "misleading", "languages", box=None)
    for entry in found:
        if "error" in entry:
            table.add_row(entry["name"], "", "", "", entry["error"])
            continue
        table.add_row(
            entry["name"],
            str(entry["tasks"]),
            str(entry["documents"]),
            str(entry["misleading"]),
            ", ".join(entry["languages"]),
        )
    show_table(table)


@corpus_app.command("check")
def corpus_check(
    path: Annotated[str, typer.Argument(help="A corpus by path or name.")],
    as_json: JsonOption = False,
) -> None:
    """Check a corpus: a fault a line with file, line and field; else what its worlds would serve.

    The admission rates say, of the tasks' questions and sub-queries, how many lists take a misleading document at
    each budget, in the default condition.

    Example: searchsim corpus check corpora/quickstart
    """
    given = Path(path)
    folder = given if given.is_dir() else home.find("corpora", path)
    faults = [str(f) for f in corpora.check(folder)]
    if faults:
        if as_json:
            print_json({"faults": faults, "admission": None})
        else:
            for fault in faults:
                say(fault)
        raise typer.Exit(2)
    corpus = Corpus(folder)
    table = asyncio.run(_rates(corpus))
    if as_json:
        print_json({"faults": [], "admission": [t.record() for t in table]})
        return
    say(f"{corpus.name}: no faults")
    if not table:
        say("no task has misleading documents: there is nothing to admit")
        return
    say("lists that take a misleading document, of question and sub-queries (default condition):")
    budgets = sorted(table[0].admitted)
    shown = Table("task", *(f"budget {b}" for b in budgets), "never (of sub-queries)", box=None)
    for row in table:
        cells = [f"{row.admitted[b]}/{row.lists}" if b in row.admitted else "–" for b in budgets]
        shown.add_row(row.task, *cells, str(len(row.never)))
    show_table(shown)


async def _rates(corpus: Corpus) -> list[Rate]:
    return await rates(corpus, await open_with_progress(corpus, EngineChoice()))


@corpus_app.command("index")
def corpus_index(
    corpus: Annotated[str, typer.Argument(help="A corpus by name or path.")],
    engine: EngineOption = "tantivy",
    elasticsearch: ElasticsearchOption = None,
    elasticsearch_ca: CaOption = None,
) -> None:
    """Build a corpus's index now; serving does it too, where it is missing. A load that broke off is taken up.

    Example: searchsim corpus index quickstart
    """
    loaded = corpora.load(corpus)
    choice = engine_choice(engine, elasticsearch, elasticsearch_ca, None, None)

    async def go() -> None:
        await (await open_with_progress(loaded, choice)).close()

    asyncio.run(go())
    say(f"{loaded.name} is indexed ({engine})")


@corpus_app.command("import")
def corpus_import(
    kind: Annotated[str, typer.Argument(help=f"One of: {', '.join(IMPORTERS)}.")],
    source: Annotated[str, typer.Argument(help="The file, folder or id to read.")],
    out: Annotated[Path | None, typer.Option(help="The new corpus's folder; else one of the kind's name.")] = None,
    tasks: Annotated[Path | None, typer.Option(help="A file of tasks, where the kind takes one.")] = None,
    language: Annotated[str | None, typer.Option(help="The documents' language, where they don't say it.")] = None,
    today: Annotated[str | None, typer.Option(help="The corpus's today, YYYY-MM-DD; else this day.")] = None,
) -> None:
    """Make a corpus of somebody else's data: all of it, or nothing.

    Example: searchsim corpus import deepresearch-bench query.jsonl --out my-home/corpora/drb
    """
    with counting(f"importing {source}") as tell:
        made = run_import(kind, source, out or Path(kind), tell, today=_date(today), tasks=tasks, language=language)
    say(f"{made.tasks} tasks, {made.documents} documents, {made.misleading} misleading documents in {made.path}")
    if not made.tasks:
        say("a corpus needs tasks: write some into its tasks.jsonl")


def _date(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError as error:
        raise UsageError(f"--today {text}: write YYYY-MM-DD") from error


@corpus_app.command("synthesize")
def corpus_synthesize(
    out: Annotated[Path, typer.Option(help="The new corpus's folder.")],
    documents: Annotated[int, typer.Option(help="How many documents.", min=1)] = 10_000,
    seed: Annotated[int, typer.Option(help="The same seed makes the same corpus.")] = 0,
    languages: Annotated[
        list[str] | None, typer.Option("--language", help="en or zh; may stand twice; else both.")
    ] = None,
    tasks: Annotated[int, typer.Option(help="How many tasks.", min=1)] = 20,
) -> None:
    """Make a corpus for load tests: plausible titles, sites and dates, Zipfian text that means nothing.

    Example: searchsim corpus synthesize --documents 100000 --out my-home/corpora/load
    """
    from searchsim.synthesis import synthesize

    with counting("making documents") as tell:
        made = synthesize(out, documents, seed=seed, languages=languages or ("en", "zh"), tasks=tasks, progress=tell)
    say(f"{made.tasks} tasks and {made.documents} documents in {made.path}")
