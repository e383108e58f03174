"""Exa: ``/search`` and ``/contents``, as its reference and exa-py show them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
from searchsim.text import snippet
from searchsim.world import World

__all__ = ["HOSTS", "add_routes", "error"]

HOSTS = {"api.exa.ai": "/exa"}
"""Where the API lives, and the paths' prefix here."""

_LONGEST_QUERY = 2048
_MOST = 100
_LONGEST_TEXT = 1_000_000
_TYPES = (
    "auto",
    "neural",
    "keyword",
    "hybrid",
    "fast",
    "instant",
    "lite",
    "deep",
    "deep-lite",
    "deep-reasoning",
)
_TAGS = {400: "INVALID_REQUEST_BODY", 401: "INVALID_API_KEY", 500: "INTERNAL_ERROR"}
_SEARCH_DOLLARS, _CONTENT_DOLLARS = 0.005, 0.001


def add_routes(app: web.Application) -> None:
    """Serve this dialect."""
    route(app, "POST", "/exa/search", answered(_search, error))
    route(app, "POST", "/exa/contents", answered(_contents, error))


def error(status: int, message: str, parameter: str | None = None) -> web.Response:
    """An error as Exa sends it."""
    if parameter:
        message = f'Invalid request body | Validation error: {message} at "{parameter}"'
    id_ = drawn("exa", "error", status, message).hex
    return json_answer({"requestId": id_, "error": message, "tag": _TAGS.get(status, "DEFAULT_ERROR")}, status)


def _world(request: web.Request) -> World:
    world = asked_world(request, request.headers.get("x-api-key"), bearer(request))
    if world is None:
        raise RefusedError(401, "Invalid API key")
    return world


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What of a page goes into an answer.

    Attributes:
        text: Characters of its text; 0 for none.
        highlights: The passage that stands for it, as a list.
        summary: The same, as one text: nothing here writes summaries.
    """

    text: int = 0
    highlights: bool = False
    summary: bool = False

    @classmethod
    def of(cls, options: Mapping[str, Any], where: str = "") -> _Wanted:
        """What some options ask for."""
        fields = Fields(options)
        asked: dict[str, Any] = {}
        for name in ("text", "highlights", "summary"):
            option = fields.value(name)
            if not isinstance(option, bool | dict | None):
                raise fields.malformed(f"{where}{name}", "Invalid input: expected boolean or object")
            asked[name] = option is not None and option is not False
            if name == "text" and asked[name]:
                limits = Fields(option if isinstance(option, dict) else {})
                asked[name] = limits.whole("maxCharacters", _LONGEST_TEXT, 1, _LONGEST_TEXT)
        return cls(**asked)

    def parts(self, document: Document, words: tuple[str, ...], score: float | None = None) -> dict[str, Any]:
        """These parts of a document."""
        shown: dict[str, Any] = {}
        if self.text:
            shown["text"] = document.body[: self.text]
        if self.highlights:
            shown["highlights"] = [snippet(document, words)]
            if score is not None:
                shown["highlightScores"] = [score]
        if self.summary:
            shown["summary"] = snippet(document, words)
        return shown


def _page(document: Document) -> dict[str, Any]:
    published = f"{document.published.isoformat()}T00:00:00.000Z" if document.published else None
    return {
        "id": document.url,
        "title": document.title,
        "url": document.url,
        "publishedDate": published,
        "author": document.author or None,
    }


async def _search(request: web.Request) -> web.Response:
    context = request.app[CONTEXT]
    world = _world(request)
    given = await body(request)
    fields = Fields(given)
    query = fields.query("query", _LONGEST_QUERY)
    k = fields.whole("numResults", 10, 1, _MOST)
    kind = fields.choice("type", _TYPES, "auto")
    category = fields.value("category")
    if not isinstance(category, str | None):
        raise fields.malformed("category", "Invalid input: expected string")
    contents = fields.value("contents")
    if not isinstance(contents, bool | dict | None):
        raise fields.malformed("contents", "Invalid input: expected object")
    wanted = _Wanted.of(contents if isinstance(contents, dict) else {"text": contents}, "contents.")
    text = restricted(
        query,
        include=fields.domains("includeDomains", 1200),
        exclude=fields.domains("excludeDomains", 1200),
        since=fields.moment("startPublishedDate"),
        until=fields.moment("endPublishedDate"),
    )
    endpoint = "news" if category == "news" else "search"
    answer = await context.worlds.search(world, dialect="exa", endpoint=endpoint, text=text, k=k)
    context.note(world, (item.document for item in answer.items))
    results = []
    for position, item in enumerate(answer.items, start=1):
        score = _score(position)
        if wanted.text >= len(item.document.body):
            # The agent has its whole text now, as if it had opened it.
            await context.worlds.page(world, item.document.url, dialect="exa")
        parts = wanted.parts(item.document, answer.query.words, score)
        results.append({**_page(item.document), "score": score, **parts})
    used = kind if kind in ("keyword", "deep") else "neural"
    return json_answer(
        {
            "requestId": drawn("exa", "search", endpoint, text, k, kind).hex,
            "resolvedSearchType": used,
            "results": results,
            "searchType": used,
            "costDollars": _cost(wanted, len(results), search=used),
        }
    )


def _score(position: int) -> float:
    """A relevance that tells a result's position and nothing else of it."""
    return round(0.4 / (1 + 0.04 * position), 8)


def _cost(wanted: _Wanted, pages: int, search: str = "") -> dict[str, Any]:
    parts = {"text": wanted.text, "highlights": wanted.highlights, "summary": wanted.summary}
    contents = {name: round(_CONTENT_DOLLARS * pages, 6) for name, asked in parts.items() if asked}
    cost: dict[str, Any] = {"total": round(sum(contents.values()) + (_SEARCH_DOLLARS if search else 0), 6)}
    if search:
        cost["search"] = {search: _SEARCH_DOLLARS}
    if contents:
        cost["contents"] = contents
    return cost


async def _contents(request: web.Request) -> web.Response:
    context = request.app[CONTEXT]
    world = _world(request)
    given = await body(request)
    fields = Fields(given)
    name = "urls" if fields.value("urls") is not None else "ids"
    urls = fields.texts(name, _MOST)
    if not urls:
        raise fields.malformed("urls", "Invalid input: expected array")
    wanted = _Wanted.of(given)
    if wanted == _Wanted() and fields.value("text") is None:
        wanted = _Wanted(text=_LONGEST_TEXT)
    results: list[dict[str, Any]] = []
    statuses: list[dict[str, Any]] = []
    for url in urls:
        document = await context.worlds.page(world, url, dialect="exa")
        if document is None:
            missing = {"tag": "CRAWL_NOT_FOUND", "httpStatusCode": 404}
            statuses.append({"id": url, "status": "error", "error": missing})
        else:
            context.note(world, [document])
            results.append({**_page(document), **wanted.parts(document, ())})
            statuses.append({"id": url, "status": "success", "source": "cached"})
    return json_answer(
        {
            "requestId": drawn("exa", "contents", *urls).hex,
            "results": results,
            "statuses": statuses,
            "costDollars": _cost(wanted, len(results)),
        }
    )
