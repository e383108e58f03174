"""How far raters of claims agree: shown."""

from __future__ import annotations

from pathlib import Path

from rich.table import Table

from searchsim.cli.common import print_json, say, show_table
from searchsim.cli.engagement import share
from searchsim.scoring.ratings import compare, read

__all__ = ["show_ratings"]


def show_ratings(path: Path, reference: str | None, as_json: bool) -> None:
    """Answer with the agreement of a file's raters.

    Args:
        path: Items and their scores, one a line, by ``schemas/rating.json``.
        reference: The rater that the others are measured by; else the one named first.
        as_json: Whether a program reads it.
    """
    found = compare(read(path), reference)
    if as_json:
        print_json(found)
        return
    say(f"{found['items']} items, against {found['reference']}; alpha of all raters {_number(found['alpha'])}")
    columns = ("rater", "n", "unscored", "exact", "within one", "rho", "alpha", "kappa at 3", "of its 3 on, so rated")
    table = Table(*columns, box=None)
    for row in found["raters"]:
        table.add_row(
            row["rater"],
            str(row["n"]),
            str(row["unscored"]),
            share(row["exact"]),
            share(row["within_one"]),
            _number(row["rho"]),
            _number(row["alpha"]),
            _number(row["kappa"]),
            f"{share(row['ppv'])} of {row['flagged']}",
        )
    show_table(table)
    if not found["systems"]:
        return
    names = list(found["systems"][0]["means"])
    means = Table("mean score", "items", *names, box=None)
    for row in found["systems"]:
        means.add_row(row["system"], str(row["items"]), *(_number(row["means"][name]) for name in names))
    taus = ("–" if name == found["reference"] else _number(found["tau"][name]) for name in names)
    means.add_row("Kendall's tau", "", *taus)
    say("")
    show_table(means)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
