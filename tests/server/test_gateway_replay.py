"""Record and replay through the gateway, in front of a scripted model that never says the same twice."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from searchsim.counterfactual import Recording
from searchsim.errors import UsageError
from searchsim.replay import Answers, Lane, Mode, Names, steps
from searchsim.server.context import Context
from searchsim.validity import reasons
from searchsim.world import World
from tests.scripted import ScriptedModel

TASK = "bicycle-stability"
QUESTION = "What keeps a moving bicycle upright?"


@pytest.fixture
def answers(tmp_path: Path) -> Iterator[Answers]:
    store = Answers(tmp_path / "answers.sqlite")
    yield store
    store.close()


@pytest.fixture(autouse=True)
def counting(scripted_model: ScriptedModel) -> None:
    numbers = count(1)
    scripted_model.say = lambda body: f"answer {next(numbers)}"


Begin = Callable[..., tuple[World, Recording]]


@pytest.fixture
def begin(context: Context, answers: Answers, url: str) -> Begin:
    """Makes a world whose answers come from somewhere."""

    def made(mode: Mode, condition: dict[str, object], **more: Any) -> tuple[World, Recording]:
        world = context.worlds.create(TASK, condition, **more)
        recording = Recording(answers, Lane("c", TASK, "a", "v", "m"), mode)
        context.replays[world.key] = recording.open(world, Names(world.key, url, f"searchsim-run-{world.key[:8]}"))
        return world, recording

    return made


async def search(http: aiohttp.ClientSession, url: str, world: World, query: str) -> list[dict[str, Any]]:
    async with http.post(f"{url}/search", json={"q": query}, headers={"X-API-KEY": world.key}) as answer:
        found: list[dict[str, Any]] = (await answer.json())["organic"]
        return found


async def ask(
    http: aiohttp.ClientSession, url: str, world: World, text: str, path: str = "chat/completions", **more: Any
) -> tuple[int, str]:
    body: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": text}], **more}
    async with http.post(f"{url}/v1/{path}", json=body, headers={"Authorization": f"Bearer {world.key}"}) as answer:
        return answer.status, await answer.text()


def said(text: str) -> str:
    content: str = json.loads(text)["choices"][0]["message"]["content"]
    return content


async def run(http: aiohttp.ClientSession, url: str, world: World) -> list[str]:
    """An agent in small: it plans, searches twice, and asks the model after each."""
    answers = [said((await ask(http, url, world, "plan"))[1])]
    for query in (QUESTION, "bicycle trail and steering geometry"):
        rows = await search(http, url, world, query)
        evidence = "\n".join(f"{r['title']} {r['link']} {r['snippet']}" for r in rows)
        answers.append(said((await ask(http, url, world, f"note {world.key}: {evidence}"))[1]))
    return answers


def done(context: Context, world: World, recording: Recording) -> None:
    recording.close(context.replays[world.key], steps(context.worlds.events(world.key)))


async def test_a_treated_run_shares_its_controls_answers_up_to_the_injected_list(
    http: aiohttp.ClientSession, url: str, context: Context, begin: Begin, scripted_model: ScriptedModel
) -> None:
    control, recording = begin(Mode.RECORD, {"budget": 0})
    first = await run(http, url, control)
    assert first == ["answer 1", "answer 2", "answer 3"]
    done(context, control, recording)
    condition = {"budget": 3, "stage": "pre_synthesis"}
    treated, counterfactual = begin(Mode.COUNTERFACTUAL, condition, last_list=recording.last_list())
    second = await run(http, url, treated)
    assert second == ["answer 1", "answer 2", "answer 4"], "the control's, until the last list holds something else"
    assert len(scripted_model.requests) == 4
    before, after = (list(context.worlds.events(w.key)) for w in (control, treated))
    assert [e["origin"] for e in after if e["event"] == "model"] == ["replayed", "replayed", "live"]
    mine, theirs = steps(after), steps(before)
    asked = [[a.request for a in x.asked] for x in (mine, theirs)]
    assert asked[0][:2] == asked[1][:2] and asked[0][2] != asked[1][2]
    assert len(mine.before) == 2 and mine.injected == 2 and counterfactual.differs(mine) == []
    lists = [[e for e in events if e["event"] == "search"][-1]["served"] for events in (before, after)]
    assert lists[1][: len(lists[0])] == lists[0], "nothing removed or reordered"
    assert [s["injected"] for s in lists[1][len(lists[0]) :]] == [True, True, True], "and three appended beyond k"
    replayed = [e for e in after if e["event"] == "model"][1]
    assert replayed["usage"] == [e for e in before if e["event"] == "model"][1]["usage"]
    assert replayed["delivered"], "a replayed call's prompt delivers as a live one's does"


async def test_a_treated_run_that_is_not_the_controls_from_the_start_is_found_out(
    http: aiohttp.ClientSession, url: str, context: Context, begin: Begin
) -> None:
    control, recording = begin(Mode.RECORD, {"budget": 0})
    await run(http, url, control)
    done(context, control, recording)
    treated, counterfactual = begin(
        Mode.COUNTERFACTUAL, {"budget": 3, "stage": "pre_synthesis"}, last_list=recording.last_list()
    )
    await ask(http, url, treated, "plan at 12:01")
    await search(http, url, treated, QUESTION)
    await search(http, url, treated, "something that the control never searched for")
    told = counterfactual.differs(steps(context.worlds.events(treated.key)))
    assert len(told) == 2
    assert told[0].startswith("list 2 isn't the control's: 'something that") and "control: 'bicycle trail" in told[0]
    assert told[1].startswith("model calls 1 weren't the control's")


async def test_after_a_miss_recorded_answers_are_still_taken(
    http: aiohttp.ClientSession, url: str, context: Context, begin: Begin
) -> None:
    control, recording = begin(Mode.RECORD, {"budget": 0})
    for text in ("a", "b", "c"):
        await ask(http, url, control, text)
    done(context, control, recording)
    treated, _ = begin(Mode.COUNTERFACTUAL, {"budget": 3})
    found = [said((await ask(http, url, treated, text))[1]) for text in ("a", "other", "c", "a")]
    assert found == ["answer 1", "answer 4", "answer 3", "answer 5"], "the second a is another occurrence"


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("first", [False, True])
async def test_a_stream_replays_as_what_is_asked_for(
    http: aiohttp.ClientSession, url: str, context: Context, begin: Begin, first: bool, again: bool
) -> None:
    control, recording = begin(Mode.RECORD, {"budget": 0})
    _, given = await ask(http, url, control, "hello", stream=first)
    done(context, control, recording)
    treated, _ = begin(Mode.COUNTERFACTUAL, {"budget": 3})
    _, replayed = await ask(http, url, treated, "hello", stream=again, stream_options={"include_usage": True})
    if again:
        assert replayed.endswith("data: [DONE]\n\n")
        chunks = [json.loads(line[6:]) for line in replayed.split("\n\n")[:-2]]
        text = "".join(c["choices"][0]["delta"].get("content") or "" for c in chunks if c["choices"])
        assert chunks[-1]["usage"]["total_tokens"] == 18 and chunks[-1]["choices"] == []
    else:
        text = said(replayed)
        assert json.loads(replayed)["usage"]["total_tokens"] == 18
    assert text.strip() == "answer 1"
    if first == again and not first:
        assert json.loads(given) == json.loads(replayed)


async def test_replay_alone_asks_no_model_and_fails_at_a_miss(
    http: aiohttp.ClientSession, url: str, context: Context, begin: Begin, scripted_model: ScriptedModel
) -> None:
    with pytest.raises(UsageError, match="record one first"):
        begin(Mode.REPLAY, {"budget": 0})
    with pytest.raises(UsageError, match="no control of task"):
        begin(Mode.COUNTERFACTUAL, {"budget": 3})
    control, recording = begin(Mode.RECORD, {"budget": 0})
    first = await run(http, url, control)
    done(context, control, recording)
    context.upstream = None
    again, _ = begin(Mode.REPLAY, {"budget": 0})
    assert await run(http, url, again) == first
    status, text = await ask(http, url, again, "plans")
    assert status == 400
    problem = json.loads(text)["error"]
    assert problem["code"] == "not_recorded"
    assert "messages[0].content, character 4: recorded 'plan', now 'plans'" in problem["message"]
    told = await reasons(context.worlds, again, list(context.worlds.events(again.key)))
    assert told and "never recorded" in told[0], "the run fails"
    assert len(scripted_model.requests) == 3


async def test_a_treated_run_can_be_replayed_whole(
    http: aiohttp.ClientSession, url: str, context: Context, begin: Begin
) -> None:
    control, recording = begin(Mode.RECORD, {"budget": 0})
    await run(http, url, control)
    done(context, control, recording)
    treated, counterfactual = begin(Mode.COUNTERFACTUAL, {"budget": 3})
    first = await run(http, url, treated)
    done(context, treated, counterfactual)
    again, _ = begin(Mode.REPLAY, {"budget": 3})
    assert await run(http, url, again) == first


async def test_a_failed_call_is_not_recorded_and_its_retry_is(
    http: aiohttp.ClientSession, url: str, context: Context, begin: Begin, scripted_model: ScriptedModel
) -> None:
    control, recording = begin(Mode.RECORD, {"budget": 0})
    scripted_model.status = 429
    assert (await ask(http, url, control, "x"))[0] == 429
    scripted_model.status = 200
    assert said((await ask(http, url, control, "x"))[1]) == "answer 2"
    done(context, control, recording)
    treated, _ = begin(Mode.COUNTERFACTUAL, {"budget": 3})
    assert said((await ask(http, url, treated, "x"))[1]) == "answer 2"


async def test_a_stream_that_breaks_off_is_not_recorded(
    http: aiohttp.ClientSession, url: str, context: Context, begin: Begin, scripted_model: ScriptedModel
) -> None:
    control, recording = begin(Mode.RECORD, {"budget": 0})
    scripted_model.broken = "cut"
    await ask(http, url, control, "x", stream=True)
    scripted_model.broken = ""
    done(context, control, recording)
    treated, _ = begin(Mode.COUNTERFACTUAL, {"budget": 3})
    await ask(http, url, treated, "x", stream=True)
    assert [e["origin"] for e in context.worlds.events(treated.key) if e["event"] == "model"] == ["live"]


async def test_an_answer_speaks_of_the_run_that_it_is_given_to(
    http: aiohttp.ClientSession, url: str, context: Context, begin: Begin, scripted_model: ScriptedModel
) -> None:
    """A model repeats addresses and paths of its prompt; a replayed answer must not lead into the control's world."""
    scripted_model.say = lambda body: f"Open {body['messages'][0]['content']}"
    control, recording = begin(Mode.RECORD, {"budget": 0})
    treated_key = "treated-key-of-another-length"

    def text(world: World) -> str:
        return f"{url}/w/{world.key}/page?url=x in /tmp/searchsim-run-{world.key[:8]}/work"

    for stream in (False, True):
        await ask(http, url, control, text(control), stream=stream)
    done(context, control, recording)
    treated, _ = begin(Mode.COUNTERFACTUAL, {"budget": 3}, key=treated_key)
    for stream in (False, True):
        _, answer = await ask(http, url, treated, text(treated), stream=stream)
        assert control.key not in answer and treated_key in answer
        assert f"searchsim-run-{treated_key[:8]}" in answer and url in answer
    origins = [e["origin"] for e in context.worlds.events(treated.key) if e["event"] == "model"]
    assert origins == ["replayed", "replayed"]


