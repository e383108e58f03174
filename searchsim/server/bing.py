"""Bing Web and News Search v7: ``/v7.0/search`` and ``/v7.0/news/search``, as recorded answers show them.

The service was retired in August 2025; agents still speak it, to Azure's successors and to mocks.
"""

from __future__ import annotations

import re
from datetime import date
from typing import Any
from urllib.parse import quote_plus

from aiohttp import web

from searchsim.documents import Document
from searchsim.server.context import CONTEXT, route
from searchsim.server.fields import Fields, RefusedError, answered, asked_world, between, drawn, json_answer
from searchsim.server.serper import shown_date
from searchsim.text import snippet
from searchsim.world import World

__all__ = ["HOSTS", "add_routes", "error"]

HOSTS = {"api.bing.microsoft.com": "/bing"}
"""Where the API lives, and the paths' prefix here."""

_LONGEST_QUERY = 2048
_MOST = {"search": 50, "news": 100}
_LAST_PAGE = 100
_FRESH = {"day": "qdr:d", "week": "qdr:w", "month": "qdr:m"}
_API = "https://api.bing.microsoft.com/api/v7"


def add_routes(app: web.Application) -> None:
    """Serve this dialect."""
    route(app, "GET", "/bing/v7.0/search", answered(_web, error))
    route(app, "GET", "/bing/v7.0/news/search", answered(_news, error))


def error(status: int, message: str, parameter: str | None = None) -> web.Response:
    """An error as Bing sends it; what isn't about the search comes from the gateway before it, in another shape."""
    if status != 400 and status < 500:
        return json_answer({"error": {"code": str(status), "message": message}}, status)
    told = {"code": "ServerError", "subCode": "UnexpectedError", "message": message}
    if status == 400 and parameter is None:
        told |= {"code": "InvalidRequest", "subCode": "Blocked"}
    elif status == 400 and message == "Field required":
        told |= {"code": "InvalidRequest", "subCode": "ParameterMissing", "message": "Required parameter is missing."}
    elif status == 400:
        told |= {"code": "InvalidRequest", "subCode": "ParameterInvalidValue"}
    if parameter is not None:
        told["parameter"] = parameter
    return json_answer({"_type": "ErrorResponse", "errors": [told]}, status)


def _world(request: web.Request) -> World:
    world = asked_world(request, request.headers.get("Ocp-Apim-Subscription-Key"))
    if world is None:
        raise RefusedError(
            401,
            "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for "
            "an active subscription and use a correct regional API endpoint for your resource.",
        )
    return world


async def _web(request: web.Request) -> web.Response:
    return await _answer(request, "search")


async def _news(request: web.Request) -> web.Response:
    return await _answer(request, "news")


async def _answer(request: web.Request, endpoint: str) -> web.Response:
    context = request.app[CONTEXT]
    world = _world(request)
    fields = Fields(request.query)
    q = fields.query("q", _LONGEST_QUERY)
    # To ask for more than it has to give is no error.
    k = min(fields.whole("count", 10, 1, 999_999), _MOST[endpoint])
    # An offset counts results and lists have pages, so it is taken back to the start of its page.
    page = min(1 + fields.whole("offset", 0, 0, 999_999) // k, _LAST_PAGE)
    tbs = _fresh(fields)
    answer = await context.worlds.search(world, dialect="bing", endpoint=endpoint, text=q, tbs=tbs, k=k, page=page)
    context.note(world, (item.document for item in answer.items))
    today = context.worlds.corpus.today
    words = answer.query.words
    documents = [item.document for item in answer.items]
    total = _estimated(q, tbs, (page - 1) * k + len(documents)) if documents else 0
    if endpoint == "news":
        return json_answer(_news_answer(q, total, [_article(d, words) for d in documents]))
    ids = [f"{_API}/#WebPages.{n}" for n in range(len(documents))]
    ranked = [{"answerType": "WebPages", "resultIndex": n, "value": {"id": id_}} for n, id_ in enumerate(ids)]
    return json_answer(
        {
            "_type": "SearchResponse",
            "queryContext": {"originalQuery": q},
            "webPages": {
                "webSearchUrl": f"https://www.bing.com/search?q={quote_plus(q)}",
                "totalEstimatedMatches": total,
                "value": [_page(id_, d, words, today) for id_, d in zip(ids, documents, strict=True)],
            },
            "rankingResponse": {"mainline": {"items": ranked}},
        }
    )


def _fresh(fields: Fields) -> str:
    found = fields.value("freshness")
    if found is None:
        return ""
    if known := _FRESH.get(found.lower()):
        return known
    days = re.fullmatch(r"(\d{4}-\d\d-\d\d)(?:\.\.(\d{4}-\d\d-\d\d))?", found)
    try:
        low, high = map(date.fromisoformat, (days[1], days[2] or days[1]) if days else ())
    except ValueError as problem:
        wanted = "Write Day, Week, Month, YYYY-MM-DD, or YYYY-MM-DD..YYYY-MM-DD."
        raise fields.unusable("freshness", wanted) from problem
    return between(low, high)


def _estimated(q: str, tbs: str, least: int) -> int:
    """A number of matches as the web might have: of the query alone, so that it tells nothing of corpus or world."""
    id_ = drawn("bing", "total", q, tbs).int
    return max((10 + id_ % 990) * (100, 1_000, 10_000, 100_000)[id_ // 990 % 4], least)


def _page(id_: str, document: Document, words: tuple[str, ...], today: date) -> dict[str, Any]:
    row: dict[str, Any] = {"id": id_, "name": document.title, "url": document.url}
    if document.published:
        row["datePublished"] = f"{document.published.isoformat()}T00:00:00.0000000"
        row["datePublishedDisplayText"] = shown_date(document.published, today, "en")
    return {
        **row,
        "isFamilyFriendly": True,
        "displayUrl": document.url.rstrip("/"),
        "snippet": snippet(document, words),
        "dateLastCrawled": f"{today.isoformat()}T00:00:00.0000000Z",
        "language": document.language,
        "isNavigational": False,
        "noCache": False,
    }


def _article(document: Document, words: tuple[str, ...]) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": document.title,
        "url": document.url,
        "description": snippet(document, words),
        "provider": [{"_type": "Organization", "name": document.source_name}],
    }
    if document.published:
        row["datePublished"] = f"{document.published.isoformat()}T00:00:00.0000000Z"
    return row


def _news_answer(q: str, total: int, articles: list[dict[str, Any]]) -> dict[str, Any]:
    link = f"{_API}/news/search?q={quote_plus(q)}"
    return {
        "_type": "News",
        "readLink": link,
        "queryContext": {"originalQuery": q, "adultIntent": False},
        "totalEstimatedMatches": total,
        "sort": [
            {"name": "Best match", "id": "relevance", "isSelected": True, "url": link},
            {"name": "Most recent", "id": "date", "isSelected": False, "url": f"{link}&sortby=date"},
        ],
        "value": articles,
    }
