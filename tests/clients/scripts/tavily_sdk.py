# /// script
# requires-python = ">=3.11"
# dependencies = ["tavily-python==0.8.5"]
#
# [tool.uv]
# exclude-newer = "2026-11-28T00:00:00Z"
# ///
"""tavily-python, sync and async."""

import asyncio

from _script import answer, key, page, query, rows, setting, url
from tavily import AsyncTavilyClient, TavilyClient

where = {"api_base_url": f"{url}/tavily"} if setting else {}
client = TavilyClient(api_key=key, **where)


def searched(told):
    return rows(told["results"], "title", "url", "content")


def extracted(told):
    assert told["failed_results"] == []
    return "".join(r["raw_content"] for r in told["results"])


async def asynchronous():
    async with AsyncTavilyClient(api_key=key, **where) as other:
        return {
            "AsyncTavilyClient.search": searched(await other.search(query, max_results=10)),
            "AsyncTavilyClient.extract": extracted(await other.extract([page])),
        }


answer(
    "tavily-python",
    {
        "TavilyClient.search": searched(client.search(query, max_results=10)),
        "TavilyClient.search, news": searched(client.search(query, max_results=10, topic="news")),
        "TavilyClient.extract": extracted(client.extract(page)),
        **asyncio.run(asynchronous()),
    },
)
