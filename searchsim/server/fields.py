"""Reading what a request asks for, and refusing it: what the dialects beside Serper's share.

Filters that an API has as fields become operators in the query's text, and days a ``tbs`` value. So the trace's text
and ``tbs`` say all of what was asked, and a list can be recomputed from them.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import date, datetime, time, timedelta
from typing import Any, Protocol
from uuid import UUID

import orjson
from aiohttp import web

from searchsim.query import Site, parse
from searchsim.server.body import LONGEST_BODY, read_body
from searchsim.server.context import CONTEXT, world_key
from searchsim.world import World

__all__ = [
    "ErrorShape",
    "Fields",
    "RefusedError",
    "answered",
    "asked_world",
    "between",
    "body",
    "bound",
    "drawn",
    "json_answer",
    "restricted",
    "sound",
]


class RefusedError(Exception):
    """A request that isn't answered.

    Attributes:
        status: The HTTP status.
        parameter: The field that is at fault, where one is.
    """

    def __init__(self, status: int, message: str, parameter: str | None = None) -> None:
        self.status = status
        self.parameter = parameter
        super().__init__(message)


class ErrorShape(Protocol):
    """A dialect's ``error``."""

    def __call__(self, status: int, message: str, parameter: str | None = None) -> web.Response:
        """An error as the API sends it."""
        ...


Handler = Callable[[web.Request], Awaitable[web.Response]]


def answered(handler: Handler, error: ErrorShape) -> Handler:
    """A handler whose refusals have its dialect's shape."""

    @functools.wraps(handler)
    async def answer(request: web.Request) -> web.Response:
        try:
            return await handler(request)
        except RefusedError as refusal:
            return error(refusal.status, str(refusal), refusal.parameter)

    return answer


def json_answer(answer: object, status: int = 200) -> web.Response:
    """An answer as JSON."""
    return web.Response(body=orjson.dumps(answer), status=status, content_type="application/json", charset="utf-8")


def asked_world(request: web.Request, *keys: str | None) -> World | None:
    """The world that a request names: by prefix, by the redirect hook's header, or by its API key."""
    world = request.app[CONTEXT].worlds.find(world_key(request, *keys))
    if world is not None:
        # Where a path prefix would have named it, so that a failure later on goes on this world's record.
        request.match_info["world"] = world.key
    return world


async def body(request: web.Request) -> dict[str, Any]:
    """The JSON object in a request's body.

    Raises:
        RefusedError: There is none.
        web.HTTPException: It is too large, or can't be read.
    """
    raw = await read_body(request, LONGEST_BODY)
    try:
        given = orjson.loads(raw)
    except orjson.JSONDecodeError as problem:
        raise RefusedError(400, f"Invalid JSON in the request body: {problem}") from problem
    if not isinstance(given, dict):
        raise RefusedError(400, "The request body must be an object")
    return given


