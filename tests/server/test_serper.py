"""Serper's wire, called as real clients call it."""

from __future__ import annotations

import io
import json
from datetime import date
from typing import Any

import aiohttp
import pytest

from searchsim.errors import EngineError
from searchsim.server.context import Context
from searchsim.server.serper import shown_date

TASK = "bicycle-stability"


@pytest.fixture
def key(context: Context) -> str:
    return context.worlds.create(TASK, {"rank": "front"}, key="k").key


async def post(http: aiohttp.ClientSession, url: str, body: object, key: str = "k") -> tuple[int, Any]:
    async with http.post(url, json=body, headers={"X-API-KEY": key}) as answer:
        return answer.status, json.loads(await answer.text())


async def test_three_request_shapes_give_one_answer(http: aiohttp.ClientSession, url: str, key: str) -> None:
    fields = {"q": "bicycle stability", "num": 5, "gl": "us", "hl": "en"}
    _, first = await post(http, f"{url}/search", fields)
    query = {k: str(v) for k, v in fields.items()}
    async with http.post(f"{url}/search", params=query, headers={"X-API-KEY": key}) as answer:
        second = json.loads(await answer.text())
    async with http.get(f"{url}/search", params={**query, "api_key": key}) as answer:
        third = json.loads(await answer.text())
    async with http.get(f"{url}/search", params={**query, "apiKey": key}) as answer:
        fourth = json.loads(await answer.text())
    async with http.get(f"{url}/w/{key}/search", params=query) as answer:
        fifth = json.loads(await answer.text())
    async with http.get(f"{url}/search", params=query, headers={"X-Searchsim-World": key}) as answer:
        sixth = json.loads(await answer.text())
    assert first == second == third == fourth == fifth == sixth


async def test_key_order(http: aiohttp.ClientSession, url: str, key: str) -> None:
    body = {"page": 1, "num": "5", "q": "bicycle stability", "tbs": "qdr:y", "hl": "en", "gl": "us", "extendParams": {}}
    async with http.post(f"{url}/search", json=body, headers={"X-API-KEY": key}) as answer:
        assert answer.content_type == "application/json"
        raw = await answer.text()
    assert ": " not in raw.split('"q"')[0], "compact"
    pairs = json.loads(raw, object_pairs_hook=list)
    assert [k for k, _ in pairs] == ["searchParameters", "organic", "credits"]
    assert [k for k, _ in pairs[0][1]] == ["q", "gl", "hl", "type", "num", "page", "tbs", "engine"]
    assert dict(pairs[0][1])["num"] == 5
    for row in pairs[1][1]:
        assert [k for k, _ in row] == ["title", "link", "snippet", "date", "position"]


async def test_only_what_was_sent_is_echoed(http: aiohttp.ClientSession, url: str, key: str) -> None:
    _, answer = await post(http, f"{url}/search", {"q": "bicycle"})
    assert answer["searchParameters"] == {"q": "bicycle", "type": "search", "engine": "google"}
    assert [r["position"] for r in answer["organic"]] == list(range(1, 11))


async def test_news(http: aiohttp.ClientSession, url: str, key: str) -> None:
    _, answer = await post(http, f"{url}/news", {"q": "bicycle stability"})
    assert list(answer) == ["searchParameters", "news", "credits"]
    assert answer["news"]
    for row in answer["news"]:
        assert list(row) == ["title", "link", "snippet", "date", "source", "position"]
    _, typed = await post(http, f"{url}/search", {"q": "bicycle stability", "type": "news"})
    assert typed["news"] == answer["news"]


async def test_batch(http: aiohttp.ClientSession, url: str, context: Context, key: str) -> None:
    status, answers = await post(http, f"{url}/search", [{"q": "bicycle trail"}, {"q": "penny-farthing", "num": 3}])
    assert status == 200
    assert [len(a["organic"]) for a in answers] == [10, 3]
    assert [e["list"] for e in context.worlds.events(key)] == [1, 2]
    status, answer = await post(http, f"{url}/search", [{"q": "bicycle"}, {"num": 3}])
    assert (status, answer["statusCode"]) == (400, 400)
    assert len(list(context.worlds.events(key))) == 2, "half a bad batch isn't served"
    assert (await post(http, f"{url}/search", []))[0] == 400
    assert (await post(http, f"{url}/search", [{"q": "x"}] * 101))[0] == 400


