"""The demonstration: a small study, from contract to report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from searchsim.cli.common import ERR, say, show_table
from searchsim.cli.study import ModelOption, conduct, exit_code
from searchsim.engine.opening import EngineChoice
from searchsim.study.contract import load
from searchsim.study.reporting import write_report

__all__ = ["demo"]


def demo(
    out: Annotated[Path, typer.Option(help="The folder for the report; the study goes into its study/.")] = Path(
        "demo"
    ),
    contract: Annotated[str, typer.Option(help="A contract, by name (of experiments/) or path.")] = "quickstart",
    tasks: Annotated[int | None, typer.Option(help="Take only so many of the contract's tasks.", min=1)] = None,
    model: ModelOption = [],  # noqa: B006
) -> None:
    """Run a small study on a toy model, and write its report: a demonstration of the whole path.

    Example: searchsim demo --tasks 1
    """
    loaded = load(contract, models=model, first=tasks)
    ledger, _, _ = conduct(loaded, out / "study", EngineChoice(loaded.engine))
    with ERR.status("writing the report"):
        page, summary = write_report(ledger, out)
    table = Table("agent", "model", "condition", "judged", "served", "delivered", "adopted", "states true", box=None)
    for cell in summary["cells"]:
        counts = [_count(cell, key) for key in ("mer", "mer_delivered", "fcar", "states_true")]
        judged = f"{cell['judged']} of {cell['planned']}"
        table.add_row(cell["agent"], cell["model"], cell["label"], judged, *counts)
    show_table(table)
    for run in summary["runs"]:
        if run["state"] != "judged":
            say(f"{run['run']}: {run['state'].replace('_', ' ')}: {'; '.join(run['reasons'])}")
    for reason in summary["demonstration"]:
        say(f"A demonstration, no result: {reason}.")
    say(f"\nFigures, tables, and each run with its searches, what was served where, and its report: {page}")
    flow = summary["flow"]
    # A toy may well write nothing, which makes a run invalid and the demonstration no worse.
    raise typer.Exit(exit_code({"not_run": flow["not_run"], "failed": flow["failed"], "invalid": 0, "unjudged": 0}))


def _count(cell: Mapping[str, Any], key: str) -> str:
    return f"{cell['metrics'][key]['numerator']} of {cell['metrics'][key]['denominator']}"
