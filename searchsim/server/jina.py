"""Jina: the reader (``r.jina.ai``, under ``/jina``) and the search that reads its results (``s.jina.ai``, ``/sjina``).

As the reader's published source answers: text unless the client accepts none, else an event stream, else JSON; errors
as JSON for every client that takes it. What the live service would fetch from the web is looked up in the world.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import Any, Literal
from urllib.parse import parse_qs, unquote

import orjson
from aiohttp import web

from searchsim import tokens
from searchsim.documents import Document
from searchsim.server.body import LONGEST_BODY, read_body
from searchsim.server.context import CONTEXT, Context, route
from searchsim.server.fields import Fields, RefusedError, bound, json_answer, sound
from searchsim.server.lists import find_list, optional_world
from searchsim.server.page_html import document_html
from searchsim.server.render import plain_text
from searchsim.server.serper import shown_date
from searchsim.text import snippet
from searchsim.world import World

__all__ = ["HOSTS", "add_routes", "error"]

HOSTS = {"r.jina.ai": "/jina", "s.jina.ai": "/sjina"}

_NOINDEX = {"X-Robots-Tag": "noindex, nofollow, noarchive"}
_LONGEST_URL = 8192
_LONGEST_QUERY = 2048
_RESULTS = 5
_MOST_RESULTS = 20
_MOST_PAGES = 100
_TEN_RESULTS_COST = 10_000
_INDEX = {
    "usage1": "https://r.jina.ai/YOUR_URL",
    "usage2": "https://s.jina.ai/YOUR_SEARCH_QUERY",
    "homepage": "https://jina.ai/reader",
}
_ERRORS = {
    400: ("ParamValidationError", 40001),
    401: ("AuthenticationFailedError", 40102),
    402: ("InsufficientBalanceError", 40203),
    403: ("OperationNotAllowedError", 40301),
    404: ("RequestedEntityNotFoundError", 40403),
    405: ("ResourceMethodNotAllowedError", 40501),
    413: ("RequestPayloadTooLargeError", 41301),
    422: ("AssertionFailureError", 42206),
    429: ("RateLimitTriggeredError", 42903),
    503: ("ServiceCrashedError", 50302),
}
_OTHER = "InternalServerError"
Form = Literal["text", "events", "json"]


def add_routes(app: web.Application) -> None:
    """Serve this dialect."""
    for prefix, handler in (("/jina", _read), ("/sjina", _search)):
        # A HEAD delivers nothing; of a search it would use up a list all the same.
        for method in ("GET", "POST", "HEAD") if handler is _read else ("GET", "POST"):
            route(app, method, prefix, handler)
            route(app, method, f"{prefix}/", handler)
            route(app, method, f"{prefix}/{{asked:.+}}", handler)


def error(status: int, message: str, parameter: str | None = None) -> web.Response:
    """An error as Jina sends it."""
    name, extended = _ERRORS.get(status, (_OTHER, status * 100 + 1))
    facts = {
        "data": None,
        **({"path": parameter} if parameter else {}),
        "code": status,
        "name": name,
        "status": extended,
        "message": message,
        "readableMessage": _readable(status, message, parameter),
    }
    return _json(facts, status)


def _readable(status: int, message: str, parameter: str | None) -> str:
    name, _ = _ERRORS.get(status, (_OTHER, 0))
    return f"{name}({parameter}): {message}" if status == 400 and parameter else f"{name}: {message}"


def _json(answer: object, status: int = 200) -> web.Response:
    response = json_answer(answer, status)
    response.headers.update(_NOINDEX)
    return response


def _refused(request: web.Request, refusal: RefusedError) -> web.Response:
    """The error in the form that the client takes: JSON before text, unlike answers."""
    whole = error(refusal.status, str(refusal), refusal.parameter)
    if _accepts(request, "application/json"):
        return whole
    readable = _readable(refusal.status, str(refusal), refusal.parameter)
    if _accepts(request, "text/plain") or _accepts(request, "text/markdown"):
        return web.Response(text=f"{readable}\n", status=refusal.status, headers=_NOINDEX)
    return _event("error", readable, refusal.status) if _accepts(request, "text/event-stream") else whole


def _accepts(request: web.Request, kind: str) -> bool:
    """Whether a client takes a media type; one that says nothing takes all."""
    ranges: dict[str, bool] = {}
    for part in (request.headers.get("Accept") or "*/*").split(","):
        media, *parameters = (p.strip().lower() for p in part.split(";"))
        ranges[media] = not any(re.fullmatch(r"q=0(\.0*)?", p) for p in parameters)
    return next((ranges[r] for r in (kind, f"{kind.split('/')[0]}/*", "*/*") if r in ranges), False)


def _form(request: web.Request) -> Form:
    """How an answer is sent. axios's own ``Accept`` names JSON and text, and gets text, as it does from Jina."""
    if _accepts(request, "text/plain"):
        return "text"
    if _accepts(request, "text/event-stream"):
        return "events"
    return "json" if _accepts(request, "application/json") or _accepts(request, "text/json") else "text"


