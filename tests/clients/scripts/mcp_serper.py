# /// script
# requires-python = ">=3.11"
# dependencies = ["serper-mcp-server==0.0.10", "mcp<2"]
#
# [tool.uv]
# exclude-newer = "2026-11-28T00:00:00Z"
# ///
"""serper-mcp-server, an MCP server in a process that its client starts with next to no environment."""

import asyncio
import json
import sys

from _script import answer, key, page, query, rows
from mcp import ClientSession, StdioServerParameters, stdio_client

SERVER = "import serper_mcp_server; serper_mcp_server.main()"


async def main():
    server = StdioServerParameters(command=sys.executable, args=["-c", SERVER], env={"SERPER_API_KEY": key})
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()

        async def called(tool, **arguments):
            return json.loads((await session.call_tool(tool, arguments)).content[0].text)

        return {
            "google_search": rows((await called("google_search", q=query))["organic"], "title", "link", "snippet"),
            "google_search_news": rows(
                (await called("google_search_news", q=query))["news"], "title", "link", "snippet"
            ),
            "google_search_scholar": rows((await called("google_search_scholar", q=query))["organic"], "title", "link"),
            "google_search_patents": rows((await called("google_search_patents", q=query))["organic"]),
            "webpage_scrape": (await called("webpage_scrape", url=page))["text"],
        }


answer("serper-mcp-server", asyncio.run(main()))