async def test_an_error_inside_a_stream_is_a_fault_and_no_answer(
    http: aiohttp.ClientSession, url: str, context: Context, begin: Begin, scripted_model: ScriptedModel
) -> None:
    control, recording = begin(Mode.RECORD, {"budget": 0})
    scripted_model.broken = "error"
    _, text = await ask(http, url, control, "x", stream=True)
    assert "scripted error in a stream" in text
    events = list(context.worlds.events(control.key))
    assert sorted(e["event"] for e in events) == ["fault", "model"]
    assert await reasons(context.worlds, control, events)
    scripted_model.broken = ""
    done(context, control, recording)
    treated, _ = begin(Mode.COUNTERFACTUAL, {"budget": 3})
    await ask(http, url, treated, "x", stream=True)
    assert [e["origin"] for e in context.worlds.events(treated.key) if e["event"] == "model"] == ["live"]


async def test_a_stream_that_its_client_gave_up_gives_way_to_the_answer_it_got_when_it_asked_again(
    http: aiohttp.ClientSession, url: str, context: Context, begin: Begin, scripted_model: ScriptedModel
) -> None:
    control, recording = begin(Mode.RECORD, {"budget": 0})
    scripted_model.say = lambda body: "long " * 200_000
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}], "stream": True}
    headers = {"Authorization": f"Bearer {control.key}"}
    async with http.post(f"{url}/v1/chat/completions", json=body, headers=headers) as answer:
        await answer.content.read(1000)
        answer.close()
    while not any(e["event"] == "model" for e in context.worlds.events(control.key)):
        await asyncio.sleep(0.02)
    scripted_model.say = lambda body: "whole"
    await ask(http, url, control, "x", stream=True)
    events = list(context.worlds.events(control.key))
    assert [(e["event"], e["occurrence"]) for e in events] == [("model", 1), ("model", 1)]
    assert len(steps(events).asked) == 1
    done(context, control, recording)
    treated, counterfactual = begin(Mode.COUNTERFACTUAL, {"budget": 3})
    assert "whole" in (await ask(http, url, treated, "x", stream=True))[1]
    assert counterfactual.differs(steps(context.worlds.events(treated.key))) == []


