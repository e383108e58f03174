"""The MisKnow paper's figures (arXiv:2607.20891), recomputed from run records made up to its cells.

It tests our arithmetic on known numbers, never the paper's claims: the records come from the printed figures, and go
through the same `summarise` as a real study's. A mean that comes out says that counts of 100 tasks can have it, and
that we would compute it so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from searchsim import stats
from searchsim.documents import AUTHORITIES, STYLES
from searchsim.reproduce.lines import Line, line, untold
from searchsim.reproduce.misknow_exposure import decomposition, exposure, significance
from searchsim.reproduce.misknow_studies import (
    DEEPSEEK,
    DEERFLOW,
    DEFAULT,
    FRAMEWORKS,
    GEMINI,
    INTERN,
    MEANS,
    MODELS,
    OPEN,
    QWEN,
    STAGE_MEANS,
    TASKS,
    WEBTHINKER,
    Figures,
    Study,
    percent,
    studies,
)
from searchsim.study.matrix import CONTROL

__all__ = ["lines"]

_PRINTED = "printed cells"
_IMPLIED = "cells implied by printed figures"
_MEAN = "cells made up to the printed mean"
_FRAMEWORK_MEAN = "cells made up to the printed means of each framework"
_ARITHMETIC = "arithmetic alone"

_RETAINED = 5933
_INSTITUTIONS = 5

_CELLS = partial(untold, why="the six configurations' cells aren't printed, only their mean", unit="configurations")


def lines(made: Mapping[str, Study] | None = None) -> list[Line]:
    """A line for each published figure; see `searchsim.reproduce.lines.line` for its fields.

    Args:
        made: The studies to recompute from; else those of `studies`.
    """
    made = studies() if made is None else made
    six, gemini = made["open"].figures(), made["gemini"].figures()
    # A task that adopts under one framework adopts under the other wherever it can: the fewest discordant pairs.
    pairs = made["open"].figures(labels=[DEFAULT], contrasts=["agents"])
    labels = [DEFAULT, *STAGE_MEANS[DEERFLOW]]
    each = {framework: made["open"].figures(agent=framework, labels=labels) for framework in FRAMEWORKS}
    return [
        *_documents(),
        *_control(six),
        *_budget(six),
        *_rank(six),
        *_stage(six, each),
        *_authority(six),
        *_style(six),
        *_framework(six, each, pairs),
        *exposure(six),
        *decomposition(six),
        *significance(pairs, made["most"].figures(contrasts=["agents"])),
        *_gemini(gemini),
        *_defense(made["defense"].figures()),
        untold("MK-16", "Agreement of the judge with people", None, "its figures aren't in the paper's text", unit=""),
        *_intervals(six, gemini),
        *_power(),
    ]


def _documents() -> list[Line]:
    designed = TASKS * len(AUTHORITIES) * len(STYLES) * _INSTITUTIONS
    dropped = designed - _RETAINED
    counted = partial(line, unit="documents", inputs=_ARITHMETIC, derived=True)
    whole = "no run record holds it, and how many each cell has isn't printed"
    verdicts = "no verdict is printed; it is so by construction, since only such documents were kept"
    return [
        untold("MK-1", "Misleading documents kept", _RETAINED, whole, unit="documents"),
        counted("MK-1.designed", "Documents by the design", 6000, designed),
        counted("MK-1.share", "Of these kept", 98.88, 100 * _RETAINED / designed, unit="%", digits=2),
        counted("MK-1.dropped", "Of these dropped", 67, dropped),
        untold("MK-2", "Of those kept, called misleading by all five verifiers", 100, verdicts, unit="%"),
    ]


def _control(six: Figures) -> list[Line]:
    adopted = sum(six.count(*cell, CONTROL) for cell in OPEN)
    pooled = stats.wilson(adopted, TASKS * len(OPEN))
    one, upper = six.interval(*OPEN[0], CONTROL)[1], percent(pooled.high if pooled else None)
    cells = partial(line, unit="%", digits=1, inputs=_PRINTED)
    return [
        cells("MK-3", "FCAR without injection, highest of six configurations", 0, six.ends(CONTROL)[1], digits=0),
        cells("MK-3.one", "Its upper limit in one configuration (Wilson)", 3.7, one, derived=True),
        cells("MK-3.all", "Its upper limit over all six (Wilson)", 0.6, upper, derived=True),
    ]


def _mean(six: Figures, id_: str, what: str, label: str, inputs: str = _MEAN, reason: str | None = None) -> Line:
    """A mean over the six configurations; the default condition's cells are known."""
    inputs = _IMPLIED if label == DEFAULT else inputs
    whole = f"Mean FCAR, {what}"
    return line(id_, whole, MEANS[label], six.mean(label), unit="%", digits=1, inputs=inputs, reason=reason)


