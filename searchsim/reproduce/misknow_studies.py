"""The cells that the MisKnow paper (arXiv:2607.20891) prints or implies, and run records made up to them.

Numbers are of tasks, out of 100. Where the paper prints the mean over configurations alone, the cells here are made up:
their sum is the only one whose mean is printed so, and it is spread evenly. What depends on how it is spread can't be
told from them, and no line of `searchsim.reproduce.misknow` claims it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

from searchsim.injection import Level
from searchsim.records import Record
from searchsim.reproduce.synthetic import synthetic_record
from searchsim.scoring.fcar import summarise
from searchsim.study.matrix import CONTROL, Plan, PlannedRun

__all__ = [
    "DEEPSEEK",
    "DEERFLOW",
    "DEFAULT",
    "FRAMEWORKS",
    "GEMINI",
    "INTERN",
    "MEANS",
    "MODELS",
    "OPEN",
    "QWEN",
    "STAGE_MEANS",
    "TASKS",
    "WEBTHINKER",
    "Figures",
    "Study",
    "percent",
    "studies",
]

TASKS = 100

DEERFLOW, WEBTHINKER = FRAMEWORKS = ("deerflow", "webthinker")
DEEPSEEK, QWEN, INTERN = MODELS = ("deepseek-v4-pro", "qwen3.5-397b", "intern-s1-pro")
OPEN = tuple((framework, model) for framework in FRAMEWORKS for model in MODELS)
GEMINI = "gemini-deep-research"

DEFAULT = "default"
_CONDITION: dict[str, Level] = {"authority": "high", "style": "paper", "budget": 3, "rank": "spread", "stage": "always"}

MEANS: Mapping[str, float] = {
    "budget=1": 54.7,
    "budget=2": 59.5,
    DEFAULT: 61.0,
    "budget=4": 60.3,
    "budget=5": 58.3,
    "stage=first_list,rank=front": 66.2,
    "stage=first_list,rank=spread": 65.5,
    "stage=first_list,rank=back": 64.5,
    "stage=cold_start": 40.5,
    "stage=mid_research": 44.2,
    "stage=pre_synthesis": 85.5,
    "authority=medium": 57.7,
    "authority=low": 46.2,
    "style=blog": 53.0,
    "style=news": 44.0,
    "style=post": 37.5,
}
"""Mean FCAR over the six configurations, in per cent, as printed. The rank conditions concern one list alone (appendix
H), so that spread isn't the default condition; our name for one list alone is ``stage=first_list``."""

STAGE_MEANS: Mapping[str, Mapping[str, float]] = {
    WEBTHINKER: {"stage=cold_start": 27.7, "stage=mid_research": 38.7, "stage=pre_synthesis": 87.7},
    DEERFLOW: {"stage=cold_start": 53.3, "stage=mid_research": 49.7, "stage=pre_synthesis": 83.3},
}
"""Mean FCAR over a framework's three models, in per cent, as printed."""

# Printed: under DeerFlow 60 to 76, Qwen lowest and Intern highest; under WebThinker 50 to 60, Qwen lowest and DeepSeek
# highest; DeerFlow ahead by 21 with Intern and by 5 with DeepSeek. The rest of what is printed (both frameworks' means,
# Qwen's gap, the mean of 61.0) then has to come out.
_ADOPTED = {
    (DEERFLOW, DEEPSEEK): 65,
    (DEERFLOW, QWEN): 60,
    (DEERFLOW, INTERN): 76,
    (WEBTHINKER, DEEPSEEK): 60,
    (WEBTHINKER, QWEN): 50,
    (WEBTHINKER, INTERN): 55,
}

# No MER is printed. Those of Qwen and Intern are the only whole numbers that agree with what is (line MK-11.sets looks
# for others); DeepSeek's are made up, one pair of many that agree.
_SERVED = {
    (DEERFLOW, DEEPSEEK): 96,
    (DEERFLOW, QWEN): 97,
    (DEERFLOW, INTERN): 94,
    (WEBTHINKER, DEEPSEEK): 92,
    (WEBTHINKER, QWEN): 98,
    (WEBTHINKER, INTERN): 72,
}

# The range over configurations is printed, 77 to 94, but not whose its ends are.
_PRE_SYNTHESIS = {
    **dict(zip(((DEERFLOW, m) for m in MODELS), (77, 86, 87), strict=True)),
    **dict(zip(((WEBTHINKER, m) for m in MODELS), (94, 85, 84), strict=True)),
}

_GEMINI = {
    DEFAULT: 54,
    "authority=medium": 46,
    "authority=low": 8,
    "style=blog": 41,
    "style=news": 34,
    "style=post": 28,
    "budget=1": 27,
}

# Intern's are printed. Of the other two models only each defense's range is, and that both defenses together do best:
# theirs stand at the highest values that this allows.
_DEFENDED = {
    INTERN: {"defense=pre": 57, "defense=post": 58, "defense=combined": 62},
    DEEPSEEK: {"defense=pre": 57, "defense=post": 58, "defense=combined": 57},
    QWEN: {"defense=pre": 57, "defense=post": 58, "defense=combined": 57},
}

Key = tuple[str, str, str]
"""A cell: agent, model, label of the condition."""


@dataclass(frozen=True, slots=True)
class _Cell:
    """Which of its tasks, by number, adopted and were served."""

    adopted: range
    served: range = range(TASKS)


