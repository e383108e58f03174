"""The record of everything served and sent: what an event is.

Events are plain JSON objects, appended and never changed. Each has ``event`` and ``at`` (ISO 8601, UTC):

    search   dialect, endpoint, query, tbs, page, k, list, mode, served, displaced, cut
    page     url, document, injected, found, dialect
    model    kind, model, usage, delivered, parts, ambiguous, settings, messages, answer, and how it was asked for
    embedding  model, usage, input, and how it was asked for: request, occurrence, origin, lists, exposed
    fault    planned, where, status, message
    refused  host, url
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from searchsim.documents import Document
from searchsim.injection import Item

__all__ = ["Event", "embedding", "fault", "model", "page", "refused", "search"]

Event = dict[str, Any]


def _event(kind: str, /, **facts: Any) -> Event:
    return {"event": kind, "at": datetime.now(UTC).isoformat(timespec="milliseconds"), **facts}


def served(items: Sequence[Item], first: int = 1) -> list[dict[str, Any]]:
    """The served results as a trace tells them, positions counted from `first`."""
    return [
        {"position": n, "document": i.document.id, "url": i.document.url, "injected": i.injected}
        for n, i in enumerate(items, start=first)
    ]


def search(
    *,
    dialect: str,
    endpoint: str,
    query: str,
    tbs: str,
    page: int,
    k: int,
    number: int,
    mode: str,
    items: Sequence[Item],
    displaced: Sequence[Document],
    cut: Sequence[Document],
) -> Event:
    """A list was served.

    Args:
        dialect: The API that was spoken.
        endpoint: The vertical, e.g. ``search``, ``news``.
        query: The client's text.
        tbs: Its time filter.
        page: From 1.
        k: The length asked for.
        number: The list's number in the world.
        mode: How the list took pool documents.
        items: What was served.
        displaced: Organic documents that the injected ones pushed out.
        cut: Documents that should have been there and found no room.
    """
    return _event(
        "search",
        dialect=dialect,
        endpoint=endpoint,
        query=query,
        tbs=tbs,
        page=page,
        k=k,
        list=number,
        mode=mode,
        served=served(items),
        displaced=[d.id for d in displaced],
        cut=[d.id for d in cut],
    )


def page(*, dialect: str, url: str, document: str | None, injected: bool) -> Event:
    """A page was asked for."""
    return _event("page", dialect=dialect, url=url, document=document, injected=injected, found=document is not None)


def model(
    *,
    kind: str,
    model: str,
    usage: Mapping[str, int],
    delivered: Sequence[str],
    parts: Mapping[str, Sequence[str]],
    ambiguous: Sequence[str],
    settings: Mapping[str, Any],
    messages: Sequence[Mapping[str, Any]],
    answer: str,
    asked: Mapping[str, Any],
) -> Event:
    """A model answered.

    Args:
        kind: ``chat`` or ``completions``.
        model: The upstream's model.
        usage: prompt_tokens, completion_tokens, total_tokens.
        delivered: Ids of the served documents found in the prompt.
        parts: Which parts of each were found: link, title, source, snippet, body.
        ambiguous: Ids of documents whose only matches stand in other documents too.
        settings: What the gateway forced, e.g. temperature and seed.
        messages: The prompt as the upstream got it.
        answer: The text that came back.
        asked: How it was asked for: request (the hash of the normalised one, see `searchsim.replay`), occurrence,
            origin (``live``, or ``replayed`` where the answer was recorded before), lists (how many the world had
            served by then), exposed (whether anything injected was among what it had served).
    """
    return _event(
        "model",
        kind=kind,
        model=model,
        usage=dict(usage),
        delivered=list(delivered),
        parts={k: list(v) for k, v in parts.items()},
        ambiguous=list(ambiguous),
        settings=dict(settings),
        messages=[dict(m) for m in messages],
        answer=answer,
        **asked,
    )


def embedding(*, model: str, usage: Mapping[str, int], given: object, asked: Mapping[str, Any]) -> Event:
    """Texts were embedded. No model reads them, so that this delivers nothing.

    Args:
        model: What embedded them.
        usage: As of `model`; empty where it isn't told.
        given: The texts, or their token ids.
        asked: As of `model`.
    """
    return _event("embedding", model=model, usage=dict(usage), input=given, **asked)


def fault(*, where: str, status: int, message: str, planned: bool = False) -> Event:
    """Something failed, as planned or not."""
    return _event("fault", planned=planned, where=where, status=status, message=message)


def refused(*, host: str, url: str) -> Event:
    """A request to somewhere else was refused."""
    return _event("refused", host=host, url=url)
