from __future__ import annotations

import json
from typing import Any

import aiohttp
import pytest

from searchsim.corpus import Corpus
from searchsim.server.app import running
from searchsim.server.context import Context

TASK = "bicycle-stability"


async def create(http: aiohttp.ClientSession, url: str, body: object) -> tuple[int, Any]:
    async with http.post(f"{url}/_sim/worlds", json=body) as answer:
        return answer.status, json.loads(await answer.text())


async def test_a_worlds_life(http: aiohttp.ClientSession, url: str) -> None:
    status, made = await create(http, url, {"task": TASK, "condition": {"budget": 3, "rank": "back"}})
    assert status == 201
    assert list(made) == ["key", "task", "condition", "plan"]
    assert made["condition"] == {
        "authority": "high", "style": "paper", "stage": "always", "rank": "back", "budget": 3,
    }  # fmt: skip
    assert len(made["plan"]["documents"]) == 3
    key = made["key"]
    async with http.post(f"{url}/search", json={"q": "gyroscopic bicycle"}, headers={"X-API-KEY": key}) as answer:
        assert answer.status == 200
    async with http.get(f"{url}/_sim/worlds/{key}") as answer:
        shown = await answer.json()
    assert shown["observation"]["searches"] == 1
    assert shown["exposure"]["served"]
    assert shown["valid"]
    async with http.get(f"{url}/_sim/worlds") as answer:
        assert [w["key"] for w in (await answer.json())["worlds"]] == [key]
    async with http.get(f"{url}/_sim/worlds/{key}/events") as answer:
        assert answer.content_type == "application/x-ndjson"
        lines = (await answer.text()).splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["search"]
    async with http.delete(f"{url}/_sim/worlds/{key}") as answer:
        assert (answer.status, await answer.read()) == (204, b"")
    for path in ("", "/events"):
        async with http.get(f"{url}/_sim/worlds/{key}{path}") as answer:
            assert answer.status == 404
    async with http.delete(f"{url}/_sim/worlds/{key}") as answer:
        assert answer.status == 404
    async with http.post(f"{url}/search", json={"q": "x"}, headers={"X-API-KEY": key}) as answer:
        assert answer.status == 403


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "task"),
        ({"task": None}, "task"),
        ({"task": 3}, "task"),
        ({"task": "absent"}, "task"),
        ({"task": TASK, "condition": []}, "condition"),
        ({"task": TASK, "condition": {"budget": 9}}, "condition.budget"),
        ({"task": TASK, "condition": {"tier": "high"}}, "condition.tier"),
        ({"task": TASK, "condition": {"style": "news", "budget": 2}}, "condition.budget"),
        ({"task": TASK, "condition": {"stage": "pre_synthesis"}}, "condition.stage"),
        ({"task": TASK, "key": 3}, "key"),
        ({"task": TASK, "key": "a/b"}, "key"),
        ({"task": TASK, "documents": "x"}, "documents"),
        ({"task": TASK, "documents": [3]}, "documents.0"),
        ({"task": TASK, "documents": [{"id": "x"}]}, "documents.0."),
        ({"task": TASK, "last_list": 0}, "last_list"),
        ({"task": TASK, "last_list": True}, "last_list"),
        ({"task": TASK, "tier": 1}, "tier"),
        ([], None),
    ],
)
async def test_bad_requests_name_the_field(http: aiohttp.ClientSession, url: str, body: object, field: str) -> None:
    status, answer = await create(http, url, body)
    assert status == 400
    told = answer["error"]["field"]
    assert told == field or (field == "documents.0." and told.startswith(field))
    assert answer["error"]["message"]


async def test_no_json(http: aiohttp.ClientSession, url: str) -> None:
    async with http.post(f"{url}/_sim/worlds", data=b"\xff{") as answer:
        assert answer.status == 400
        assert "no JSON" in (await answer.json())["error"]["message"]


async def test_a_key_in_use(http: aiohttp.ClientSession, url: str) -> None:
    assert (await create(http, url, {"task": TASK, "key": "mine"}))[0] == 201
    status, answer = await create(http, url, {"task": TASK, "key": "mine"})
    assert (status, answer["error"]["field"]) == (409, "key")


async def test_tasks_factors_and_health(http: aiohttp.ClientSession, url: str, quickstart: Corpus) -> None:
    async with http.get(f"{url}/_sim/tasks") as answer:
        tasks = (await answer.json())["tasks"]
    assert [t["id"] for t in tasks] == list(quickstart.tasks)
    assert all(list(t) == ["id", "question", "language"] for t in tasks)
    async with http.get(f"{url}/_sim/factors") as answer:
        assert [f["name"] for f in (await answer.json())["factors"]][-1] == "budget"
    async with http.get(f"{url}/_sim/health") as answer:
        told = await answer.json()
    assert (told["status"], told["corpus"], told["engine"]) == ("ok", "quickstart", "tantivy")


