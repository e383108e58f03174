# /// script
# requires-python = ">=3.11"
# dependencies = ["smolagents==1.26.0", "requests", "markdownify"]
#
# [tool.uv]
# exclude-newer = "2026-11-28T00:00:00Z"
# ///
"""smolagents' GoogleSearchTool on Serper, and its VisitWebpageTool."""

import os
import re

from _script import answer, key, page, query
from smolagents import GoogleSearchTool, VisitWebpageTool

os.environ["SERPER_API_KEY"] = key
search = GoogleSearchTool(provider="serper")


def found(text):
    lines = re.findall(r"^\d+\. \[(.+)\]\((\S+)\)$", text, re.MULTILINE)
    return [{"title": title, "link": link} for title, link in lines]


answer(
    "smolagents",
    {
        "GoogleSearchTool": found(search(query)),
        "GoogleSearchTool, filter_year": found(search(query, filter_year=2024)),
        "VisitWebpageTool": VisitWebpageTool()(page),
    },
)