def _budget(six: Figures) -> list[Line]:
    labels = {1: "budget=1", 2: "budget=2", 3: DEFAULT, 4: "budget=4", 5: "budget=5"}
    means = {b: six.mean(label) for b, label in labels.items()}
    rise = means[5] - means[1]
    peak = max(means, key=lambda b: means[b])
    made = partial(line, inputs=_MEAN)
    return [
        made("MK-4", "Rise of mean FCAR from one document to five", 4, rise, unit="points", relation="<"),
        *(_mean(six, f"MK-4.b{b}", f"budget {b}", label) for b, label in labels.items()),
        made("MK-4.peak", "Budget with the highest mean FCAR", 3, peak, unit="documents"),
        _CELLS("MK-4.monotone", "Configurations whose FCAR rises with every document", 0),
    ]


def _rank(six: Figures) -> list[Line]:
    labels = {rank: f"stage=first_list,rank={rank}" for rank in ("front", "spread", "back")}
    means = [six.mean(label) for label in labels.values()]
    widest = max(means) - min(means)
    within = "Widest difference between placements in a configuration"
    scope = {
        "spread": "one list alone is injected into here, so spread isn't the default condition, whose mean is 61.0"
    }
    return [
        line("MK-5", "Widest difference between placements", 1.7, widest, unit="points", digits=1, inputs=_MEAN),
        *(_mean(six, f"MK-5.{r}", f"placement {r}", label, reason=scope.get(r)) for r, label in labels.items()),
        _CELLS("MK-5.within", within, 6, unit="points", relation="≤"),
    ]


def _stage(six: Figures, each: Mapping[str, Figures]) -> list[Line]:
    stages = ("cold_start", "mid_research", "pre_synthesis")
    cold, middle, late = (six.mean(f"stage={stage}") for stage in stages)
    gaps = [each[DEERFLOW].mean(f"stage={s}") - each[WEBTHINKER].mean(f"stage={s}") for s in stages]
    turns = gaps[0] > 0 and gaps[1] > 0 and gaps[2] < 0
    made = partial(line, digits=1, inputs=_FRAMEWORK_MEAN)
    rise, turn = (
        "Rise of mean FCAR to pre-synthesis from",
        "DeerFlow's mean FCAR is the higher one except at pre-synthesis",
    )
    some = "whose the ends are isn't printed: what holds is that cells with this range have the printed means"
    ends = six.ends(f"stage={stages[2]}")
    return [
        made("MK-6", f"{rise} cold start", 45.0, late - cold, unit="points"),
        made("MK-6.from_middle", f"{rise} mid-research", 41.3, late - middle, unit="points"),
        *(_mean(six, f"MK-6.{s}", f"stage {s}", f"stage={s}", inputs=_FRAMEWORK_MEAN) for s in stages),
        made("MK-6.range", "Range of configurations at pre-synthesis", [77, 94], ends, unit="%", digits=0, reason=some),
        made("MK-7", turn, True, turns, unit="yes or no", digits=None),
        *(
            made(
                f"MK-7.{framework}.{stage}",
                f"{framework}: mean FCAR over models, stage {stage}",
                STAGE_MEANS[framework][f"stage={stage}"],
                each[framework].mean(f"stage={stage}"),
                unit="%",
            )
            for framework in FRAMEWORKS
            for stage in stages
        ),
    ]


def _authority(six: Figures) -> list[Line]:
    labels = {"high": DEFAULT, "medium": "authority=medium", "low": "authority=low"}
    fall = six.mean(labels["high"]) - six.mean(labels["low"])
    return [
        line("MK-8", "Fall of mean FCAR from high to low", 14.8, fall, unit="points", digits=1, inputs=_MEAN),
        *(_mean(six, f"MK-8.{level}", f"authority {level}", label) for level, label in labels.items()),
        _CELLS("MK-8.lower", "Configurations with low below high", 6),
        _CELLS("MK-8.monotone", "Configurations with high, medium, low in this order", 4),
        _CELLS("MK-8.reversed", "Configurations of WebThinker with medium above high", 2),
    ]