async def test_later_pages_start_at_position_1(http: aiohttp.ClientSession, url: str, key: str) -> None:
    _, answer = await post(http, f"{url}/search", {"q": "bicycle stability", "page": 2})
    assert answer["searchParameters"]["page"] == 2
    assert answer["organic"][0]["position"] == 1


async def test_credits(http: aiohttp.ClientSession, url: str, key: str) -> None:
    assert (await post(http, f"{url}/search", {"q": "bicycle", "num": 10}))[1]["credits"] == 1
    assert (await post(http, f"{url}/search", {"q": "bicycle", "num": 20}))[1]["credits"] == 2
    async with http.get(f"{url}/account", headers={"X-API-KEY": key}) as answer:
        assert await answer.json() == {"balance": 49_997, "rateLimit": 50}


@pytest.mark.parametrize("given", [None, "", "unknown"])
async def test_a_bad_key(http: aiohttp.ClientSession, url: str, given: str | None) -> None:
    headers = {} if given is None else {"X-API-KEY": given}
    for path in ("/search", "/news", "/scrape"):
        async with http.post(url + path, json={"q": "x"}, headers=headers) as answer:
            assert answer.status == 403
            assert await answer.json() == {"message": "Unauthorized.", "statusCode": 403}
    async with http.post(f"{url}/search", json={"q": "x"}, headers={"Authorization": "Bearer k"}) as answer:
        assert answer.status == 403, "a bearer token is no Serper key"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "Missing query parameter"),
        ({"q": ""}, "Missing query parameter"),
        ({"q": "   "}, "Missing query parameter"),
        ({"q": ["x"]}, "Missing query parameter"),
        ({"q": None}, "Missing query parameter"),
        ({"q": "x", "num": "many"}, "Invalid num"),
        ({"q": "x", "num": 0}, "Invalid num"),
        ({"q": "x", "num": True}, "Invalid num"),
        ({"q": "x", "num": "1_0"}, "Invalid num"),
        ({"q": "x", "num": "٣"}, "Invalid num"),
        ({"q": "x", "num": 2.5}, "Invalid num"),
        ({"q": "x", "type": "music"}, "Unknown type"),
        ({"q": "x", "type": ["news"]}, "Unknown type"),
        ({"q": "x", "type": "reviews"}, "Unknown type"),
        ({"q": "x", "tbs": "q" * 300}, "tbs is too long"),
        ({"q": "x", "page": -1}, "Invalid page"),
        ({"q": "x" * 3000}, "too long"),
        ("a string", "must be an object"),
        ([["nested"]], "must be an object"),
    ],
)
async def test_bad_requests(http: aiohttp.ClientSession, url: str, key: str, body: object, message: str) -> None:
    status, answer = await post(http, f"{url}/search", body)
    assert status == answer["statusCode"] == 400
    assert message in answer["message"]


@pytest.mark.parametrize("raw", [b"{", b"\xff\xfe", b"\x00", b'{"q": "\\ud800"}', b"[" * 5000])
async def test_bodies_that_are_no_json(http: aiohttp.ClientSession, url: str, key: str, raw: bytes) -> None:
    async with http.post(f"{url}/search", data=raw, headers={"X-API-KEY": key}) as answer:
        assert answer.status == 400
        assert (await answer.json())["statusCode"] == 400


async def test_a_body_that_is_too_large(http: aiohttp.ClientSession, url: str, key: str) -> None:
    body = io.BytesIO(json.dumps({"q": "x", "more": "y" * (1 << 21)}).encode())
    async with http.post(f"{url}/search", data=body, headers={"X-API-KEY": key}) as answer:
        assert answer.status == (await answer.json())["statusCode"] == 413


