"""Inspect's models in OpenAI's shapes, through the gateway and a real client's eyes. Inspect's own mock model answers."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from typing import Any

import aiohttp
import orjson
import pytest
from inspect_ai.model import ChatMessageAssistant, Model, ModelOutput, get_model
from inspect_ai.tool import ToolCall

from searchsim.errors import UpstreamError
from searchsim.server.app import running
from searchsim.server.context import Context
from searchsim.study.upstream import InspectUpstream
from searchsim.tokens import use_shipped_encodings
from searchsim.world import Worlds

WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string", "description": "A city."}}},
    },
}


def mock(*outputs: ModelOutput | Callable[..., Any]) -> Model:
    use_shipped_encodings()
    made = list(outputs)
    given: Any = made[0] if callable(made[0]) else made
    return get_model("mockllm/model", custom_outputs=given, memoize=False)


def said(text: str) -> ModelOutput:
    return ModelOutput.from_content("mock", text)


def body(**more: Any) -> dict[str, Any]:
    return {"model": "whatever", "messages": [{"role": "user", "content": "Hi"}], **more}


async def test_a_plain_answer() -> None:
    upstream = InspectUpstream(mock(said("Hello.")), "stand-in")
    answer = await upstream.chat(upstream.body(body()))
    assert answer["model"] == "stand-in"
    assert answer["choices"] == [
        {"index": 0, "message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}
    ]
    assert answer["object"] == "chat.completion"


async def test_settings_and_tools_reach_the_model() -> None:
    seen: dict[str, Any] = {}

    def look(messages: Any, tools: Any, tool_choice: Any, config: Any) -> ModelOutput:
        seen.update(messages=messages, tools=tools, choice=tool_choice, config=config)
        call = ToolCall(id="c1", function="weather", arguments={"city": "Oslo"})
        output = said("")
        output.choices[0].message = ChatMessageAssistant(content="", tool_calls=[call])
        output.choices[0].stop_reason = "tool_calls"
        return output

    upstream = InspectUpstream(mock(look), "m")
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Weather?"}]},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c0", "type": "function", "function": {"name": "weather", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c0", "content": "Rain."},
    ]  # fmt: skip
    sent = body(
        messages=messages,
        tools=[WEATHER],
        tool_choice="required",
        temperature=0.0,
        seed=7,
        max_tokens=50,
        stop="END",
        top_p=0.9,
        response_format={"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}},
    )
    answer = await upstream.chat(sent)
    assert [m.role for m in seen["messages"]] == ["system", "user", "assistant", "tool"]
    config = seen["config"]
    assert (config.temperature, config.seed, config.max_tokens, config.top_p) == (0.0, 7, 50, 0.9)
    assert config.stop_seqs == ["END"]
    assert config.response_schema.name == "a"
    assert (seen["tools"][0].name, seen["choice"]) == ("weather", "any")
    choice = answer["choices"][0]
    assert choice["finish_reason"] == "tool_calls"
    function = choice["message"]["tool_calls"][0]["function"]
    assert (function["name"], orjson.loads(function["arguments"])) == ("weather", {"city": "Oslo"})
    assert sent["messages"] == messages, "the record is made of what was sent"


async def test_a_stream() -> None:
    upstream = InspectUpstream(mock(said("Hello there.")), "m")
    async with upstream.stream(body(stream=True)) as chunks:
        data = [c async for c in chunks]
    assert data[-1] == b"[DONE]"
    parts = [orjson.loads(c) for c in data[:-1]]
    text = "".join(c["delta"].get("content") or "" for p in parts for c in p["choices"])
    assert text == "Hello there."
    assert parts[0]["object"] == "chat.completion.chunk"


@pytest.mark.parametrize(
    "broken",
    [
        {"messages": [{"role": "nobody", "content": "Hi"}]},
        {"messages": [{"content": "Hi"}]},
        {"tools": [{"type": "function"}]},
        {"max_tokens": "many"},
    ],
)
async def test_a_request_that_cannot_be_put(broken: dict[str, Any]) -> None:
    with pytest.raises(UpstreamError) as error:
        await InspectUpstream(mock(said("x")), "m").chat(body(**broken))
    assert error.value.status == 400


async def test_a_model_that_fails() -> None:
    def fail(*_: Any) -> ModelOutput:
        raise RuntimeError("out of order")

    with pytest.raises(UpstreamError, match="RuntimeError: out of order"):
        await InspectUpstream(mock(fail), "m").chat(body())
    refused = ModelOutput(model="m", choices=[], error="quota")
    with pytest.raises(UpstreamError, match="quota"):
        await InspectUpstream(mock(refused), "m").chat(body())


async def test_calls_run_in_the_context_that_the_upstream_was_made_in(
    worlds: Worlds, http: aiohttp.ClientSession
) -> None:
    """Two samples of one server at the same time: each call is booked on its own."""
    sample: contextvars.ContextVar[str] = contextvars.ContextVar("sample", default="nobody's")

    async def look(messages: Any, *_: Any) -> ModelOutput:
        await asyncio.sleep(0.01)
        return said(f"{sample.get()} got {messages[0].text}")

    model = mock(look)

    async def ask(url: str, key: str, text: str) -> Any:
        sent = body(messages=[{"role": "user", "content": text}])
        headers = {"Authorization": f"Bearer {key}"}
        async with http.post(f"{url}/v1/chat/completions", json=sent, headers=headers) as answer:
            assert answer.status == 200
            return await answer.json()

    async def work(name: str) -> list[str]:
        sample.set(name)
        context = Context(worlds, InspectUpstream(model, "m"))
        world = worlds.create("bicycle-stability")
        async with running(context) as url:
            answers = await asyncio.gather(*(ask(url, world.key, f"{name} {n}") for n in range(5)))
        return [a["choices"][0]["message"]["content"] for a in answers]

    one, two = await asyncio.gather(asyncio.create_task(work("first")), asyncio.create_task(work("second")))
    assert one == [f"first got first {n}" for n in range(5)]
    assert two == [f"second got second {n}" for n in range(5)]
