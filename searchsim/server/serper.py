"""Serper: ``/search``, ``/news``, ``/scrape``, ``/account``, as recorded answers and many clients show them.

POST with a JSON body, POST with everything in the query string, GET; one query or an array of them. Errors have
Serper's own shape.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import Any

import orjson
from aiohttp import web

from searchsim.documents import Document
from searchsim.injection import Item
from searchsim.server.context import CONTEXT, Context, route, world_key
from searchsim.server.render import plain_text
from searchsim.text import snippet
from searchsim.world import World

__all__ = ["add_routes", "error", "shown_date"]

ENDPOINTS = ("search", "news")
_ECHO = ("q", "gl", "hl", "location", "type", "num", "page", "tbs", "autocorrect", "engine")
_MOST = 100
_LONGEST_BODY = 1 << 20
_SCRAPE_CREDITS = 2
_START_BALANCE = 50_000
_RATE_LIMIT = 50


def add_routes(app: web.Application) -> None:
    """Serve this dialect."""
    for endpoint in ENDPOINTS:
        for method in ("GET", "POST"):
            route(app, method, f"/{endpoint}", _search)
    for method in ("GET", "POST"):
        route(app, method, "/scrape", _scrape)
    route(app, "GET", "/account", _account)


def error(status: int, message: str) -> web.Response:
    """An error as Serper sends it."""
    return _json({"message": message, "statusCode": status}, status)


def _json(answer: object, status: int = 200) -> web.Response:
    return web.Response(body=orjson.dumps(answer), status=status, content_type="application/json", charset="utf-8")


class _RefusedError(Exception):
    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


async def _parameters(request: web.Request) -> Any:
    """The request's fields, from body and query string; the body wins."""
    query = {k: v for k, v in request.query.items() if k not in ("apiKey", "api_key")}
    if (request.content_length or 0) > _LONGEST_BODY:
        raise _RefusedError(413, f"The request body is too large: at most {_LONGEST_BODY} bytes")
    raw = await request.read() if request.method == "POST" else b""
    if len(raw) > _LONGEST_BODY:
        raise _RefusedError(413, f"The request body is too large: at most {_LONGEST_BODY} bytes")
    if not raw.strip():
        return query
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError as problem:
        raise _RefusedError(400, f"Invalid JSON in the request body: {problem}") from problem
    if isinstance(body, list):
        return body
    if not isinstance(body, dict):
        raise _RefusedError(400, "The request body must be an object, or an array of objects")
    return {**query, **body}


def _world(request: web.Request) -> World:
    context = request.app[CONTEXT]
    key = world_key(
        request, request.headers.get("X-API-KEY"), request.query.get("apiKey"), request.query.get("api_key")
    )
    world = context.worlds.find(key)
    if world is None:
        raise _RefusedError(403, "Unauthorized.")
    return world


def _whole(fields: Mapping[str, Any], name: str, default: int, least: int, most: int) -> int:
    """A number that clients also send as a string."""
    value = fields.get(name)
    if value is None or value == "":
        return default
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    digits = "" if isinstance(value, bool) else str(value).strip()
    number = int(digits) if re.fullmatch(r"[0-9]{1,6}", digits) else -1
    if number < least:
        raise _RefusedError(400, f"Invalid {name}: give a whole number from {least} to {most}")
    return min(number, most)


async def _search(request: web.Request) -> web.Response:
    context = request.app[CONTEXT]
    try:
        world = _world(request)
        fields = await _parameters(request)
        endpoint = request.path.rsplit("/", 1)[-1]
        if isinstance(fields, list):
            if not 1 <= len(fields) <= _MOST:
                raise _RefusedError(400, f"A batch has 1 to {_MOST} queries")
            # All are checked before any is served, so that a bad batch leaves no trace of half of it.
            checked = [_checked(one) for one in fields]
            return _json([await _answer(context, world, endpoint, one) for one in checked])
        return _json(await _answer(context, world, endpoint, _checked(fields)))
    except _RefusedError as refusal:
        return error(refusal.status, str(refusal))


def _checked(fields: object) -> Mapping[str, Any]:
    if not isinstance(fields, dict):
        raise _RefusedError(400, "A query must be an object")
    q = fields.get("q")
    if not isinstance(q, str | int | float) or isinstance(q, bool) or not str(q).strip():
        raise _RefusedError(400, "Missing query parameter")
    if len(str(q)) > 2048:
        raise _RefusedError(400, "The query is too long: at most 2048 characters")
    if fields.get("type") not in (None, "", *ENDPOINTS):
        raise _RefusedError(400, f"Unknown type: one of {', '.join(ENDPOINTS)}")
    _whole(fields, "num", 10, 1, _MOST)
    _whole(fields, "page", 1, 1, _MOST)
    return fields


