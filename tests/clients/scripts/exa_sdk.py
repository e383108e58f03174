# /// script
# requires-python = ">=3.11"
# dependencies = ["exa-py==2.27.0"]
#
# [tool.uv]
# exclude-newer = "2026-11-28T00:00:00Z"
# ///
"""exa-py, sync and async."""

import asyncio

from _script import answer, key, page, query, setting, url
from exa_py import AsyncExa, Exa

client = Exa(api_key=key, **({"base_url": f"{url}/exa"} if setting else {}))


def found(told):
    return [{"title": r.title, "link": r.url, "body": r.text} for r in told.results]


def text(told):
    return "".join(r.text for r in told.results)


async def asynchronous():
    async with AsyncExa(api_key=key, **({"api_base": f"{url}/exa"} if setting else {})) as other:
        return {
            "AsyncExa.search": found(await other.search(query, num_results=10)),
            "AsyncExa.get_contents": text(await other.get_contents([page], text=True)),
        }


answer(
    "exa-py",
    {
        "Exa.search": found(client.search(query, num_results=10)),
        "Exa.search, news": found(client.search(query, num_results=10, category="news")),
        "Exa.search_and_contents": found(client.search_and_contents(query, num_results=10, text=True)),
        "Exa.get_contents": text(client.get_contents([page], text=True)),
        **asyncio.run(asynchronous()),
    },
)
