"""What all handlers share: the worlds, and which one a request names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from searchsim.delivery import Matcher
from searchsim.documents import Document
from searchsim.engine import SearchEngine
from searchsim.replay import Names, Replay
from searchsim.trace import Event, fault
from searchsim.upstream import Upstream
from searchsim.world import World, Worlds

__all__ = [
    "ASKED_HOST",
    "CONTEXT",
    "ORIGINAL_HEADER",
    "WORLD_HEADER",
    "Context",
    "bearer",
    "named_world",
    "route",
    "world_key",
]


@dataclass(slots=True)
class Context:
    """The server's state.

    Attributes:
        worlds: All worlds.
        upstream: The model behind the gateway, where there is one.
        temperature: What the gateway forces.
        seed: What the gateway forces.
        control_token: What ``/_sim`` wants as bearer token; None for no token.
        matchers: Finds served documents in prompts, by world key.
        replays: Where the model's answers come from, by world key; live where nothing is said.
    """

    worlds: Worlds
    upstream: Upstream | None = None
    temperature: float = 0.0
    seed: int = 0
    control_token: str | None = None
    matchers: dict[str, Matcher] = field(default_factory=dict)
    replays: dict[str, Replay] = field(default_factory=dict)

    @property
    def engine(self) -> SearchEngine:
        """The corpus's engine."""
        return self.worlds.engine

    async def matcher(self, world: World) -> Matcher:
        """The world's matcher, made at its first model call of what its trace says was served."""
        if (known := self.matchers.get(world.key)) is not None:
            return known
        matcher = Matcher(self.engine, world.documents())
        pool = {d.id: d for d in world.documents()}
        filled: set[str] = set()

        async def fill() -> None:
            for id_ in _served(self.worlds.events(world.key)):
                if id_ not in filled:
                    filled.add(id_)
                    document = pool.get(id_) or await self.engine.document(id_)
                    if document is not None:
                        matcher.add(document)

        await fill()
        for event in self.worlds.events(world.key):
            if event["event"] == "model":
                matcher.said(event["messages"], event["answer"])
        if self.worlds.find(world.key) is not world:
            return matcher
        if world.key in self.matchers:
            return self.matchers[world.key]
        self.matchers[world.key] = matcher
        # What was served while documents were fetched is in the trace by now.
        await fill()
        return matcher

    def replay(self, world: World) -> Replay:
        """Where the answers to a world's model calls come from."""
        if world.key not in self.replays:
            self.replays[world.key] = Replay(names=Names(world.key))
        return self.replays[world.key]

    def note(self, world: World, documents: Iterable[Document]) -> None:
        """Take note of what was served, where a matcher has been asked for already; else the trace will tell it."""
        if (matcher := self.matchers.get(world.key)) is not None:
            for document in documents:
                matcher.add(document)

    def forget(self, key: str) -> None:
        """Forget what is remembered of an ended world."""
        self.matchers.pop(key, None)
        self.replays.pop(key, None)

    def fault(self, world: World | None, *, where: str, status: int, message: str, planned: bool = False) -> None:
        """Put a fault on the world's record."""
        if world is not None:
            self.worlds.append(world, fault(where=where, status=status, message=message, planned=planned))


def _served(events: Iterable[Event]) -> Iterator[str]:
    for event in events:
        if event["event"] == "search":
            yield from (s["document"] for s in event["served"])
        elif event["event"] == "page" and event["document"]:
            yield event["document"]


CONTEXT = web.AppKey("context", Context)
# What the redirect hooks mark a request with: its world, and the URL that it was meant for.
WORLD_HEADER = "X-Searchsim-World"
ORIGINAL_HEADER = "X-Searchsim-Original-Url"
ASKED_HOST: web.RequestKey[str] = web.RequestKey("asked_host", str)
"""Where a redirected request keeps the host that it was meant for."""


def bearer(request: web.Request) -> str | None:
    """The request's bearer token."""
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() or None if kind.lower() == "bearer" else None


def world_key(request: web.Request, *given: str | None) -> str | None:
    """The key of the world that a request names: by path prefix, by the redirect hook's header, else as given.

    Args:
        request: The request.
        given: What the dialect takes for its API key, most certain first.
    """
    named: list[Any] = [request.match_info.get("world"), request.headers.get(WORLD_HEADER), *given]
    return next((str(k) for k in named if k), None)


def named_world(request: web.Request) -> World | None:
    """The world that a request of any dialect names, for the record of what went wrong with it."""
    headers, query = request.headers, request.query
    given = (headers.get("X-API-KEY"), query.get("apiKey"), query.get("api_key"), bearer(request))
    return request.app[CONTEXT].worlds.find(world_key(request, *given))


def route(app: web.Application, method: str, path: str, handler: Any) -> None:
    """Serve a path, and the same under ``/w/KEY``."""
    for prefix in ("", "/w/{world}"):
        app.router.add_route(method, prefix + path, handler)