async def test_a_call_belongs_to_the_moment_in_which_it_was_made(
    http: aiohttp.ClientSession, url: str, context: Context, begin: Begin, scripted_model: ScriptedModel
) -> None:
    """One that was under way while the injected list was served was made without it."""
    control, recording = begin(Mode.RECORD, {"budget": 0})
    await search(http, url, control, QUESTION)
    done(context, control, recording)
    treated, counterfactual = begin(
        Mode.COUNTERFACTUAL, {"budget": 3, "stage": "pre_synthesis"}, last_list=recording.last_list()
    )
    scripted_model.delay = 0.5
    call = asyncio.create_task(ask(http, url, treated, "new"))
    while not scripted_model.requests:
        await asyncio.sleep(0.02)
    await search(http, url, treated, QUESTION)
    await call
    told = counterfactual.differs(steps(context.worlds.events(treated.key)))
    assert told == ["model calls 1 weren't the control's, and nothing injected had been served by then"]


async def test_tool_calls_replay_in_both_forms(
    http: aiohttp.ClientSession, url: str, context: Context, begin: Begin, scripted_model: ScriptedModel
) -> None:
    from searchsim.server.gateway.chat import Chat

    call = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"q": "a b"}'}}
    answer = {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": None, "tool_calls": [call]},
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
    assert Chat().joined(Chat().chunks(answer)) == answer
    pieces: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": {"role": "assistant", "tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": {"name": "search", "arguments": ""}}]}}]},
        {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": '{"q": '}}]}}]},
        {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": '"a b"}'}}]}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
    ]  # fmt: skip
    whole = Chat().joined(pieces)
    assert whole["choices"][0]["message"]["tool_calls"] == [call]
    assert whole["choices"][0]["finish_reason"] == "tool_calls"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"tools": "search"}, "tools must be an array"),
        ({"tools": [{"type": "function"}]}, "tools must be an array"),
        ({"response_format": "json"}, "response_format must be"),
        ({"response_format": {"type": "xml"}}, "response_format must be"),
        ({"response_format": {"type": "json_schema"}}, "json_schema must be an object"),
    ],
)
async def test_bad_tools_and_formats(
    http: aiohttp.ClientSession, url: str, context: Context, more: dict[str, Any], message: str
) -> None:
    world = context.worlds.create(TASK)
    status, text = await ask(http, url, world, "x", **more)
    assert status == 400
    assert message in json.loads(text)["error"]["message"]


