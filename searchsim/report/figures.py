"""The charts of a study, drawn from its summary."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from searchsim.report import budget, numbers, svg
from searchsim.report.svg import COLOURS
from searchsim.report.tables import Cell, Group, configurations, outcome_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = ["Chart", "draw", "save"]

EXPOSURE = (
    ("mer", "Served"),
    ("mer_delivered", "Delivered"),
    ("opened", "Opened"),
    ("cited", "Cited"),
    ("fcar", "Adopted"),
)
"""The exposure ladder's rungs, by the metrics that count them."""

_OUTCOMES = {
    "false": ("red", None, "on_light", "false only"),
    "both": ("orange", "////", "on_light", "both"),
    "true": ("blue", None, "on_dark", "true only"),
    "neither": ("grey", None, "on_light", "neither"),
    "false, true unknown": ("red", "....", "on_light", "false (whether true, unknown)"),
    "not false, true unknown": ("grey", "....", "on_light", "not false (whether true, unknown)"),
}
_ROW = 0.25
"""Inches of a condition."""


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart.

    Attributes:
        kind: fcar, budget, exposure or outcomes. One that is too tall for a page of paper has parts of one kind.
        name: Its file's name without suffix.
        svg: The file's text.
        label: What is read out in its place.
    """

    kind: str
    name: str
    svg: str
    label: str


def draw(contract: Mapping[str, Any], summary: Mapping[str, Any]) -> list[Chart]:
    """All charts of a study, part by part; budget lines only where the budget varies."""
    groups = list(configurations(summary["cells"]).items())
    if not groups:
        return []
    cells = numbers.plural(len(summary["cells"]), "cell")
    with svg.style():
        return [
            *_charts("fcar", _fcar(groups), f"FCAR by condition: a bar with its 95 % interval for each of {cells}."),
            *_charts("budget", budget.draw(groups, contract), "FCAR over the budget, as lines with 95 % intervals."),
            *_charts("exposure", _exposure(groups), f"Five shares of exposure for each of {cells}, as bars."),
            *_charts(
                "outcomes", _outcomes(groups), f"Which conclusions reports state: a stacked bar for each of {cells}."
            ),
        ]


def save(folder: Path, charts: Sequence[Chart]) -> None:
    """Write charts as files, in place of those of an earlier report."""
    folder.mkdir(exist_ok=True)
    for kind in ("fcar", "budget", "exposure", "outcomes"):
        for old in (folder / f"{kind}.svg", *folder.glob(f"{kind}-[0-9]*.svg")):
            old.unlink(missing_ok=True)
    for chart in charts:
        (folder / f"{chart.name}.svg").write_text(chart.svg, "utf-8")


def _charts(kind: str, drawn: Iterator[Figure], label: str) -> Iterator[Chart]:
    parts = [svg.render(figure) for figure in drawn]
    for number, part in enumerate(parts, start=1):
        several = len(parts) > 1
        name = f"{kind}-{number}" if several else kind
        yield Chart(kind, name, part, f"{label} Part {number} of {len(parts)}." if several else label)


def _fcar(groups: Sequence[Group]) -> Iterator[Figure]:
    """A panel a configuration, a bar a condition."""

    def panel(axes: Axes, cells: Sequence[Cell]) -> None:
        _bars(axes, cells, "fcar", ("percent", "share"))
        axes.set_xlabel("FCAR")

    return _panels(groups, panel)


def _outcomes(groups: Sequence[Group]) -> Iterator[Figure]:
    """A panel a configuration, a stacked bar a condition."""
    names = outcome_names(cell for _, cells in groups for cell in cells)

    def panel(axes: Axes, cells: Sequence[Cell]) -> None:
        _rows(axes, cells)
        axes.grid(False)
        _beside(axes, [[f"n = {sum(cell['outcomes'].values())}" for cell in cells]])
        for y, cell in enumerate(cells):
            n, left = sum(cell["outcomes"].values()), 0.0
            if not n:
                _nothing(axes, y)
            for name in names:
                count = cell["outcomes"].get(name, 0)
                if not count:
                    continue
                colour, hatch, on, _ = _OUTCOMES[name]
                axes.barh(y, count / n, 0.72, left, color=COLOURS[colour], hatch=hatch, edgecolor=COLOURS["paper"])
                # On a hatch a number needs a ground of its own.
                ground = {"facecolor": COLOURS[colour], "edgecolor": "none", "pad": 0.8} if hatch else None
                axes.text(
                    left + count / n / 2,
                    y,
                    str(count),
                    ha="center",
                    va="center",
                    color=COLOURS[on],
                    fontsize=8,
                    bbox=ground,
                )
                left += count / n
        axes.set_xlabel("share of judged runs")

    for figure in _panels(groups, panel):
        from matplotlib.patches import Patch

        handles = [
            Patch(facecolor=COLOURS[c], hatch=hatch, edgecolor=COLOURS["paper"], label=label)
            for c, hatch, _, label in (_OUTCOMES[name] for name in names)
        ]
        figure.legend(handles=handles, loc="outside lower left", ncols=len(handles), handlelength=1.6)
        yield figure


def _panels(groups: Sequence[Group], panel: Callable[[Axes, Sequence[Cell]], None]) -> Iterator[Figure]:
    """Panels side by side that share their conditions."""
    from matplotlib.figure import Figure

    across = {1: 1, 2: 2, 4: 2}.get(len(groups), 3)
    longest = max(len(cells) for _, cells in groups)
    height = 0.8 + _ROW * max(longest, 2)
    down = max(1, int(svg.TALLEST / height))
    for start in range(0, len(groups), across * down):
        shown = groups[start : start + across * down]
        lines = ceil(len(shown) / across)
        width = svg.WIDTH if across > 1 else 6.5
        figure = Figure((width, 0.3 + height * lines), layout=svg.layout())
        grid = figure.subplots(lines, across, sharey=True, squeeze=False)
        for axes, group in zip(grid.flat, [*shown, *[None] * (lines * across - len(shown))], strict=True):
            if group is None:
                axes.set_axis_off()
                continue
            panel(axes, group[1])
            axes.set_title(group[0])
            if across == 3:
                axes.set_xticks([0, 0.5, 1], ["0", "50", "100 %"])
        yield figure


def _exposure(groups: Sequence[Group]) -> Iterator[Figure]:
    """A block a configuration, a column a rung, a bar a condition."""
    from matplotlib.figure import Figure

    heights = [1.0 + _ROW * len(cells) for _, cells in groups]
    start = 0
    while start < len(groups):
        stop = start + 1
        while stop < len(groups) and sum(heights[start : stop + 1]) <= svg.TALLEST:
            stop += 1
        figure = Figure((svg.WIDTH, sum(heights[start:stop])), layout=svg.layout())
        parts = figure.subfigures(stop - start, 1, squeeze=False, height_ratios=heights[start:stop])
        for part, (name, cells) in zip(parts.flat, groups[start:stop], strict=True):
            _exposure_block(part, name, cells)
        yield figure
        start = stop


def _exposure_block(part: SubFigure, name: str, cells: Sequence[Cell]) -> None:
    part.suptitle(name, x=0.0, ha="left", fontsize=9.5, fontweight="bold")
    grid = part.subplots(1, len(EXPOSURE), sharey=True, squeeze=False)
    for axes, (key, title) in zip(grid.flat, EXPOSURE, strict=True):
        _bars(axes, cells, key, ("share",))
        axes.set_title(title, fontweight="normal")
        axes.set_xticks([0, 0.5, 1], ["0", "50", "100 %"])


def _rows(axes: Axes, cells: Sequence[Cell]) -> None:
    """A row a condition, from the top, over an axis from 0 to 100 %."""
    axes.set_yticks(range(len(cells)), [_label(c) for c in cells])
    axes.set_ylim(len(cells) - 0.4, -0.6)
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100 %"])
    axes.tick_params(axis="y", length=0, pad=6)
    axes.tick_params(axis="x", labelsize=8)
    axes.grid(axis="x")


def _bars(axes: Axes, cells: Sequence[Cell], key: str, beside: Sequence[str]) -> None:
    """A bar a condition with its interval, and its numbers beside it."""
    _rows(axes, cells)
    words: list[list[str]] = [[] for _ in beside]
    known: list[tuple[int, Mapping[str, Any]]] = []
    for y, cell in enumerate(cells):
        figure = cell["metrics"][key]
        if figure["value"] is None:
            _nothing(axes, y)
        else:
            known.append((y, figure))
        texts = {"percent": numbers.percent(figure["value"], 0), "share": numbers.share(figure)}
        for column, name in zip(words, beside, strict=True):
            column.append(texts[name])
    _beside(axes, words)
    if not known:
        return
    for control, colour, hatch in ((False, "sky", None), (True, "grey", "////")):
        here = [(y, f["value"]) for y, f in known if cells[y]["control"] is control]
        axes.barh(
            [y for y, _ in here],
            [value for _, value in here],
            0.62,
            color=COLOURS[colour],
            hatch=hatch,
            edgecolor=COLOURS["paper"],
            linewidth=0,
        )
    axes.errorbar(
        [f["value"] for _, f in known],
        [y for y, _ in known],
        xerr=[[f["value"] - f["low"] for _, f in known], [f["high"] - f["value"] for _, f in known]],
        color=COLOURS["ink"],
        linestyle="none",
        marker="o",
        markersize=3.2,
        elinewidth=1.1,
        capsize=2.5,
        # Half a marker at 0 and at 100 % is outside.
        clip_on=False,
        zorder=3,
    )


def _beside(axes: Axes, columns: Sequence[Sequence[str]]) -> None:
    """Words at the right of the rows, in right-aligned columns."""
    offset = 0.0
    for words in columns:
        # A letter of these takes some five points.
        offset += 9 + 5.2 * max(map(len, words))
        for y, word in enumerate(words):
            axes.annotate(
                word,
                (1, y),
                xycoords=axes.get_yaxis_transform(),
                xytext=(offset, 0),
                textcoords="offset points",
                ha="right",
                va="center",
                fontsize=8,
                annotation_clip=False,
            )


def _label(cell: Cell) -> str:
    return str(cell["label"]).replace(",", ", ")


def _nothing(axes: Axes, y: int) -> None:
    axes.text(0.03, y, "nothing judged", va="center", color=COLOURS["dim"], fontsize=8, fontstyle="italic")
