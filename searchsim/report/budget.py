"""FCAR over the budget, as lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import ceil
from typing import TYPE_CHECKING, Any, Literal

from searchsim.report import svg
from searchsim.report.svg import COLOURS
from searchsim.report.tables import Cell, Group

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

__all__ = ["draw"]

Line = tuple[str, Sequence[Cell]]
"""What a line is called in the legend, and its cells."""

_LINES: tuple[tuple[str, str, Literal["-", "--", "-."]], ...] = (
    ("blue", "o", "-"),
    ("red", "s", "--"),
    ("green", "^", "-."),
)
"""Colour, marker and dashes of the lines of a panel."""


def draw(groups: Sequence[Group], contract: Mapping[str, Any]) -> Iterator[Figure]:
    """FCAR over the budget, where it has several levels; panels of at most three lines, which more would tangle."""
    if len(contract["factors"].get("budget", ())) < 2:
        return
    from matplotlib.figure import Figure

    panels = _panels(groups, contract)
    single = all(len(lines) == 1 for _, lines in panels)
    # Panels of one agent, or of one level, stand below each other.
    across = {1: 1, 2: 2, 4: 2}.get(len(panels), 4 if len(groups) == 4 else 3)
    height = {1: 3.2, 2: 2.8}.get(across, 1.9)
    down = int(svg.TALLEST / height)
    for start in range(0, len(panels), across * down):
        shown = panels[start : start + across * down]
        lines = ceil(len(shown) / across)
        figure = Figure((svg.WIDTH if across > 1 else 6.5, height * lines + 0.3), layout=svg.layout())
        grid = figure.subplots(lines, across, sharey=True, squeeze=False)
        for number, axes in enumerate(grid.flat):
            if number >= len(shown):
                axes.set_axis_off()
                continue
            title, drawn = shown[number]
            _panel(axes, drawn)
            axes.set_title(title, fontsize=8 if across > 2 else None)
            axes.set_ylabel("FCAR" if number % across == 0 else "")
        if not single:
            handles = [_line(number, name) for number, (name, _) in enumerate(shown[0][1])]
            figure.legend(handles=handles, loc="outside lower left", ncols=len(handles), handlelength=3)
        yield figure


def _line(number: int, label: str) -> Line2D:
    from matplotlib.lines import Line2D

    colour, marker, line = _LINES[number]
    return Line2D([], [], color=COLOURS[colour], marker=marker, linestyle=line, linewidth=1.6, label=label)


def _panels(groups: Sequence[Group], contract: Mapping[str, Any]) -> list[tuple[str, list[Line]]]:
    """Panels with their lines: by the other factors' levels or by configuration, whichever leaves few lines in one."""
    others = {name: levels for name, levels in contract["factors"].items() if name != "budget"}
    combinations = {
        ", ".join(f"{k}={v}" for k, v in zip(others, levels, strict=True)): dict(zip(others, levels, strict=True))
        for levels in product(*others.values())
    }

    budget_zero = "budget" in contract["control"]

    def cells(group: Group, combination: Mapping[str, Any]) -> list[Cell]:
        # A control of budget 0 has no documents that could differ in anything else, so it begins every line.
        return [
            c
            for c in group[1]
            if (budget_zero if c["control"] else all(c["condition"].get(k) == v for k, v in combination.items()))
        ]

    if len(groups) <= 3:
        return [(label, [(g[0], cells(g, levels)) for g in groups]) for label, levels in combinations.items()]
    if len(combinations) <= 3:
        return [(g[0], [(label, cells(g, levels)) for label, levels in combinations.items()]) for g in groups]
    return [(f"{g[0]}\n{label}", [("", cells(g, levels))]) for label, levels in combinations.items() for g in groups]


def _panel(axes: Axes, lines: Sequence[Line]) -> None:
    levels = sorted({float(c["condition"]["budget"]) for _, cells in lines for c in cells})
    for number, (_, cells) in enumerate(lines):
        points = sorted((float(c["condition"]["budget"]), n) for n, c in enumerate(cells))
        known = [
            (b, cells[n]["metrics"]["fcar"]) for b, n in points if cells[n]["metrics"]["fcar"]["value"] is not None
        ]
        if not known:
            continue
        # Side by side, where intervals would hide each other.
        aside = 0.08 * (number - (len(lines) - 1) / 2)
        colour, marker, line = _LINES[number]
        axes.errorbar(
            [b + aside for b, _ in known],
            [f["value"] for _, f in known],
            [[f["value"] - f["low"] for _, f in known], [f["high"] - f["value"] for _, f in known]],
            color=COLOURS[colour],
            marker=marker,
            linestyle=line,
            markersize=5,
            linewidth=1.6,
            elinewidth=1,
            capsize=3,
            clip_on=False,
        )
    axes.set_xlim(levels[0] - 0.3, levels[-1] + 0.3)
    axes.set_xticks(levels, [f"{level:g}" for level in levels])
    axes.set_ylim(0, 1)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100 %"])
    axes.grid(axis="y")
    sizes = [c["metrics"]["fcar"]["denominator"] for _, cells in lines for c in cells]
    axes.set_xlabel(f"budget ({_sizes(sizes)})")


def _sizes(counts: Sequence[int]) -> str:
    low, high = min(counts, default=0), max(counts, default=0)
    return f"n = {low}" if low == high else f"n = {low}–{high}"
