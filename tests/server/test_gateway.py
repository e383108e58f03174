"""The gateway, in front of a scripted model."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from searchsim.server.app import running
from searchsim.server.context import Context
from searchsim.upstream import HttpUpstream
from searchsim.validity import reasons
from searchsim.world import Worlds
from tests.scripted import ScriptedModel
from tests.test_world import ask

TASK = "bicycle-stability"
KEY = {"Authorization": "Bearer k"}


@pytest.fixture(autouse=True)
def world(context: Context) -> None:
    context.worlds.create(TASK, {"rank": "front"}, key="k")


def messages(text: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text}]


async def chat(http: aiohttp.ClientSession, url: str, body: object, headers: dict[str, str] = KEY) -> tuple[int, Any]:
    async with http.post(f"{url}/v1/chat/completions", json=body, headers=headers) as answer:
        return answer.status, json.loads(await answer.text())


async def test_temperature_seed_and_model_are_forced(
    http: aiohttp.ClientSession, url: str, scripted_model: ScriptedModel
) -> None:
    body = {"model": "gpt", "messages": messages("Hi"), "temperature": 1.5, "seed": 99, "max_tokens": 5, "top_p": 0.5}
    status, answer = await chat(http, url, body)
    assert (status, answer["choices"][0]["message"]["content"]) == (200, "scripted answer")
    assert scripted_model.requests == [
        {"model": "scripted", "messages": messages("Hi"), "temperature": 0.0, "seed": 0, "max_tokens": 5, "top_p": 0.5}
    ]


async def test_a_call_is_on_record_with_what_was_delivered(
    http: aiohttp.ClientSession, url: str, context: Context
) -> None:
    async with http.post(f"{url}/search", json={"q": "gyroscopic bicycle"}, headers={"X-API-KEY": "k"}) as answer:
        rows = (await answer.json())["organic"]
    text = "\n".join(f"[{n}] {r['title']}: {r['snippet']}" for n, r in enumerate(rows[:3]))
    await chat(http, url, {"model": "m", "messages": messages(text)})
    events = list(context.worlds.events("k"))
    served = [s["document"] for s in events[0]["served"]]
    event = events[1]
    assert event["event"] == "model"
    assert event["model"] == "scripted"
    assert event["usage"] == {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    assert event["delivered"] == served[:3]
    assert event["parts"][served[0]] == ["title", "snippet"]
    assert event["messages"] == messages(text)
    assert event["answer"] == "scripted answer"
    assert event["settings"]["usage_from"] == "upstream"


async def test_streaming(
    http: aiohttp.ClientSession, url: str, context: Context, scripted_model: ScriptedModel
) -> None:
    for wanted in (False, True):
        body = {"model": "m", "messages": messages("Hi"), "stream": True}
        if wanted:
            body["stream_options"] = {"include_usage": True}
        async with http.post(f"{url}/v1/chat/completions", json=body, headers=KEY) as answer:
            assert answer.content_type == "text/event-stream"
            lines = [line for line in (await answer.text()).split("\n\n") if line]
        assert lines[-1] == "data: [DONE]"
        chunks = [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]
        assert "".join(c["choices"][0]["delta"]["content"] for c in chunks if c["choices"]) == "scripted answer "
        assert any(not c["choices"] for c in chunks) == wanted, "usage comes only where it was asked for"
    events = list(context.worlds.events("k"))
    assert [e["answer"] for e in events] == ["scripted answer "] * 2
    assert [e["usage"]["total_tokens"] for e in events] == [18, 18]


async def test_tokens_are_counted_where_the_upstream_does_not(
    http: aiohttp.ClientSession, url: str, context: Context, scripted_model: ScriptedModel
) -> None:
    scripted_model.usage = False
    _, answer = await chat(http, url, {"model": "m", "messages": messages("one two three")})
    assert answer["usage"] == {"prompt_tokens": 3, "completion_tokens": 3, "total_tokens": 6}
    (event,) = context.worlds.events("k")
    assert event["settings"]["usage_from"] == "tiktoken"


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer other"}, {"X-API-KEY": "k"}])
async def test_a_bad_key(http: aiohttp.ClientSession, url: str, headers: dict[str, str]) -> None:
    status, answer = await chat(http, url, {"messages": messages("Hi")}, headers)
    assert status == 401
    assert answer["error"]["code"] == "invalid_api_key"


@pytest.mark.parametrize(
    "body",
    [[], "x", {}, {"messages": []}, {"messages": "x"}, {"messages": [1]}, {"messages": [{}], "stream_options": 1}],
)
async def test_bad_requests(http: aiohttp.ClientSession, url: str, body: object, scripted_model: ScriptedModel) -> None:
    status, answer = await chat(http, url, body)
    assert status == 400
    assert set(answer["error"]) == {"message", "type", "param", "code"}
    assert scripted_model.requests == []


@pytest.mark.parametrize(("given", "told"), [(429, 429), (400, 400), (500, 502), (401, 502)])
async def test_an_upstreams_error_is_passed_on_and_is_a_fault(
    http: aiohttp.ClientSession, url: str, context: Context, scripted_model: ScriptedModel, given: int, told: int
) -> None:
    scripted_model.status = given
    for stream in (False, True):
        status, answer = await chat(http, url, {"messages": messages("Hi"), "stream": stream})
        assert status == told
        assert answer["error"]["message"] == "scripted failure"
    events = list(context.worlds.events("k"))
    assert [e["event"] for e in events] == ["fault", "fault"]
    assert await reasons(context.worlds, context.worlds.get("k"), events)


@pytest.mark.parametrize("how", ["json", "hang up"])
async def test_an_upstream_that_misbehaves(
    http: aiohttp.ClientSession, url: str, context: Context, scripted_model: ScriptedModel, how: str
) -> None:
    scripted_model.broken = how
    status, answer = await chat(http, url, {"messages": messages("Hi")})
    assert status == 502
    assert "model at" in answer["error"]["message"]
    assert [e["event"] for e in context.worlds.events("k")] == ["fault"]


async def test_a_stream_that_breaks_off_is_a_fault_and_on_record(
    http: aiohttp.ClientSession, url: str, context: Context, scripted_model: ScriptedModel
) -> None:
    scripted_model.broken = "cut"
    body = {"messages": messages("Hi"), "stream": True}
    async with http.post(f"{url}/v1/chat/completions", json=body, headers=KEY) as answer:
        text = await answer.text()
    assert '"error"' in text
    assert sorted(e["event"] for e in context.worlds.events("k")) == ["fault", "model"]


async def test_an_upstream_that_is_away(worlds: Worlds, http: aiohttp.ClientSession) -> None:
    upstream = HttpUpstream("http://127.0.0.1:9/v1", model="m")
    async with running(Context(worlds, upstream)) as url:
        status, answer = await chat(http, url, {"messages": messages("Hi")})
    await upstream.close()
    assert status == 502
    assert "can't be reached" in answer["error"]["message"]


async def test_without_a_model(worlds: Worlds, http: aiohttp.ClientSession) -> None:
    async with running(Context(worlds)) as url:
        status, answer = await chat(http, url, {"messages": messages("Hi")})
    assert status == 503
    assert "--upstream" in answer["error"]["message"]


async def test_the_key_of_the_upstream_is_sent_and_never_recorded(
    worlds: Worlds, http: aiohttp.ClientSession, scripted_model: ScriptedModel
) -> None:
    upstream = HttpUpstream(f"{scripted_model.url}/v1", key="very-secret")
    async with running(Context(worlds, upstream)) as url:
        await chat(http, url, {"model": "m", "messages": messages("Hi")})
        scripted_model.status = 500
        await chat(http, url, {"model": "m", "messages": messages("Hi")})
    await upstream.close()
    assert scripted_model.headers[0]["Authorization"] == "Bearer very-secret"
    assert scripted_model.requests[0]["model"] == "m"
    assert "very-secret" not in json.dumps(list(worlds.events("k")))


async def test_an_agent_that_closes_a_stream_commits_no_fault(
    http: aiohttp.ClientSession, url: str, context: Context, scripted_model: ScriptedModel
) -> None:
    scripted_model.answers = ["word " * 4000]
    body = {"messages": messages("Hi"), "stream": True}
    async with http.post(f"{url}/v1/chat/completions", json=body, headers=KEY) as answer:
        await answer.content.readany()
        answer.close()
    for _ in range(100):
        events = list(context.worlds.events("k"))
        if events:
            break
        await asyncio.sleep(0.02)
    assert [e["event"] for e in events] == ["model"]
    assert await reasons(context.worlds, context.worlds.get("k"), events) == []


async def test_an_answer_after_the_worlds_end_belongs_to_no_world(
    http: aiohttp.ClientSession, url: str, context: Context, scripted_model: ScriptedModel
) -> None:
    scripted_model.delay = 0.3
    call = asyncio.create_task(chat(http, url, {"messages": messages("Hi")}))
    await asyncio.sleep(0.1)
    context.worlds.end("k")
    context.worlds.create(TASK, key="k")
    await call
    assert list(context.worlds.events("k")) == []


async def test_the_model_has_one_name(http: aiohttp.ClientSession, url: str, scripted_model: ScriptedModel) -> None:
    scripted_model.called = "/some/path/weights.gguf"
    _, answer = await chat(http, url, {"messages": messages("Hi")})
    assert answer["model"] == "scripted"
    async with http.post(
        f"{url}/v1/chat/completions", json={"messages": messages("Hi"), "stream": True}, headers=KEY
    ) as stream:
        assert "weights" not in await stream.text()


async def test_models_of_the_upstream(
    worlds: Worlds, http: aiohttp.ClientSession, scripted_model: ScriptedModel
) -> None:
    upstream = HttpUpstream(f"{scripted_model.url}/v1")
    async with running(Context(worlds, upstream)) as url, http.get(f"{url}/v1/models", headers=KEY) as answer:
        assert [m["id"] for m in (await answer.json())["data"]] == ["scripted-a", "scripted-b"]
    await upstream.close()
    async with running(Context(worlds)) as url, http.get(f"{url}/v1/models", headers=KEY) as answer:
        assert (await answer.json())["data"] == []
    assert list(worlds.events("k")) == [], "listing models is no fault"


async def test_searching_alone_makes_no_matcher(http: aiohttp.ClientSession, url: str, context: Context) -> None:
    async with http.post(f"{url}/search", json={"q": "bicycle"}, headers={"X-API-KEY": "k"}):
        pass
    assert context.matchers == {}


async def test_models(http: aiohttp.ClientSession, url: str) -> None:
    async with http.get(f"{url}/v1/models", headers=KEY) as answer:
        assert [m["id"] for m in (await answer.json())["data"]] == ["scripted"]


async def test_what_was_served_before_a_restart_is_found_after_it(worlds: Worlds, context: Context) -> None:
    world = worlds.get("k")
    answer = await ask(worlds, world, "gyroscopic bicycle")
    matcher = await Context(worlds).matcher(world)
    found = await matcher.find(messages(answer.items[0].document.body[:600]))
    assert found.documents == [answer.items[0].document.id]


async def test_many_calls_at_once_stay_apart(
    http: aiohttp.ClientSession, url: str, context: Context, scripted_model: ScriptedModel
) -> None:
    for n in range(8):
        context.worlds.create(TASK, key=f"k{n}")
    await asyncio.gather(
        *(
            chat(http, url, {"messages": messages(f"call {n}")}, {"Authorization": f"Bearer k{n % 8}"})
            for n in range(40)
        )
    )
    for n in range(8):
        sent = [e["messages"][0]["content"] for e in context.worlds.events(f"k{n}")]
        assert sorted(sent) == sorted(f"call {m}" for m in range(40) if m % 8 == n)
