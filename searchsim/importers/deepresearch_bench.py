"""DeepResearch Bench's query.jsonl: tasks alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from searchsim.documents import faults_in
from searchsim.errors import UsageError
from searchsim.importers.draft import Draft

__all__ = ["bench_tasks", "import_deepresearch_bench"]


def import_deepresearch_bench(source: str, draft: Draft) -> None:
    """Tasks of the bench's ``query.jsonl`` (keys id, topic, language, prompt).

    Args:
        source: The bench's file.
        draft: Where they go.

    Raises:
        UsageError: The file isn't the bench's.
    """
    draft.facts |= {
        "title": "DeepResearch Bench",
        "description": "The bench's research tasks; documents and blueprints are yours to add.",
        "license": "Apache-2.0 (DeepResearch Bench)",
    }
    for place, task in bench_tasks(Path(source), draft).items():
        draft.add("tasks.jsonl", task, place)


def bench_tasks(file: Path, draft: Draft) -> dict[str, dict[str, Any]]:
    """The bench's tasks by the place they stand at; a task's id is ``drb-`` and the bench's.

    Raises:
        UsageError: The file isn't the bench's.
    """
    if not file.is_file():
        raise UsageError(f"{file}: no such file")
    tasks: dict[str, dict[str, Any]] = {}
    seen: set[str] = set()
    for place, record in draft.lines(file):
        keys = ("id", "language", "prompt")
        missing = [k for k in keys if not isinstance(record, dict) or not record.get(k)]
        if missing:
            raise UsageError(f"{place}: {missing[0]}: missing; the bench's lines have id, topic, language, prompt")
        task = {
            "id": f"drb-{record['id']}",
            "question": str(record["prompt"]),
            "language": str(record["language"]),
            "topic": str(record.get("topic") or ""),
        }
        if task["id"] in seen:
            raise UsageError(f"{place}: id: {record['id']!r} stands twice")
        if wrong := faults_in("task", task):
            raise UsageError(f"{place}: {wrong[0][0]}: {wrong[0][1]}")
        seen.add(task["id"])
        tasks[place] = task
    if not tasks:
        raise UsageError(f"{file} has no tasks")
    return tasks
