"""MCP: a server with the tools ``search`` and ``read_page`` for agents that take tools that way.

The SDK's server talks over stdin and stdout in a process of its own, which the agent starts (``searchsim mcp``), and
asks the running server under ``/mcp``: it is a client like any other, and its world's record says what it did. (The
SDK's HTTP server is an ASGI application with a life cycle and sessions of its own, and takes seconds to import.)
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Annotated, Any

import aiohttp
import orjson
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import BaseModel, Field

from searchsim.errors import UsageError
from searchsim.server.mcp import MOST_RESULTS

__all__ = ["Result", "Results", "make_server", "serve_stdio"]

_log = logging.getLogger(__name__)

_SECONDS = 120
Call = Context[aiohttp.ClientSession]


class Result(BaseModel):
    """A search result; the date as results show it."""

    position: int
    title: str
    url: str
    snippet: str
    date: str | None


class Results(BaseModel):
    """What the tool ``search`` gives."""

    results: list[Result]


def make_server(url: str, key: str) -> MCPServer[aiohttp.ClientSession]:
    """The SDK's server, before it has a transport.

    Args:
        url: The running server's address.
        key: The key of the world it serves.

    Raises:
        UsageError: The URL is none.
    """
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"--url {url}: give a URL such as http://127.0.0.1:8080")
    base = url.rstrip("/")

    @asynccontextmanager
    async def session(_: MCPServer[aiohttp.ClientSession]) -> AsyncIterator[aiohttp.ClientSession]:
        headers = {"Authorization": f"Bearer {key}"}
        timeout = aiohttp.ClientTimeout(total=_SECONDS)
        async with aiohttp.ClientSession(headers=headers, timeout=timeout) as opened:
            yield opened

    async def ask(call: Call, tool: str, arguments: Mapping[str, Any]) -> Any:
        client = call.request_context.lifespan_context
        try:
            async with client.post(f"{base}/mcp/{tool}", json=arguments) as answer:
                told = orjson.loads(await answer.read())
        except (aiohttp.ClientError, TimeoutError, orjson.JSONDecodeError) as problem:
            # The model reads the error; where the server is, is for those who read the log.
            _log.error("the search server at %s can't be reached: %s", base, problem)
            raise ToolError("search is unavailable") from problem
        if isinstance(told, dict) and "error" in told:
            raise ToolError(str(told["error"]))
        return told

    # The name reaches the model in some frameworks, and says nothing of a simulation.
    server = MCPServer[aiohttp.ClientSession]("web", lifespan=session, log_level="WARNING", subscriptions=False)
    reads = ToolAnnotations(read_only_hint=True, open_world_hint=True)

    @server.tool(annotations=reads)
    async def search(
        call: Call,
        query: Annotated[str, Field(description="What to search for; takes the usual operators, such as site:.")],
        num: Annotated[int, Field(description="How many results.", ge=1, le=MOST_RESULTS)] = 10,
    ) -> Results:
        """Search the web. Gives title, URL, snippet and date of each result, best first."""
        return Results.model_validate(await ask(call, "search", {"query": query, "num": num}))

    @server.tool(annotations=reads, structured_output=False)
    async def read_page(
        call: Call,
        url: Annotated[str, Field(description="The page's URL, as a search result has it.")],
    ) -> str:
        """Read a web page as Markdown."""
        return str((await ask(call, "read_page", {"url": url}))["text"])

    return server


def serve_stdio(url: str, key: str) -> None:
    """Serve the tools on stdin and stdout until stdin ends.

    Args:
        url: The running server's address.
        key: The key of the world it serves.

    Raises:
        UsageError: The URL is none.
    """
    make_server(url, key).run("stdio")
