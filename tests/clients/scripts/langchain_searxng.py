# /// script
# requires-python = ">=3.11"
# dependencies = ["langchain-community==0.4.2"]
#
# [tool.uv]
# exclude-newer = "2026-11-28T00:00:00Z"
# ///
"""langchain-community's SearxSearchWrapper."""

import asyncio

from _script import answer, key, query, rows, setting, url
from langchain_community.utilities import SearxSearchWrapper

where = {"searx_host": f"{url}/w/{key}/searxng/search"} if setting else {}
wrapper = SearxSearchWrapper(k=10, **where)


async def asynchronous():
    return {
        "aresults": rows(await wrapper.aresults(query, num_results=10), "title", "link", "snippet"),
        "arun": await wrapper.arun(query),
    }


answer(
    "langchain-community",
    {
        "results": rows(wrapper.results(query, num_results=10), "title", "link", "snippet"),
        "run": wrapper.run(query),
        **asyncio.run(asynchronous()),
    },
)
