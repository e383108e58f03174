"""What the MisKnow paper says of exposure: MER, ECAR, their parts in the frameworks' gaps, and whether these are real.

The paper prints spans and one part of one gap, but no MER. Of Intern and Qwen they leave one set of whole numbers, of
DeepSeek many.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from searchsim import stats
from searchsim.reproduce.lines import Line, line, untold
from searchsim.reproduce.misknow_studies import (
    DEEPSEEK,
    DEERFLOW,
    FRAMEWORKS,
    INTERN,
    MODELS,
    OPEN,
    QWEN,
    TASKS,
    WEBTHINKER,
    Figures,
)

__all__ = ["decomposition", "exposure", "significance"]

_SOLVED = "the only served counts that agree with printed figures"
_MADE_UP = "served counts made up within what printed figures allow"
_ALPHA = 0.05

_POINTS = partial(line, unit="points", digits=1, inputs=_SOLVED)


def exposure(found: Figures) -> list[Line]:
    """MK-11: MER and ECAR."""

    def rates(framework: str, metric: str) -> dict[str, float]:
        return {m: found.cell(framework, m, metric=metric) for m in MODELS}

    def span(framework: str, metric: str) -> float:
        values = rates(framework, metric).values()
        return max(values) - min(values)

    def pair(framework: str, model: str) -> list[float]:
        return [found.cell(framework, model, metric=m) for m in ("mer", "ecar")]

    mer, ecar = _order(rates(WEBTHINKER, "mer")), _order(rates(WEBTHINKER, "ecar"))
    opposite = mer == ecar[::-1] == [INTERN, DEEPSEEK, QWEN]
    alike = _order(rates(DEERFLOW, "ecar")) == _order(rates(DEERFLOW, "fcar"))
    solutions = _served_counts(found)
    sets = len({s[:4] for s in solutions})
    stray = sum(found.count(*cell, metric="unserved_adopted") for cell in OPEN)
    so = partial(line, unit="yes or no", inputs=_MADE_UP)
    golden = partial(line, unit="%", digits=1, inputs=_SOLVED, derived=True)
    why = f"they aren't printed, and {len(solutions)} pairs of served counts agree with what is"
    return [
        so("MK-11", "WebThinker: Intern lowest in MER and highest in ECAR, Qwen the opposite", True, opposite),
        _POINTS("MK-11.webthinker.mer", "WebThinker: span of MER over models", 26.0, span(WEBTHINKER, "mer")),
        _POINTS("MK-11.webthinker.ecar", "WebThinker: span of ECAR over models", 25.4, span(WEBTHINKER, "ecar")),
        _POINTS("MK-11.deerflow.mer", "DeerFlow: span of MER over models", 3.0, span(DEERFLOW, "mer")),
        _POINTS("MK-11.deerflow.ecar", "DeerFlow: span of ECAR over models", 19.0, span(DEERFLOW, "ecar")),
        so("MK-11.order", "DeerFlow: ECAR orders the models as FCAR does", True, alike),
        golden("MK-11.webthinker.qwen", "WebThinker with Qwen: MER, ECAR", [98.0, 51.0], pair(WEBTHINKER, QWEN)),
        golden("MK-11.webthinker.intern", "WebThinker with Intern: MER, ECAR", [72.0, 76.4], pair(WEBTHINKER, INTERN)),
        golden("MK-11.deerflow.intern", "DeerFlow with Intern: MER, ECAR", [94.0, 80.9], pair(DEERFLOW, INTERN)),
        golden("MK-11.deerflow.qwen", "DeerFlow with Qwen: MER, ECAR", [97.0, 61.9], pair(DEERFLOW, QWEN)),
        line(
            "MK-11.sets",
            "Sets of served counts of Intern and Qwen that agree with printed figures",
            1,
            sets,
            unit="sets",
            inputs="every whole number tried",
            derived=True,
        ),
        line(
            "MK-11.residual",
            "Runs that adopt though never served, which FCAR = MER · ECAR leaves out",
            0,
            stray,
            unit="runs",
            inputs=_SOLVED,
            derived=True,
        ),
        untold("MK-11.deepseek", "DeepSeek: MER and ECAR under both frameworks", None, why, unit="%"),
    ]


def _order(rates: Mapping[str, float]) -> list[str]:
    """Models, the lowest first."""
    return sorted(rates, key=lambda m: rates[m])


def _served_counts(found: Figures) -> list[tuple[int, int, int, int, int, int]]:
    """Every set of whole served counts that agrees with what is printed of MER and ECAR.

    Printed are the spans and, in words, the order of the models in each framework, and of Intern's gap the part of
    exposure.

    Returns:
        Counts of WebThinker's Intern and Qwen, DeerFlow's Intern and Qwen, WebThinker's and DeerFlow's DeepSeek.
    """
    wt, df = ({m: found.count(f, m) for m in MODELS} for f in (WEBTHINKER, DEERFLOW))

    def printed(share: float, figure: float) -> bool:
        return abs(100 * share - figure) <= 0.05

    kept = []
    for low in range(wt[INTERN], TASKS - 26 + 1):
        high = low + 26
        if not printed(wt[INTERN] / low - wt[QWEN] / high, 25.4):
            continue
        for intern in range(df[INTERN], TASKS + 1):
            if not printed(_part(intern, df[INTERN], low, wt[INTERN]), 17.3):
                continue
            for qwen in range(df[QWEN], TASKS + 1):
                if not printed(df[INTERN] / intern - df[QWEN] / qwen, 19.0):
                    continue
                kept += [
                    (low, high, intern, qwen, webthinker, deerflow)
                    for webthinker in range(max(low, wt[DEEPSEEK]), high + 1)
                    for deerflow in range(df[DEEPSEEK], TASKS + 1)
                    if wt[QWEN] / high <= wt[DEEPSEEK] / webthinker <= wt[INTERN] / low
                    and df[QWEN] / qwen < df[DEEPSEEK] / deerflow < df[INTERN] / intern
                    and max(intern, qwen, deerflow) - min(intern, qwen, deerflow) == 3
                ]
    return kept


def _part(served_1: int, adopted_1: int, served_2: int, adopted_2: int) -> float:
    """The part of exposure in the difference between two cells."""
    return stats.midpoint(served_1 / TASKS, adopted_1 / served_1, served_2 / TASKS, adopted_2 / served_2)[0]


def decomposition(found: Figures) -> list[Line]:
    """MK-12: the frameworks' gaps, in their parts of exposure and of adoption."""
    mer = {(f, m): found.cell(f, m, metric="mer") for f, m in OPEN}
    ecar = {(f, m): found.cell(f, m, metric="ecar") for f, m in OPEN}

    def parts(model: str) -> tuple[float, float]:
        first, second = (DEERFLOW, model), (WEBTHINKER, model)
        # Both metrics in per cent give points times a hundred.
        exposed, taken = stats.midpoint(mer[first], ecar[first], mer[second], ecar[second])
        return exposed / 100, taken / 100

    intern, qwen, deepseek = parts(INTERN), parts(QWEN), parts(DEEPSEEK)
    more = mer[DEERFLOW, INTERN] - mer[WEBTHINKER, INTERN]
    adopted = {f: found.count(f, DEEPSEEK) for f in FRAMEWORKS}
    possible = [
        100 * _part(deerflow, adopted[DEERFLOW], webthinker, adopted[WEBTHINKER])
        for *_, webthinker, deerflow in _served_counts(found)
    ]
    part = f"{min(possible):.1f} to {max(possible):.1f} points" if possible else "none"
    why = f"its MERs aren't printed; parts of exposure that agree with what is printed: {part}"
    hidden = partial(_POINTS, derived=True)
    other = "Intern's gap: part of exposure, were it taken at"
    half = "DeepSeek's gap of 5 points is about half of exposure, half of adoption"
    return [
        _POINTS("MK-12", "Intern's gap: part of exposure (MER)", 17.3, intern[0]),
        _POINTS("MK-12.intern", "Intern's gap: both parts", 21.0, sum(intern)),
        hidden("MK-12.intern.mer", "Intern's gap: part of exposure, to two places", 17.30, intern[0], digits=2),
        hidden("MK-12.intern.ecar", "Intern's gap: part of adoption (ECAR)", 3.70, intern[1], digits=2),
        hidden("MK-12.other_1", f"{other} WebThinker's ECAR", 16.8, more * ecar[WEBTHINKER, INTERN] / 100),
        hidden("MK-12.other_2", f"{other} DeerFlow's ECAR", 17.8, more * ecar[DEERFLOW, INTERN] / 100),
        _POINTS("MK-12.qwen", "Qwen's gap: both parts", 10.0, sum(qwen)),
        hidden("MK-12.qwen.mer", "Qwen's gap: part of exposure", -0.56, qwen[0], digits=2),
        hidden("MK-12.qwen.ecar", "Qwen's gap: part of adoption", 10.56, qwen[1], digits=2),
        _POINTS("MK-12.deepseek", "DeepSeek's gap: both parts", 5.0, sum(deepseek), inputs=_MADE_UP),
        untold("MK-12.deepseek.half", half, True, why, unit="yes or no"),
    ]


