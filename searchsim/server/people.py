"""Pages for people: a search over the organic documents, and the inspector of worlds."""

from __future__ import annotations

from aiohttp import web

from searchsim.errors import UnknownWorldError
from searchsim.server.context import CONTEXT
from searchsim.server.control import full_record
from searchsim.server.pages import page_response
from searchsim.server.render import template
from searchsim.server.serper import shown_date
from searchsim.text import snippet

__all__ = ["add_routes"]


def add_routes(app: web.Application) -> None:
    """Serve the pages for people."""
    app.router.add_get("/", _search)
    app.router.add_get("/_sim/page", _page)
    app.router.add_get("/_sim/ui", _worlds)
    app.router.add_get("/_sim/ui/{key}", _world)


def _html(text: str, status: int = 200) -> web.Response:
    return web.Response(text=text, status=status, content_type="text/html", headers={"X-Robots-Tag": "noindex"})


async def _search(request: web.Request) -> web.Response:
    """Organic documents alone: a look here belongs to no world and is on no record."""
    worlds = request.app[CONTEXT].worlds
    text = request.query.get("q", "")[:2048]
    query = worlds.parse("search", text)
    hits = await worlds.engine.search(query, 10) if text.strip() else []
    today = worlds.corpus.today
    rows = [
        {
            "document": h.document,
            "snippet": snippet(h.document, query.words),
            "date": shown_date(h.document.published, today, h.document.language) if h.document.published else "",
        }
        for h in hits
    ]
    return _html(template("search.html", corpus=worlds.corpus, q=text, rows=rows))


async def _page(request: web.Request) -> web.Response:
    """A page that the search page leads to: organic, and on no record either."""
    return page_response(await request.app[CONTEXT].engine.document_at(request.query.get("url", "")))


async def _worlds(request: web.Request) -> web.Response:
    worlds = request.app[CONTEXT].worlds
    return _html(template("worlds.html", corpus=worlds.corpus, worlds=[w.record() for w in worlds.all()]))


async def _world(request: web.Request) -> web.Response:
    worlds = request.app[CONTEXT].worlds
    try:
        world = worlds.get(request.match_info["key"])
    except UnknownWorldError:
        return _html(template("worlds.html", corpus=worlds.corpus, worlds=[w.record() for w in worlds.all()]), 404)
    record = await full_record(worlds, world)
    task = worlds.corpus.task(world.task)
    return _html(template("world.html", world=record, task=task, events=list(worlds.events(world.key))))
