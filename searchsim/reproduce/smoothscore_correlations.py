"""What the SmoothScore paper says goes with smoothing: documents cited, lengths, number of claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from searchsim.reproduce.lines import Line, line, untold
from searchsim.reproduce.smoothscore_tables import CORRELATIONS, DATASETS, GEMINI, LUNA, SOL, SYSTEMS, Cell, Key
from searchsim.scoring.smoothing.correlations import correlation, significance

__all__ = ["correlated"]

_CORRELATION = 0.02
"""The paper had 28 unrounded values of each variable, its tables have rounded ones."""

_TAKEN: Mapping[str, tuple[str, Callable[[Cell], float]]] = {
    "documents": ("documents cited", lambda c: c.documents),
    "words": ("report's length", lambda c: c.words),
    "claims": ("number of claims", lambda c: c.claims / c.reports),
}


def correlated(cells: Mapping[Key, Cell], found: Mapping[Key, Mapping[str, Any]]) -> list[Line]:
    """SM-8.

    Args:
        cells: The printed values.
        found: The distribution of each cell's scores.
    """
    means = [found[key]["mean"] for key in cells]
    of = partial(
        line, unit="correlation", tolerance=_CORRELATION, inputs="printed values of 28 cells, means from whole claims"
    )
    rows = []
    for name, (title, value) in _TAKEN.items():
        printed = CORRELATIONS[name]
        got = correlation([value(c) for c in cells.values()], means)
        rows += [
            of(f"SM-8.{name}.rho", f"Across systems, {title}: Spearman's ρ", printed.rho, got.rho),
            of(f"SM-8.{name}.r", f"Across systems, {title}: Pearson's r", printed.r, got.r),
        ]
    length, least = "claim's length", "the claims' length isn't printed by cell"
    rows += [
        untold(f"SM-8.claim_words.{n}", f"Across systems, {length}: {t}", v, least, unit="correlation")
        for n, t, v in (
            ("rho", "Spearman's ρ", CORRELATIONS["claim_words"].rho),
            ("r", "Pearson's r", CORRELATIONS["claim_words"].r),
        )
    ]
    fits = sum(_fits(r, p, len(cells)) for c in CORRELATIONS.values() for r, p in ((c.rho, c.rho_p), (c.r, c.r_p)))
    titles = {name: title for name, (title, _) in _TAKEN.items()} | {"claim_words": length}
    ratios = [cells[d, GEMINI].documents / cells[d, s].documents for d in DATASETS for s in (LUNA, SOL)]
    unpublished = "the single reports' scores and lengths aren't published, nor how levels of systems were taken out"
    return [
        *rows,
        line(
            "SM-8.p",
            "p-values across systems that are those of 28 points, for some ρ or r that is printed so",
            2 * len(CORRELATIONS),
            fits,
            unit="p-values",
            inputs="printed correlations",
            derived=True,
        ),
        *(
            untold(
                f"SM-8.{n}.within",
                f"Within systems, {titles[n]}: Spearman's ρ",
                c.within,
                unpublished,
                unit="correlation",
            )
            for n, c in CORRELATIONS.items()
        ),
        *(
            untold(f"SM-8.{n}.pooled", f"Pooled, {titles[n]}: Spearman's ρ", c.pooled, unpublished, unit="correlation")
            for n, c in CORRELATIONS.items()
        ),
        untold("SM-8.gemini", "Within Gemini, number of claims: Spearman's ρ", -0.23, unpublished, unit="correlation"),
        line(
            "SM-8.gemini.documents",
            "Documents cited, Gemini against Luna and Sol",
            [2, 5],
            [min(ratios), max(ratios)],
            unit="times",
            digits=0,
            inputs="printed values",
        ),
        line(
            "SM-8.gemini.words",
            "Gemini's reports are the longest on every dataset",
            True,
            all(cells[d, GEMINI].words == max(cells[d, s].words for s in SYSTEMS) for d in DATASETS),
            unit="yes or no",
            inputs="printed values",
        ),
    ]


def _fits(r: float, p: float, n: int) -> bool:
    """Whether a printed p-value can be that of a correlation that is printed as r."""
    decimals = max(2, len(f"{p}".split(".")[1]))  # 0.70 is 0.7 as a float
    low, high = (significance(abs(r) + shift, n - 2) for shift in (0.005, -0.005))
    return low - 0.5 * 10.0**-decimals - 1e-9 <= p <= high + 0.5 * 10.0**-decimals + 1e-9
