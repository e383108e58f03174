# /// script
# requires-python = ">=3.11"
# dependencies = ["mcp==2.3.0"]
#
# [tool.uv]
# exclude-newer = "2026-11-28T00:00:00Z"
# ///
"""The MCP SDK's client on our MCP server, which it starts itself."""

import asyncio

from _script import answer, page, query, request, rows
from mcp import Client, StdioServerParameters, stdio_client


async def main():
    command, *arguments = request["server"]
    async with Client(stdio_client(StdioServerParameters(command=command, args=arguments))) as client:
        tools = await client.list_tools()
        assert sorted(t.name for t in tools.tools) == ["read_page", "search"]
        found = await client.call_tool("search", {"query": query, "num": 10})
        read = await client.call_tool("read_page", {"url": page})
        return {
            "search": rows(found.structured_content["results"], "title", "url", "snippet"),
            "read_page": "".join(block.text for block in read.content),
        }


answer("mcp", asyncio.run(main()))
