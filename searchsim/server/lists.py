"""Lists for the dialects whose requests may carry no key: such a request finds organic documents alone."""

from __future__ import annotations

from typing import NamedTuple

from aiohttp import web

from searchsim.documents import Document
from searchsim.server.context import CONTEXT, Context, bearer, world_key
from searchsim.server.fields import RefusedError
from searchsim.world import World

__all__ = ["Found", "find_list", "optional_world"]

_FIRST_PAGES = 100


class Found(NamedTuple):
    """One page of a list.

    Attributes:
        documents: The results.
        words: The query's tokens, which snippets are cut around.
    """

    documents: tuple[Document, ...]
    words: tuple[str, ...]


def optional_world(request: web.Request, status: int) -> World | None:
    """The world that a request names by prefix, by the redirect hook's header, or by a bearer token; None without.

    Args:
        request: The request.
        status: The dialect's own for a bad key.

    Raises:
        RefusedError: It names a world that there isn't.
    """
    key = world_key(request, bearer(request))
    world = request.app[CONTEXT].worlds.find(key)
    if world is None and key is not None:
        raise RefusedError(status, "Invalid API key")
    return world


async def find_list(
    context: Context,
    world: World | None,
    *,
    dialect: str,
    endpoint: str,
    text: str,
    tbs: str = "",
    k: int = 10,
    page: int = 1,
) -> Found:
    """A page of a list, put on the world's record; without a world the organic one, on no record.

    Args:
        context: The server's state.
        world: Whose list.
        dialect: The API that was spoken.
        endpoint: The vertical, ``search`` or ``news``.
        text: The client's text.
        tbs: Its time filter, as Google writes it.
        k: Results a page.
        page: From 1.
    """
    worlds = context.worlds
    if world is None:
        query = worlds.parse(endpoint, text, tbs)
        first = (page - 1) * k
        hits = (await context.engine.search(query, min(first + k, _FIRST_PAGES * k)))[first : first + k]
        return Found(tuple(h.document for h in hits), query.words)
    answer = await worlds.search(world, dialect=dialect, endpoint=endpoint, text=text, tbs=tbs, k=k, page=page)
    documents = tuple(item.document for item in answer.items)
    context.note(world, documents)
    return Found(documents, answer.query.words)
