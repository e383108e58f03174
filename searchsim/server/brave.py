"""Brave Search: ``/res/v1/web/search`` and ``/res/v1/news/search``, as its reference and recorded answers show them.

Descriptions are plain text: the tags and entities that ``text_decorations`` adds are left out.
"""

from __future__ import annotations

import re
from datetime import date
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web

from searchsim.documents import Document
from searchsim.server.context import CONTEXT, route, world_key
from searchsim.server.fields import Fields, RefusedError, answered, asked_world, between, drawn, json_answer
from searchsim.text import snippet
from searchsim.world import World

__all__ = ["HOSTS", "add_routes", "error", "shown_age"]

HOSTS = {"api.search.brave.com": "/brave"}
"""Where the API lives, and the paths' prefix here."""

_LONGEST_QUERY = 400
_MOST_WORDS = 50
_MOST = {"search": 20, "news": 50}
_LAST_PAGE = 9
_FRESH = {"pd": "qdr:d", "pw": "qdr:w", "pm": "qdr:d31", "py": "qdr:y"}
_CODES = {404: "NOT_FOUND", 422: "VALIDATION", 429: "RATE_LIMITED"}


def add_routes(app: web.Application) -> None:
    """Serve this dialect."""
    route(app, "GET", "/brave/res/v1/web/search", answered(_web, error))
    route(app, "GET", "/brave/res/v1/news/search", answered(_news, error))


def error(status: int, message: str, parameter: str | None = None) -> web.Response:
    """An error as Brave sends it: a bad key is a 422 too, and told from other bad input by its code."""
    told: dict[str, Any] = {
        "id": str(drawn("brave", "error", status, message, parameter)),
        "status": status,
        "code": _CODES.get(status, "INTERNAL" if status >= 500 else "INVALID_REQUEST"),
        "detail": message,
        "meta": {},
    }
    if status == 422 and parameter is None:
        told |= {"code": "SUBSCRIPTION_TOKEN_INVALID", "meta": {"component": "authentication"}}
    elif parameter is not None:
        kind = "missing" if message == "Field required" else "value_error"
        where = ["header" if parameter == "x-subscription-token" else "query", parameter]
        told["detail"] = "Unable to validate request parameter(s)"
        told["meta"] = {"errors": [{"type": kind, "loc": where, "msg": message}]}
    return json_answer({"type": "ErrorResponse", "error": told}, status)


def _world(request: web.Request) -> World:
    token = request.headers.get("X-Subscription-Token")
    world = asked_world(request, token)
    if world is None and world_key(request, token) is None:
        raise RefusedError(422, "Field required", "x-subscription-token")
    if world is None:
        raise RefusedError(422, "The provided subscription token is invalid.")
    return world


async def _web(request: web.Request) -> web.Response:
    return await _answer(request, "search")


async def _news(request: web.Request) -> web.Response:
    return await _answer(request, "news")


async def _answer(request: web.Request, endpoint: str) -> web.Response:
    context = request.app[CONTEXT]
    world = _world(request)
    fields = Fields(request.query, malformed=422, unusable=422)
    q = fields.query("q", _LONGEST_QUERY)
    if len(q.split()) > _MOST_WORDS:
        raise fields.unusable("q", f"q is too long. At most {_MOST_WORDS} words.")
    k = fields.whole("count", 20, 1, _MOST[endpoint])
    offset = fields.whole("offset", 0, 0, _LAST_PAGE)
    tbs = _fresh(fields)
    answer = await context.worlds.search(
        world, dialect="brave", endpoint=endpoint, text=q, tbs=tbs, k=k, page=offset + 1
    )
    context.note(world, (item.document for item in answer.items))
    today = context.worlds.corpus.today
    words = answer.query.words
    documents = [item.document for item in answer.items]
    if endpoint == "news":
        asked: dict[str, Any] = {"original": q, "spellcheck_off": False, "show_strict_warning": False}
        rows = [_news_row(d, words, today) for d in documents]
        return json_answer({"type": "news", "query": asked, "results": rows})
    return json_answer(
        {
            "query": _asked(q, request.query.get("country", ""), more=len(documents) >= k and offset < _LAST_PAGE),
            "mixed": {
                "type": "mixed",
                "main": [{"type": "web", "index": n, "all": False} for n in range(len(documents))],
                "top": [],
                "side": [],
            },
            "type": "search",
            "web": {
                "type": "search",
                "results": [_web_row(d, words, today) for d in documents],
                "family_friendly": True,
            },
        }
    )


def _fresh(fields: Fields) -> str:
    found = fields.value("freshness")
    if found is None:
        return ""
    if found in _FRESH:
        return _FRESH[found]
    days = re.fullmatch(r"(\d{4}-\d\d-\d\d)to(\d{4}-\d\d-\d\d)", found)
    try:
        low, high = map(date.fromisoformat, days.groups() if days else ())
    except ValueError as problem:
        raise fields.unusable("freshness", "Write pd, pw, pm, py, or YYYY-MM-DDtoYYYY-MM-DD.") from problem
    return between(low, high)


def _asked(q: str, country: str, more: bool) -> dict[str, Any]:
    return {
        "original": q,
        "show_strict_warning": False,
        "is_navigational": False,
        "is_news_breaking": False,
        "spellcheck_off": True,
        "country": country.lower() if re.fullmatch(r"[A-Za-z]{2,3}", country) else "us",
        "bad_results": False,
        "should_fallback": False,
        "postal_code": "",
        "city": "",
        "header_country": "",
        "more_results_available": more,
        "state": "",
    }


def _address(url: str) -> dict[str, str]:
    parts = urlsplit(url)
    host = parts.hostname or ""
    return {
        "scheme": parts.scheme,
        "netloc": host.removeprefix("www."),
        "hostname": host,
        "path": "› " + "  › ".join(step for step in parts.path.split("/") if step),
    }


def _dated(document: Document, today: date) -> dict[str, str]:
    if document.published is None:
        return {}
    return {
        "age": shown_age(document.published, today),
        "page_age": f"{document.published.isoformat()}T00:00:00",
    }


def _web_row(document: Document, words: tuple[str, ...], today: date) -> dict[str, Any]:
    return {
        "title": document.title,
        "url": document.url,
        "is_source_local": False,
        "is_source_both": False,
        "description": snippet(document, words),
        **_dated(document, today),
        "profile": {"name": document.source_name, "url": document.url, "long_name": document.host},
        "language": document.language,
        "family_friendly": True,
        "type": "search_result",
        "subtype": "generic",
        "is_live": False,
        "meta_url": _address(document.url),
    }


def _news_row(document: Document, words: tuple[str, ...], today: date) -> dict[str, Any]:
    return {
        "type": "news_result",
        "title": document.title,
        "url": document.url,
        "description": snippet(document, words),
        **_dated(document, today),
        "profile": {"name": document.source_name, "url": document.url, "long_name": document.host},
        "meta_url": _address(document.url),
    }


_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


def shown_age(published: date, today: date) -> str:
    """A page's age as results show it: days, then weeks ago within a month, else the day."""
    days = (today - published).days
    if 0 < days < 28:
        count, unit = (days, "day") if days < 7 else (days // 7, "week")
        return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return f"{_MONTHS[published.month - 1]} {published.day}, {published.year}"
