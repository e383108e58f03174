"""Claims that several raters scored, judges and people: how far each agrees with the one that it is measured by."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from searchsim.errors import UsageError
from searchsim.jsonl import read_lines
from searchsim.scoring.agreement import ordinal_agreement, ordinal_alpha
from searchsim.scoring.smoothing.results import MATERIAL
from searchsim.scoring.smoothing.scores import BINS

__all__ = ["Rating", "compare", "read", "tau"]

Rating = dict[str, Any]
"""An item's scores as JSON; ``schemas/rating.json`` is its law."""


def read(path: Path) -> list[Rating]:
    """The items of a file, one a line.

    Raises:
        UsageError: The file isn't there, a line is no item, or one stands twice; the message names the line.
    """
    items: dict[str, Rating] = {}
    for number, item in read_lines(path, "rating"):
        if item["item"] in items:
            raise UsageError(f"{path.name}:{number}: item {item['item']} stands twice")
        items[item["item"]] = item
    return list(items.values())


def compare(items: Sequence[Rating], reference: str | None = None) -> dict[str, Any]:
    """How far raters agree with one of them, claim by claim and in how they rank systems.

    Args:
        items: Their scores.
        reference: The rater that the others are measured by, as a person; else the one named first.

    Returns:
        JSON with reference, items (their number), alpha (of all raters together), raters (for each other one
        `ordinal_agreement` with the reference; flagged are scores from 3 on) and systems: for each the raters' means,
        over the items that all raters scored, so that all speak of the same; tau is Kendall's, of each rater's order
        of the systems with the reference's, 1 where it is the same.

    Raises:
        UsageError: There is no item, nobody is called so, or there is no other rater.
    """
    raters = list(dict.fromkeys(name for item in items for name in item["ratings"]))
    if not items:
        raise UsageError("there is no item to compare raters by")
    chosen = raters[0] if reference is None else reference
    if chosen not in raters:
        raise UsageError(f"no rater {chosen!r}; there are: {', '.join(raters)}")
    others = [name for name in raters if name != chosen]
    if not others:
        raise UsageError(f"{chosen} is the only rater: agreement needs two")
    scores = {name: [item["ratings"].get(name) for item in items] for name in raters}
    return {
        "reference": chosen,
        "items": len(items),
        "alpha": ordinal_alpha(list(scores.values()), scale=BINS),
        "raters": [
            {"rater": name, **ordinal_agreement(scores[name], scores[chosen], scale=BINS, threshold=MATERIAL)}
            for name in others
        ],
        **_systems(items, raters, chosen),
    }


def _systems(items: Sequence[Rating], raters: Sequence[str], reference: str) -> dict[str, Any]:
    whole = [i for i in items if "system" in i and all(i["ratings"].get(name) is not None for name in raters)]
    rows = []
    for system in dict.fromkeys(i["system"] for i in whole):
        inside = [i["ratings"] for i in whole if i["system"] == system]
        means = {name: sum(r[name] for r in inside) / len(inside) for name in raters}
        rows.append({"system": system, "items": len(inside), "means": means})
    columns = {name: [row["means"][name] for row in rows] for name in raters}
    taus = {name: tau(columns[name], columns[reference]) for name in raters if name != reference}
    return {"systems": rows, "tau": taus}


def tau(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Kendall's tau-b of two rankings of the same things; None with fewer than two, or where one is all ties."""
    if len(first) < 2 or len(set(first)) < 2 or len(set(second)) < 2:
        return None
    from scipy.stats import kendalltau

    return float(kendalltau(first, second).statistic)
