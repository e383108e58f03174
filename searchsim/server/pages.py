"""Pages: every document's own URL, as HTML and through the reader."""

from __future__ import annotations

from urllib.parse import parse_qsl, unquote

import orjson
from aiohttp import web

from searchsim.documents import Document
from searchsim.server.context import CONTEXT, bearer, route, world_key
from searchsim.server.render import template

__all__ = ["add_routes", "page_response"]

_NOINDEX = {"X-Robots-Tag": "noindex, nofollow, noarchive"}


def add_routes(app: web.Application) -> None:
    """Serve pages."""
    for method in ("GET", "HEAD"):
        route(app, method, "/page", _page)
        route(app, method, "/jina/{url:.+}", _reader)
    route(app, "POST", "/jina/", _reader)
    route(app, "POST", "/jina", _reader)


class _UnknownKeyError(Exception):
    """A key was sent, and no world has it."""


async def _find(request: web.Request, url: str, dialect: str, *keys: str | None) -> Document | None:
    """The page at a URL; without a key only organic pages exist."""
    context = request.app[CONTEXT]
    key = world_key(request, *keys)
    world = context.worlds.find(key)
    if world is None and key is not None:
        raise _UnknownKeyError
    document = await context.worlds.page(world, url, dialect=dialect)
    if document is not None and world is not None:
        context.note(world, [document])
    return document


async def _page(request: web.Request) -> web.Response:
    url = request.query.get("url", "")
    if not url:
        return web.Response(text="Missing url: ask for /page?url=…\n", status=400)
    try:
        document = await _find(request, url, "page", request.headers.get("X-API-KEY"), bearer(request))
    except _UnknownKeyError:
        return web.Response(text="403 Forbidden\n", status=403, headers=_NOINDEX)
    return page_response(document)


def page_response(document: Document | None) -> web.Response:
    """A document as a page, or 404."""
    if document is None:
        return web.Response(text="404 Not Found\n", status=404, headers=_NOINDEX)
    return web.Response(text=template("page.html", document=document), content_type="text/html", headers=_NOINDEX)


async def _asked(request: web.Request) -> str:
    """The reader's target: the rest of the path with its query, as it was sent, or ``url`` of a POST body."""
    if request.method != "POST":
        raw = str(request.rel_url.raw_path_qs)
        if "world" in request.match_info:
            raw = "/" + raw.split("/", 3)[3]
        target = raw.removeprefix("/jina/")
        return target if "://" in target else unquote(target)
    raw_body = await request.read()
    try:
        body = orjson.loads(raw_body)
    except orjson.JSONDecodeError:
        if request.content_type != "application/x-www-form-urlencoded":
            return ""
        body = dict(parse_qsl(raw_body.decode("utf-8", "replace")))
    url = body.get("url") if isinstance(body, dict) else None
    return url if isinstance(url, str) else ""


async def _reader(request: web.Request) -> web.Response:
    wants_json = "application/json" in request.headers.get("Accept", "")
    url = await _asked(request)
    if not url.strip():
        return _failure(400, "ParamValidationError", 'give a URL: /jina/URL, or POST {"url": …}', wants_json)
    try:
        document = await _find(request, url, "jina", bearer(request))
    except _UnknownKeyError:
        return _failure(401, "AuthenticationFailedError", "Invalid API key", wants_json)
    if document is None:
        return _failure(404, "NotFoundError", f"no page at {url[:300]}", wants_json)
    if request.headers.get("X-Return-Format", "").lower() == "html":
        return page_response(document)
    if wants_json:
        data = {
            "title": document.title,
            "description": document.snippet or "",
            "url": document.url,
            "content": document.body,
        }
        if document.published:
            data["publishedTime"] = document.published.isoformat()
        answer = {"code": 200, "status": 20000, "data": data}
        return web.Response(body=orjson.dumps(answer), content_type="application/json", headers=_NOINDEX)
    head = [f"Title: {document.title}", f"URL Source: {document.url}"]
    if document.published:
        head.append(f"Published Time: {document.published.isoformat()}")
    text = "\n\n".join([*head, f"Markdown Content:\n{document.body}"])
    return web.Response(text=f"{text}\n", content_type="text/plain", headers=_NOINDEX)


def _failure(status: int, name: str, message: str, wants_json: bool) -> web.Response:
    if wants_json:
        body = {"code": status, "name": name, "status": status * 100, "message": message, "data": None}
        return web.Response(body=orjson.dumps(body), status=status, content_type="application/json")
    return web.Response(text=f"{name}: {message}\n", status=status)
