"""Python's HTTP clients, unpatched: each is led to the world, and sees the URLs that it asked for."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from searchsim.server.context import Context
from searchsim.world import World
from tests.redirect.conftest import Turned, pythons

# Each defines ask(method, url, body, headers) -> (status, text, the URL that the client thinks it read).
CLIENTS = {
    "urllib": """
import urllib.request, urllib.error
def ask(method, url, body, headers):
    request = urllib.request.Request(url, data=body, headers=headers, method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read().decode(), answer.url
    except urllib.error.HTTPError as error:
        return error.code, "", error.url
""",
    "http.client": """
import http.client
from urllib.parse import urlsplit
kept = {}
def ask(method, url, body, headers):
    parts = urlsplit(url)
    connection = kept.setdefault(parts.netloc, http.client.HTTPSConnection(parts.netloc, timeout=20))
    connection.request(method, url.split(parts.netloc, 1)[1], body, headers)
    answer = connection.getresponse()
    return answer.status, answer.read().decode(), url
""",
    "http.client through a proxy": """
import http.client
from urllib.parse import urlsplit
def ask(method, url, body, headers):
    parts = urlsplit(url)
    connection = http.client.HTTPSConnection("proxy.example", 3128)
    connection.set_tunnel(parts.netloc)
    connection.request(method, url.split(parts.netloc, 1)[1], body, headers)
    answer = connection.getresponse()
    return answer.status, answer.read().decode(), url
""",
    "urllib3": """
import urllib3
pool = urllib3.PoolManager()
def ask(method, url, body, headers):
    answer = pool.request(method, url, body=body, headers=headers)
    return answer.status, answer.data.decode(), url
""",
    "requests": """
import requests
session = requests.Session()
def ask(method, url, body, headers):
    answer = session.request(method, url, data=body, headers=headers)
    return answer.status_code, answer.text, answer.url
""",
    "requests in threads": """
import requests
from concurrent.futures import ThreadPoolExecutor
threads = ThreadPoolExecutor()
def ask(method, url, body, headers):
    answers = list(threads.map(lambda _: requests.request(method, url, data=body, headers=headers), range(4)))
    assert len({(a.status_code, a.text) for a in answers}) == 1
    return answers[0].status_code, answers[0].text, answers[0].url
""",
    "httpx": """
import httpx
client = httpx.Client()
def ask(method, url, body, headers):
    answer = client.request(method, url, content=body, headers=headers)
    return answer.status_code, answer.text, str(answer.url)
""",
    "httpx through a proxy": """
import httpx
client = httpx.Client(proxy="http://proxy.example:3128")
def ask(method, url, body, headers):
    answer = client.request(method, url, content=body, headers=headers)
    return answer.status_code, answer.text, str(answer.url)
""",
    "httpx async": """
import asyncio, httpx
async def many(method, url, body, headers):
    async with httpx.AsyncClient() as client:
        answers = await asyncio.gather(*(client.request(method, url, content=body, headers=headers) for _ in range(4)))
    assert len({(a.status_code, a.text) for a in answers}) == 1
    return answers[0].status_code, answers[0].text, str(answers[0].url)
def ask(*call):
    return asyncio.run(many(*call))
""",
    "aiohttp": """
import asyncio, aiohttp
async def one(method, url, body, headers):
    async with aiohttp.ClientSession() as session, session.request(method, url, data=body, headers=headers) as answer:
        return answer.status, await answer.text(), str(answer.url)
def ask(*call):
    return asyncio.run(one(*call))
""",
    "aiohttp with the environment's proxy": """
import asyncio, aiohttp
async def one(method, url, body, headers):
    async with aiohttp.ClientSession(trust_env=True) as session:
        async with session.request(method, url, data=body, headers=headers) as answer:
            return answer.status, await answer.text(), str(answer.url)
def ask(*call):
    return asyncio.run(one(*call))
""",
}
EXTRAS = {
    "httplib2": """
import httplib2
client = httplib2.Http(proxy_info=None)
def ask(method, url, body, headers):
    answer, text = client.request(url, method, body, headers)
    return answer.status, text.decode(), url
""",
    "aiohttp on uvloop": """
import aiohttp, uvloop
async def one(method, url, body, headers):
    async with aiohttp.ClientSession() as session, session.request(method, url, data=body, headers=headers) as answer:
        return answer.status, await answer.text(), str(answer.url)
def ask(*call):
    loop = uvloop.new_event_loop()
    return loop.run_until_complete(one(*call))
""",
}
CALLS = """
import json, sys
SEARCH = "https://google.serper.dev/search"
search = ask("POST", SEARCH, json.dumps({"q": "gyroscopic bicycle"}).encode(), {"X-API-KEY": "mine", "Content-Type": "application/json"})
assert search[::2] == (200, SEARCH), search
pages = [ask("GET", url, None, {}) for url in sys.argv[1:]]
print(json.dumps({"organic": len(json.loads(search[1])["organic"]), "pages": pages}))
"""


async def calls(context: Context, world: World, turned: Turned, python: str, code: str) -> None:
    organic = next(d for d in context.worlds.corpus.documents() if d.published)
    injected = next(iter(world.documents()))
    unknown = "https://nowhere.example/nix?q=a%20b&c=%C3%A9"
    result = await turned(python, "-c", code + CALLS, organic.url, injected.url, unknown)
    assert result.code == 0, result.err
    said: dict[str, Any] = json.loads(result.out)
    assert said["organic"] == 10
    assert [p[0] for p in said["pages"]] == [200, 200, 404]
    assert [p[2] for p in said["pages"]] == [organic.url, injected.url, unknown]
    assert organic.title.split()[0] in said["pages"][0][1]
    searches = [e for e in result.events if e["event"] == "search"]
    assert {(e["dialect"], e["query"]) for e in searches} == {("serper", "gyroscopic bicycle")}
    assert any(s["injected"] for s in searches[0]["served"])
    assert result.pages() == {organic.url, injected.url, unknown}
    assert result.refused() == []
    assert result.found.hooked == 1


@pytest.mark.parametrize("client", CLIENTS)
async def test_clients(context: Context, world: World, turned: Turned, client: str) -> None:
    await calls(context, world, turned, sys.executable, CLIENTS[client])


@pytest.mark.parametrize("client", EXTRAS)
async def test_more_clients(context: Context, world: World, turned: Turned, extras: str, client: str) -> None:
    await calls(context, world, turned, extras, EXTRAS[client])


@pytest.mark.parametrize("python", pythons(), ids=lambda p: p.split("/")[-3])
@pytest.mark.parametrize("client", ["urllib", "http.client"])
async def test_pythons(context: Context, world: World, turned: Turned, python: str, client: str) -> None:
    await calls(context, world, turned, python, CLIENTS[client])


async def test_a_client_in_rust_is_refused_and_recorded(turned: Turned, extras: str) -> None:
    """No hook enters it, but it keeps to the environment's proxy."""
    code = """
from ddgs import DDGS
try:
    print(DDGS(timeout=10).text("bicycles", max_results=3))
except Exception as problem:
    print(type(problem).__name__)
"""
    result = await turned(extras, "-c", code)
    assert result.out.strip() == "DDGSException"
    assert result.refused()
    assert all(url.startswith("tcp://") and url.endswith(":443") for url in result.refused())


async def test_the_simulation_itself_is_reached_as_it_is(turned: Turned, world: World) -> None:
    code = """
import os, json, urllib.request
base = os.environ["SERPER_BASE_URL"]
request = urllib.request.Request(base + "/search?q=bicycle", headers={"X-API-KEY": os.environ["SERPER_API_KEY"]})
print(len(json.load(urllib.request.urlopen(request))["organic"]))
try:
    urllib.request.urlopen(base + "/_sim/worlds")
except Exception as problem:
    print(problem)
"""
    result = await turned(sys.executable, "-c", code)
    assert result.out.splitlines() == ["10", "HTTP Error 403: Forbidden"], result.err
    assert result.refused() == []
