"""Published figures, recomputed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import typer
from rich.table import Table

from searchsim.cli.common import ERR, JsonOption, print_json, say, show_table
from searchsim.reproduce import misknow, smoothscore
from searchsim.reproduce.lines import Line

__all__ = ["reproduce_app"]

reproduce_app = typer.Typer(help="Published figures, recomputed.", no_args_is_help=True, rich_markup_mode=None)


@reproduce_app.command("misknow")
def reproduce_misknow(as_json: JsonOption = False) -> None:
    """Recompute the MisKnow paper's figures from run records made up to its cells.

    It checks our arithmetic, it replicates nothing. Ends with 1 where a figure doesn't come out.

    Example: searchsim reproduce misknow
    """
    _answer(misknow.lines, "on records made up to the published figures", as_json)


@reproduce_app.command("smoothscore")
def reproduce_smoothscore(as_json: JsonOption = False) -> None:
    """Recompute the SmoothScore paper's figures from the tables that it prints.

    It checks our arithmetic, it replicates nothing. Ends with 1 where a figure doesn't come out.

    Example: searchsim reproduce smoothscore
    """
    _answer(smoothscore.lines, "on the published tables", as_json)


def _answer(lines: Callable[[], Sequence[Line]], source: str, as_json: bool) -> None:
    with ERR.status("recomputing"):
        found = lines()
    if as_json:
        print_json(found)
    else:
        _show(found, source)
    if any(entry["holds"] is False for entry in found):
        raise typer.Exit(1)


def _show(found: Sequence[Line], source: str) -> None:
    table = Table("id", "what", "published", "recomputed", "holds", box=None)
    for entry in found:
        sign = "" if entry["relation"] == "=" else f"{entry['relation']} "
        published = f"{sign}{_figure(entry['published'], entry['unit'])}"
        table.add_row(
            entry["id"], entry["what"], published, _figure(entry["recomputed"], entry["unit"]), _verdict(entry)
        )
    show_table(table)
    yes, no, untold = (sum(entry["holds"] is value for entry in found) for value in (True, False, None))
    say("")
    say(f"{len(found)} figures: {yes} hold, {no} don't, {untold} can't be told.")
    say(f"This checks our arithmetic, {source}; it replicates nothing.")


def _figure(value: object, unit: str) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    shown = ", ".join(f"{v:.4g}" for v in (value if isinstance(value, list) else [value]))
    return f"{shown} {unit}" if unit in ("%", "points") else shown


def _verdict(entry: Line) -> str:
    if entry["holds"] is None:
        return f"can't be told: {entry['reason']}"
    return "yes" if entry["holds"] else "no"