async def test_tools_and_formats_reach_the_upstream(
    http: aiohttp.ClientSession, url: str, context: Context, scripted_model: ScriptedModel
) -> None:
    world = context.worlds.create(TASK)
    more: dict[str, Any] = {
        "tools": [{"type": "function", "function": {"name": "search", "parameters": {"type": "object"}}}],
        "tool_choice": "auto",
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}},
    }
    assert (await ask(http, url, world, "x", **more))[0] == 200
    assert {k: scripted_model.requests[-1][k] for k in more} == more


async def test_embeddings_without_a_model_that_embeds(
    http: aiohttp.ClientSession, url: str, context: Context, begin: Begin
) -> None:
    assert context.upstream is not None
    context.upstream.demonstration = True  # what the local model is
    control, recording = begin(Mode.RECORD, {"budget": 0})
    headers = {"Authorization": f"Bearer {control.key}"}
    texts = ["bicycles stay upright", "a bicycle stays upright by itself", "the price of tea in Hamburg"]
    async with http.post(f"{url}/v1/embeddings", json={"model": "e", "input": texts}, headers=headers) as answer:
        found = await answer.json()
    vectors = [row["embedding"] for row in found["data"]]
    assert [sum(x * x for x in v) for v in vectors] == pytest.approx([1.0] * 3)

    def cosine(a: list[float], b: list[float]) -> float:
        return sum(x * y for x, y in zip(a, b, strict=True))

    assert cosine(vectors[0], vectors[1]) > 0.3 > cosine(vectors[0], vectors[2])
    assert found["model"] == "searchsim-lexical"
    (event,) = context.worlds.events(control.key)
    assert (event["event"], event["origin"], event["input"]) == ("embedding", "live", texts)
    done(context, control, recording)
    treated, _ = begin(Mode.COUNTERFACTUAL, {"budget": 3})
    headers = {"Authorization": f"Bearer {treated.key}"}
    async with http.post(f"{url}/v1/embeddings", json={"model": "e", "input": texts}, headers=headers) as answer:
        assert await answer.json() == found
    (event,) = context.worlds.events(treated.key)
    assert event["origin"] == "replayed"


