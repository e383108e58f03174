# /// script
# requires-python = ">=3.11"
# dependencies = ["langchain-community==0.4.2"]
#
# [tool.uv]
# exclude-newer = "2026-11-28T00:00:00Z"
# ///
"""langchain-community's Brave wrapper and tool."""

import json

from _script import answer, key, query, rows, setting, url
from langchain_community.tools import BraveSearch
from langchain_community.utilities.brave_search import BraveSearchWrapper

where = {"base_url": f"{url}/brave/res/v1/web/search"} if setting else {}
wrapper = BraveSearchWrapper(api_key=key, search_kwargs={"count": 10}, **where)
documents = wrapper.download_documents(query)
answer(
    "langchain-community",
    {
        "BraveSearchWrapper.run": rows(json.loads(wrapper.run(query)), "title", "link", "snippet"),
        "BraveSearchWrapper.download_documents": [
            {"title": d.metadata["title"], "link": d.metadata["link"], "text": d.page_content} for d in documents
        ],
        "BraveSearch.invoke": rows(
            json.loads(BraveSearch(search_wrapper=wrapper).invoke(query)), "title", "link", "snippet"
        ),
    },
)
