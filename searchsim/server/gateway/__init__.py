"""The gateway: an OpenAI-compatible endpoint between agent and model.

It names worlds by key, forces temperature and seed, counts tokens, records and replays answers, and puts every call on
record with the served documents that its prompt holds.

call.py          one call, from request to record
chat.py          /v1/chat/completions
completions.py   /v1/completions
stops.py         where a completion ends, over models that don't tell
embeddings.py    /v1/embeddings
wire.py          OpenAI's shapes: errors, usage
"""

from __future__ import annotations

from functools import partial

import orjson
from aiohttp import web

from searchsim.errors import UpstreamError
from searchsim.server.context import CONTEXT, route
from searchsim.server.gateway.call import Kind, named, take
from searchsim.server.gateway.chat import Chat
from searchsim.server.gateway.completions import Completions
from searchsim.server.gateway.embeddings import Embeddings
from searchsim.server.gateway.wire import error

__all__ = ["add_routes", "error"]

_KINDS: dict[str, Kind] = {
    "/v1/chat/completions": Chat(),
    "/v1/completions": Completions(),
    "/v1/embeddings": Embeddings(),
}


def add_routes(app: web.Application) -> None:
    """Serve the gateway."""
    for path, kind in _KINDS.items():
        route(app, "POST", path, partial(take, kind))
    route(app, "GET", "/v1/models", _models)
    route(app, "GET", "/v1/models/{model:.+}", _models)


async def _models(request: web.Request) -> web.Response:
    """The upstream's models, or the one that was asked for: an alias of the upstream's."""
    context = request.app[CONTEXT]
    world = named(request)
    if isinstance(world, web.Response):
        return world
    alias = request.match_info.get("model")
    names = [context.upstream.model] if context.upstream and context.upstream.model else []
    if alias is not None:
        names = [alias]
    elif context.upstream and not names:
        try:
            names = await context.upstream.models()
        except UpstreamError as failure:
            return error(failure.status, str(failure), "upstream_error", "server_error")
    data = [{"id": n, "object": "model", "created": 0, "owned_by": "system"} for n in names]
    body = data[0] if alias is not None else {"object": "list", "data": data}
    return web.Response(body=orjson.dumps(body), content_type="application/json")
