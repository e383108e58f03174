# /// script
# requires-python = ">=3.11"
# dependencies = ["serperdev-haystack==2.0.0"]
#
# [tool.uv]
# exclude-newer = "2026-11-28T00:00:00Z"
# ///
"""serperdev-haystack's SerperDevWebSearch."""

import asyncio

from _script import answer, key, query
from haystack.utils import Secret
from haystack_integrations.components.websearch.serperdev import SerperDevWebSearch

search = SerperDevWebSearch(api_key=Secret.from_token(key), top_k=10)


def found(told):
    assert told["links"] == [d.meta["link"] for d in told["documents"]]
    return [{"title": d.meta["title"], "link": d.meta["link"], "text": d.content} for d in told["documents"]]


answer(
    "serperdev-haystack",
    {"run": found(search.run(query=query)), "run_async": found(asyncio.run(search.run_async(query=query)))},
)
