"""A BEIR folder: corpus.jsonl and queries.jsonl.

The layout is BEIR's own (Thakur et al. 2021, https://github.com/beir-cellar/beir). Judgements are left out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from searchsim.errors import UsageError
from searchsim.importers.draft import Draft
from searchsim.importers.passage import add_passage, add_query

__all__ = ["import_beir"]


def import_beir(source: str, draft: Draft, *, language: str | None = None) -> None:
    """Tasks and documents of a BEIR folder.

    Args:
        source: The folder.
        draft: Where they go.
        language: Of queries and documents; ``en`` if not given.

    Raises:
        UsageError: The folder isn't BEIR's, or a line is at fault.
    """
    folder = Path(source)
    for name in ("corpus.jsonl", "queries.jsonl"):
        if not (folder / name).is_file():
            raise UsageError(f"{folder}: no BEIR folder: it has no {name}")
    collection = folder.resolve().name
    draft.facts |= {"title": f"BEIR: {collection}", "description": f"Queries and documents of BEIR's {collection}."}
    for place, record in draft.lines(folder / "queries.jsonl"):
        raw = _text(record, "_id", place)
        text = _text(record, "text", place)
        add_query(draft, place, raw, text, language)
    for place, record in draft.lines(folder / "corpus.jsonl"):
        raw = _text(record, "_id", place)
        metadata = record.get("metadata")
        add_passage(
            draft,
            place,
            raw=raw,
            title=_text(record, "title", place, optional=True),
            text=_text(record, "text", place, optional=True),
            url=record.get("url") or (metadata.get("url") if isinstance(metadata, dict) else None),
            collection=collection,
            family="beir",
            language=language,
        )


def _text(record: Any, field: str, place: str, *, optional: bool = False) -> str:
    value = record.get(field) if isinstance(record, dict) else None
    if isinstance(value, int) and field == "_id":
        return str(value)
    if optional and value is None:
        return ""
    if not isinstance(value, str) or (not optional and not value.strip()):
        what = "missing" if value in (None, "") else f"{str(value)[:60]!r} is no text"
        raise UsageError(f"{place}: {field}: {what}; BEIR's lines have _id, title, text (queries: _id, text)")
    return value
