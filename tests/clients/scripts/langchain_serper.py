# /// script
# requires-python = ">=3.11"
# dependencies = ["langchain-community==0.4.2"]
#
# [tool.uv]
# exclude-newer = "2026-11-28T00:00:00Z"
# ///
"""langchain-community's GoogleSerperAPIWrapper."""

import asyncio

from _script import answer, key, query, rows
from langchain_community.utilities import GoogleSerperAPIWrapper


def found(told, name):
    return rows(told[name], "title", "link", "snippet" if name in ("organic", "news") else None)


async def asynchronous():
    results = await GoogleSerperAPIWrapper(serper_api_key=key).aresults(query)
    text = await GoogleSerperAPIWrapper(serper_api_key=key).arun(query)
    return {"aresults": found(results, "organic"), "arun": text}


def wrapper(kind):
    return GoogleSerperAPIWrapper(serper_api_key=key, type=kind)


answer(
    "langchain-community",
    {
        "results": found(wrapper("search").results(query), "organic"),
        "results, news": found(wrapper("news").results(query), "news"),
        "results, places": found(wrapper("places").results(query), "places"),
        "results, images": found(wrapper("images").results(query), "images"),
        "run": wrapper("search").run(query),
        "run, news": wrapper("news").run(query),
        **asyncio.run(asynchronous()),
    },
)
