"""The application: all dialects, pages, gateway and control, behind three middlewares."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from searchsim.errors import EngineError, SearchsimError, UsageError
from searchsim.faults import NO_CREDITS, PlannedFaultError
from searchsim.server import (
    bing,
    brave,
    control,
    custom,
    exa,
    gateway,
    jina,
    mcp,
    openapi,
    pages,
    people,
    redirected,
    searxng,
    serper,
    tavily,
)
from searchsim.server.context import CONTEXT, Context, named_world
from searchsim.server.fields import ErrorShape

__all__ = ["make_app", "running"]

_log = logging.getLogger(__name__)
_LARGEST_BODY = 64 << 20
_LONGEST_LINE = 128 << 10
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


_DIALECTS = (serper, tavily, exa, brave, bing, searxng, jina, mcp, custom)
_SHAPES: dict[str, ErrorShape] = {part.__name__.rpartition(".")[2]: part.error for part in _DIALECTS}
_SHAPES["sjina"] = jina.error
"""How an error looks, by the first step of the path; else as Serper has it."""


def make_app(context: Context) -> web.Application:
    """The application over some worlds."""
    app = web.Application(client_max_size=_LARGEST_BODY, middlewares=[_errors, redirected.middleware, _guard])
    app[CONTEXT] = context
    redirected.register(app, _DIALECTS)
    for part in (*_DIALECTS, pages, gateway, control, openapi, people):
        part.add_routes(app)
    return app


def _error(request: web.Request, status: int, message: str) -> web.Response:
    """An error in the shape of the dialect whose path was asked for."""
    dialect = _dialect(request)
    if dialect == "v1":
        return gateway.error(status, message, kind="invalid_request_error" if status < 500 else "server_error")
    if dialect == "_sim":
        return control.error(status, message)
    return _SHAPES.get(dialect, serper.error)(status, message)


def _dialect(request: web.Request) -> str:
    """The first step of the path, the prefix that names a world left out."""
    steps = request.path.split("/")[1:]
    return (steps[2] if len(steps) > 2 else "") if steps[0] == "w" else steps[0]


@web.middleware
async def _errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Every error has its dialect's shape, and none shows a traceback."""
    try:
        return await handler(request)
    except web.HTTPException as refusal:
        asked = f"{refusal.reason}: {request.method} {request.path}"[:500]
        # A path may hold bytes that are no UTF-8.
        answer = _error(request, refusal.status, asked.encode("utf-8", "replace").decode("utf-8"))
        if "Allow" in refusal.headers:
            answer.headers["Allow"] = refusal.headers["Allow"]
        return answer
    except web.RequestPayloadError:
        answer = _error(request, 400, "The request body can't be read")
        # Where the next request on this connection would start nobody knows.
        answer.force_close()
        return answer
    except PlannedFaultError as planned:
        status = planned.status
        if planned.fault.kind == "no_credits":
            status = NO_CREDITS.get(_dialect(request), status)
        return _error(request, status, planned.message)
    except (ConnectionResetError, asyncio.CancelledError):
        raise
    except SearchsimError as failure:
        # A factor's hook, an engine: the message says what is wrong, and the run isn't what it was planned to be.
        if not request.path.startswith("/_sim"):
            world = named_world(request)
            request.app[CONTEXT].fault(world, where=request.path, status=500, message=str(failure))
        _log.error("%s %s failed: %s", request.method, request.path, failure)
        # What an agent gets must not tell it of injection; the log and the trace say more.
        told = str(failure) if request.path.startswith("/_sim") else "Internal Server Error"
        return _error(request, 503 if isinstance(failure, EngineError) else 500, told)
    except Exception:
        _log.exception("%s %s failed", request.method, request.path)
        if not request.path.startswith("/_sim"):
            world = named_world(request)
            request.app[CONTEXT].fault(world, where=request.path, status=500, message="the server failed")
        return _error(request, 500, "Internal Server Error")


@web.middleware
async def _guard(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Control and its pages are for the experimenter alone."""
    if (request.path == "/" or request.path.startswith("/_sim")) and (refusal := control.allowed(request)) is not None:
        return refusal
    return await handler(request)


@asynccontextmanager
async def running(context: Context, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[str]:
    """The application, serving; gives its URL.

    Args:
        context: The server's state.
        host: Where to listen.
        port: 0 for any free one.

    Raises:
        UsageError: The address can't be had.
    """
    # A query of 2,048 characters may take nine bytes for each in a query string.
    runner = web.AppRunner(make_app(context), access_log=None, shutdown_timeout=1.0, max_line_size=_LONGEST_LINE)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        try:
            await site.start()
        except OSError as problem:
            raise UsageError(
                f"can't listen on {host}:{port} ({problem.strerror}): choose another --port, or 0 for any free one"
            ) from problem
        bound = runner.addresses[0]
        shown = f"[{bound[0]}]" if ":" in bound[0] else bound[0]
        yield f"http://{shown}:{bound[1]}"
    finally:
        await runner.cleanup()
