# /// script
# requires-python = ">=3.11"
# dependencies = ["readability-lxml==0.9", "httpx==0.28.1", "httpx2==2.16.2", "requests==2.34.2", "aiohttp==3.14.5"]
#
# [tool.uv]
# exclude-newer = "2026-11-28T00:00:00Z"
# ///
"""readability-lxml, on pages that other libraries download, since it has no download of its own."""

import asyncio
import urllib.request

import aiohttp
import httpx
import httpx2
import requests
from _script import answer, page
from lxml.html import fromstring
from readability import Document


def text(html):
    return fromstring(Document(html).summary(html_partial=True)).text_content()


async def asynchronous():
    async with aiohttp.ClientSession() as session, session.get(page) as response:
        told = {"aiohttp": text(await response.text())}
    async with httpx.AsyncClient() as client:
        told["httpx, async"] = text((await client.get(page)).text)
    async with httpx2.AsyncClient() as client:
        told["httpx2, async"] = text((await client.get(page)).text)
    return told


with urllib.request.urlopen(page) as opened:
    by_urllib = opened.read().decode()
answer(
    "readability-lxml",
    {
        "requests": text(requests.get(page, timeout=30).text),
        "urllib": text(by_urllib),
        "httpx": text(httpx.get(page).text),
        "httpx2": text(httpx2.get(page).text),
        **asyncio.run(asynchronous()),
    },
)