def significance(fewest: Figures, most: Figures) -> list[Line]:
    """MK-13: whether a gap is significant, which the marginals alone may or may not tell.

    With the gap given, McNemar's p grows with the number of discordant pairs, and a p adjusted by Holm never falls when
    another one grows. So the least p that any split of the marginals can have is that of records with the fewest such
    pairs, the greatest that of records with the most. The paper names neither its test nor a correction; without one
    the three answers are the same.

    Args:
        fewest: Of records with as few discordant pairs as the marginals allow.
        most: Of records with as many.
    """
    found, told = [], []
    so = partial(line, unit="yes or no", inputs="both extreme splits of cells implied by printed figures")
    for name, model, published in (("Intern", INTERN, True), ("Qwen", QWEN, False), ("DeepSeek", DEEPSEEK, False)):
        least, greatest = fewest.p(model), most.p(model)
        id_, what = f"MK-13.{name.lower()}", f"{name}: the frameworks' paired difference is significant"
        test = (
            f"p is {least:.2g} to {greatest:.2g} by how the discordant pairs are split (exact McNemar, Holm over three)"
        )
        if least < _ALPHA <= greatest:
            found.append(untold(id_, what, published, f"the split isn't printed: {test}", unit="yes or no"))
        else:
            told.append(greatest < _ALPHA)
            found.append(so(id_, what, published, told[-1], reason=test))
    id_, what = "MK-13", "Of the three differences only Intern's is significant"
    if len(told) < len(found):
        open_ = ", ".join(f["id"] for f in found if f["holds"] is None)
        return [untold(id_, what, True, f"see {open_}", unit="yes or no"), *found]
    return [so(id_, what, True, told == [True, False, False]), *found]
