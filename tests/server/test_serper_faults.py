"""Faults and latency on demand, as clients meet them."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import aiohttp
import pytest

from searchsim import faults
from searchsim.server.context import Context
from tests.server.serper_shapes import shape_faults

TASK = "bicycle-stability"


async def make(http: aiohttp.ClientSession, url: str, **body: Any) -> dict[str, Any]:
    async with http.post(f"{url}/_sim/worlds", json={"task": TASK, "key": "k", **body}) as answer:
        assert answer.status == 201, await answer.text()
        made: dict[str, Any] = await answer.json()
        return made


async def ask(http: aiohttp.ClientSession, url: str, body: object = None, path: str = "/search") -> tuple[int, str]:
    async with http.post(url + path, json=body or {"q": "bicycle"}, headers={"X-API-KEY": "k"}) as answer:
        return answer.status, await answer.text()


async def shown(http: aiohttp.ClientSession, url: str) -> dict[str, Any]:
    async with http.get(f"{url}/_sim/worlds/k") as answer:
        told: dict[str, Any] = await answer.json()
        return told


@pytest.mark.parametrize(
    ("kind", "status", "body"),
    [
        ("429", 429, {"message": "Too many requests", "statusCode": 429}),
        (500, 500, {"message": "Internal Server Error", "statusCode": 500}),
        ("403", 403, {"message": "Unauthorized.", "statusCode": 403}),
        ("no_credits", 400, {"message": "Not enough credits", "statusCode": 400}),
    ],
)
async def test_statuses(
    http: aiohttp.ClientSession, url: str, context: Context, kind: object, status: int, body: dict[str, Any]
) -> None:
    made = await make(http, url, faults=[{"kind": kind, "on": [1]}])
    assert made["plan"]["faults"] == [{"kind": str(kind), "on": [1]}]
    told, text = await ask(http, url)
    assert (told, json.loads(text)) == (status, body)
    assert shape_faults("error", text) == []
    assert (await ask(http, url))[0] == 200, "a retry is the next request"
    first, second = context.worlds.events("k")
    assert (first["event"], first["planned"], first["status"]) == ("fault", True, status)
    assert (second["event"], second["list"]) == ("search", 1)
    told_of = await shown(http, url)
    assert told_of["valid"]
    assert told_of["observation"]["faults"] == 0


async def test_what_was_not_planned_is_told_apart(http: aiohttp.ClientSession, url: str, context: Context) -> None:
    await make(http, url, faults=[{"kind": "500", "on": [1]}])
    assert (await ask(http, url))[0] == 500
    assert (await shown(http, url))["valid"]
    context.fault(context.worlds.get("k"), where="/search", status=500, message="the server failed")
    told = await shown(http, url)
    assert not told["valid"]
    assert told["reasons"] == ["unplanned fault at /search: the server failed"]
    assert told["observation"]["faults"] == 1


@pytest.mark.parametrize("kind", ["no_organic", "organic_null", "organic_object"])
@pytest.mark.parametrize(("path", "rows"), [("/search", "organic"), ("/news", "news"), ("/scholar", "organic")])
async def test_lists_that_are_none(
    http: aiohttp.ClientSession, url: str, context: Context, kind: str, path: str, rows: str
) -> None:
    await make(http, url, faults=[{"kind": kind, "on": [1]}])
    status, text = await ask(http, url, path=path)
    answer = json.loads(text)
    assert status == 200
    assert answer["searchParameters"]["q"] == "bicycle"
    assert {"no_organic": rows not in answer, "organic_null": answer.get(rows, 0) is None}.get(
        kind, answer.get(rows) == {}
    )
    (event,) = context.worlds.events("k")
    assert (event["event"], event["planned"], event["status"]) == ("fault", True, 200)
    assert kind in event["message"]
    assert json.loads((await ask(http, url, path=path))[1])[rows]
    assert [e["list"] for e in context.worlds.events("k") if e["event"] == "search"] == [1]
    assert (await shown(http, url))["valid"]


async def test_missing_snippets(http: aiohttp.ClientSession, url: str, context: Context) -> None:
    await make(http, url, faults=[{"kind": "missing_snippet", "on": [1]}])
    rows = json.loads((await ask(http, url))[1])["organic"]
    assert [("snippet" in row) for row in rows[:4]] == [False, True, False, True]
    assert all(row["title"] and row["link"] for row in rows)
    search, fault = context.worlds.events("k")
    assert [s["url"] for s in search["served"]] == [row["link"] for row in rows]
    assert fault["planned"]
    assert all("snippet" in row for row in json.loads((await ask(http, url))[1])["organic"])
    assert (await shown(http, url))["valid"]


@pytest.mark.parametrize("batch", [False, True])
async def test_truncated_json_tells_nothing_of_a_list(http: aiohttp.ClientSession, url: str, batch: bool) -> None:
    await make(http, url, condition={"rank": "front"}, faults=[{"kind": "truncated_json", "on": [2]}])
    query = {"q": "bicycle stability"}
    whole = (await ask(http, url, query))[1]
    status, text = await ask(http, url, [query] if batch else query)
    assert status == 200
    assert text.lstrip("[") == whole[: whole.index('"title":"') + len('"title":"')]
    with pytest.raises(json.JSONDecodeError):
        json.loads(text)
    told = await shown(http, url)
    assert told["valid"]
    assert told["observation"]["searches"] == 1


async def test_a_batch_that_meets_a_status_fails_whole(http: aiohttp.ClientSession, url: str, context: Context) -> None:
    await make(http, url, faults=[{"kind": "429", "on": [2]}, {"kind": "no_organic", "on": [4]}])
    batch = [{"q": "bicycle"}, {"q": "bicycle trail"}, {"q": "penny-farthing"}]
    assert (await ask(http, url, batch))[0] == 429
    (event,) = context.worlds.events("k")
    assert event["where"] == "requests 1-2, serper"
    status, text = await ask(http, url, batch)
    assert status == 200
    assert ["organic" in one for one in json.loads(text)] == [True, False, True]
    assert [e.get("list") for e in context.worlds.events("k")] == [None, 1, None, 2]
    assert faults.counted(context.worlds.events("k")) == context.worlds.get("k").requests == 5
    assert (await shown(http, url))["valid"]


async def test_a_timeout_outlasts_the_client(
    http: aiohttp.ClientSession, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(faults.KINDS, "timeout", faults.KINDS["timeout"]._replace(hangs=0.4))
    await make(http, url, faults=[{"kind": "timeout", "on": [1, 2]}])
    with pytest.raises(TimeoutError):
        async with http.post(
            f"{url}/search",
            json={"q": "x"},
            headers={"X-API-KEY": "k"},
            timeout=aiohttp.ClientTimeout(total=0.1),
        ):
            pass
    status, text = await ask(http, url)
    assert (status, json.loads(text)) == (504, {"message": "Gateway Timeout", "statusCode": 504})
    assert (await ask(http, url))[0] == 200
    assert (await shown(http, url))["valid"]


async def test_latency_holds_every_list_back_once(http: aiohttp.ClientSession, url: str) -> None:
    await make(http, url, latency={"constant": 0.3})
    start = time.perf_counter()
    await asyncio.gather(*(ask(http, url, {"q": f"bicycle {n}"}) for n in range(5)))
    assert 0.3 <= time.perf_counter() - start < 1.2, "requests don't wait for each other"
    start = time.perf_counter()
    await ask(http, url, [{"q": "a"}, {"q": "b"}, {"q": "c"}])
    assert 0.3 <= time.perf_counter() - start < 0.85, "a batch waits once"
    start = time.perf_counter()
    await ask(http, url, path="/images")
    async with http.get(f"{url}/account", headers={"X-API-KEY": "k"}):
        assert time.perf_counter() - start < 0.25, "what serves no list isn't held back"


async def test_lists_have_numbers_in_the_order_of_requests(
    http: aiohttp.ClientSession, url: str, context: Context
) -> None:
    await make(http, url, latency="live")
    waits = context.worlds.get("k").faults.wait
    assert waits(1) != waits(2)
    await asyncio.gather(ask(http, url, {"q": "bicycle"}), ask(http, url, {"q": "trail"}))
    assert [e["list"] for e in context.worlds.events("k")] == [1, 2]


async def test_bad_faults_name_the_field(http: aiohttp.ClientSession, url: str) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"faults": {}}, "faults"),
        ({"faults": [{"kind": "429", "on": [0]}]}, "faults.0.on"),
        ({"latency": "slow"}, "latency"),
        ({"serper": []}, "serper"),
        ({"serper": {"plan": "gold"}}, "serper.plan"),
        ({"serper": {"colour": 1}}, "serper.colour"),
        ({"serper": {"features": "relatedSearches"}}, "serper.features"),
        ({"serper": {"features": ["relatedSearches", "knowledgeGraph"]}}, "serper.features.1"),
        ({"serper": {"features": ["relatedSearches", "ads"]}}, "serper.features.1"),
        ({"serper": {"features": [["ads"]]}}, "serper.features.0"),
        ({"serper": {"plan": ["free"]}}, "serper.plan"),
    ]
    for more, field in cases:
        async with http.post(f"{url}/_sim/worlds", json={"task": TASK, **more}) as answer:
            assert answer.status == 400, more
            told = (await answer.json())["error"]
        assert told["field"] == field
        assert told["message"]