async def _answer(context: Context, world: World, path: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    kind = fields.get("type")
    endpoint = kind if path == "search" and kind in ENDPOINTS else path
    k = _whole(fields, "num", 10, 1, _MOST)
    page = _whole(fields, "page", 1, 1, _MOST)
    text, tbs = str(fields["q"]), str(fields.get("tbs") or "")
    answer = await context.worlds.search(world, dialect="serper", endpoint=endpoint, text=text, tbs=tbs, k=k, page=page)
    context.note(world, (item.document for item in answer.items))
    words = answer.query.words
    language = str(fields.get("hl") or "")
    today = context.worlds.corpus.today
    rows = [_row(endpoint, n, i, words, language, today) for n, i in enumerate(answer.items, start=1)]
    return {
        "searchParameters": _echo(fields, endpoint),
        "organic" if endpoint == "search" else endpoint: rows,
        "credits": _credits(k),
    }


def _credits(k: int) -> int:
    return 2 if k > 10 else 1


def _echo(fields: Mapping[str, Any], endpoint: str) -> dict[str, Any]:
    """What was sent, in Serper's order, with numbers as numbers, and type and engine always."""
    sent: dict[str, Any] = {**fields, "type": endpoint, "engine": "google"}
    for name in ("num", "page"):
        if sent.get(name) not in (None, ""):
            sent[name] = int(float(sent[name]))
    plain = {name: sent.get(name) for name in _ECHO}
    return {n: v for n, v in plain.items() if isinstance(v, str | int | float) and v != ""}


def _row(
    endpoint: str, position: int, item: Item, words: tuple[str, ...], language: str, today: date
) -> dict[str, Any]:
    document = item.document
    row: dict[str, Any] = {
        "title": document.title,
        "link": document.url,
        "snippet": snippet(document, words),
    }
    if document.published:
        row["date"] = shown_date(document.published, today, language or document.language)
    if endpoint == "news":
        row["source"] = document.source_name
    row["position"] = position
    return row


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def shown_date(published: date, today: date, language: str) -> str:
    """A date as results show it: days ago within a week, else the day, in the reader's language."""
    chinese = language.lower().startswith("zh")
    days = (today - published).days
    if 0 < days <= 7:
        return f"{days}天前" if chinese else f"{days} day{'s' if days > 1 else ''} ago"
    if chinese:
        return f"{published.year}年{published.month}月{published.day}日"
    return f"{_MONTHS[published.month - 1]} {published.day}, {published.year}"


async def _scrape(request: web.Request) -> web.Response:
    context = request.app[CONTEXT]
    try:
        world = _world(request)
        fields = await _parameters(request)
        if not isinstance(fields, dict) or not isinstance(fields.get("url"), str) or not fields["url"].strip():
            raise _RefusedError(400, "Missing url parameter")
        document = await context.worlds.page(world, fields["url"], dialect="serper")
        if document is None:
            raise _RefusedError(400, f"Could not scrape {fields['url'][:300]}")
        context.note(world, [document])
        return _json(_scraped(document, str(fields.get("includeMarkdown", "")).lower() in ("true", "1")))
    except _RefusedError as refusal:
        return error(refusal.status, str(refusal))


def _scraped(document: Document, markdown: bool) -> dict[str, Any]:
    answer: dict[str, Any] = {"text": f"{document.title}\n\n{plain_text(document.body)}"}
    if markdown:
        answer["markdown"] = f"# {document.title}\n\n{document.body}"
    metadata = {"title": document.title, "og:site_name": document.source_name, "og:url": document.url}
    if document.published:
        metadata["article:published_time"] = document.published.isoformat()
    return {**answer, "metadata": metadata, "credits": _SCRAPE_CREDITS}


async def _account(request: web.Request) -> web.Response:
    context = request.app[CONTEXT]
    try:
        world = _world(request)
    except _RefusedError as refusal:
        return error(refusal.status, str(refusal))
    spent = 0
    for event in context.worlds.events(world.key):
        if event["event"] == "search" and event["dialect"] == "serper":
            spent += _credits(event["k"])
        elif event["event"] == "page" and event["dialect"] == "serper" and event["found"]:
            spent += _SCRAPE_CREDITS
    return _json({"balance": max(_START_BALANCE - spent, 0), "rateLimit": _RATE_LIMIT})
