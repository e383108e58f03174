"""Tavily: ``/search`` and ``/extract``, as its reference and tavily-python show them.

An answer is never written: ``answer`` and ``follow_up_questions`` stay null, ``images`` empty.
"""

from __future__ import annotations

from datetime import UTC, datetime, time
from email.utils import format_datetime
from typing import Any

from aiohttp import web

from searchsim.documents import Document
from searchsim.server.context import CONTEXT, bearer, route
from searchsim.server.fields import (
    Fields,
    RefusedError,
    answered,
    asked_world,
    body,
    drawn,
    json_answer,
    restricted,
)
from searchsim.server.render import plain_text
from searchsim.text import snippet
from searchsim.world import World

__all__ = ["HOSTS", "add_routes", "error"]

HOSTS = {"api.tavily.com": "/tavily"}
"""Where the API lives, and the paths' prefix here."""

_LONGEST_QUERY = 400
_MOST_RESULTS = 20
_MOST_URLS = 20
_TOPICS = ("general", "news", "finance")
_DEPTHS = ("basic", "advanced", "fast", "ultra-fast")
_RANGES = {"day": "d", "week": "w", "month": "m", "year": "y", "d": "d", "w": "w", "m": "m", "y": "y"}


def add_routes(app: web.Application) -> None:
    """Serve this dialect."""
    route(app, "POST", "/tavily/search", answered(_search, error))
    route(app, "POST", "/tavily/extract", answered(_extract, error))


def error(status: int, message: str, parameter: str | None = None) -> web.Response:
    """An error as Tavily sends it: what fails its schema is told as a list."""
    detail: object = {"error": message}
    if status == 422:
        detail = [{"type": "value_error", "loc": ["body", *filter(None, [parameter])], "msg": message}]
    return json_answer({"detail": detail}, status)


def _world(request: web.Request, given: dict[str, Any]) -> World:
    in_body = given.get("api_key")
    world = asked_world(request, bearer(request), in_body if isinstance(in_body, str) else None)
    if world is None:
        raise RefusedError(401, "Unauthorized: missing or invalid API key.")
    return world


async def _search(request: web.Request) -> web.Response:
    context = request.app[CONTEXT]
    given = await body(request)
    world = _world(request, given)
    fields = Fields(given, malformed=422)
    query = fields.query("query", _LONGEST_QUERY)
    k = fields.whole("max_results", 5, 0, _MOST_RESULTS)
    news = fields.choice("topic", _TOPICS, "general") == "news"
    fields.choice("search_depth", _DEPTHS)
    raw = _raw_format(fields)
    include = fields.domains("include_domains", 300)
    if fields.choice("include_domains_mode", ("restrict", "prefer")) == "prefer":
        include = []
    text = restricted(
        query,
        include=include,
        exclude=fields.domains("exclude_domains", 150),
        since=fields.moment("start_date"),
        until=fields.moment("end_date"),
    )
    tbs = _recent(fields, news)
    endpoint = "news" if news else "search"
    closing: dict[str, Any] = {"query": query, "follow_up_questions": None, "answer": None, "images": []}
    if k == 0:
        # A list of nothing is no list: it has no number, and can be none of a stage.
        return json_answer({**closing, "results": [], **_closing("search", endpoint, text, tbs, k)})
    answer = await context.worlds.search(world, dialect="tavily", endpoint=endpoint, text=text, tbs=tbs, k=k)
    context.note(world, (item.document for item in answer.items))
    results = []
    for position, item in enumerate(answer.items, start=1):
        document = item.document
        if raw:
            # The agent has its whole text now, as if it had opened it.
            await context.worlds.page(world, document.url, dialect="tavily")
        result: dict[str, Any] = {
            "title": document.title,
            "url": document.url,
            "content": snippet(document, answer.query.words),
            "score": _score(position),
            "raw_content": _raw(document, raw) if raw else None,
        }
        if news and document.published:
            published = datetime.combine(document.published, time.min, UTC)
            result["published_date"] = format_datetime(published, usegmt=True)
        results.append(result)
    return json_answer({**closing, "results": results, **_closing("search", endpoint, text, tbs, k)})


def _recent(fields: Fields, news: bool) -> str:
    """The time filter. ``days`` is for news alone, and has no default here: a corpus's news don't go stale."""
    if kind := fields.choice("time_range", _RANGES):
        return f"qdr:{_RANGES[kind]}"
    days = fields.whole("days", 0, 0, 9999)
    return f"qdr:d{days}" if days and news else ""


def _score(position: int) -> float:
    """A relevance that tells a result's position and nothing else of it."""
    return round(1 / (1 + 0.06 * position), 8)


def _raw_format(fields: Fields) -> str:
    """How bodies are wanted: ``markdown``, ``text``, or empty for not at all."""
    wanted = fields.value("include_raw_content")
    if isinstance(wanted, bool):
        return "markdown" if wanted else ""
    return fields.choice("include_raw_content", ("markdown", "text"))


def _raw(document: Document, kind: str) -> str:
    return plain_text(document.body) if kind == "text" else document.body


def _closing(*asked: object) -> dict[str, Any]:
    """The last fields of every answer; a time that a live answer might have taken."""
    id_ = drawn("tavily", *asked)
    return {"response_time": round(0.6 + id_.int % 120 / 100, 2), "request_id": str(id_)}


async def _extract(request: web.Request) -> web.Response:
    context = request.app[CONTEXT]
    given = await body(request)
    world = _world(request, given)
    fields = Fields(given, malformed=422)
    urls = fields.texts("urls", _MOST_URLS)
    if not urls:
        raise fields.malformed("urls", "Field required")
    kind = fields.choice("format", ("markdown", "text"), "markdown")
    results: list[dict[str, Any]] = []
    failed: list[dict[str, str]] = []
    for url in urls:
        document = await context.worlds.page(world, url, dialect="tavily")
        if document is None:
            failed.append({"url": url, "error": "Failed to fetch url"})
        else:
            context.note(world, [document])
            results.append({"url": url, "raw_content": _raw(document, kind), "images": []})
    return json_answer({"results": results, "failed_results": failed, **_closing("extract", kind, *urls)})