def _event(kind: str, data: object, status: int = 200) -> web.Response:
    """One event, the whole: a page here doesn't change while it is read."""
    text = f"event: {kind}\ndata: {orjson.dumps(data).decode()}\n\n"
    return web.Response(text=text, status=status, content_type="text/event-stream", headers=_NOINDEX)


def _send(request: web.Request, data: object, text: str, spent: int) -> web.Response:
    form = _form(request)
    if form == "events":
        return _event("data", data)
    if form == "json":
        answer = _json({"code": 200, "status": 20000, "data": data, "meta": {"usage": {"tokens": spent}}})
    else:
        answer = web.Response(text=text, content_type="text/plain", headers=_NOINDEX)
    answer.headers["X-Usage-Tokens"] = str(spent)
    return answer


def _index(request: web.Request) -> web.Response:
    if _form(request) == "json":
        return _json({"code": 200, "status": 20000, "data": _INDEX})
    return web.Response(text="[Usage 1] {usage1}\n[Usage 2] {usage2}\n[Homepage] {homepage}\n".format(**_INDEX))


def _rest(request: web.Request) -> str:
    """What follows the prefix, as it was sent, query string and all."""
    raw = sound(request.rel_url.raw_path_qs)
    if "world" in request.match_info:
        raw = "/" + raw.split("/", 3)[3]
    return re.sub(r"^/s?jina/?", "", raw, count=1)


async def _fields(request: web.Request) -> dict[str, Any]:
    """The fields of query string and body, the body winning; one that is given several times is a list."""
    raw = await read_body(request, LONGEST_BODY) if request.method == "POST" else b""
    given: dict[str, Any] = _single({name: request.query.getall(name) for name in request.query})
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError:
        if request.content_type != "application/x-www-form-urlencoded":
            return given
        body = _single(parse_qs(raw.decode("utf-8", "replace")))
    return {**given, **body} if isinstance(body, dict) else given


def _single(several: Mapping[str, list[str]]) -> dict[str, Any]:
    return {name: values[0] if len(values) == 1 else values for name, values in several.items()}


def _text(value: object) -> str:
    """A field's text, sound and stripped; the first of several."""
    if isinstance(value, list):
        value = value[0] if value else None
    return sound(str(value)).strip() if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def _mode(request: web.Request, given: Mapping[str, Any]) -> str:
    """What the client wants of a page, in lower case: ``html``, ``text``, ``markdown`` …, or several in one word."""
    headers = request.headers
    return (headers.get("X-Respond-With") or headers.get("X-Return-Format") or _text(given.get("respondWith"))).lower()


async def _read(request: web.Request) -> web.Response:
    try:
        rest = _rest(request)
        in_path = bool(rest) and not rest.startswith("?")
        # Behind a target in the path, the query string is the target's.
        given = await _fields(request) if request.method == "POST" or not in_path else {}
        spellings = [_text(given.get("url"))]
        if in_path:
            # Clients that encode the whole URL send no colon; those that encode only its special characters do.
            spellings = [rest, unquote(rest)] if ":/" in rest else [unquote(rest), rest]
        urls = list(dict.fromkeys(_mended(sound(spelling)) for spelling in spellings))
        if not urls[0]:
            if request.method == "POST":
                raise RefusedError(400, "No URL provided", "url")
            return _index(request)
        _check(urls[0])
        document = await _find(
            request.app[CONTEXT], optional_world(request, 401), urls, record=request.method != "HEAD"
        )
        if document is None:
            raise RefusedError(404, f"No page at {urls[0][:300]}", "url")
        page = _page(document, _mode(request, given))
        return _send(request, page, _page_text(page), page["usage"]["tokens"])
    except RefusedError as refusal:
        return _refused(request, refusal)


def _mended(url: str) -> str:
    """A target without what clients and proxies do to it: our own host, doubled schemes, a collapsed slash."""
    url = re.sub(r"^(?:https?:/+)?r\.jina\.ai/", "", url.strip(), flags=re.IGNORECASE)
    url = re.sub(r"^(?:https?:/+|view-source:)+(https?:/+)", r"\1", url, flags=re.IGNORECASE)
    return re.sub(r"^(https?):/+", r"\1://", url, flags=re.IGNORECASE)


def _check(url: str) -> None:
    if len(url) > _LONGEST_URL:
        raise RefusedError(400, f"the URL is too long: at most {_LONGEST_URL} characters", "url")
    scheme, sign, _ = url.partition("://")
    if sign and scheme.lower() not in ("http", "https") and re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*", scheme):
        raise RefusedError(400, f"Invalid protocol {scheme.lower()}:", "url")


async def _find(context: Context, world: World | None, urls: list[str], record: bool) -> Document | None:
    """The page at the first of these URLs that has one, put on record once."""
    url = urls[0]
    for other in urls if len(urls) > 1 else ():
        at = (await world.page(context.engine, other))[0] if world else await context.engine.document_at(other)
        if at is not None:
            url = other
            break
    document = await context.worlds.page(world, url, dialect="jina", record=record)
    if document is not None and world is not None:
        context.note(world, [document])
    return document


