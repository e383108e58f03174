# /// script
# requires-python = ">=3.11"
# dependencies = ["crewai-tools==1.15.30"]
#
# [tool.uv]
# exclude-newer = "2026-11-28T00:00:00Z"
# ///
"""crewai-tools' SerperDevTool, and its SerperScrapeWebsiteTool, which has no setting for its URL."""

import os

from _script import answer, key, page, query, rows, setting, url
from crewai_tools import SerperDevTool, SerperScrapeWebsiteTool

os.environ["SERPER_API_KEY"] = key
where = {"base_url": url} if setting else {}
results = {
    "SerperDevTool": rows(SerperDevTool(**where).run(search_query=query)["organic"], "title", "link", "snippet"),
    "SerperDevTool, news": rows(
        SerperDevTool(**where, search_type="news").run(search_query=query)["news"], "title", "link", "snippet"
    ),
}
if not setting:
    results["SerperScrapeWebsiteTool"] = SerperScrapeWebsiteTool().run(url=page)
answer("crewai-tools", results)
