"""Benchmarks."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from searchsim.cli.common import (
    ERR,
    JsonOption,
    print_json,
    show_table,
)

__all__ = ["bench_app"]

bench_app = typer.Typer(help="Benchmarks.", no_args_is_help=True, rich_markup_mode=None)


@bench_app.command("engine")
def bench_engine(
    documents: Annotated[int, typer.Option(help="Size of the synthetic corpus.", min=100)] = 10_000,
    engines: Annotated[str, typer.Option(help="With commas: tantivy, elasticsearch.")] = "tantivy",
    seconds: Annotated[float, typer.Option(help="How long each level is measured.", min=0.1)] = 4.0,
    queries: Annotated[Path | None, typer.Option(help="DeepResearch Bench's query.jsonl, to search for.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure engines, each beside its bare floor, in one run.

    Example: searchsim bench engine --documents 100000 --engines tantivy,elasticsearch
    """
    from searchsim import bench

    names = [e.strip() for e in engines.split(",")]
    rows = asyncio.run(bench.bench_engine(documents, names, seconds=seconds, file=queries, say=_tell))
    _show_rows(rows, as_json)


@bench_app.command("server")
def bench_server(
    documents: Annotated[int, typer.Option(help="Size of the synthetic corpus.", min=100)] = 10_000,
    seconds: Annotated[float, typer.Option(help="How long each level is measured.", min=0.1)] = 4.0,
    queries: Annotated[Path | None, typer.Option(help="DeepResearch Bench's query.jsonl, to search for.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure the server, with injection, snippets and trace, beside a canned answer and the engine in process.

    Example: searchsim bench server --documents 100000
    """
    from searchsim import bench

    _show_rows(asyncio.run(bench.bench_server(documents, seconds=seconds, file=queries, say=_tell)), as_json)


def _tell(what: str) -> None:
    ERR.print(what, markup=False)


def _show_rows(rows: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        print_json(rows)
        return
    names = list(dict.fromkeys(n for row in rows for n in row))
    table = Table(*names, box=None)
    for row in rows:
        values = [row.get(n, "") for n in names]
        table.add_row(*(f"{v:,.1f}" if isinstance(v, float) else str(v) for v in values))
    show_table(table)
