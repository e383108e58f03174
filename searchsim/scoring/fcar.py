"""FCAR and its companions: a study's records in, its tables out. Pure functions; nothing here reads a file.

The definitions are DESIGN's "metrics": over valid, judged runs, with the planned number beside them, and bounds with
the missing runs counted as 0 and as 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from searchsim import stats
from searchsim.records import STATES, Record, state
from searchsim.scoring.metrics import METRICS, Metric
from searchsim.study.matrix import Plan, PlannedRun, sides

__all__ = ["summarise"]

Key = tuple[str, str, str]
"""A cell: agent, model, label of the condition."""


def summarise(
    plan: Plan,
    records: Iterable[Record],
    failures: Mapping[str, str] | None = None,
    waiting: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """All figures of a study.

    Args:
        plan: What was planned.
        records: The runs' records, at most one a planned run.
        failures: Runs that ended in an error without a record, with the error.
        waiting: Runs that weren't begun, with what they wait for.

    Returns:
        JSON with these fields:

        - ``study``, ``contract_sha256``
        - ``flow``: how many runs were planned and how many are in each of the five states, with attempts, and how many
          model calls were made and how many were answered from a control's record
        - ``runs``: for each planned run its id and state, and the reasons where it isn't judged
        - ``demonstration``: why this is no result; empty where it may be one
        - ``cells``: for each agent, model and condition the states, and for each metric ``{numerator, denominator,
          value, low, high, worst, best}``: Wilson's interval, and the bounds with the missing counted as 0 and 1
        - ``outcomes``: in each cell, how many runs state the false conclusion, the true one, both, neither
        - ``means``: for each condition, the mean over agents and models of each metric
        - ``comparisons``: pairs of conditions (or agents, or models), with paired differences, exact tests and
          Holm's correction in each kind
    """
    known = {r["run"]: r for r in records}
    stray = sorted(set(known) - {p.run for p in plan.runs})
    if stray:
        raise ValueError(f"run {stray[0]} isn't in the plan")
    failures, waiting = failures or {}, waiting or {}
    runs = [_run(p, known.get(p.run), failures.get(p.run), waiting.get(p.run)) for p in plan.runs]
    groups: dict[Key, list[tuple[PlannedRun, Record | None]]] = {}
    for planned in plan.runs:
        groups.setdefault((planned.agent, planned.model, planned.label), []).append((planned, known.get(planned.run)))
    judged = {p.run: known[p.run] for p in plan.runs if state(known.get(p.run)) == "judged"}
    cells = [_cell(key, items, runs_state={r["run"]: r["state"] for r in runs}) for key, items in groups.items()]
    return {
        "study": plan.study,
        "contract_sha256": plan.contract_sha256,
        "flow": _flow(plan, runs, known),
        "runs": runs,
        "demonstration": _demonstration(known.values()),
        "cells": cells,
        "means": _means(plan, cells),
        "comparisons": _comparisons(plan, judged),
    }


def _run(planned: PlannedRun, record: Record | None, failure: str | None, waits: str | None) -> dict[str, Any]:
    found = "failed" if record is None and failure else state(record)
    reasons: list[str] = []
    if record is not None:
        reasons = list(record["reasons"])
        if found == "unjudged":
            reasons = [record["verdict"]["reason"] if record["verdict"] else "it wasn't judged"]
    elif failure or waits:
        reasons = [failure or waits or ""]
    return {"run": planned.run, "state": found, "reasons": reasons}


def _flow(plan: Plan, runs: Sequence[Mapping[str, Any]], known: Mapping[str, Record]) -> dict[str, Any]:
    count = Counter(r["state"] for r in runs)
    attempts = [a for r in known.values() for a in r["attempts"]]
    return {
        "planned": len(plan.runs),
        **{s: count[s] for s in STATES},
        "valid": count["judged"] + count["unjudged"],
        "calls": {origin: sum(r["usage"]["calls"][origin] for r in known.values()) for origin in ("live", "replayed")},
        "attempts": len(attempts),
        "rerun": sum(len(r["attempts"]) > 1 for r in known.values()),
        "attempts_by_state": dict(sorted(Counter(a["state"] for a in attempts).items())),
        "reasons": dict(Counter(reason for r in runs if r["state"] != "judged" for reason in r["reasons"])),
    }


def _demonstration(records: Iterable[Record]) -> list[str]:
    found: dict[str, None] = {}
    for record in records:
        if record["demonstration"]:
            found[f"model {record['model']} is a toy or a stand-in"] = None
        if record["verdict"] and record["verdict"]["demonstration"]:
            named = record["verdict"]["model"] or record["verdict"]["judge"]
            found[f"judge {named} is no instrument for research"] = None
    return list(found)


def _cell(key: Key, items: Sequence[tuple[PlannedRun, Record | None]], runs_state: Mapping[str, str]) -> dict[str, Any]:
    agent, model, label = key
    planned = items[0][0]
    count = Counter(runs_state[p.run] for p, _ in items)
    judged = [r for p, r in items if r is not None and runs_state[p.run] == "judged"]
    return {
        "agent": agent,
        "model": model,
        "label": label,
        "condition": dict(planned.condition),
        "control": planned.control,
        "planned": len(items),
        **{s: count[s] for s in STATES},
        "metrics": {m.key: _figure(m, judged, len(items) - len(judged)) for m in METRICS.values()},
        "outcomes": _outcomes(judged),
    }


def _figure(metric: Metric, judged: Sequence[Record], missing: int) -> dict[str, Any]:
    counted = [r for r in judged if metric.among(r)]
    numerator = sum(metric.counts(r) for r in counted)
    by_task: dict[str, list[int]] = {}
    for r in counted:
        by_task.setdefault(r["task"], []).append(int(metric.counts(r)))
    interval = stats.clustered_wilson(list(by_task.values()))
    bounds = stats.bounds(numerator, len(counted), len(counted) + missing)
    return {
        "numerator": numerator,
        "denominator": len(counted),
        "value": numerator / len(counted) if counted else None,
        "low": interval and interval.low,
        "high": interval and interval.high,
        "missing": missing,
        "missing_as_0": bounds and bounds.low,
        "missing_as_1": bounds and bounds.high,
    }


def _outcomes(judged: Sequence[Record]) -> dict[str, int]:
    count: Counter[str] = Counter()
    for r in judged:
        false, true = r["verdict"]["state"] == "adopted", r["verdict"]["states_true"]
        if true is None:
            count["false, true unknown" if false else "not false, true unknown"] += 1
        else:
            count["both" if false and true else "false" if false else "true" if true else "neither"] += 1
    order = ("false", "both", "true", "neither", "false, true unknown", "not false, true unknown")
    return {name: count[name] for name in order if count[name] or "unknown" not in name}


def _means(plan: Plan, cells: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Unweighted means over agents and models, as the published tables have them; only where there are several."""
    configurations = {(c["agent"], c["model"]) for c in cells}
    if len(configurations) < 2:
        return []
    found = []
    for label in dict.fromkeys(c["label"] for c in cells):
        here = [c for c in cells if c["label"] == label]
        metrics = {}
        for key in METRICS:
            values = [c["metrics"][key]["value"] for c in here]
            # A mean over fewer configurations than planned would be another figure under the same name.
            complete = all(v is not None for v in values)
            metrics[key] = {
                "value": sum(values) / len(values) if complete else None,
                "minimum": min(values) if complete else None,
                "maximum": max(values) if complete else None,
            }
        found.append({"label": label, "configurations": len(here), "metrics": metrics})
    return found