class Fields:
    """The fields of a request, each read as what it must be."""

    def __init__(self, given: Mapping[str, Any], *, malformed: int = 400, unusable: int = 400) -> None:
        """Take fields; null and the empty string are as good as not given.

        Args:
            given: Values by name, of JSON or of a query string.
            malformed: The status for what is missing or has the wrong type.
            unusable: The status for a value that can't be had.
        """
        self._given = given
        self._malformed = malformed
        self._unusable = unusable

    def value(self, name: str) -> Any:
        """A field as it was sent; None where it wasn't."""
        found = self._given.get(name)
        return None if found == "" else found

    def malformed(self, name: str, message: str) -> RefusedError:
        """The refusal of a field that has the wrong type."""
        return RefusedError(self._malformed, message, name)

    def unusable(self, name: str, message: str) -> RefusedError:
        """The refusal of a field whose value can't be had."""
        return RefusedError(self._unusable, message, name)

    def query(self, name: str, longest: int) -> str:
        """The text to search for, which must be there."""
        found = self._given.get(name)
        if found is None:
            raise self.malformed(name, "Field required")
        if not isinstance(found, str):
            raise self.malformed(name, "Input should be a valid string")
        if not found.strip():
            raise self.unusable(name, "Query is missing.")
        if len(found) > longest:
            raise self.unusable(name, f"Query is too long. Max query length is {longest} characters.")
        return found

    def choice(self, name: str, choices: Iterable[str], default: str = "") -> str:
        """One of some words."""
        found = self.value(name)
        if found is None:
            return default
        if not isinstance(found, str):
            raise self.malformed(name, "Input should be a valid string")
        if found not in choices:
            raise self.unusable(name, f"Invalid {name}. Must be one of: {', '.join(choices)}.")
        return found

    def whole(self, name: str, default: int, least: int, most: int) -> int:
        """A whole number, which clients also send as a string."""
        found = self.value(name)
        if found is None:
            return default
        if isinstance(found, float) and found.is_integer():
            found = int(found)
        digits = "" if isinstance(found, bool) else str(found).strip()
        if not re.fullmatch(r"-?[0-9]{1,9}", digits):
            raise self.malformed(name, "Input should be a valid integer")
        if not least <= int(digits) <= most:
            raise self.unusable(name, f"Invalid {name}. Must be between {least} and {most}.")
        return int(digits)

    def texts(self, name: str, most: int) -> list[str]:
        """A list of texts, or a single one."""
        found = self.value(name)
        if found is None:
            return []
        several = [found] if isinstance(found, str) else found
        if not isinstance(several, list) or not all(isinstance(one, str) for one in several):
            raise self.malformed(name, "Input should be a list of strings")
        if len(several) > most:
            raise self.unusable(name, f"Max {most} {name} are allowed.")
        return several

    def domains(self, name: str, most: int) -> list[str]:
        """Domains, each also with the start of a path, as ``site:`` takes them, sorted: their order says nothing."""
        found = sorted({one.strip().lower().removesuffix("/*") for one in self.texts(name, most)})
        for one in found:
            known = re.fullmatch(r"""[^\s()"“”|]{1,300}""", one) and parse(f"site:{one}").clauses
            if not known or not isinstance(known[0], Site):
                raise self.unusable(name, f"Invalid {name}: {one[:100]!r} is no domain.")
        return found

    def moment(self, name: str) -> datetime | None:
        """A day, or a day with a time, of ISO 8601."""
        found = self.value(name)
        if found is None:
            return None
        if not isinstance(found, str):
            raise self.malformed(name, "Input should be a valid string")
        try:
            return datetime.fromisoformat(found.strip())
        except ValueError as problem:
            raise self.unusable(name, f"Invalid {name}. Write YYYY-MM-DD, or ISO 8601.") from problem


def _sites(domains: list[str]) -> str:
    return f"site:{domains[0]}" if len(domains) == 1 else f"site:({' OR '.join(domains)})"


def restricted(
    text: str,
    *,
    include: list[str],
    exclude: list[str],
    since: datetime | None = None,
    until: datetime | None = None,
) -> str:
    """A query's text with filters as operators.

    Args:
        text: What the client sent.
        include: Only these domains.
        exclude: None of these domains.
        since: Published on this day or later.
        until: Published before this moment; documents are taken as published when their day starts.
    """
    for domains, minus in ((include, ""), (exclude, "-")):
        if domains:
            text = bound(text, minus + _sites(domains))
    if since:
        text = f"{text} after:{since.date()}"
    if until and (day := _day_after(until)):
        text = f"{text} before:{day}"
    return text


def bound(text: str, operator: str) -> str:
    """A query's text with an operator that holds, whatever the text ends in."""
    longer = f"{text} {operator}"
    if not set(parse(operator).clauses) <= set(parse(longer).clauses):
        # The client's text ends in an OR, which took the filter for its other choice; what follows is no one's choice.
        longer = f"{longer} {operator}"
    return longer


def _day_after(until: datetime) -> date | None:
    """The first day that starts at a moment or later; None where the calendar ends."""
    if until.time() == time.min:
        return until.date()
    try:
        return until.date() + timedelta(days=1)
    except OverflowError:
        return None


def between(low: date, high: date) -> str:
    """The ``tbs`` value for the days from `low` to `high`, both included."""
    return f"cdr:1,cd_min:{low.month}/{low.day}/{low.year},cd_max:{high.month}/{high.day}/{high.year}"


def sound(text: str) -> str:
    """The text without lone surrogates, which bytes that are no UTF-8 become, and which nothing written can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def drawn(*parts: object) -> UUID:
    """An identifier that is a function of what was asked alone.

    So a repeat gets the same answer to the byte, and a prompt that holds one is the same in a control and in a
    treated run.
    """
    told = "\x1f".join(map(str, parts)).encode("utf-8", "replace")
    return UUID(bytes=hashlib.sha256(told).digest()[:16], version=4)
