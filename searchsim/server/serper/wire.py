"""What goes over the wire whatever was asked: errors, the request's fields, and the world it names."""

from __future__ import annotations

from typing import Any

import orjson
from aiohttp import web

from searchsim.server.body import LONGEST_BODY, read_body
from searchsim.server.context import CONTEXT, world_key
from searchsim.server.fields import json_answer, sound
from searchsim.world import World

__all__ = ["RefusedError", "error", "fields_of", "named_world"]


class RefusedError(Exception):
    """A request that isn't answered.

    Attributes:
        status: The HTTP status.
        coded: Whether the body tells the status too, as nearly all of Serper's errors do.
    """

    def __init__(self, status: int, message: str, *, coded: bool = True) -> None:
        self.status = status
        self.coded = coded
        super().__init__(message)

    def answer(self) -> web.Response:
        """The refusal as it is sent."""
        return error(self.status, str(self)) if self.coded else json_answer({"message": str(self)}, self.status)


def error(status: int, message: str) -> web.Response:
    """An error as Serper sends it."""
    return json_answer({"message": message, "statusCode": status}, status)


def named_world(request: web.Request) -> World:
    """The world that a request names.

    Raises:
        RefusedError: It names none.
    """
    query = request.query
    key = world_key(request, request.headers.get("X-API-KEY"), query.get("apiKey"), query.get("api_key"))
    world = request.app[CONTEXT].worlds.find(key)
    if world is None:
        raise RefusedError(403, "Unauthorized.")
    return world


async def fields_of(request: web.Request) -> Any:
    """The request's fields, from body and query string; the body wins. An array where the body is one.

    Raises:
        RefusedError: The body can't be read.
    """
    query = {sound(k): sound(v) for k, v in request.query.items() if k not in ("apiKey", "api_key")}
    if request.method != "POST":
        return query
    try:
        raw = await read_body(request, LONGEST_BODY)
    except web.HTTPRequestEntityTooLarge as refusal:
        raise RefusedError(413, f"The request body is too large: at most {LONGEST_BODY} bytes") from refusal
    if not raw.strip():
        return query
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError as problem:
        raise RefusedError(400, f"Invalid JSON in the request body: {problem}") from problem
    if isinstance(body, list):
        return body
    if not isinstance(body, dict):
        raise RefusedError(400, "The request body must be an object, or an array of objects")
    return {**query, **body}