def _style(six: Figures) -> list[Line]:
    labels = {"paper": DEFAULT, "blog": "style=blog", "news": "style=news", "post": "style=post"}
    fall = six.mean(labels["paper"]) - six.mean(labels["post"])
    larger = fall > six.mean(DEFAULT) - six.mean("authority=low")
    made = partial(line, inputs=_MEAN)
    return [
        made("MK-9", "Fall of mean FCAR from paper to post", 23.5, fall, unit="points", digits=1),
        *(_mean(six, f"MK-9.{style}", f"style {style}", label) for style, label in labels.items()),
        made("MK-9.larger", "Larger than the fall from high to low authority", True, larger, unit="yes or no"),
        _CELLS("MK-9.ends", "Configurations with paper highest and post lowest", 6),
        _CELLS("MK-9.order", "Configurations with paper, blog, news, post in this order", 5),
    ]


def _framework(six: Figures, each: Mapping[str, Figures], pairs: Figures) -> list[Line]:
    rates = {framework: {m: six.cell(framework, m) for m in MODELS} for framework in FRAMEWORKS}
    gaps = {m: pairs.gap(m) for m in MODELS}
    # By the index of intelligence that the paper cites: 22, 34, 44.
    by_index = (INTERN, QWEN, DEEPSEEK)
    narrows = gaps[INTERN] > gaps[QWEN] > gaps[DEEPSEEK]
    monotone = sum(_monotone([rate[m] for m in by_index]) for rate in rates.values())
    highest = [max(rate, key=lambda m: rate[m]) for rate in rates.values()]
    lowest = [min(rate, key=lambda m: rate[m]) for rate in rates.values()]
    extremes = highest == [INTERN, DEEPSEEK] and lowest == [QWEN, QWEN]
    whose = "Intern is highest under DeerFlow, DeepSeek under WebThinker, Qwen lowest under both"
    cells = partial(line, unit="%", digits=1, inputs=_IMPLIED)
    points = partial(cells, unit="points")
    so = partial(line, unit="yes or no", inputs=_IMPLIED)
    return [
        cells("MK-10", "Range of FCAR over six configurations", [50, 76], six.ends(DEFAULT), digits=0),
        cells("MK-10.deerflow", "DeerFlow: mean FCAR over models", 67.0, each[DEERFLOW].mean(DEFAULT)),
        cells("MK-10.webthinker", "WebThinker: mean FCAR over models", 55.0, each[WEBTHINKER].mean(DEFAULT)),
        cells("MK-10.deerflow.range", "DeerFlow: range of FCAR", [60.0, 76.0], each[DEERFLOW].ends(DEFAULT)),
        cells("MK-10.webthinker.range", "WebThinker: range of FCAR", [50.0, 60.0], each[WEBTHINKER].ends(DEFAULT)),
        points("MK-10.intern", "Intern: DeerFlow's FCAR less WebThinker's", 21.0, gaps[INTERN]),
        points("MK-10.qwen", "Qwen: DeerFlow's FCAR less WebThinker's", 10.0, gaps[QWEN]),
        points("MK-10.deepseek", "DeepSeek: DeerFlow's FCAR less WebThinker's", 5.0, gaps[DEEPSEEK]),
        so("MK-10.narrows", "The gap narrows as the model's index rises", True, narrows),
        so("MK-10.monotone", "Frameworks whose FCAR goes one way with the index", 0, monotone, unit="frameworks"),
        so("MK-10.extremes", whose, True, extremes),
    ]


def _monotone(values: Sequence[float]) -> bool:
    return list(values) in (sorted(values), sorted(values, reverse=True))


def _gemini(gemini: Figures) -> list[Line]:
    printed = {
        "high": ("high authority", DEFAULT, 54),
        "medium": ("medium authority", "authority=medium", 46),
        "low": ("low authority", "authority=low", 8),
        "paper": ("style paper", DEFAULT, 54),
        "blog": ("style blog", "style=blog", 41),
        "news": ("style news", "style=news", 34),
        "post": ("style post", "style=post", 28),
        "b1": ("budget 1", "budget=1", 27),
        "b3": ("budget 3", DEFAULT, 54),
    }
    rates = {name: gemini.cell(GEMINI, GEMINI, label) for name, (_, label, _) in printed.items()}
    falls = rates["high"] > rates["medium"] > rates["low"]
    falls = falls and rates["paper"] > rates["blog"] > rates["news"] > rates["post"]
    order = "Gemini: FCAR falls from high to low authority, and from paper over blog and news to post"
    both = "only a range is printed for budgets 4 and 5 together"
    return [
        line("MK-14", order, True, falls, unit="yes or no", inputs=_PRINTED),
        *(
            line(f"MK-14.{n}", f"Gemini: FCAR, {what}", value, rates[n], unit="%", digits=0, inputs=_PRINTED)
            for n, (what, _, value) in printed.items()
        ),
        *(untold(f"MK-14.b{b}", f"Gemini: range of FCAR, budget {b}", [50, 56], both, unit="%") for b in (4, 5)),
    ]


