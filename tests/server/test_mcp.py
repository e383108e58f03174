"""The MCP tools, called by the SDK's own client over stdio, against a running server."""

from __future__ import annotations

import io
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.types import TextContent

from searchsim.errors import UsageError
from searchsim.server.context import Context
from searchsim.server.mcp_tools import make_server
from searchsim.validity import reasons

TASK = "bicycle-stability"
Q = "gyroscopic bicycle stability"


@pytest.fixture
def key(context: Context) -> str:
    return context.worlds.create(TASK, {"rank": "front"}, key="k").key


@asynccontextmanager
async def tools(url: str, key: str) -> AsyncIterator[ClientSession]:
    """The SDK's client on a server of its own, started as an agent starts one."""
    code = "import sys, typer; from searchsim.cli.mcp import mcp; typer.run(mcp)"
    server = StdioServerParameters(command=sys.executable, args=["-c", code, "--url", url, "--key", key])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        yield session


async def called(session: ClientSession, tool: str, **arguments: Any) -> tuple[str, Any, bool]:
    result = await session.call_tool(tool, arguments)
    text = "".join(part.text for part in result.content if isinstance(part, TextContent))
    return text, result.structured_content, bool(result.is_error)


async def test_the_sdks_client(http: aiohttp.ClientSession, url: str, context: Context, key: str) -> None:
    async with tools(url, key) as session:
        there = {tool.name: tool for tool in (await session.list_tools()).tools}
        assert set(there) == {"search", "read_page"}
        assert set(there["search"].input_schema["properties"]) == {"query", "num"}
        assert there["search"].input_schema["required"] == ["query"]
        assert set(there["read_page"].input_schema["properties"]) == {"url"}
        text, found, failed = await called(session, "search", query=Q)
        assert not failed
        async with http.get(f"{url}/search", params={"q": Q}, headers={"X-API-KEY": key}) as answer:
            google = (await answer.json())["organic"]
        rows = found["results"]
        assert [(r["position"], r["url"], r["title"], r["snippet"], r["date"]) for r in rows] == [
            (r["position"], r["link"], r["title"], r["snippet"], r.get("date")) for r in google
        ]
        assert rows[0]["url"] in text, "a model sees the same"
        page, _, failed = await called(session, "read_page", url=rows[0]["url"])
        assert not failed
        assert page.startswith(f"# {rows[0]['title']}\n\nURL: {rows[0]['url']}\n")
        _, found, _ = await called(session, "search", query=Q, num=3)
        assert len(found["results"]) == 3
        text, _, failed = await called(session, "read_page", url="https://nowhere.example/x")
        assert failed and "no page at https://nowhere.example/x" in text
        for arguments in ({"query": " "}, {"query": Q, "num": 0}, {"query": Q, "num": 101}, {"query": "x" * 3000}, {}):
            assert (await called(session, "search", **arguments))[2], arguments
    events = list(context.worlds.events(key))
    assert [(e["event"], e["dialect"]) for e in events] == [
        ("search", "mcp"),
        ("search", "serper"),
        ("page", "mcp"),
        ("search", "mcp"),
        ("page", "mcp"),
    ]
    assert [e["list"] for e in events if e["event"] == "search"] == [1, 1, 1]
    assert events[0]["served"][0]["injected"] and events[2]["injected"]
    assert await reasons(context.worlds, context.worlds.get(key), events) == []


async def test_a_wrong_key_and_no_server(url: str, context: Context) -> None:
    async with tools(url, "wrong") as session:
        text, _, failed = await called(session, "search", query=Q)
        assert failed and "Unauthorized" in text
    async with tools("http://127.0.0.1:9", "k") as session:
        text, _, failed = await called(session, "read_page", url="https://a.example/")
        assert failed and "unavailable" in text and "127.0.0.1" not in text
    with pytest.raises(UsageError, match="give a URL"):
        make_server("localhost:8080", "k")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"{}", b'{"query": 5}', b'{"query": "x", "num": "many"}', b"\xff"])
async def test_bad_bodies(http: aiohttp.ClientSession, url: str, key: str, body: bytes) -> None:
    for tool in ("search", "read_page"):
        async with http.post(f"{url}/w/k/mcp/{tool}", data=body) as answer:
            assert answer.status == 400
            assert "error" in await answer.json()


async def test_a_key_is_wanted_and_bodies_have_a_limit(http: aiohttp.ClientSession, url: str, key: str) -> None:
    for headers in ({}, {"Authorization": "Bearer wrong"}):
        async with http.post(f"{url}/mcp/search", json={"query": Q}, headers=headers) as answer:
            assert answer.status == 403
    body = io.BytesIO(b'{"query": "' + b"x" * (1 << 21))
    async with http.post(f"{url}/w/k/mcp/search", data=body) as answer:
        assert answer.status == 413
