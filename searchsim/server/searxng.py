"""SearXNG: ``/searxng/search`` and ``/searxng/``, by query string or form, as JSON and as a plain HTML list.

Keys and errors are those of its source (searx/webapp.py, webutils.py, result_types). SearXNG has neither keys nor a
number of results: a world is named by prefix, header or bearer token, and a page has ten.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlparse

from aiohttp import web
from markupsafe import Markup

from searchsim.documents import Document
from searchsim.server.body import LONGEST_BODY, read_body
from searchsim.server.context import CONTEXT, route
from searchsim.server.fields import RefusedError, answered, json_answer, sound
from searchsim.server.lists import find_list, optional_world
from searchsim.text import snippet

__all__ = ["HOSTS", "add_routes", "error"]

HOSTS: dict[str, str] = {}
"""None: every instance has a host of its own, and clients have a setting for it."""

_NOINDEX = {"X-Robots-Tag": "noindex, nofollow, noarchive"}
_LONGEST_QUERY = 2048
_PAGE_LENGTH = 10
_ENGINE = "google"
_RANGES = {"day": "qdr:d", "week": "qdr:w", "month": "qdr:m", "year": "qdr:y"}
_OTHER_FORMATS = ("csv", "rss")
# Categories of what documents aren't: alone, they find nothing.
_OTHER_MEDIA = {"images", "videos", "music", "files", "map"}


def add_routes(app: web.Application) -> None:
    """Serve this dialect."""
    handler = answered(_search, error)
    for path in ("/searxng", "/searxng/", "/searxng/search"):
        for method in ("GET", "POST"):
            route(app, method, path, handler)


def error(status: int, message: str, parameter: str | None = None) -> web.Response:
    """An error as SearXNG sends it to clients that ask for JSON."""
    return json_answer({"error": message}, status)


async def _fields(request: web.Request) -> dict[str, str]:
    """The fields of query string and form; the form wins."""
    raw = await read_body(request, LONGEST_BODY) if request.method == "POST" else b""
    form = {}
    if request.content_type == "application/x-www-form-urlencoded":
        form = dict(parse_qsl(raw.decode("utf-8", "replace"), keep_blank_values=True))
    return {name: sound(value) for name, value in {**request.query, **form}.items()}


def _invalid(name: str, value: str) -> RefusedError:
    message = f"Invalid value {value[:100]} for parameter {name}" if value else f"Empty {name} parameter"
    return RefusedError(400, message, name)


def _page_number(fields: Mapping[str, str]) -> int:
    given = fields.get("pageno", "1")
    if not re.fullmatch(r"[0-9]{1,6}", given) or int(given) < 1:
        raise _invalid("pageno", given)
    return int(given)


def _tbs(fields: Mapping[str, str]) -> str:
    given = fields.get("time_range", "")
    if given in ("", "None"):
        return ""
    if given not in _RANGES:
        raise _invalid("time_range", given)
    return _RANGES[given]


def _categories(fields: Mapping[str, str]) -> set[str]:
    """The categories asked for; SearXNG has two ways to name them."""
    named = {c.strip().lower() for c in fields.get("categories", "").split(",")}
    named |= {n.removeprefix("category_") for n, v in fields.items() if n.startswith("category_") and v != "off"}
    return named - {""}


async def _search(request: web.Request) -> web.Response:
    fields = await _fields(request)
    form = fields.get("format", "html")
    if form in _OTHER_FORMATS:
        raise RefusedError(403, "Forbidden: this instance serves the formats html and json")
    as_json = form == "json"
    text = fields.get("q", "").strip()
    if not text:
        if as_json:
            raise RefusedError(400, "No query", "q")
        return _html("", Markup(""))
    if len(text) > _LONGEST_QUERY:
        raise RefusedError(400, f"The query is too long: at most {_LONGEST_QUERY} characters", "q")
    page, tbs, categories = _page_number(fields), _tbs(fields), _categories(fields)
    if not re.fullmatch(r"|auto|[a-z]{2,3}(-[a-zA-Z]{2})?", language := fields.get("language", "all")):
        raise _invalid("language", language)
    if (strictness := fields.get("safesearch", "0")) not in ("0", "1", "2"):
        raise _invalid("safesearch", strictness)
    world = optional_world(request, 403)
    documents: tuple[Document, ...] = ()
    words: tuple[str, ...] = ()
    if not categories or categories - _OTHER_MEDIA:
        documents, words = await find_list(
            request.app[CONTEXT],
            world,
            dialect="searxng",
            endpoint="news" if categories == {"news"} else "search",
            text=text,
            tbs=tbs,
            k=_PAGE_LENGTH,
            page=page,
        )
    if not as_json:
        return _html(text, Markup("\n").join(_shown(d, words) for d in documents))
    category = "news" if categories == {"news"} else "general"
    return json_answer(
        {
            "query": text,
            "number_of_results": len(documents),
            "results": [_row(d, words, n, category) for n, d in enumerate(documents, start=1)],
            "answers": [],
            "corrections": [],
            "infoboxes": [],
            "suggestions": [],
            "unresponsive_engines": [],
        }
    )


def _row(document: Document, words: tuple[str, ...], position: int, category: str) -> dict[str, Any]:
    published = f"{document.published.isoformat()}T00:00:00" if document.published else None
    return {
        "url": document.url,
        "engine": _ENGINE,
        "parsed_url": list(urlparse(document.url)),
        "template": "default.html",
        "title": document.title,
        "content": snippet(document, words),
        "img_src": "",
        "iframe_src": "",
        "audio_src": "",
        "thumbnail": "",
        "publishedDate": published,
        "pubdate": published.replace("T", " ") if published else "",
        "length": None,
        "views": "",
        "author": "",
        "metadata": "",
        "priority": "",
        "engines": [_ENGINE],
        "positions": [position],
        "score": 1 / position,
        "category": category,
    }


def _shown(document: Document, words: tuple[str, ...]) -> Markup:
    return Markup(
        '<article class="result result-default category-general">\n'
        '<a href="{url}" class="url_header" rel="noreferrer">{url}</a>\n'
        '<h3><a href="{url}" rel="noreferrer">{title}</a></h3>\n'
        '<p class="content">{content}</p>\n'
        "</article>"
    ).format(url=document.url, title=document.title, content=snippet(document, words))


def _html(text: str, results: Markup) -> web.Response:
    """A list for clients that read the page."""
    page = Markup(
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="robots" content="noindex, nofollow">\n<title>{title}SearXNG</title>\n</head>\n<body>\n'
        '<form id="search" method="get" action="search"><input name="q" value="{q}"></form>\n'
        '<div id="results"><div id="urls" role="main">\n{results}\n</div></div>\n</body>\n</html>\n'
    ).format(title=f"{text} - " if text else "", q=text, results=results)
    return web.Response(text=page, content_type="text/html", headers=_NOINDEX)