@pytest.mark.parametrize("header", ["X-Searchsim-Original-Url", "X-Searchsim-World"])
async def test_redirected_traffic_never_reaches_control(http: aiohttp.ClientSession, url: str, header: str) -> None:
    for path in ("/_sim/health", "/_sim/worlds", "/_sim/ui"):
        async with http.get(url + path, headers={header: "x"}) as answer:
            assert answer.status == 403


async def test_a_control_token(http: aiohttp.ClientSession, context: Context) -> None:
    context.control_token = "secret"
    async with running(context) as url:
        for headers, status in [
            ({}, 401),
            ({"Authorization": "Bearer no"}, 401),
            ({"Authorization": "Bearer secret"}, 200),
        ]:
            for path in ("/_sim/health", "/_sim/ui"):
                async with http.get(url + path, headers=headers) as answer:
                    assert answer.status == status
        async with http.get(f"{url}/search?q=x") as answer:
            assert answer.status == 403, "the token guards control alone; worlds have their keys"


async def test_one_world_for_any_key(http: aiohttp.ClientSession, context: Context) -> None:
    context.worlds.only = context.worlds.create(TASK)
    other = context.worlds.create("anji-bridge", key="other")
    async with running(context) as url:
        for headers in ({}, {"X-API-KEY": "whatever"}):
            async with http.post(f"{url}/search", json={"q": "bicycle"}, headers=headers) as answer:
                assert answer.status == 200
        async with http.post(f"{url}/search", json={"q": "赵州桥"}, headers={"X-API-KEY": "other"}) as answer:
            assert answer.status == 200
    assert len(list(context.worlds.events(context.worlds.only.key))) == 2
    assert len(list(context.worlds.events(other.key))) == 1


async def test_an_error_of_ours_is_no_traceback(
    http: aiohttp.ClientSession, url: str, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    context.worlds.create(TASK, key="k")

    async def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(context.worlds, "search", fail)
    async with http.post(f"{url}/search", json={"q": "x"}, headers={"X-API-KEY": "k"}) as answer:
        assert answer.status == 500
        text = await answer.text()
    assert json.loads(text)["statusCode"] == 500
    assert "Traceback" not in text
    (event,) = context.worlds.events("k")
    assert (event["event"], event["status"]) == ("fault", 500)


async def test_pages_of_other_sites_cannot_plan_worlds(http: aiohttp.ClientSession, url: str) -> None:
    for origin, status in [("https://evil.example", 403), (url, 201)]:
        async with http.post(f"{url}/_sim/worlds", json={"task": TASK}, headers={"Origin": origin}) as answer:
            assert answer.status == status


async def test_a_token_of_odd_characters(http: aiohttp.ClientSession, context: Context) -> None:
    context.control_token = "secret"
    async with running(context) as url:
        for path in ("/", "/_sim/health"):
            async with http.get(url + path, headers={"Authorization": "Bearer ü"}) as answer:
                assert answer.status == 401


async def test_a_given_pool_may_not_pass_for_an_organic_document(
    http: aiohttp.ClientSession, url: str, context: Context
) -> None:
    organic = await context.engine.document("bicycle-stability-01")
    assert organic
    whole = {
        "title": "T", "source_name": "S", "published": "2026-01-05", "snippet": "s" * 80, "body": "Bicycle.", "id": "own",
        "url": "https://own.example/1",
    }  # fmt: skip
    for change, field in [
        ({"id": organic.id}, "documents.0.id"),
        ({"url": organic.url + "#x"}, "documents.0.url"),
        ({"url": "http://[bad/x"}, "documents.0.url"),
        ({"task": "anji-bridge"}, "documents.0.task"),
    ]:
        status, answer = await create(http, url, {"task": TASK, "documents": [{**whole, **change}]})
        assert (status, answer["error"]["field"]) == (400, field)
    twins = [whole, {**whole, "id": "own-2"}]
    assert (await create(http, url, {"task": TASK, "documents": twins}))[0] == 400
    many = [{**whole, "id": f"o{n}", "url": f"https://own.example/{n}"} for n in range(6)]
    status, answer = await create(http, url, {"task": TASK, "documents": many})
    assert (status, answer["error"]["field"]) == (400, "documents")
    assert (await create(http, url, {"task": TASK, "documents": [whole]}))[0] == 201
