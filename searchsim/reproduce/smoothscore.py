"""The SmoothScore paper's figures, recomputed from the tables that it prints.

It tests our arithmetic on known numbers, never the paper's claims: a mean comes from the whole claims behind the
printed percentages, a correlation from the printed values of 28 cells, through the functions that score real reports.
What would need a claim, a report or a trace can't be told, as none is published, and none is made up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from math import nan
from typing import Any

from searchsim.reproduce.lines import Line, line, untold
from searchsim.reproduce.smoothscore_correlations import correlated
from searchsim.reproduce.smoothscore_tables import (
    DATASETS,
    GEMINI,
    LUNA,
    OPUS,
    QUEST,
    SOL,
    SONNET,
    SYSTEMS,
    TULU,
    Cell,
    Intervention,
    Key,
    Tables,
    scores,
)
from searchsim.reproduce.smoothscore_untold import elsewhere, intervals, untold_agreement
from searchsim.scoring.ratings import tau
from searchsim.scoring.smoothing.engagement import Engagement
from searchsim.scoring.smoothing.results import distribution

__all__ = ["lines"]

_BINS = "whole claims behind the printed percentages"
_MEAN = 0.006
"""Means are rounded, and so are the percentages that they are recomputed from."""

_CLOSED = (LUNA, SOL, SONNET, OPUS, GEMINI)
_SEARCHING = (SONNET, OPUS)
_GENTLE = (LUNA, SOL)


def lines(tables: Tables | None = None) -> list[Line]:
    """A line for each published figure; see `searchsim.reproduce.lines.line` for its fields.

    Args:
        tables: The tables to recompute from; else the published ones.
    """
    tables = tables or Tables()
    found = {key: distribution(scores(cell)) for key, cell in tables.cells.items()}
    return [
        *_means(tables.cells, found, "SM-1"),
        *intervals("SM-2", {".".join(key): cell.interval for key, cell in tables.cells.items()}),
        *_ranges(found),
        *_material(tables, found),
        *_severe(tables, found),
        *untold_agreement(),
        _ranking(tables.rated),
        *correlated(tables.cells, found),
        *_engagement(tables),
        *_interventions(tables.interventions),
        *elsewhere(),
    ]


Found = Mapping[Key, Mapping[str, Any]]
"""The distribution of each cell."""


def _means(rows: Mapping[Key, Cell] | Mapping[Key, Intervention], found: Found, id_: str) -> list[Line]:
    whole = sum(_whole(rows[key], found[key]) for key in found)
    what = "Rows whose percentages are those of whole numbers of claims that sum to all"
    return [
        line(id_, what, len(rows), whole, unit="rows", inputs="printed percentages and claims", derived=True),
        *(
            line(
                f"{id_}.{'.'.join(key)}",
                f"Mean score, {', '.join(key)}",
                row.mean,
                found[key]["mean"],
                unit="score",
                tolerance=_MEAN,
                inputs=_BINS,
            )
            for key, row in rows.items()
        ),
    ]


def _whole(row: Cell | Intervention, found: Mapping[str, Any]) -> bool:
    shares = (100 * (share or 0) for share in found["shares"].values())
    pairs = zip(row.percent, shares, strict=True)
    return found["claims"] == row.claims and all(abs(printed - share) <= 0.05 + 1e-9 for printed, share in pairs)


def _values(found: Found, systems: Iterable[str], field: str) -> list[float]:
    """Of each cell of some systems, a figure; shares in per cent as they are printed, to one decimal."""
    return [_figure(found[dataset, system], field) for system in systems for dataset in DATASETS]


def _figure(cell: Mapping[str, Any], field: str) -> float:
    """The mean, at_least_3, at_least_4, or the share of one score by its name."""
    value = cell["shares"][field] if field in cell["shares"] else cell[field]
    if value is None:
        return nan
    return float(value) if field == "mean" else round(100 * value, 1)


def _ends(values: Iterable[float]) -> list[float]:
    found = list(values)
    return [min(found), max(found)]


def _ranges(found: Found) -> list[Line]:
    others = [s for s in SYSTEMS if s not in (*_GENTLE, GEMINI)]
    printed: list[tuple[str, list[str], list[float]]] = [
        (LUNA, [LUNA], [1.66, 1.95]),
        (SOL, [SOL], [1.82, 1.93]),
        ("others", others, [2.20, 2.88]),
        (GEMINI, [GEMINI], [3.05, 3.27]),
    ]
    return [
        line(
            f"SM-3.{name}",
            f"Range of mean scores over datasets, {name}",
            ends,
            _ends(_values(found, systems, "mean")),
            unit="score",
            tolerance=_MEAN,
            inputs=_BINS,
        )
        for name, systems, ends in printed
    ]


def _material(tables: Tables, found: Found) -> list[Line]:
    percent = partial(line, unit="%", inputs=_BINS, digits=0)

    def low(*systems: str) -> float:
        return min(_values(found, systems, "at_least_3"))

    whole = {
        s: 100 * (distribution(x for d in DATASETS for x in scores(tables.cells[d, s]))["at_least_3"] or nan)
        for s in SYSTEMS
    }
    over = [
        max(sums) / min(sums)
        for dataset in DATASETS
        for sums in ([_middle(found[dataset, s]) for s in (a, b)] for a in _SEARCHING for b in _GENTLE)
    ]
    half = sum(share > 50 for share in whole.values()) > len(SYSTEMS) / 2
    return [
        percent("SM-4", "Claims from 3 on, least of 28 cells", 22, low(*SYSTEMS), relation="≥"),
        percent(
            "SM-4.system", "Claims from 3 on, least of systems over datasets", 25, min(whole.values()), relation="≥"
        ),
        line("SM-4.half", "Most systems have over half from 3 on", True, half, unit="yes or no", inputs=_BINS),
        percent(f"SM-4.{GEMINI}", "Claims from 3 on, Gemini", [85, 93], _ends(_values(found, [GEMINI], "at_least_3"))),
        percent(f"SM-4.{TULU}", "Claims from 3 on, DR Tulu's least", 59, low(TULU)),
        percent(f"SM-4.{QUEST}", "Claims from 3 on, QUEST's least", 55, low(QUEST)),
        line(
            "SM-4.middle",
            "Claims of 3 or 4, Sonnet and Opus against Luna and Sol",
            [1.4, 2.5],
            _ends(over),
            unit="times",
            digits=1,
            inputs=_BINS,
        ),
    ]


def _middle(cell: Mapping[str, Any]) -> float:
    """Claims of 3 or 4, as a fraction."""
    return float(cell["shares"]["3"] + cell["shares"]["4"])


def _severe(tables: Tables, found: Found) -> list[Line]:
    percent = partial(line, unit="%", inputs=_BINS)
    times = partial(line, unit="times", digits=0, inputs="percentages from whole claims, to the printed decimal")

    def severe(*systems: str) -> list[float]:
        return _ends(_values(found, systems, "at_least_4"))

    def against(systems: Iterable[str]) -> list[float]:
        return _ends(_ratio(found, GEMINI, other, "at_least_4") for other in _pairs(systems))

    def most(score: str, *systems: str) -> float:
        return max(_values(found, systems, score))

    kept = [
        _figure(found[d, s], "1") / max(_figure(found[d, o], "1") for o in SYSTEMS if o not in _GENTLE)
        for d in DATASETS
        for s in _GENTLE
    ]
    unrounded = _ends(
        found[d, GEMINI]["at_least_4"] / found[d, SOL]["at_least_4"] for d in DATASETS if found[d, SOL]["at_least_4"]
    )
    exact = f"{unrounded[0]:.2f} to {unrounded[1]:.2f}"
    why = f"from the claims themselves it is {exact}: the printed ratio is one of rounded percentages"
    return [
        percent("SM-5", "Claims from 4 on, Gemini", [22, 35], severe(GEMINI), tolerance=0.5),
        line(
            "SM-5.datasets",
            "Claims from 4 on, Gemini, by dataset",
            [sum(tables.cells[d, GEMINI].percent[-2:]) for d in DATASETS],
            _values(found, [GEMINI], "at_least_4"),
            unit="%",
            tolerance=0.1,
            inputs=_BINS,
            derived=True,
        ),
        times("SM-5.sol", "Claims from 4 on, Gemini against Sol", [13, 26], against([SOL]), reason=why),
        times("SM-5.closed", "The same against other closed systems", [3, 12], against([LUNA, SONNET, OPUS])),
        percent("SM-5.open", "Claims from 4 on, DR Tulu and QUEST", [7, 23], severe(TULU, QUEST), digits=0),
        percent("SM-5.five.quest", "Claims of 5, QUEST's most", 7.4, most("5", QUEST), digits=1),
        percent("SM-5.five.gemini", "Claims of 5, Gemini's most", 1.8, most("5", GEMINI), digits=1),
        percent("SM-5.five.search", "Claims of 5, most of Sonnet and Opus", 1.1, most("5", *_SEARCHING), digits=1),
        percent("SM-5.five.closed", "Claims of 5, most of closed systems", 2, most("5", *_CLOSED), relation="≤"),
        percent("SM-5.one", "Claims of 1, least of Luna and Sol", 36, min(_values(found, _GENTLE, "1")), relation="≥"),
        line(
            "SM-5.one.more",
            "Claims of 1, Luna and Sol against the best other system",
            [1.5, 2.7],
            _ends(kept),
            unit="times",
            digits=1,
            inputs=_BINS,
        ),
    ]


def _pairs(systems: Iterable[str]) -> list[Key]:
    return [(dataset, system) for system in systems for dataset in DATASETS]


def _ratio(found: Found, system: str, other: Key, field: str) -> float:
    below = _figure(found[other], field)
    return _figure(found[other[0], system], field) / below if below else nan


def _ranking(rated: Mapping[str, Mapping[str, float]]) -> Line:
    first, *others = ([means[s] for s in (LUNA, TULU, GEMINI)] for means in rated.values())
    same = all(tau(first, other) == 1 for other in others)
    what = "All judges order the systems as annotator 1 does (Kendall's τ of 1)"
    return line("SM-7", what, True, same, unit="yes or no", inputs="printed means of the 73 claims")


def _engagement(tables: Tables) -> list[Line]:
    shares = {key: 100 * (Engagement(o.opened, o.cited).share or 0) for key, o in tables.opened.items()}
    of = partial(line, unit="%", inputs="printed counts of links")

    def ends(system: str) -> list[float]:
        return _ends(shares[d, system] for d in DATASETS)

    ranges: Mapping[str, tuple[list[float], int]] = {
        LUNA: ([9, 19], 0),
        SOL: ([16, 30], 0),
        SONNET: ([1.1, 3.5], 1),
        OPUS: ([0.2, 2.3], 1),
    }
    hidden = "its API tells no browsing, so that the paper has no figure either"
    return [
        *(
            of(f"SM-9.{'.'.join(k)}", f"Cited links opened, {', '.join(k)}", o.percent, shares[k], digits=1)
            for k, o in tables.opened.items()
        ),
        *(
            of(f"SM-9.{s}", f"Cited links opened, range of {s} over datasets", printed, ends(s), digits=digits)
            for s, (printed, digits) in ranges.items()
        ),
        line(
            f"SM-9.{TULU}",
            "Links that DR Tulu opened, on all datasets",
            5,
            sum(tables.opened[d, TULU].opened for d in DATASETS),
            unit="links",
            inputs="printed counts of links",
        ),
        untold(f"SM-9.{GEMINI}", "Cited links opened, Gemini", None, hidden, unit="%"),
    ]


def _interventions(rows: Mapping[Key, Intervention]) -> list[Line]:
    found = {key: distribution(scores(row)) for key, row in rows.items()}
    names = [("search", "before"), ("documents+instructions", "with documents and instructions")]
    printed = {LUNA: {3: (29, 12), 4: (None, 0.5)}, SONNET: {3: (61, 25), 4: (None, 2.2)}}
    shares = [
        line(
            f"SM-11.{model}.{condition}.{low}",
            f"Claims from {low} on, {model} {title}",
            value,
            _figure(found[model, condition], f"at_least_{low}"),
            unit="%",
            digits=0 if low == 3 else 1,
            inputs=_BINS,
        )
        for model, by_score in printed.items()
        for low, values in by_score.items()
        for (condition, title), value in zip(names, values, strict=True)
        if value is not None
    ]
    falls = [
        found[model, "documents+instructions"]["at_least_3"] / found[model, "search"]["at_least_3"]
        for model in (LUNA, SONNET)
    ]
    lengths = [row.length for (_, condition), row in rows.items() if condition.startswith("documents")]
    return [
        *_means(rows, found, "SM-11"),
        *shares,
        line(
            "SM-11.half",
            "Both together remove more than half from 3 on",
            0.5,
            max(falls),
            unit="of before",
            inputs=_BINS,
            relation="<",
        ),
        line(
            "SM-11.length",
            "Length with documents, against before",
            [1.2, 1.6],
            _ends(lengths),
            unit="times",
            digits=1,
            inputs="printed ratios",
        ),
        *intervals("SM-11.interval", {".".join(key): row.interval for key, row in rows.items()}),
    ]
