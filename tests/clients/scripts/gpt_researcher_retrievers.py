# /// script
# requires-python = ">=3.11"
# dependencies = ["gpt-researcher==0.15.1"]
#
# [tool.uv]
# exclude-newer = "2026-11-28T00:00:00Z"
# ///
"""gpt-researcher's retrievers."""

import os

from _script import answer, key, query, rows, setting, url

os.environ |= {"SERPER_API_KEY": key, "TAVILY_API_KEY": key, "BING_API_KEY": key}
if setting:
    os.environ["SEARX_URL"] = f"{url}/w/{key}/searxng"
    os.environ["RETRIEVER_ENDPOINT"] = f"{url}/w/{key}/custom"
from gpt_researcher.retrievers import BingSearch, CustomRetriever, SearxSearch, SerperSearch, TavilySearch

results = {"SearxSearch": rows(SearxSearch(query).search(max_results=10), link="href", text="body")}
if setting:
    results["CustomRetriever"] = rows(CustomRetriever(query).search(), link="url", body="raw_content")
else:
    results |= {
        "SerperSearch": rows(SerperSearch(query).search(max_results=10), "title", "href", "body"),
        "TavilySearch": rows(TavilySearch(query).search(max_results=10), link="href", text="body"),
        "BingSearch": rows(BingSearch(query).search(max_results=10), "title", "href", "body"),
    }
answer("gpt-researcher", results)