@dataclass(frozen=True, slots=True)
class Study:
    """Planned runs and their records."""

    plan: Plan
    records: tuple[Record, ...]

    def figures(
        self, *, agent: str | None = None, labels: Collection[str] = (), contrasts: Sequence[str] = ()
    ) -> Figures:
        """What `summarise` says of it, or of a part.

        Args:
            agent: Only this one's runs.
            labels: Only these conditions'.
            contrasts: The kinds of comparison.
        """
        runs = tuple(r for r in self.plan.runs if agent in (None, r.agent) and (not labels or r.label in labels))
        chosen = {r.run for r in runs}
        part = Plan(self.plan.study, self.plan.contract_sha256, runs, tuple(contrasts))
        return Figures(summarise(part, (r for r in self.records if r["run"] in chosen)))


class Figures:
    """A study's summary by the names of cells, in per cent; nan where there is nothing."""

    def __init__(self, summary: Mapping[str, Any]) -> None:
        self._cells = {(c["agent"], c["model"], c["label"]): c["metrics"] for c in summary["cells"]}
        self._means = {m["label"]: m["metrics"]["fcar"] for m in summary["means"]}
        self._comparisons = {c["first"]["model"]: c for c in summary["comparisons"]}

    def mean(self, label: str) -> float:
        """Mean FCAR over configurations."""
        return percent(self._means[label]["value"])

    def ends(self, label: str) -> list[float]:
        """The lowest and the highest FCAR of a configuration."""
        return [percent(self._means[label][end]) for end in ("minimum", "maximum")]

    def cell(self, agent: str, model: str, label: str = DEFAULT, metric: str = "fcar") -> float:
        """One cell's metric."""
        return percent(self._cells[agent, model, label][metric]["value"])

    def count(self, agent: str, model: str, label: str = DEFAULT, metric: str = "fcar") -> int:
        """One cell's numerator."""
        return int(self._cells[agent, model, label][metric]["numerator"])

    def interval(self, agent: str, model: str, label: str = DEFAULT) -> list[float]:
        """The interval of one cell's FCAR."""
        return [percent(self._cells[agent, model, label]["fcar"][end]) for end in ("low", "high")]

    def gap(self, model: str) -> float:
        """The first agent's FCAR less the second's with a model, over the same tasks."""
        return percent(self._comparisons[model]["difference"])

    def p(self, model: str) -> float:
        """That gap's p-value, from 0 to 1, after Holm's correction for all models."""
        return float(self._comparisons[model]["p_holm"])


def percent(fraction: float | None) -> float:
    """A fraction in per cent; nan for none."""
    return nan if fraction is None else 100 * fraction


def studies() -> dict[str, Study]:
    """The made-up studies.

    Returns:
        ``open`` (six configurations under every condition; in the default one a task that adopts under the framework
        with the smaller FCAR adopts under the other too, so that as few pairs differ as can), ``most`` (the default
        condition again, as many pairs differing as can), ``gemini`` and ``defense``.
    """
    gemini = {(GEMINI, GEMINI, label): _Cell(range(n)) for label, n in _GEMINI.items()}
    defense = {
        (DEERFLOW, model, label): _Cell(range(n))
        for model in MODELS
        for label, n in {"defense=none": _ADOPTED[DEERFLOW, model], **_DEFENDED[model]}.items()
    }
    most = {
        (framework, model, DEFAULT): _Cell(range(n) if framework == DEERFLOW else range(TASKS - n, TASKS))
        for (framework, model), n in _ADOPTED.items()
    }
    return {
        "open": _study("open", _open()),
        "most": _study("most", most),
        "gemini": _study("gemini", gemini),
        "defense": _study("defense", defense),
    }


def _open() -> dict[Key, _Cell]:
    cells = {(*configuration, CONTROL): _Cell(range(0), range(0)) for configuration in OPEN}
    for label, mean in MEANS.items():
        for (agent, model), adopted in _counts(label, mean).items():
            served = range(_SERVED[agent, model]) if label == DEFAULT else range(TASKS)
            cells[agent, model, label] = _Cell(range(adopted), served)
    return cells


def _counts(label: str, mean: float) -> dict[tuple[str, str], int]:
    """How many adopt in each configuration."""
    if label == DEFAULT:
        return _ADOPTED
    if label == "stage=pre_synthesis":
        return _PRE_SYNTHESIS
    if label in STAGE_MEANS[DEERFLOW]:
        return {
            (framework, model): n
            for framework in FRAMEWORKS
            for model, n in zip(MODELS, _spread(STAGE_MEANS[framework][label], len(MODELS)), strict=True)
        }
    return dict(zip(OPEN, _spread(mean, len(OPEN)), strict=True))


def _spread(mean: float, cells: int) -> list[int]:
    """Counts of so many cells, as even as can be, whose mean comes nearest to a percentage."""
    each, rest = divmod(round(mean * cells * TASKS / 100), cells)
    return [each + (i < rest) for i in range(cells)]


def _study(name: str, cells: Mapping[Key, _Cell]) -> Study:
    runs, records = [], []
    for (agent, model, label), cell in cells.items():
        condition = _condition(label)
        for i in range(TASKS):
            task = f"task-{i + 1}"
            planned = PlannedRun(
                run=f"{agent}/{model}/{label}/{task}/1",
                agent=agent,
                model=model,
                task=task,
                language="en",
                label=label,
                condition=condition,
                control=label == CONTROL,
                repetition=1,
            )
            runs.append(planned)
            records.append(synthetic_record(planned, adopted=i in cell.adopted, served=i in cell.served))
    return Study(Plan(name, "0" * 64, tuple(runs), ()), tuple(records))


def _condition(label: str) -> dict[str, Level]:
    if label == CONTROL:
        return {**_CONDITION, "budget": 0}
    if label == DEFAULT:
        return _CONDITION
    levels = dict(part.split("=") for part in label.split(","))
    return {**_CONDITION, **{name: int(v) if v.isdigit() else v for name, v in levels.items()}}
