"""Paths and hosts."""

from __future__ import annotations

from aiohttp import web

from searchsim.server.context import route
from searchsim.server.serper.scrape import account, scrape
from searchsim.server.serper.search import search
from searchsim.server.serper.verticals import VERTICALS

__all__ = ["HOSTS", "add_routes"]

HOSTS = {"google.serper.dev": "", "bing.serper.dev": "", "baidu.serper.dev": "", "scrape.serper.dev": "/scrape"}
"""Where the API lives, and what stands before the paths of each host here. Hosts in the style of the first, for other
engines, are taken for it: their answers name their engine and are the same world's.

The reader's only path is its host's ``/``, which becomes ``/scrape/``: the same as ``/scrape``.
"""


def add_routes(app: web.Application) -> None:
    """Serve this dialect."""
    for method in ("GET", "POST"):
        for name in VERTICALS:
            route(app, method, f"/{name}", search)
        route(app, method, "/scrape", scrape)
        route(app, method, "/scrape/", scrape)
    route(app, "GET", "/account", account)
