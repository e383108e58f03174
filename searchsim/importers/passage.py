"""Documents of retrieval collections, which often lack a title, an address, or one of title and text."""

from __future__ import annotations

from searchsim.importers.draft import Draft
from searchsim.importers.identifier import made_url, safe_id

__all__ = ["add_passage", "add_query"]

_TITLE = 80


def add_passage(
    draft: Draft,
    place: str,
    *,
    raw: str,
    title: str,
    text: str,
    url: object,
    collection: str,
    family: str,
    language: str | None,
) -> None:
    """Add a document. What had to be made up is counted in the draft's notes.

    Args:
        draft: Where it goes.
        place: Where it comes from.
        raw: Its own id; made safe where need be.
        title: Where it is empty, the text's start stands for it.
        text: Where it is empty, the title stands for it; a document with neither is left out.
        url: Used where it is an address that no other document has, else one is made of collection and id.
        collection: The collection's name.
        family: What kind of collection, as in ``https://COLLECTION.FAMILY.invalid/doc/ID``.
        language: BCP 47, or None if unknown.

    Raises:
        UsageError: The id stands twice.
    """
    title, text = " ".join(title.split()), text.strip()
    if not title and not text:
        draft.notes["empty_left_out"] += 1
        return
    id_ = safe_id(raw)
    draft.notes["ids_changed"] += id_ != raw
    draft.notes["titles_made"] += not title
    draft.notes["texts_made"] += not text
    address = url if draft.takes(url) else made_url(collection, family, raw)
    draft.notes["urls_made"] += address != url
    record = {"id": id_, "url": address, "title": title or _start(text), "body": text or title, "language": language}
    draft.add("documents.jsonl", record, place)


def add_query(draft: Draft, place: str, raw: str, text: str, language: str | None) -> None:
    """Add a query as a task, in English unless said otherwise.

    Raises:
        UsageError: It is empty, or its id stands twice.
    """
    record = {"id": safe_id(raw), "question": " ".join(text.split()), "language": language or "en"}
    draft.add("tasks.jsonl", record, place)


def _start(text: str) -> str:
    line = " ".join(text[: 4 * _TITLE].split())
    if len(line) <= _TITLE:
        return line
    head = line[: _TITLE - 4]
    space = head.rfind(" ")
    return f"{head[:space] if space > _TITLE // 2 else head} ..."
