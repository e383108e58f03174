"""The runs one by one: for each task its runs, down to what was served, delivered and cited."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from searchsim.records import Record
from searchsim.report.marking import marked
from searchsim.study.matrix import Plan, PlannedRun

__all__ = ["by_cell", "by_task"]


def by_task(plan: Plan, records: Sequence[Record], summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The planned runs by task, each exactly once, in the plan's order.

    Returns:
        Tasks with ``task``, ``language``, ``question`` and ``blueprint`` (None where no run has a record), and
        ``runs``: ``number`` (its place in the plan), ``planned``, ``state``, ``reasons``, and ``record`` (None where it
        has none) with what the page shows of it: ``claims``, ``delivered``, ``report``.
    """
    known = {r["run"]: r for r in records}
    tasks: dict[str, dict[str, Any]] = {}
    for number, (planned, told) in enumerate(zip(plan.runs, summary["runs"], strict=True), start=1):
        record = known.get(planned.run)
        task = tasks.setdefault(
            planned.task,
            {"task": planned.task, "language": planned.language, "question": None, "blueprint": None, "runs": []},
        )
        if record is not None:
            task["question"] = task["question"] or record["question"]
            task["blueprint"] = task["blueprint"] or record["blueprint"]
        task["runs"].append(_run(number, planned, told, record))
    return list(tasks.values())


def by_cell(plan: Plan, summary: Mapping[str, Any]) -> list[list[dict[str, Any]]]:
    """For each cell of the summary its runs: number, planned, state."""
    found: dict[tuple[str, str, str], list[dict[str, Any]]] = {
        (c["agent"], c["model"], c["label"]): [] for c in summary["cells"]
    }
    for number, (planned, told) in enumerate(zip(plan.runs, summary["runs"], strict=True), start=1):
        key = (planned.agent, planned.model, planned.label)
        found[key].append({"number": number, "planned": planned, "state": told["state"]})
    return list(found.values())


def _run(number: int, planned: PlannedRun, told: Mapping[str, Any], record: Record | None) -> dict[str, Any]:
    view = {
        "number": number,
        "planned": planned,
        "state": told["state"],
        "reasons": told["reasons"],
        "record": record,
    }
    if record is not None:
        verdict = record["verdict"]
        adopted = verdict is not None and verdict["state"] == "adopted"
        claims = (record["blueprint"] or {}).get("claims", {})
        view["claims"] = [(id_, claims.get(id_, "")) for id_ in verdict["claims"]] if verdict else []
        view["injected_lists"] = sum(any(s["injected"] for s in search["served"]) for search in record["searches"])
        view["delivered"] = _delivered(record["delivered"])
        view["report"] = marked(record["report"], verdict["evidence"] if adopted else ())
    return view


def _delivered(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What was delivered, by document: a prompt repeats what earlier ones had, so a row a call says little.

    Returns:
        Injected documents first: document, injected, and ``parts`` with the model calls that had them, as
        ``title, snippet`` and ``2–9``.
    """
    documents: dict[tuple[bool, str], dict[str, list[int]]] = {}
    for row in rows:
        calls = documents.setdefault((not row["injected"], row["document"]), {})
        calls.setdefault(", ".join(row["parts"]), []).append(row["call"])
    return [
        {"document": id_, "injected": not organic, "parts": [(parts, _ranges(c)) for parts, c in calls.items()]}
        for (organic, id_), calls in sorted(documents.items(), key=lambda item: item[0][0])
    ]


def _ranges(numbers: Iterable[int]) -> str:
    """Whole numbers as ``2–9, 11``."""
    spans: list[list[int]] = []
    for number in sorted(set(numbers)):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in spans)
