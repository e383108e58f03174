"""A JSONL file of documents, with the field names that such files have."""

from __future__ import annotations

from pathlib import Path

from searchsim.errors import UsageError
from searchsim.importers.draft import Draft
from searchsim.importers.fields import DOCUMENT, TASK, mapped
from searchsim.importers.snippet import fit

__all__ = ["import_jsonl"]


def import_jsonl(source: str, draft: Draft, *, tasks: Path | None = None, language: str | None = None) -> None:
    """Documents from a JSONL file, tasks from another.

    Args:
        source: The file of documents; `searchsim.importers.fields.DOCUMENT` has the names it may use.
        draft: Where they go.
        tasks: A JSONL file of tasks (id, question or query, text, prompt, language).
        language: Of documents and tasks that name none; ``en`` if not given.

    Raises:
        UsageError: A line is at fault, the file has none, or there is no such file.
    """
    path = Path(source)
    draft.facts |= {"title": path.stem, "description": f"Documents imported from {path.name}."}
    if tasks is not None:
        for place, record in draft.lines(tasks):
            task, names = mapped(record, place, TASK)
            draft.add("tasks.jsonl", {"language": language or "en", **task}, place, names)
    empty = True
    for place, record in draft.lines(path):
        document, names = mapped(record, place, DOCUMENT)
        if language:
            document.setdefault("language", language)
        if isinstance(document.get("snippet"), str) and isinstance(document.get("body"), str):
            document["snippet"], change = fit(document["snippet"], document["body"])
            if change:
                draft.notes[f"snippets_{change}"] += 1
        draft.add("documents.jsonl", document, place, names)
        empty = False
    if empty:
        raise UsageError(f"{path} has no documents")
