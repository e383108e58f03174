"""Document engagement: which cited links were opened."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from searchsim.cli.common import JsonOption, print_json, say, show_table
from searchsim.errors import UsageError
from searchsim.records import read
from searchsim.scoring.smoothing.engagement import Links, of_report, of_run, read_trace, table

__all__ = ["score_engagement", "share"]


def score_engagement(
    files: Annotated[
        list[Path], typer.Argument(help="A file of run records (.jsonl), or reports in Markdown.", metavar="FILE")
    ],
    trace: Annotated[
        Path | None,
        typer.Option(help="What was fetched for the reports, an event a line: as a world's events, or your own."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure which of the links that reports cite were opened while they were written; each link once a dataset.

    Run records hold what was fetched; other reports need a trace. Only valid runs are counted.

    Example: searchsim score engagement studies/quickstart-report/runs.jsonl
    """
    links, left_out = _links(files, trace)
    found = table(links)
    if as_json:
        print_json({**found, "left_out": left_out})
        return
    if trace:
        shown = Table("report", "cited", "opened", "share", box=None)
        every = {"report": "all, each link once", **found["cells"][0]}
        for row in [*found["reports"], every] if len(links) > 1 else found["reports"]:
            shown.add_row(row["report"], str(row["cited"]), str(row["opened"]), share(row["share"]))
    else:
        shown = Table("dataset", "system", "reports", "that open one", "cited", "opened", "share", box=None)
        for row in found["cells"]:
            numbers = (row["reports"], row["opening"], row["cited"], row["opened"])
            shown.add_row(row["dataset"], row["system"], *map(str, numbers), share(row["share"]))
    show_table(shown)
    if left_out:
        say(f"{left_out} runs that aren't valid are left out")


def _links(files: list[Path], trace: Path | None) -> tuple[list[Links], int]:
    """The links of the files' reports, and how many runs were left out."""
    records = [f for f in files if f.suffix == ".jsonl"]
    if records and (len(files) > 1 or trace):
        raise UsageError("run records stand alone: they hold what was fetched, and need no --trace")
    if records:
        kept: list[Links] = []
        left_out = 0
        for record in read(records[0]):
            if record["status"] == "valid":
                kept.append(of_run(record))
            else:
                left_out += 1
        return kept, left_out
    if trace is None:
        raise UsageError("a report alone doesn't say what was opened for it: give --trace FILE")
    texts: dict[str, str] = {}
    for path in files:
        if path.name in texts:
            raise UsageError(f"{path}: two reports are called {path.name}")
        try:
            texts[path.name] = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{path}: no report that can be read: {error}") from error
    pages = read_trace(trace, list(texts))
    return [of_report(name, text, pages[name]) for name, text in texts.items()], 0


def share(value: float | None) -> str:
    """A fraction in per cent."""
    return "–" if value is None else f"{100 * value:.1f} %"
