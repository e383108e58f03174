"""The page: one HTML file with everything in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from typing import Any

import orjson

from searchsim import __version__
from searchsim.records import STATES, Record
from searchsim.report import flow, numbers, runs, svg, tables
from searchsim.report.figures import Chart
from searchsim.scoring.metrics import METRICS, metric
from searchsim.server.render import template
from searchsim.study.matrix import Plan

__all__ = ["render"]

_ABREAST = 4
"""Metrics side by side in a table, so that it isn't wider than paper."""

_TITLES = {
    "control": "Treated against control",
    "levels": "Levels of one factor",
    "agents": "Agents",
    "models": "Models",
}
"""The kinds of comparison."""


def render(
    contract: Mapping[str, Any],
    plan: Plan,
    records: Sequence[Record],
    summary: Mapping[str, Any],
    charts: Sequence[Chart],
    canary: str = "",
    smoothing: Mapping[str, Any] | None = None,
) -> str:
    """A study's report as HTML.

    Args:
        contract: As it stands in its file.
        plan: What was planned.
        records: In the plan's order.
        summary: See `searchsim.scoring.fcar.summarise`.
        charts: See `searchsim.report.figures.draw`.
        canary: The corpus's.
        smoothing: See `searchsim.report.joined.shown`; None where the reports weren't scored.
    """
    place = {id(cell): number for number, cell in enumerate(summary["cells"], start=1)}
    groups = tables.configurations(summary["cells"])
    return template(
        "study.html",
        canary=canary,
        version=__version__,
        contract=contract,
        contract_text=orjson.dumps(dict(contract), option=orjson.OPT_INDENT_2).decode(),
        plan=plan,
        summary=summary,
        facts=_facts(contract, plan, records),
        incomplete=_incomplete(summary),
        states=STATES,
        steps=flow.steps(records, summary),
        attempts=flow.attempts(summary),
        saved=flow.saved(summary),
        groups=[(name, [(place[id(cell)], cell) for cell in cells]) for name, cells in groups.items()],
        metrics=[[metric(k) for k in part] for part in _parts(contract["metrics"])],
        outcomes=tables.outcome_names(summary["cells"]),
        comparisons=tables.comparison_tables(summary),
        charts=_charts(charts),
        cells=list(zip(summary["cells"], runs.by_cell(plan, summary), strict=True)),
        tasks=runs.by_task(plan, records, summary),
        numbers=numbers,
        titles=_TITLES,
        all_metrics=METRICS,
        smoothing=smoothing,
    )


def _parts(keys: Sequence[str]) -> list[Sequence[str]]:
    """Metrics in as few tables as they fit in, as evenly as can be."""
    if not keys:
        return []
    each = ceil(len(keys) / ceil(len(keys) / _ABREAST))
    return [keys[n : n + each] for n in range(0, len(keys), each)]


def _charts(charts: Iterable[Chart]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for chart in charts:
        found.setdefault(chart.kind, []).append(svg.inline(chart.svg, chart.name, chart.label))
    return found


def _incomplete(summary: Mapping[str, Any]) -> str:
    """What is missing, as a sentence; empty where every planned run is judged."""
    counts = summary["flow"]
    if counts["judged"] == counts["planned"]:
        return ""
    missing = [f"{counts[s]:,} {s.replace('_', ' ')}" for s in STATES if s != "judged" and counts[s]]
    of = numbers.plural(counts["planned"], "planned run")
    return f"{counts['judged']:,} of {of} {'is' if counts['judged'] == 1 else 'are'} judged; {', '.join(missing)}."


def _facts(contract: Mapping[str, Any], plan: Plan, records: Sequence[Record]) -> list[tuple[str, list[Any]]]:
    """What the study is: names, each with its values."""
    tasks = list(dict.fromkeys(p.task for p in plan.runs))
    languages = list(dict.fromkeys(p.language for p in plan.runs))
    varied = [f"{name}: {', '.join(map(str, levels))}" for name, levels in contract["factors"].items()]
    return [
        ("Agents", [_named(a) for a in contract["agents"]]),
        ("Models", [_named(m) for m in contract["models"]]),
        ("Judge", _judges(contract, records)),
        ("Tasks", [f"{len(tasks)} ({', '.join(languages)})" if tasks else numbers.NOTHING]),
        ("Repetitions", [contract["repetitions"]]),
        ("Varied", varied or ["nothing"]),
        ("Held fixed", [_levels(contract["fixed"]) or "nothing"]),
        ("Control", [_levels(contract["control"])]),
        ("Search engine", [contract.get("engine", numbers.NOTHING)]),
        ("Sampling", [f"temperature {contract.get('temperature', 0)}, seed {contract.get('seed', 0)}"]),
    ]


def _named(given: str | Mapping[str, Any]) -> str:
    """An agent or a model, with what the contract sets of it."""
    if isinstance(given, str):
        return given
    more = []
    for key, value in given.items():
        match key:
            case "name" | "demonstration" | "expected":
                continue
            case "price":
                more.append(f"{value['input']} and {value['output']} US dollars for a million tokens in and out")
            case "settings" | "config" | "args":
                more.append(_levels(value))
            case _:
                more.append(str(value))
    name = given.get("name") or given["model"]
    return f"{name} ({'; '.join(m for m in more if m)})" if any(more) else str(name)


def _judges(contract: Mapping[str, Any], records: Sequence[Record]) -> list[str]:
    """The contract's judge; and the judges whose verdicts the records hold."""
    judge = contract["judge"]
    planned = judge if isinstance(judge, str) else f"model {_named(judge['model'])}"
    found = {
        f"{v['judge']}{', ' + v['model'] if v['model'] else ''}": None
        for v in (r["verdict"] for r in records)
        if v is not None
    }
    return [planned, *(f"verdicts in force: {name}" for name in found)]


def _levels(levels: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {level}" for name, level in levels.items())
