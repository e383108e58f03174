"""Fields under the names that other people give them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from searchsim.errors import UsageError

__all__ = ["DOCUMENT", "TASK", "day", "mapped"]

DOCUMENT: Mapping[str, Sequence[str]] = {
    "id": ("id", "_id", "docid"),
    "url": ("url", "link"),
    "title": ("title",),
    "body": ("body", "text", "contents", "content"),
    "published": ("published", "date"),
    "source_name": ("source_name", "source"),
    "kind": ("kind",),
    "language": ("language", "lang"),
    "author": ("author",),
    "snippet": ("snippet",),
}
"""What a document's fields may be called, the first that is filled wins."""

TASK: Mapping[str, Sequence[str]] = {
    "id": ("id", "_id"),
    "question": ("question", "query", "text", "prompt"),
    "language": ("language", "lang"),
    "topic": ("topic",),
    "sub_queries": ("sub_queries",),
}
"""What a task's fields may be called."""

_TIME = re.compile(r"(\d{4}-\d{2}-\d{2})[T ]\d{2}:\d{2}.*", re.DOTALL)


def mapped(record: object, place: str, fields: Mapping[str, Sequence[str]]) -> tuple[dict[str, Any], Mapping[str, str]]:
    """A record with our names, and what the source calls each field.

    Other fields are left out; an id that is a number becomes text.

    Raises:
        UsageError: The record is no object.
    """
    if not isinstance(record, dict):
        raise UsageError(f"{place}: not an object with fields such as {', '.join(n[0] for n in fields.values())}")
    found: dict[str, Any] = {}
    names: dict[str, str] = {}
    for ours, theirs in fields.items():
        name = next((n for n in theirs if record.get(n) not in (None, "")), None)
        if name is not None:
            found[ours], names[ours] = record[name], name
    if isinstance(found.get("id"), int) and not isinstance(found["id"], bool):
        found["id"] = str(found["id"])
    if "published" in found:
        found["published"] = day(found["published"])
    return found, names


def day(value: object) -> object:
    """The day of a time of day (``2024-03-01T10:00:00Z``); anything else as it is, for the schema to judge."""
    match = _TIME.fullmatch(value) if isinstance(value, str) else None
    return match[1] if match else value
