# /// script
# requires-python = ">=3.11"
# dependencies = ["trafilatura==2.3.1"]
#
# [tool.uv]
# exclude-newer = "2026-11-28T00:00:00Z"
# ///
"""trafilatura's own download, and what it makes of a page."""

from _script import answer, page
from trafilatura import bare_extraction, fetch_url
from trafilatura.downloads import fetch_response

response = fetch_response(page, decode=True)
answer(
    "trafilatura",
    {
        "fetch_url": bare_extraction(fetch_url(page), with_metadata=True).text,
        "fetch_response": bare_extraction(response.html, url=page).text,
    },
)
