"""Pages: every document's own URL, as HTML, text or JSON, and through the reader."""

from __future__ import annotations

from datetime import UTC, datetime, time
from email.utils import format_datetime

import orjson
from aiohttp import web

from searchsim.documents import Document
from searchsim.server.context import CONTEXT, bearer, route, world_key
from searchsim.server.page_html import document_html, missing_html
from searchsim.server.render import plain_text

__all__ = ["add_routes", "page_response"]

_FORMS = ("html", "text", "json")
_NOINDEX = {"X-Robots-Tag": "noindex, nofollow, noarchive"}
# A page needs nothing but itself: a browser that shows it asks no other host for anything.
_CLOSED = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:"}


def add_routes(app: web.Application) -> None:
    """Serve pages."""
    for method in ("GET", "HEAD"):
        route(app, method, "/page", _page)


class _UnknownKeyError(Exception):
    """A key was sent, and no world has it."""


async def _find(request: web.Request, url: str) -> Document | None:
    """The page at a URL; without a key only organic pages exist."""
    context = request.app[CONTEXT]
    key = world_key(request, request.headers.get("X-API-KEY"), bearer(request))
    world = context.worlds.find(key)
    if world is None and key is not None:
        raise _UnknownKeyError
    document = await context.worlds.page(world, url, dialect="page", record=request.method != "HEAD")
    if document is not None and world is not None:
        context.note(world, [document])
    return document


async def _page(request: web.Request) -> web.Response:
    url, form = request.query.get("url", ""), request.query.get("format", "html")
    if not url:
        return web.Response(text="Missing url: ask for /page?url=…\n", status=400)
    if form not in _FORMS:
        return web.Response(text=f"Unknown format: one of {', '.join(_FORMS)}\n", status=400)
    try:
        document = await _find(request, url)
    except _UnknownKeyError:
        return _refusal(403, "Forbidden", form)
    if form == "html":
        return page_response(document)
    if document is None:
        return _refusal(404, "Not Found", form)
    return _as_json(document) if form == "json" else _as_text(document)


def page_response(document: Document | None) -> web.Response:
    """A document as a page, or the page that says there is none."""
    if document is None:
        return web.Response(text=missing_html(), status=404, content_type="text/html", headers=_NOINDEX | _CLOSED)
    response = web.Response(text=document_html(document), content_type="text/html", headers=_headers(document))
    response.headers.update(_CLOSED)
    return response


def _headers(document: Document) -> dict[str, str]:
    headers = {**_NOINDEX, "Content-Language": document.language}
    if document.published:
        headers["Last-Modified"] = format_datetime(datetime.combine(document.published, time(), UTC), usegmt=True)
    return headers


def _as_json(document: Document) -> web.Response:
    answer = {
        "url": document.url,
        "title": document.title,
        "source": document.source_name,
        "published": document.published,
        "author": document.author or None,
        "language": document.language,
        "kind": document.kind,
        "text": plain_text(document.body),
    }
    return _json(answer, headers=_headers(document))


def _as_text(document: Document) -> web.Response:
    facts = {
        "Title": document.title,
        "URL": document.url,
        "Source": document.source_name,
        "Author": document.author,
        "Published": document.published,
    }
    head = "\n".join(f"{name}: {fact}" for name, fact in facts.items() if fact)
    return web.Response(text=f"{head}\n\n{plain_text(document.body)}\n", headers=_headers(document))


def _refusal(status: int, reason: str, form: str) -> web.Response:
    if form == "json":
        return _json({"error": {"message": reason}}, status=status, headers=_NOINDEX)
    return web.Response(text=f"{status} {reason}\n", status=status, headers=_NOINDEX)


def _json(answer: object, *, status: int = 200, headers: dict[str, str]) -> web.Response:
    body = orjson.dumps(answer)
    return web.Response(body=body, status=status, content_type="application/json", charset="utf-8", headers=headers)
