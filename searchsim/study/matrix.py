"""The planned runs: which there are, what they will take, and what they can show."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any

import orjson

from searchsim import stats
from searchsim.counterfactual import CONTROL, control_condition
from searchsim.errors import ConditionError, ContractError
from searchsim.injection import Level, load_factors
from searchsim.study.contract import Contract

__all__ = ["CONTROL", "Plan", "PlannedRun", "estimate", "plan", "power", "sides"]


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One run that a contract asks for.

    Attributes:
        run: Its id: agent/model/condition/task/repetition.
        label: The condition's name: the levels that vary, or ``control``.
        condition: A level for every factor.
        control: Whether it is one.
        repetition: From 1.
    """

    run: str
    agent: str
    model: str
    task: str
    language: str
    label: str
    condition: Mapping[str, Level] = field(hash=False)
    control: bool
    repetition: int

    def record(self) -> dict[str, Any]:
        """The run as JSON."""
        return {
            "run": self.run,
            "agent": self.agent,
            "model": self.model,
            "task": self.task,
            "language": self.language,
            "label": self.label,
            "condition": dict(self.condition),
            "control": self.control,
            "repetition": self.repetition,
        }


@dataclass(frozen=True, slots=True)
class Plan:
    """All runs of a study.

    Attributes:
        study: Its name.
        contract_sha256: Its contract's hash.
        runs: In the order they are made: all conditions of a task before the next task, so that what is there of a
            study that was stopped has whole pairs.
        contrasts: The kinds of comparison.
    """

    study: str
    contract_sha256: str
    runs: tuple[PlannedRun, ...]
    contrasts: tuple[str, ...]

    def record(self) -> dict[str, Any]:
        """The plan as JSON, with its own hash."""
        plan = {
            "study": self.study,
            "contract_sha256": self.contract_sha256,
            "contrasts": list(self.contrasts),
            "runs": [r.record() for r in self.runs],
        }
        return {**plan, "sha256": hashlib.sha256(orjson.dumps(plan, option=orjson.OPT_SORT_KEYS)).hexdigest()}

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Plan:
        """A plan from its JSON."""
        runs = tuple(PlannedRun(**r) for r in record["runs"])
        return cls(record["study"], record["contract_sha256"], runs, tuple(record["contrasts"]))


def plan(contract: Contract) -> Plan:
    """The runs that a contract asks for.

    Raises:
        ContractError: A pool of one of them can't be had, e.g. there are too few documents for a budget.
    """
    conditions = _conditions(contract)
    factors = load_factors()
    for label, condition in conditions.items():
        for task in contract.tasks:
            try:
                factors.select(contract.corpus.misleading.get(task, ()), condition)
            except ConditionError as error:
                raise ContractError(contract.name, label, f"task {task}: {error}") from error
    runs = []
    for agent, model, task, repetition in product(
        contract.agents, contract.models, contract.tasks, range(1, contract.repetitions + 1)
    ):
        for label, condition in conditions.items():
            runs.append(
                PlannedRun(
                    run=f"{agent.name}/{model.name}/{label}/{task}/{repetition}",
                    agent=agent.name,
                    model=model.name,
                    task=task,
                    language=contract.corpus.tasks[task].language,
                    label=label,
                    condition=condition,
                    control=label == CONTROL,
                    repetition=repetition,
                )
            )
    return Plan(contract.name, contract.sha256, tuple(runs), contract.contrasts)


def _conditions(contract: Contract) -> dict[str, dict[str, Level]]:
    """The control, then every combination of levels, by label."""
    names = list(contract.factors)
    # A control has no documents to rank or to date: for what varies it takes the first level, which changes nothing.
    first = {name: levels[0] for name, levels in contract.factors.items()}
    control = {**contract.fixed, **first, **contract.control}
    found = {CONTROL: control_condition(load_factors(), control)}
    for levels in product(*contract.factors.values()):
        label = ",".join(f"{n}={v}" for n, v in zip(names, levels, strict=True)) or "treated"
        found[label] = {**contract.fixed, **dict(zip(names, levels, strict=True))}
    return found