def _page(document: Document, mode: str) -> dict[str, Any]:
    """A page's facts. There are no screenshots: who asks for one gets the Markdown."""
    html, text = "html" in mode, "text" in mode
    # Every document has a description, cut by the one rule: an authored snippet would tell documents apart.
    page: dict[str, Any] = {"title": document.title, "description": snippet(document), "url": document.url}
    if not (html or text) or any(part in mode for part in ("markdown", "content", "shot")):
        page["content"] = document.body
    if document.published:
        page["publishedTime"] = document.published.isoformat()
    if html:
        page["html"] = document_html(document)
    if text:
        page["text"] = f"{document.title}\n\n{plain_text(document.body)}"
    page["usage"] = {"tokens": sum(tokens.count(page[part])[0] for part in ("content", "html", "text") if part in page)}
    return page


def _page_text(page: Mapping[str, Any]) -> str:
    if "content" not in page:
        return str(page.get("html") or page["text"])
    published = f"\n\nPublished Time: {page['publishedTime']}" if "publishedTime" in page else ""
    return f"Title: {page['title']}\n\nURL Source: {page['url']}{published}\n\nMarkdown Content:\n{page['content']}\n"


async def _search(request: web.Request) -> web.Response:
    context = request.app[CONTEXT]
    try:
        given = await _fields(request)
        asked = _text(given.get("q")) or sound(unquote(_rest(request).partition("?")[0])).strip()
        if not asked:
            if request.method == "POST":
                raise RefusedError(400, "No query provided", "q")
            return _index(request)
        fields = Fields(given)
        text = asked
        for operator in _operators(request, fields):
            text = bound(text, operator)
        if len(text) > _LONGEST_QUERY:
            raise RefusedError(400, f"the query is too long: at most {_LONGEST_QUERY} characters", "q")
        variant = fields.choice("type", ("web", "news", "images"), "web")
        k = fields.whole("num" if "num" in given else "count", _RESULTS, 1, _MOST_RESULTS)
        page = fields.whole("page", 1, 1, _MOST_PAGES)
        world = optional_world(request, 401)
        # Documents are no images: none is found, and nothing is served that would have to be on record.
        documents: tuple[Document, ...] = ()
        words: tuple[str, ...] = ()
        if variant != "images":
            endpoint = "news" if variant == "news" else "search"
            documents, words = await find_list(
                context, world, dialect="jina", endpoint=endpoint, text=text, k=k, page=page
            )
        if not documents:
            raise RefusedError(422, f"No search results available for query {text}")
        mode = _mode(request, given)
        if "no-content" not in mode and world is not None:
            # The bodies are delivered with the list: they are pages read, too.
            for document in documents:
                await context.worlds.page(world, document.url, dialect="jina")
        language = _text(given.get("hl"))
        rows = [_row(d, words, mode, context.worlds.corpus.today, language or d.language) for d in documents]
        spent = _charge(rows)
        return _send(request, rows, _rows_text(rows), spent)
    except RefusedError as refusal:
        return _refused(request, refusal)


def _operators(request: web.Request, fields: Fields) -> list[str]:
    """What ``site`` and its like, given as headers or fields, add to a query."""
    added = []
    for name in ("ext", "filetype", "intitle", "site"):
        header = request.headers.get(f"X-{name}")
        values = header.split(", ") if header else fields.texts(name, _MOST_RESULTS)
        quoted = [f'"{v}"' if " " in v else v for v in (sound(v).strip().replace('"', "") for v in values) if v]
        if either := " OR ".join(f"{name}:{v}" for v in quoted):
            added.append(either)
    return [f"({each})" for each in added] if len(added) > 1 else added


def _row(document: Document, words: tuple[str, ...], mode: str, today: date, language: str) -> dict[str, Any]:
    row: dict[str, Any] = {
        "title": document.title,
        "url": document.url,
        "description": snippet(document, words),
    }
    if document.published:
        row["date"] = shown_date(document.published, today, language)
    row["content"] = ""
    if "no-content" not in mode:
        row |= {name: fact for name, fact in _page(document, mode).items() if name not in row or name == "content"}
    return row


def _charge(rows: list[dict[str, Any]]) -> int:
    """What a list costs: its contents, or a flat price for each ten results where that is more."""
    contents = sum(int(row["usage"]["tokens"]) for row in rows if "usage" in row)
    flat = -(-len(rows) // 10) * _TEN_RESULTS_COST
    if flat >= contents:
        for row in rows:
            row["usage"] = {"tokens": -(-flat // len(rows))}
    return max(contents, flat)


def _rows_text(rows: list[dict[str, Any]]) -> str:
    labels = {
        "title": "Title",
        "url": "URL Source",
        "description": "Description",
        "publishedTime": "Published Time",
        "date": "Date",
    }
    shown = []
    for number, row in enumerate(rows, start=1):
        lines = [f"[{number}] {label}: {row[name]}" for name, label in labels.items() if name in row]
        body = row["content"] or row.get("text")
        shown.append("\n".join([*lines, f"\n{body}"] if body else lines))
    return "\n\n".join(shown).rstrip() + "\n"
