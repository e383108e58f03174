"""Cells and comparisons: as rows for CSV files, and as what the page's tables show."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from searchsim.records import STATES
from searchsim.report import numbers
from searchsim.scoring.metrics import METRICS

__all__ = [
    "Cell",
    "Group",
    "cell_rows",
    "comparison_rows",
    "comparison_tables",
    "configurations",
    "outcome_names",
    "write_csv",
]

Cell = Mapping[str, Any]
"""A cell of the summary."""

Group = tuple[str, Sequence[Cell]]
"""Agent and model as readers see them, with their cells."""

OUTCOMES = ("false", "both", "true", "neither", "false, true unknown", "not false, true unknown")
"""What a report can state of the two conclusions, in the order of tables and figures."""

_FIGURE = ("numerator", "denominator", "value", "low", "high", "missing", "missing_as_0", "missing_as_1")


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows under the first's keys. Fractions have all their digits; a None is an empty field."""
    with path.open("w", encoding="utf-8", newline="") as out:
        if rows:
            writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


def cell_rows(contract: Mapping[str, Any], summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row a cell: what it is, its runs by state, its outcomes, and every metric's figure."""
    factors = [*contract["factors"], *(f for f in contract["fixed"] if f not in contract["factors"])]
    found = []
    for cell in summary["cells"]:
        row = {name: cell[name] for name in ("agent", "model", "label", "control")}
        row |= {f: cell["condition"].get(f) for f in factors}
        row |= {name: cell[name] for name in ("planned", *STATES)}
        # A file's columns don't depend on what happened.
        row |= {f"outcome_{_snake(name)}": cell["outcomes"].get(name, 0) for name in OUTCOMES}
        for key in METRICS:
            row |= {f"{key}_{part}": cell["metrics"][key][part] for part in _FIGURE}
        found.append(row)
    return found


def comparison_rows(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row a comparison, its two sides spelled out."""
    found = []
    for comparison in summary["comparisons"]:
        row: dict[str, Any] = {}
        for name, value in comparison.items():
            if name in ("first", "second"):
                row |= {f"{name}_{part}": value[part] for part in ("agent", "model", "label")}
            else:
                row[name] = value
        found.append(row)
    return found


def outcome_names(cells: Iterable[Cell]) -> list[str]:
    """The outcomes that some cell has a count of, in their order."""
    there = {name for cell in cells for name in cell["outcomes"]}
    return [name for name in OUTCOMES if name in there]


def configurations(cells: Iterable[Cell]) -> dict[str, list[Cell]]:
    """Cells by agent and model, under the name that readers see."""
    found: dict[str, list[Cell]] = {}
    for cell in cells:
        found.setdefault(_configuration(cell), []).append(cell)
    return found


def comparison_tables(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The comparisons by kind, as they are shown.

    Returns:
        For each kind ``kind``, ``count``, ``grouped`` and ``groups``: what the two sides have in common, with its
        rows. Where sides are agents or models every row has something else in common, so a heading each would double
        the table: these aren't grouped.
    """
    found = []
    for kind in dict.fromkeys(c["kind"] for c in summary["comparisons"]):
        rows = [_comparison(c) for c in summary["comparisons"] if c["kind"] == kind]
        grouped = kind in ("control", "levels")
        groups: dict[str, list[dict[str, Any]]] = {}
        for row in rows:
            groups.setdefault(row["within"] if grouped else "", []).append(row)
        found.append({"kind": kind, "count": len(rows), "grouped": grouped, "groups": list(groups.items())})
    return found


def _comparison(c: Mapping[str, Any]) -> dict[str, Any]:
    first, second = c["first"], c["second"]
    same = {part for part in ("agent", "model", "label") if first[part] == second[part]}

    def name(side: Mapping[str, str], wanted: bool) -> str:
        named = [_configuration(side)] if wanted and {"agent", "model"} <= same else []
        parts = ("label",) if named else ("agent", "model", "label")
        return ", ".join(named + [side[p].replace(",", ", ") for p in parts if (p in same) is wanted])

    fewest = c["smallest_significant"]
    if not c["pairs"]:
        least = numbers.NOTHING
    elif fewest is None:
        least = "can’t be significant with so few pairs"
    else:
        least = f"{fewest} of {c['clusters']} = {numbers.percent(fewest / c['clusters'])}"
    return {
        "within": name(first, True),
        "first": name(first, False),
        "second": name(second, False),
        "pairs": c["pairs"],
        "planned": c["planned_pairs"],
        "counts": [c[part] for part in ("both", "only_first", "only_second", "neither")],
        "difference": numbers.points(c["difference"]),
        "interval": numbers.interval(c["low"], c["high"], signed=True),
        "test": c["test"] or numbers.NOTHING,
        "p": numbers.p_value(c["p"]),
        "p_holm": numbers.p_value(c["p_holm"]),
        "significant": c["p_holm"] is not None and c["p_holm"] < 0.05,
        "least": least,
    }


def _configuration(cell: Mapping[str, Any]) -> str:
    return f"{cell['agent']} × {cell['model']}"


def _snake(name: str) -> str:
    return name.replace(",", "").replace(" ", "_")
