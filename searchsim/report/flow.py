"""What became of the planned runs, from step to step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from searchsim.records import Record
from searchsim.report import numbers

__all__ = ["attempts", "saved", "steps"]

_SHOWN = 6
"""Reasons of one branch; beyond these a chart is a list."""


def steps(records: Sequence[Record], summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The steps from planned to judged, each with the branches that leave after it.

    Returns:
        Steps with ``count``, ``name`` and ``branches``: count, name, reasons (``(reason, count)``, the most frequent
        first) and ``others``, the number of reasons that aren't shown.
    """
    flow = summary["flow"]
    recorded = {r["run"] for r in records}
    failed = [r for r in summary["runs"] if r["state"] == "failed"]
    unrecorded = [r for r in failed if r["run"] not in recorded]

    def of(state: str) -> list[Mapping[str, Any]]:
        return [r for r in summary["runs"] if r["state"] == state]

    return [
        _step(flow["planned"], "planned", ("not run", of("not_run")), ("failed without a record", unrecorded)),
        _step(
            len(recorded),
            "with a record",
            ("failed", [r for r in failed if r["run"] in recorded]),
            ("invalid", of("invalid")),
        ),
        _step(flow["valid"], "valid", ("unjudged", of("unjudged"))),
        _step(flow["judged"], "judged"),
    ]


def attempts(summary: Mapping[str, Any]) -> str:
    """How often runs were tried, as a sentence; empty where no run was."""
    flow = summary["flow"]
    if not flow["attempts"]:
        return ""
    ended = ", ".join(f"{count:,} {state}" for state, count in flow["attempts_by_state"].items())
    again = numbers.plural(flow["rerun"], "run")
    return f"{numbers.plural(flow['attempts'], 'attempt')} ({ended}); {again} tried more than once."


def saved(summary: Mapping[str, Any]) -> str:
    """How many model calls counterfactual replay saved, as a sentence; empty where none."""
    live, replayed = (summary["flow"]["calls"][origin] for origin in ("live", "replayed"))
    if not replayed:
        return ""
    share = numbers.percent(replayed / (live + replayed))
    return (
        f"{numbers.plural(live + replayed, 'model call')}, of which {replayed:,} ({share}) were answered from the "
        "record of the control that a run shares its beginning with; such runs are one cluster in every interval."
    )


def _step(count: int, name: str, *branches: tuple[str, Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    return {"count": count, "name": name, "branches": [_branch(*b) for b in branches]}


def _branch(name: str, runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    reasons = Counter(reason for r in runs for reason in r["reasons"]).most_common()
    return {"count": len(runs), "name": name, "reasons": reasons[:_SHOWN], "others": max(len(reasons) - _SHOWN, 0)}
