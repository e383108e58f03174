"""Redirected requests are answered by what stands for their host."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from urllib.parse import urlsplit

import aiohttp
import pytest

from searchsim.server.context import Context
from searchsim.world import World

ORIGINAL = "X-Searchsim-Original-Url"


@pytest.fixture
def world(context: Context) -> World:
    return context.worlds.create("bicycle-stability", {"rank": "front"})


@pytest.fixture
def marks(world: World) -> dict[str, str]:
    return {"X-Searchsim-World": world.key, "X-API-KEY": "the program's own", "Authorization": "Bearer its-own"}


@pytest.mark.parametrize(
    ("method", "original", "body", "status", "dialect"),
    [
        ("POST", "https://google.serper.dev/search", {"q": "bicycle"}, 200, "serper"),
        ("GET", "https://google.serper.dev/search?q=bicycle", None, 200, "serper"),
        ("GET", "https://GOOGLE.serper.dev./news?q=bicycle", None, 200, "serper"),
        ("POST", "https://api.tavily.com/search", {"query": "bicycle"}, 200, "tavily"),
        ("POST", "https://api.exa.ai/search", {"query": "bicycle"}, 200, "exa"),
        ("GET", "https://api.search.brave.com/res/v1/web/search?q=bicycle", None, 200, "brave"),
        ("GET", "https://api.bing.microsoft.com/v7.0/search?q=bicycle", None, 200, "bing"),
        ("GET", "https://s.jina.ai/?q=bicycle", None, 200, "jina"),
    ],
)
async def test_search_apis(
    context: Context,
    url: str,
    http: aiohttp.ClientSession,
    world: World,
    marks: dict[str, str],
    method: str,
    original: str,
    body: object,
    status: int,
    dialect: str,
) -> None:
    async with http.request(method, url, json=body, headers={**marks, ORIGINAL: original}) as answer:
        assert answer.status == status, await answer.text()
    (event,) = (e for e in context.worlds.events(world.key) if e["event"] == "search")
    assert (event["dialect"], event["query"]) == (dialect, "bicycle")


async def test_pages_and_readers(
    context: Context, url: str, http: aiohttp.ClientSession, world: World, marks: dict[str, str]
) -> None:
    injected = next(iter(world.documents()))
    asked = {
        injected.url: ("GET", None),
        f"https://r.jina.ai/{injected.url}": ("GET", None),
        "https://r.jina.ai/": ("POST", {"url": injected.url}),
        "https://scrape.serper.dev/": ("POST", {"url": injected.url}),
        "https://scrape.serper.dev": ("POST", {"url": injected.url}),
    }
    for original, (method, body) in asked.items():
        async with http.request(method, f"{url}/any", json=body, headers={**marks, ORIGINAL: original}) as answer:
            assert answer.status == 200, (original, await answer.text())
    async with http.head(url, headers={**marks, ORIGINAL: injected.url}) as answer:
        assert answer.status == 200
    pages = [e for e in context.worlds.events(world.key) if e["event"] == "page"]
    assert {(e["url"], e["injected"]) for e in pages} == {(injected.url, True)}
    assert len(pages) == len(asked), "a HEAD delivers nothing"


async def test_a_page_that_is_not_there_is_on_record_under_its_own_url(
    context: Context, url: str, http: aiohttp.ClientSession, world: World, marks: dict[str, str]
) -> None:
    original = "http://nowhere.example:8080/a%20b?c=d%26e&f=%C3%A9"
    async with http.get(url, headers={**marks, ORIGINAL: original}) as answer:
        assert answer.status == 404
    (event,) = context.worlds.events(world.key)
    assert (event["event"], event["url"], event["found"]) == ("page", original, False)


async def test_without_a_world_there_is_organic_evidence_alone(
    context: Context, url: str, http: aiohttp.ClientSession, world: World
) -> None:
    organic = next(iter(context.worlds.corpus.documents()))
    injected = next(iter(world.documents()))
    for original, status in ((organic.url, 200), (injected.url, 404), ("https://google.serper.dev/search?q=a", 403)):
        async with http.get(url, headers={ORIGINAL: original}) as answer:
            assert answer.status == status


@pytest.mark.parametrize(
    ("original", "status"),
    [
        ("https://google.serper.dev/_sim/worlds", 403),
        ("https://google.serper.dev/_sim", 403),
        ("https://api.tavily.com/_sim/worlds", 404),
        ("https://google.serper.dev/", 404),
        ("https://google.serper.dev/v1/models", 404),
        ("https://google.serper.dev/tavily/search", 404),
        ("https://google.serper.dev/w/key/search?q=a", 404),
        ("https://google.serper.dev//example.org/search", 404),
        ("https://google.serper.dev/page?url=x", 404),
        ("https://api.openai.com/search?q=a", 404),
        ("https://nowhere.example/_sim/worlds", 404),
        ("https://nowhere.example/v1/models", 404),
        ("ftp://nowhere.example/", 400),
        ("nonsense", 400),
        ("http://[", 400),
    ],
)
async def test_what_is_not_for_redirected_traffic(
    url: str, http: aiohttp.ClientSession, marks: dict[str, str], original: str, status: int
) -> None:
    for path in ("/", "/search?q=a"):
        async with http.get(url + path, headers={**marks, ORIGINAL: original}) as answer:
            assert answer.status == status, await answer.text()
            assert "searchsim" not in (await answer.text()).lower()


async def test_the_models_host_is_the_gateway(
    context: Context, url: str, http: aiohttp.ClientSession, world: World, marks: dict[str, str]
) -> None:
    headers = {**marks, ORIGINAL: "https://api.openai.com/v1/chat/completions"}
    for stream in (False, True):
        body = {"model": "m", "messages": [{"role": "user", "content": "hello"}], "stream": stream}
        async with http.post(url, json=body, headers=headers) as answer:
            assert answer.status == 200
            await answer.read()
    assert [e["event"] for e in context.worlds.events(world.key)] == ["model", "model"]


async def test_what_no_page_can_answer_is_refused_and_recorded(
    context: Context, url: str, http: aiohttp.ClientSession, world: World, marks: dict[str, str]
) -> None:
    for method in ("POST", "PUT", "DELETE"):
        headers = {**marks, ORIGINAL: "https://api.example/v2/x?api_key=secret"}
        async with http.request(method, url, data=b"{}", headers=headers) as answer:
            assert answer.status == 404
    events = list(context.worlds.events(world.key))
    assert [(e["event"], e["host"], e["url"]) for e in events] == [
        ("refused", "api.example", "https://api.example/v2/x")
    ] * 3


async def raw(url: str, head: str, world: World | None = None) -> bytes:
    """What the server answers to a request as a proxy's clients send it."""
    reader, writer = await asyncio.open_connection(urlsplit(url).hostname, urlsplit(url).port)
    credentials = f"Proxy-Authorization: Basic {b64encode(f'{world.key}:x'.encode()).decode()}\r\n" if world else ""
    writer.write(f"{head}\r\nHost: there.example\r\n{credentials}Connection: close\r\n\r\n".encode())
    answer = await asyncio.wait_for(reader.read(), 10)
    writer.close()
    return answer


async def test_it_answers_as_a_proxy(context: Context, url: str, world: World) -> None:
    injected = next(iter(world.documents()))
    plain = injected.url.replace("https://", "http://")
    assert (await raw(url, f"GET {plain} HTTP/1.1", world)).startswith(b"HTTP/1.1 200")
    assert (await raw(url, f"GET {plain} HTTP/1.1")).startswith(b"HTTP/1.1 404"), "no world, no misleading page"
    search = "GET http://google.serper.dev/search?q=bicycle HTTP/1.1"
    assert (await raw(url, search, world)).startswith(b"HTTP/1.1 200")
    assert (await raw(url, "CONNECT there.example:443 HTTP/1.1", world)).startswith(b"HTTP/1.1 403")
    assert (await raw(url, "CONNECT [2001:db8::9]:443 HTTP/1.1", world)).startswith(b"HTTP/1.1 403")
    assert (await raw(url, f"GET {url}/_sim/health HTTP/1.1")).startswith(b"HTTP/1.1 200"), "its own, told in full"
    events = list(context.worlds.events(world.key))
    assert [(e["event"], e.get("host")) for e in events] == [
        ("page", None),
        ("search", None),
        ("refused", "there.example"),
        ("refused", "2001:db8::9"),
    ]
