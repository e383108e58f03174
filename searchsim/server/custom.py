"""gpt-researcher's custom retriever: ``/custom``, a bare list of pages with their text.

The client sends ``query`` and whatever its RETRIEVER_ARG_ variables say, of which ``num`` is read here. It has no key,
so that a world is named by prefix, header or bearer token.
"""

from __future__ import annotations

from aiohttp import web

from searchsim.server.context import CONTEXT, route
from searchsim.server.fields import Fields, answered, json_answer
from searchsim.server.lists import find_list, optional_world

__all__ = ["HOSTS", "add_routes", "error"]

HOSTS: dict[str, str] = {}
"""None: its endpoint is a setting."""

_LONGEST_QUERY = 2048
_MOST = 100


def add_routes(app: web.Application) -> None:
    """Serve this dialect."""
    route(app, "GET", "/custom", answered(_search, error))


def error(status: int, message: str, parameter: str | None = None) -> web.Response:
    """An error; the client tells its status alone."""
    return json_answer({"error": f"{parameter}: {message}" if parameter else message}, status)


async def _search(request: web.Request) -> web.Response:
    fields = Fields(request.query)
    text = fields.query("query", _LONGEST_QUERY)
    k = fields.whole("num", 10, 1, _MOST)
    world = optional_world(request, 403)
    context = request.app[CONTEXT]
    found = await find_list(context, world, dialect="custom", endpoint="search", text=text, k=k)
    if world is not None:
        # The bodies are delivered with the list: they are pages read, too.
        for document in found.documents:
            await context.worlds.page(world, document.url, dialect="custom")
    return json_answer([{"url": d.url, "raw_content": d.body} for d in found.documents])
