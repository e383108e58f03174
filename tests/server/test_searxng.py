"""SearXNG's wire, called as its clients call it."""

from __future__ import annotations

import io
import json
from typing import Any

import aiohttp
import pytest

from searchsim.errors import EngineError
from searchsim.server import searxng
from searchsim.server.context import Context
from searchsim.validity import reasons

TASK = "bicycle-stability"
Q = "gyroscopic bicycle stability"


@pytest.fixture
def key(context: Context) -> str:
    return context.worlds.create(TASK, {"rank": "front"}, key="k").key


async def ask(http: aiohttp.ClientSession, url: str, path: str = "/w/k/searxng/search", **fields: str) -> Any:
    async with http.get(url + path, params={"q": Q, "format": "json", **fields}) as answer:
        assert answer.status == 200, await answer.text()
        return json.loads(await answer.text())


async def serper(http: aiohttp.ClientSession, url: str, path: str = "/search", **fields: str) -> list[dict[str, Any]]:
    async with http.get(f"{url}/w/k{path}", params={"q": Q, **fields}) as answer:
        told = await answer.json()
        rows: list[dict[str, Any]] = told["organic"] if path == "/search" else told["news"]
        return rows


async def test_keys_as_the_source_has_them(http: aiohttp.ClientSession, url: str, key: str) -> None:
    answer = await ask(http, url)
    assert list(answer) == [
        "query",
        "number_of_results",
        "results",
        "answers",
        "corrections",
        "infoboxes",
        "suggestions",
        "unresponsive_engines",
    ]
    assert answer["query"] == Q
    row = answer["results"][1]
    assert {"url", "title", "content", "engine", "engines", "parsed_url", "template", "score", "category"} <= set(row)
    assert row["parsed_url"][1] in row["url"]
    assert len(row["parsed_url"]) == 6
    assert row["positions"] == [2]
    assert row["score"] == 0.5
    dated = next(r for r in answer["results"] if r["publishedDate"])
    assert dated["publishedDate"].endswith("T00:00:00")
    assert dated["pubdate"].endswith(" 00:00:00")
    assert len({tuple(r) for r in answer["results"]}) == 1, "all rows have the same keys"


async def test_the_list_is_serpers(http: aiohttp.ClientSession, url: str, context: Context, key: str) -> None:
    rows = (await ask(http, url))["results"]
    google = await serper(http, url)
    assert [(r["url"], r["title"], r["content"]) for r in rows] == [
        (r["link"], r["title"], r["snippet"]) for r in google
    ]
    assert len(rows) == 10
    first, second = context.worlds.events(key)
    assert (first["dialect"], first["list"], second["list"]) == ("searxng", 1, 1), "one list, asked for twice"
    assert first["served"] == second["served"]
    assert first["served"][0]["injected"]
    second_page = (await ask(http, url, pageno="2"))["results"]
    assert [r["url"] for r in second_page] == [r["link"] for r in await serper(http, url, page="2")]
    assert second_page[0]["positions"] == [1]
    assert await reasons(context.worlds, context.worlds.get(key), list(context.worlds.events(key))) == []


async def test_news_and_time_ranges(http: aiohttp.ClientSession, url: str, context: Context, key: str) -> None:
    for fields in ({"categories": "news"}, {"category_news": "on"}):
        rows = (await ask(http, url, **fields))["results"]
        assert rows
        assert [r["url"] for r in rows] == [r["link"] for r in await serper(http, url, "/news")]
        assert {r["category"] for r in rows} == {"news"}
    for span, tbs in (("day", "qdr:d"), ("week", "qdr:w"), ("month", "qdr:m"), ("year", "qdr:y")):
        rows = (await ask(http, url, time_range=span))["results"]
        assert [r["url"] for r in rows] == [r["link"] for r in await serper(http, url, tbs=tbs)]
    assert (await ask(http, url, time_range=""))["results"] == (await ask(http, url))["results"]
    mixed = (await ask(http, url, categories="general,news", engines="bing", language="de-DE", safesearch="1"))[
        "results"
    ]
    assert mixed == (await ask(http, url))["results"]
    assert (await ask(http, url, categories="images"))["results"] == []


async def test_ways_in(http: aiohttp.ClientSession, url: str, key: str) -> None:
    wanted = (await ask(http, url))["results"]
    fields = {"q": Q, "format": "json"}
    for path in ("/searxng", "/searxng/", "/searxng/search"):
        for headers in ({"Authorization": "Bearer k"}, {"X-Searchsim-World": "k"}):
            async with http.get(url + path, params=fields, headers=headers) as answer:
                assert (await answer.json())["results"] == wanted, path
            async with http.post(url + path, data=fields, headers=headers) as answer:
                assert (await answer.json())["results"] == wanted, path
            async with http.post(
                url + path, params={"format": "json", "q": "x"}, data={"q": Q}, headers=headers
            ) as answer:
                assert (await answer.json())["results"] == wanted, "the form wins"