def sides(kind: str, plan: Plan) -> list[tuple[dict[str, str], dict[str, str]]]:
    """The pairs of cells that a kind of contrast compares, each named by agent, model and label."""
    cells = list(dict.fromkeys((p.agent, p.model, p.label) for p in plan.runs))
    conditions = {p.label: p.condition for p in plan.runs}

    def cell(key: tuple[str, str, str]) -> dict[str, str]:
        return dict(zip(("agent", "model", "label"), key, strict=True))

    pairs: list[tuple[tuple[str, str, str], tuple[str, str, str]]] = []
    for first, second in combinations(cells, 2):
        same_agent, same_model, same_label = (a == b for a, b in zip(first, second, strict=True))
        treated = CONTROL not in (first[2], second[2])
        match kind:
            case "control" if same_agent and same_model and not treated:
                pairs.append((second, first) if first[2] == CONTROL else (first, second))
            case "levels" if same_agent and same_model and treated:
                differing = [f for f in conditions[first[2]] if conditions[first[2]][f] != conditions[second[2]][f]]
                if len(differing) == 1:
                    pairs.append((first, second))
            case "agents" if same_model and same_label and not same_agent and treated:
                pairs.append((first, second))
            case "models" if same_agent and same_label and not same_model and treated:
                pairs.append((first, second))
    return [(cell(a), cell(b)) for a, b in pairs]


def estimate(
    contract: Contract, planned: Plan, measured: Mapping[tuple[str, str], Mapping[str, float]]
) -> list[dict[str, Any]]:
    """What the runs will take, for each agent and model.

    Args:
        contract: Says what to expect of an agent.
        planned: The runs.
        measured: Calls, input_tokens and output_tokens of a run, by agent and model, from runs already made; they
            come before what the contract expects.

    Returns:
        Rows with agent, model, runs, calls, input_tokens, output_tokens, cost (US dollars) and ``from``: ``measured``,
        ``contract`` or ``unknown``; figures are None where unknown.
    """
    rows: list[dict[str, Any]] = []
    for agent, model in product(contract.agents, contract.models):
        runs = sum(r.agent == agent.name and r.model == model.name for r in planned.runs)
        known = measured.get((agent.name, model.name))
        each = known or agent.expected
        row: dict[str, Any] = {"agent": agent.name, "model": model.name, "runs": runs}
        for name in ("calls", "input_tokens", "output_tokens"):
            row[name] = each and round(each[name] * runs)
        row["cost"] = model.cost(row["input_tokens"], row["output_tokens"]) if each else None
        row["from"] = "measured" if known else "contract" if each else "unknown"
        rows.append(row)
    return rows


def power(
    planned: Plan, alpha: float = 0.05, share: float = 0.8, opposed: Sequence[float] = (0.0, 0.1)
) -> list[dict[str, Any]]:
    """What the planned comparisons can show, if every run is valid and judged.

    The first step of Holm's procedure is what a difference has to pass if it is the only one, so that alpha is divided
    by the number of comparisons of its kind.

    Args:
        planned: The runs.
        alpha: Two-sided.
        share: The power.
        opposed: Shares of pairs that go against the difference. In a comparison with a control that never adopts there
            are none.

    Returns:
        For each kind of comparison: kind, comparisons, pairs (tasks; repetitions of a task are one cluster), alpha
        (corrected), ``smallest_significant`` (the smallest observed difference that can be significant, all discordant
        pairs going one way) and ``detectable``: for each opposed share the smallest true difference that is found with
        that power. None where there is none.
    """
    rows: list[dict[str, Any]] = []
    pairs = len({r.task for r in planned.runs})
    for kind in planned.contrasts:
        comparisons = len(sides(kind, planned))
        if not comparisons:
            continue
        corrected = alpha / comparisons
        fewest = stats.smallest_significant(pairs, corrected)
        rows.append(
            {
                "kind": kind,
                "comparisons": comparisons,
                "pairs": pairs,
                "alpha": corrected,
                "smallest_significant": None if fewest is None else fewest / pairs,
                "detectable": {str(o): stats.detectable(pairs, corrected, share, o) for o in opposed},
            }
        )
    return rows