def _comparisons(plan: Plan, judged: Mapping[str, Record]) -> list[dict[str, Any]]:
    """The contract's contrasts, on FCAR."""
    found = []
    for kind in plan.contrasts:
        rows = [_comparison(kind, *sides, plan, judged) for sides in sides(kind, plan)]
        # A comparison that was planned and has no pairs counts in the correction, as one that shows nothing.
        for row, p in zip(rows, stats.holm([1.0 if r["p"] is None else r["p"] for r in rows]), strict=True):
            row["p_holm"] = None if row["p"] is None else p
        found += rows
    return found


def _comparison(
    kind: str, first: Mapping[str, str], second: Mapping[str, str], plan: Plan, judged: Mapping[str, Record]
) -> dict[str, Any]:
    """One paired comparison: runs of the same task and repetition, where both are judged."""

    def verdicts(side: Mapping[str, str]) -> dict[tuple[str, int], bool]:
        chosen = [p for p in plan.runs if (p.agent, p.model, p.label) == tuple(side.values()) and p.run in judged]
        return {(p.task, p.repetition): judged[p.run]["verdict"]["state"] == "adopted" for p in chosen}

    one, other = verdicts(first), verdicts(second)
    planned = sum((p.agent, p.model, p.label) == tuple(first.values()) for p in plan.runs)
    by_task: dict[str, list[tuple[bool, bool]]] = {}
    for place in one:
        if place in other:
            by_task.setdefault(place[0], []).append((one[place], other[place]))
    clusters = list(by_task.values())
    pairs = [pair for cluster in clusters for pair in cluster]
    counts = stats.pair_counts(pairs)
    interval = stats.clustered_newcombe(clusters)
    single = all(len(cluster) == 1 for cluster in clusters)
    p: float | None = None
    if pairs:
        if single:
            p = stats.mcnemar_exact(counts.only_first, counts.only_second)
        else:
            p = stats.sign_flip([[float(a) - float(b) for a, b in cluster] for cluster in clusters])
    return {
        "kind": kind,
        "first": dict(first),
        "second": dict(second),
        "planned_pairs": planned,
        "pairs": len(pairs),
        "clusters": len(clusters),
        "both": counts.both,
        "only_first": counts.only_first,
        "only_second": counts.only_second,
        "neither": counts.neither,
        "difference": (counts.only_first - counts.only_second) / len(pairs) if pairs else None,
        "low": interval and interval.low,
        "high": interval and interval.high,
        "test": ("exact McNemar" if single else "sign flips by task") if pairs else None,
        "p": p,
        "p_holm": None,
        "smallest_significant": stats.smallest_significant(len(clusters)) if pairs else None,
    }
