"""Control: worlds are made, shown and ended under ``/_sim``. Errors are ``{"error": {"message", "field"}}``."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import orjson
from aiohttp import web

from searchsim import __version__
from searchsim.errors import ConditionError, KeyInUseError, UnknownWorldError
from searchsim.scoring.exposure import exposure, observation
from searchsim.server.body import read_body
from searchsim.server.context import CONTEXT, ORIGINAL_HEADER, WORLD_HEADER, bearer
from searchsim.server.serper.settings import SerperSettings
from searchsim.validity import reasons
from searchsim.world import World, Worlds

__all__ = ["add_routes", "allowed", "error", "full_record"]


def add_routes(app: web.Application) -> None:
    """Serve control."""
    app.router.add_get("/_sim/health", _health)
    app.router.add_get("/_sim/tasks", _tasks)
    app.router.add_get("/_sim/factors", _factors)
    app.router.add_get("/_sim/worlds", _list)
    app.router.add_post("/_sim/worlds", _create)
    app.router.add_get("/_sim/worlds/{key}", _show)
    app.router.add_delete("/_sim/worlds/{key}", _end)
    app.router.add_get("/_sim/worlds/{key}/events", _events)


def _json(answer: object, status: int = 200) -> web.Response:
    return web.Response(body=orjson.dumps(answer), status=status, content_type="application/json")


def error(status: int, message: str, field: str | None = None) -> web.Response:
    """An error as control sends it."""
    return _json({"error": {"message": message, "field": field}}, status)


def allowed(request: web.Request) -> web.Response | None:
    """None where a request may use control, else the refusal.

    Redirected traffic is an agent's: it must never learn what is planned for it.
    """
    if ORIGINAL_HEADER in request.headers or WORLD_HEADER in request.headers:
        return error(403, "control isn't served to redirected traffic")
    origin = request.headers.get("Origin")
    if origin is not None and urlsplit(origin).netloc != request.host:
        return error(403, "control isn't served to pages of other sites")
    token = request.app[CONTEXT].control_token
    if token is not None and not hmac.compare_digest((bearer(request) or "").encode(), token.encode()):
        return error(401, "control wants the server's token: Authorization: Bearer TOKEN")
    return None


async def _health(request: web.Request) -> web.Response:
    context = request.app[CONTEXT]
    return _json(
        {
            "status": "ok",
            "version": __version__,
            "corpus": context.worlds.corpus.name,
            "engine": context.engine.name,
            "model": context.upstream.model if context.upstream else None,
        }
    )


async def _tasks(request: web.Request) -> web.Response:
    tasks = request.app[CONTEXT].worlds.corpus.tasks.values()
    return _json({"tasks": [{"id": t.id, "question": t.question, "language": t.language} for t in tasks]})


async def _factors(request: web.Request) -> web.Response:
    return _json({"factors": request.app[CONTEXT].worlds.factors.describe()})


async def _list(request: web.Request) -> web.Response:
    return _json({"worlds": [w.record() for w in request.app[CONTEXT].worlds.all()]})


_FIELDS = ("task", "condition", "key", "documents", "last_list", "faults", "latency", "serper", "results")
_LARGEST_BODY = 16 << 20
_DEEPEST = 64


async def _create(request: web.Request) -> web.Response:
    worlds = request.app[CONTEXT].worlds
    try:
        body: Any = orjson.loads(await read_body(request, _LARGEST_BODY))
    except orjson.JSONDecodeError as problem:
        return error(400, f"the request body is no JSON: {problem}")
    except web.HTTPRequestEntityTooLarge:
        return error(413, f"the request body is too large: at most {_LARGEST_BODY} bytes")
    if _depth(body) > _DEEPEST:
        return error(400, f"the request body is nested deeper than {_DEEPEST} levels")
    if wrong := _wrong(body):
        return error(400, wrong[1], wrong[0])
    try:
        more = {name: body.get(name) for name in ("key", "last_list", "faults", "latency", "results")}
        more["serper"] = _serper(worlds, body)
        if body.get("documents") is None:
            world = worlds.create(body["task"], body.get("condition"), **more)
        else:
            world = await worlds.create_given(body["task"], body.get("condition"), body["documents"], **more)
    except ConditionError as problem:
        return error(400, str(problem), problem.field)
    except KeyInUseError as problem:
        return error(409, str(problem), "key")
    return _json(world.record(), 201)


def _serper(worlds: Worlds, body: Mapping[str, Any]) -> dict[str, Any] | None:
    if body.get("serper") is None:
        return None
    settings = SerperSettings.parse(body["serper"])
    if task := worlds.corpus.tasks.get(body["task"]):
        settings.check(task)
    return settings.record()


def _depth(value: Any) -> int:
    """How deep arrays and objects are nested, at most one more than is allowed; messages can't show deeper ones."""
    level, depth = [value], 0
    while level and depth <= _DEEPEST:
        inner = (v.values() if isinstance(v, dict) else v for v in level if isinstance(v, dict | list))
        level = [one for several in inner for one in several]
        depth += bool(level)
    return depth


def _wrong(body: Any) -> tuple[str | None, str] | None:
    if not isinstance(body, dict):
        return None, "the request body must be an object"
    for name in body:
        if name not in _FIELDS:
            return name, f"no field named {name!r}; fields: {', '.join(_FIELDS)}"
    if "task" not in body:
        return "task", "missing: name a task (GET /_sim/tasks lists them)"
    kinds: dict[str, tuple[type, str]] = {
        "task": (str, "a task's id"),
        "condition": (dict, 'an object, e.g. {"budget": 3}'),
        "key": (str, "a string"),
        "documents": (list, "an array of ids or documents"),
        "last_list": (int, "a number"),
        "results": (int, "a number"),
    }
    for name, (kind, meaning) in kinds.items():
        if body.get(name) is not None and not isinstance(body[name], kind):
            return name, f"must be {meaning}"
    if body["task"] is None:
        return "task", "must be a task's id"
    return None


async def full_record(worlds: Worlds, world: World) -> dict[str, Any]:
    """A world with what it did serve, how far that got, and whether its run is valid so far."""
    events = list(worlds.events(world.key))
    why = await reasons(worlds, world, events)
    return {
        **world.record(),
        "observation": observation(events).record(),
        "exposure": exposure(events, list(world.documents())).record(),
        "valid": not why,
        "reasons": why,
    }


async def _show(request: web.Request) -> web.Response:
    worlds = request.app[CONTEXT].worlds
    try:
        world = worlds.get(request.match_info["key"])
    except UnknownWorldError as problem:
        return error(404, str(problem), "key")
    return _json(await full_record(worlds, world))


async def _end(request: web.Request) -> web.Response:
    context = request.app[CONTEXT]
    try:
        context.worlds.end(request.match_info["key"])
    except UnknownWorldError as problem:
        return error(404, str(problem), "key")
    context.forget(request.match_info["key"])
    return web.Response(status=204)


async def _events(request: web.Request) -> web.StreamResponse:
    worlds = request.app[CONTEXT].worlds
    try:
        world = worlds.get(request.match_info["key"])
    except UnknownWorldError as problem:
        return error(404, str(problem), "key")
    lines = b"".join(orjson.dumps(e) + b"\n" for e in worlds.events(world.key))
    return web.Response(body=lines, content_type="application/x-ndjson")