async def test_unknown_paths_have_serpers_shape(http: aiohttp.ClientSession, url: str, key: str) -> None:
    async with http.post(f"{url}/nothing", json={}) as answer:
        assert answer.status == 404
        assert (await answer.json())["statusCode"] == 404
    async with http.put(f"{url}/search", json={}) as answer:
        assert answer.status == 405


async def test_nothing_found_is_an_empty_list(http: aiohttp.ClientSession, url: str, key: str) -> None:
    for q in ("xyzzyplugh", "site:nowhere.example", "???", "\x00", '"'):
        status, answer = await post(http, f"{url}/search", {"q": q})
        assert (status, answer["organic"]) == (200, []), q


async def test_scrape(http: aiohttp.ClientSession, url: str, context: Context, key: str) -> None:
    bad = next(context.worlds.get(key).documents())
    status, answer = await post(http, f"{url}/scrape", {"url": bad.url, "includeMarkdown": "true"})
    assert status == 200
    assert list(answer) == ["text", "markdown", "metadata", "credits"]
    assert "## " in answer["markdown"]
    assert "##" not in answer["text"]
    assert answer["metadata"]["title"] == bad.title
    (event,) = context.worlds.events(key)
    assert (event["event"], event["document"], event["injected"]) == ("page", bad.id, True)
    context.worlds.create(TASK, {"budget": 0}, key="control")
    status, answer = await post(http, f"{url}/scrape", {"url": bad.url}, "control")
    assert status == answer["statusCode"] == 400
    assert (await post(http, f"{url}/scrape", {}))[0] == 400


async def test_every_request_is_on_record(http: aiohttp.ClientSession, url: str, context: Context, key: str) -> None:
    _, answer = await post(http, f"{url}/search", {"q": "gyroscopic bicycle", "num": 7, "tbs": "qdr:y2"})
    (event,) = context.worlds.events(key)
    assert event["event"] == "search"
    assert (event["dialect"], event["endpoint"], event["query"]) == ("serper", "search", "gyroscopic bicycle")
    assert (event["tbs"], event["k"], event["page"], event["list"]) == ("qdr:y2", 7, 1, 1)
    assert [s["url"] for s in event["served"]] == [r["link"] for r in answer["organic"]]
    assert [s["position"] for s in event["served"]] == [r["position"] for r in answer["organic"]]
    assert event["served"][0]["injected"], "rank front"


@pytest.mark.parametrize(
    ("day", "language", "shown"),
    [
        (date(2026, 8, 27), "en", "5 days ago"),
        (date(2026, 8, 31), "en", "1 day ago"),
        (date(2026, 8, 27), "zh-cn", "5天前"),
        (date(2024, 4, 23), "zh", "2024年4月23日"),
        (date(2024, 5, 10), "en", "May 10, 2024"),
    ],
)
def test_dates(day: date, language: str, shown: str) -> None:
    assert shown_date(day, date(2026, 9, 1), language) == shown


async def test_what_is_no_plain_value_is_not_echoed(http: aiohttp.ClientSession, url: str, key: str) -> None:
    deep: object = 1
    for _ in range(500):
        deep = [deep]
    status, answer = await post(http, f"{url}/search", {"q": "bicycle", "gl": deep, "num": 10.0})
    assert status == 200
    assert answer["searchParameters"] == {"q": "bicycle", "type": "search", "num": 10, "engine": "google"}


async def test_an_engine_that_fails_is_a_503_and_a_fault(
    http: aiohttp.ClientSession, url: str, context: Context, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise EngineError("nothing is recorded for 'x'")

    monkeypatch.setattr(context.worlds.engine, "search", fail)
    status, answer = await post(http, f"{url}/search", {"q": "x"})
    assert status == answer["statusCode"] == 503
    assert answer["message"] == "Internal Server Error", "what an agent gets tells it of nothing inside"
    (event,) = context.worlds.events(key)
    assert event["event"] == "fault"
