"""What the MCP tools ask for: ``/mcp/search`` and ``/mcp/read_page``; the tools' own process is `mcp_tools`."""

from __future__ import annotations

from aiohttp import web

from searchsim.documents import Document
from searchsim.server.context import CONTEXT, bearer, route
from searchsim.server.fields import Fields, RefusedError, answered, asked_world, body, json_answer, sound
from searchsim.server.serper import shown_date
from searchsim.text import snippet
from searchsim.world import World

__all__ = ["HOSTS", "MOST_RESULTS", "add_routes", "error"]

HOSTS: dict[str, str] = {}
"""None: an agent's configuration starts the tools, no host stands for them."""

MOST_RESULTS = 100
_LONGEST_QUERY = 2048
_LONGEST_URL = 8192


def add_routes(app: web.Application) -> None:
    """Serve what the tools ask."""
    route(app, "POST", "/mcp/search", answered(_search, error))
    route(app, "POST", "/mcp/read_page", answered(_read_page, error))


def error(status: int, message: str, parameter: str | None = None) -> web.Response:
    """An error, as the tools tell it."""
    return json_answer({"error": f"{parameter}: {message}" if parameter else message}, status)


def _world(request: web.Request) -> World:
    world = asked_world(request, bearer(request))
    if world is None:
        raise RefusedError(403, "Unauthorized.")
    return world


def _text(fields: Fields, name: str, longest: int) -> str:
    value = fields.value(name)
    if not isinstance(value, str) or not value.strip():
        raise RefusedError(400, "give a text that isn't empty", name)
    if len(value) > longest:
        raise RefusedError(400, f"at most {longest} characters", name)
    return sound(value)


async def _search(request: web.Request) -> web.Response:
    context = request.app[CONTEXT]
    world = _world(request)
    fields = Fields(await body(request))
    text = _text(fields, "query", _LONGEST_QUERY)
    k = fields.whole("num", 10, 1, MOST_RESULTS)
    answer = await context.worlds.search(world, dialect="mcp", endpoint="search", text=text, k=k)
    documents = [item.document for item in answer.items]
    context.note(world, documents)
    today, words = context.worlds.corpus.today, answer.query.words
    results = [
        {
            "position": n,
            "title": d.title,
            "url": d.url,
            "snippet": snippet(d, words),
            "date": shown_date(d.published, today, d.language) if d.published else None,
        }
        for n, d in enumerate(documents, start=1)
    ]
    return json_answer({"results": results})


async def _read_page(request: web.Request) -> web.Response:
    context = request.app[CONTEXT]
    world = _world(request)
    url = _text(Fields(await body(request)), "url", _LONGEST_URL)
    document = await context.worlds.page(world, url, dialect="mcp")
    if document is None:
        raise RefusedError(404, f"no page at {url[:300]}")
    context.note(world, [document])
    return json_answer({"text": _page_text(document)})


def _page_text(document: Document) -> str:
    facts = {"URL": document.url, "Source": document.source_name, "Published": document.published}
    head = "\n".join(f"{name}: {fact}" for name, fact in facts.items() if fact)
    return f"# {document.title}\n\n{head}\n\n{document.body}"