async def test_embeddings_of_token_ids_and_as_base64(http: aiohttp.ClientSession, url: str, context: Context) -> None:
    import base64
    import struct

    import tiktoken

    from searchsim.embedding import DIMENSIONS, embedded, vector

    ids = tiktoken.get_encoding("cl100k_base").encode("bicycles stay upright")
    assert embedded([ids])["data"] == embedded(["bicycles stay upright"])["data"] == embedded(ids)["data"]
    packed = base64.b64decode(embedded("bicycles stay upright", "base64")["data"][0]["embedding"])
    assert struct.unpack(f"<{DIMENSIONS}f", packed) == pytest.approx(vector("bicycles stay upright"))
    assert vector("") == [0.0] * DIMENSIONS
    world = context.worlds.create(TASK)
    headers = {"Authorization": f"Bearer {world.key}"}
    wrong: list[dict[str, Any]] = [
        {},
        {"input": []},
        {"input": [1, "x"]},
        {"input": {}},
        {"input": "x", "encoding_format": "int"},
    ]
    for body in wrong:
        async with http.post(f"{url}/v1/embeddings", json=body, headers=headers) as answer:
            assert answer.status == 400, body
            assert set((await answer.json())["error"]) == {"message", "type", "param", "code"}


async def test_any_model_name_is_an_alias(http: aiohttp.ClientSession, url: str, context: Context) -> None:
    world = context.worlds.create(TASK)
    headers = {"Authorization": f"Bearer {world.key}"}
    async with http.get(f"{url}/v1/models/my/qwq-32b", headers=headers) as answer:
        assert (await answer.json())["id"] == "my/qwq-32b"


def test_a_text_of_nothing_but_space_is_counted() -> None:
    from searchsim import tokens

    assert tokens.count(" " * 1_500_000)[0] > 0
    assert tokens.count("word " * 100_000)[0] == pytest.approx(100_000, abs=5)