def _defense(found: Figures) -> list[Line]:
    ranges = {"pre": [37, 57], "post": [20, 58], "combined": [15, 62]}
    rates = {(m, d): found.cell(DEERFLOW, m, f"defense={d}") for m in MODELS for d in ("none", *ranges)}
    lower = sum(rates[m, d] < rates[m, "none"] for m in MODELS for d in ranges)
    none, pre, post, combined = (rates[INTERN, d] for d in ("none", *ranges))
    bound = "cells as high as what is printed lets them be: lower then is lower in any case"
    missing = "DeepSeek's and Qwen's cells aren't printed, only a range over three models"
    cells = partial(line, unit="%", digits=0, inputs=_PRINTED)
    so = partial(line, unit="yes or no", inputs=_PRINTED)
    beyond = "Intern: what both leave beyond what each takes away (combined - pre - post + none)"
    return [
        line("MK-15", "Cells below no defense, of three defenses × three models", 9, lower, unit="cells", inputs=bound),
        cells("MK-15.none", "Range without defense", [60, 76], found.ends("defense=none"), inputs=_IMPLIED),
        *(untold(f"MK-15.{d}", f"Range with defense {d}", ends, missing, unit="%") for d, ends in ranges.items()),
        cells("MK-15.intern.pre", "Intern: FCAR, defense pre", 57, pre),
        cells("MK-15.intern.post", "Intern: FCAR, defense post", 58, post),
        cells("MK-15.intern.combined", "Intern: FCAR, defense combined", 62, combined),
        so("MK-15.intern", "Intern: both defenses leave more than either alone", True, combined > max(pre, post)),
        cells("MK-15.interaction", beyond, 23, combined - pre - post + none, unit="points", derived=True),
        untold("MK-15.best", "Models with which both defenses do best", 2, missing, unit="models"),
    ]


def _intervals(six: Figures, gemini: Figures) -> list[Line]:
    mean = stats.wilson(MEANS["budget=1"] / 100 * TASKS, TASKS)
    of_mean = [percent(mean.low), percent(mean.high)] if mean else None
    wilson = partial(line, unit="%", digits=1, inputs=_IMPLIED, derived=True)
    what = f"Wilson's 95 % interval at {TASKS} runs, FCAR"
    return [
        wilson("WILSON-54.7", f"{what} 54.7 %", [45.0, 64.1], of_mean, inputs=_ARITHMETIC),
        wilson("WILSON-60", f"{what} 60 %", [50.2, 69.1], six.interval(DEERFLOW, QWEN)),
        wilson("WILSON-76", f"{what} 76 %", [66.8, 83.3], six.interval(DEERFLOW, INTERN)),
        wilson("WILSON-8", f"{what} 8 %", [4.1, 15.0], gemini.interval(GEMINI, GEMINI, "authority=low")),
    ]


def _power() -> list[Line]:
    """What gaps exact McNemar can find at 100 pairs, uncorrected."""
    known = partial(line, inputs=_ARITHMETIC, derived=True)
    so, pairs = partial(known, unit="yes or no"), partial(known, unit="pairs")
    five, ten, many = (stats.largest_discordant(gap, n) for gap, n in ((5, TASKS), (10, TASKS), (21, 10 * TASKS)))
    # A gap of 21 needs an odd number of discordant pairs, so that 100 can't be.
    possible = max(d for d in range(TASKS + 1) if d % 2 == 21 % 2)
    always = stats.largest_discordant(21, TASKS) == possible
    most = "Most discordant pairs with which it is significant"
    return [
        known("POWER-5", "p of 5 discordant pairs against 0", 0.0625, stats.mcnemar_exact(5, 0), unit="p", digits=4),
        so("POWER-5.ever", "A gap of 5 in 100 pairs can be significant", False, five is not None),
        pairs("POWER-10", f"A gap of 10 in 100 pairs: {most.lower()}", 20, ten),
        so("POWER-21", "A gap of 21 in 100 pairs is significant however they are split", True, always),
        pairs("POWER-21.most", f"A gap of 21 in any number of pairs: {most.lower()}", 103, many),
    ]