async def test_without_a_key_there_are_organic_documents_alone(
    http: aiohttp.ClientSession, url: str, context: Context, key: str
) -> None:
    context.worlds.create(TASK, {"budget": 0}, key="control")
    for fields in ({}, {"pageno": "2"}, {"categories": "news"}, {"time_range": "year"}):
        plain = await ask(http, url, "/searxng/search", **fields)
        control = await ask(http, url, "/w/control/searxng/search", **fields)
        assert plain == control
    bad = {d.url for d in context.worlds.get(key).documents()}
    assert bad.isdisjoint(r["url"] for r in (await ask(http, url, "/searxng/search"))["results"])
    assert list(context.worlds.events(key)) == []
    async with http.get(f"{url}/w/unknown/searxng/search", params={"q": Q, "format": "json"}) as answer:
        assert answer.status == 403
        assert "error" in await answer.json()


@pytest.mark.parametrize(
    ("fields", "status", "message"),
    [
        ({"q": ""}, 400, "No query"),
        ({"q": "  "}, 400, "No query"),
        ({"pageno": "0"}, 400, "Invalid value 0 for parameter pageno"),
        ({"pageno": "-1"}, 400, "pageno"),
        ({"pageno": "many"}, 400, "pageno"),
        ({"pageno": "9999999999"}, 400, "pageno"),
        ({"pageno": ""}, 400, "Empty pageno parameter"),
        ({"time_range": "hour"}, 400, "Invalid value hour for parameter time_range"),
        ({"language": "english"}, 400, "language"),
        ({"safesearch": "3"}, 400, "safesearch"),
        ({"q": "x" * 3000}, 400, "too long"),
        ({"format": "csv"}, 403, "Forbidden"),
        ({"format": "rss"}, 403, "Forbidden"),
    ],
)
async def test_bad_requests(
    http: aiohttp.ClientSession, url: str, key: str, fields: dict[str, str], status: int, message: str
) -> None:
    async with http.get(f"{url}/w/k/searxng/search", params={"q": Q, "format": "json", **fields}) as answer:
        assert answer.status == status
        told = await answer.json()
    assert list(told) == ["error"]
    assert message in told["error"]


async def test_odd_bodies(http: aiohttp.ClientSession, url: str, context: Context, key: str) -> None:
    for data, kind in [
        (b"\xff\xfe=\x00&q=%ff%00", "application/x-www-form-urlencoded"),
        (b"q=%ED%A0%80", "application/x-www-form-urlencoded; charset=nonsense"),
        (b'{"q": "x"}', "application/json"),
        (b"--", "multipart/form-data"),
        (b"&" * 100_000, "application/x-www-form-urlencoded"),
    ]:
        path = f"{url}/w/k/searxng/search?format=json"
        async with http.post(path, data=data, headers={"Content-Type": kind}) as answer:
            assert answer.status in (200, 400), kind
            await answer.json()
    body = io.BytesIO(b"q=x&y=" + b"z" * (1 << 21))
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    async with http.post(f"{url}/w/k/searxng/search?format=json", data=body, headers=headers) as answer:
        assert answer.status == 413
    assert not [e for e in context.worlds.events(key) if e["event"] == "fault"]


async def test_nothing_found(http: aiohttp.ClientSession, url: str, key: str) -> None:
    for q in ("xyzzyplugh", "site:nowhere.example", "???", "\x00"):
        answer = await ask(http, url, q=q)
        assert (answer["results"], answer["number_of_results"]) == ([], 0), q


async def test_html_is_a_plain_list(http: aiohttp.ClientSession, url: str, context: Context, key: str) -> None:
    rows = (await ask(http, url))["results"]
    for fields in ({}, {"format": "html"}, {"format": "unknown"}):
        async with http.get(f"{url}/w/k/searxng/search", params={"q": Q, **fields}) as answer:
            assert answer.content_type == "text/html"
            assert "noindex" in answer.headers["X-Robots-Tag"]
            text = await answer.text()
        assert text.count("<article") == 10
        assert rows[0]["url"] in text
    async with http.get(f"{url}/w/k/searxng/search", params={"q": '"><script>{title}</script>'}) as answer:
        assert "<script>" not in await answer.text()
    async with http.get(f"{url}/searxng/") as answer:
        assert answer.status == 200
        assert '<input name="q" value="">' in await answer.text()


async def test_an_engine_that_fails_is_a_fault(
    http: aiohttp.ClientSession, url: str, context: Context, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise EngineError("nothing is recorded for 'x'")

    monkeypatch.setattr(context.worlds.engine, "search", fail)
    async with http.get(f"{url}/searxng/search?q=x&format=json", headers={"Authorization": "Bearer k"}) as answer:
        assert answer.status == 503
    (event,) = context.worlds.events(key)
    assert event["event"] == "fault"


def test_errors_have_its_shape() -> None:
    assert json.loads(str(searxng.error(503, "gone").text)) == {"error": "gone"}
