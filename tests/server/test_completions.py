"""Completions, over servers of every kind that agents' prompts meet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest
from aiohttp import web
from inspect_ai.model import ModelOutput

from searchsim.errors import UpstreamError
from searchsim.local import LOCAL_EXTRA, LocalModel
from searchsim.server.gateway.completions import Completions
from searchsim.server.gateway.stops import Cutter, ended, recognisable
from searchsim.study.upstream import InspectUpstream
from searchsim.upstream import HttpUpstream, Upstream
from tests.study.test_upstream import mock

QUERY = ["<|end_search_query|>", "<|end_write_section|>", "<|begin_check_article|>"]
SAID = "I wonder. <|begin_search_query|>why bicycles stay up<|end_search_query|> and <|begin_check_article|> more"
UP_TO_QUERY = SAID[: SAID.index(" and")]
PROMPT = "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n"
ON = f"{PROMPT}Let me see. <|begin_search_result|>A page.<|end_search_result|>\n"


class Server:
    """A model's server that says one thing, and does with stop strings what servers of its kind do.

    Attributes:
        kind: "vllm" keeps them where asked and tells which it was; "silent" leaves them out and doesn't tell; "strict"
            is as silent, and refuses what OpenAI doesn't know; "chat" has chat alone and is strict.
        said: What it says, stop strings apart.
        usage: Whether it tells token counts.
        requests: Path and body of each request.
        sent: How many pieces of streams it could send.
        broken: Whether its streams end before their end.
    """

    def __init__(self, kind: str, said: str = SAID) -> None:
        self.kind, self.said = kind, said
        self.usage = True
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.sent = 0
        self.broken = False
        self.url = ""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[HttpUpstream]:
        app = web.Application()
        if self.kind != "chat":
            app.router.add_post("/v1/completions", self._answer)
        app.router.add_post("/v1/chat/completions", self._answer)
        runner = web.AppRunner(app, shutdown_timeout=0.5)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        upstream = HttpUpstream(f"http://127.0.0.1:{runner.addresses[0][1]}/v1", model="m")
        try:
            yield upstream
        finally:
            await upstream.close()
            await runner.cleanup()

    def paths(self) -> list[str]:
        return [path for path, _ in self.requests]

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        path = request.path.removeprefix("/v1")
        self.requests.append((path, body))
        unknown = {"top_k", "repetition_penalty", "include_stop_str_in_output"} & body.keys()
        if unknown and self.kind in ("strict", "chat"):
            return web.json_response({"error": {"message": f"Unrecognized: {sorted(unknown)}"}}, status=400)
        chat = path.startswith("/chat")
        prompts = body.get("prompt") if isinstance(body.get("prompt"), list) else [""]
        assert prompts is not None
        numbers = range(len(prompts) * (body.get("n") or 1))
        stops = [body["stop"]] if isinstance(body.get("stop"), str) else body.get("stop") or []
        cut = min(((self.said.find(s), s) for s in stops if s in self.said), default=None)
        text = self.said[: cut[0]] if cut else self.said
        told: dict[str, str | None] = {}
        if self.kind == "vllm":
            told = {"stop_reason": cut[1] if cut else None}
            text += cut[1] if cut and body.get("include_stop_str_in_output") else ""
        usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
        base = {"id": "x", "created": 1, "model": "m", "object": "chat.completion" if chat else "text_completion"}
        if not body.get("stream"):
            whole = {"message": {"role": "assistant", "content": text}} if chat else {"text": text, "logprobs": None}
            choices = [{"index": n, "finish_reason": "stop", **whole, **told} for n in numbers]
            return web.json_response({**base, "choices": choices, **({"usage": usage} if self.usage else {})})
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)

        async def send(part: dict[str, Any]) -> None:
            await response.write(b"data: " + orjson.dumps({**base, **part}) + b"\n\n")
            self.sent += 1
            await asyncio.sleep(0)

        for at in range(0, len(text), 3):
            for n in numbers:
                text_piece = text[at : at + 3]
                piece = {"delta": {"content": text_piece}} if chat else {"text": text_piece}
                await send({"choices": [{"index": n, "finish_reason": None, **piece}]})
        if self.broken:
            return response
        for n in numbers:
            await send({"choices": [{"index": n, "finish_reason": "stop", "delta": {}, "text": "", **told}]})
        if self.usage and (body.get("stream_options") or {}).get("include_usage"):
            await send({"choices": [], "usage": usage})
        await response.write(b"data: [DONE]\n\n")
        return response


def asked(**more: Any) -> dict[str, Any]:
    return {"model": "m", "prompt": PROMPT, "temperature": 0.0, "seed": 0, "max_tokens": 500, **more}


def kept(**more: Any) -> dict[str, Any]:
    wanted = {"stop": QUERY, "include_stop_str_in_output": True, "top_k": 20, "repetition_penalty": 1.0}
    return asked(**{**wanted, **more})


async def streamed(completions: Completions, upstream: Upstream, body: dict[str, Any]) -> dict[str, Any]:
    """What the pieces of a stream make, its end asserted."""
    async with completions.stream(upstream, body) as pieces:
        data = [piece async for piece in pieces]
    assert data[-1] == b"[DONE]"
    return completions.joined([orjson.loads(piece) for piece in data[:-1]])


@pytest.mark.parametrize("kind", ["vllm", "silent", "strict", "chat"])
async def test_the_stop_string_is_kept_and_told_whatever_the_server(kind: str) -> None:
    server, completions = Server(kind), Completions()
    async with server.running() as upstream:
        for ask in (completions.whole, lambda u, b: streamed(completions, u, b)):
            answer = await ask(upstream, kept())
            (choice,) = answer["choices"]
            assert choice["text"] == UP_TO_QUERY
            assert (choice["finish_reason"], choice["stop_reason"]) == ("stop", "<|end_search_query|>")
            assert answer["object"] == "text_completion"
            assert completions.texts(answer) == [UP_TO_QUERY]


async def test_vllm_is_asked_as_the_agent_asked_and_answers_as_it_does() -> None:
    server, completions = Server("vllm"), Completions()
    async with server.running() as upstream:
        answer = await completions.whole(upstream, kept(echo=False))
        assert answer["usage"]["total_tokens"] == 18
        await streamed(completions, upstream, kept(stream=True))
    assert server.requests[0] == ("/completions", kept())
    assert server.requests[1][1]["stop"] == QUERY, "that it tells is known by now"
    assert len(server.requests) == 2


async def test_a_silent_server_is_found_out_once_and_its_streams_are_ended_early() -> None:
    server, completions = Server("silent", SAID + " and on" * 4000), Completions()
    async with server.running() as upstream:
        for _ in range(2):
            answer = await completions.whole(upstream, kept())
            assert answer["choices"][0]["text"] == UP_TO_QUERY
    assert ["stop" in body for _, body in server.requests] == [True, False, False]
    assert server.sent < len(server.said) / 3, "it was left before it had said everything twice"
    assert "usage" not in answer, "what it would have counted isn't what was used"


@pytest.mark.parametrize("kind", ["silent", "strict", "chat"])
async def test_a_text_that_ends_by_itself_keeps_everything(kind: str) -> None:
    said = "I have finished my work. <|end_sea"
    server, completions = Server(kind, said), Completions()
    async with server.running() as upstream:
        for ask in (completions.whole, lambda u, b: streamed(completions, u, b)):
            answer = await ask(upstream, kept())
            (choice,) = answer["choices"]
            assert (choice["text"], choice["finish_reason"]) == (said, "stop")
            assert choice.get("stop_reason") is None
            assert answer["usage"]["total_tokens"] == 18


@pytest.mark.parametrize("kind", ["vllm", "silent", "chat"])
async def test_stop_strings_are_left_out_where_they_are_not_wanted(kind: str) -> None:
    server, completions = Server(kind), Completions()
    async with server.running() as upstream:
        for ask in (completions.whole, lambda u, b: streamed(completions, u, b)):
            answer = await ask(upstream, asked(stop="<|end_search_query|>"))
            assert completions.texts(answer) == [UP_TO_QUERY.removesuffix("<|end_search_query|>")]
            assert answer["usage"] == {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    assert {bool(body["stop"]) for path, body in server.requests if kind != "chat" or "chat" in path} == {True}


async def test_chat_gets_the_prompts_turns_and_the_unfinished_one_last() -> None:
    server, completions = Server("chat"), Completions()
    async with server.running() as upstream:
        await completions.whole(upstream, kept(prompt=ON, top_p=0.8))
        await completions.whole(upstream, kept(prompt="Once upon a time"))
    assert server.paths() == ["/completions", *["/chat/completions"] * 3] or server.paths() == ["/chat/completions"] * 3
    first, again, plain = (body for path, body in server.requests if path == "/chat/completions")
    assert first["top_k"] == 20
    assert "top_k" not in again, "what it refused is left out"
    assert again["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Why?"},
        {"role": "assistant", "content": "Let me see. <|begin_search_result|>A page.<|end_search_result|>\n"},
    ]
    assert (again["top_p"], again["temperature"], again["seed"], again["max_tokens"]) == (0.8, 0.0, 0, 500)
    assert "stop" not in again
    assert not {"prompt", "include_stop_str_in_output"} & again.keys()
    assert plain["messages"] == [{"role": "user", "content": "Once upon a time"}]
    assert "top_k" not in plain, "and it isn't asked for it again"


async def test_chat_has_the_bound_that_completions_have() -> None:
    server, completions = Server("chat"), Completions()
    body = asked()
    del body["max_tokens"]
    async with server.running() as upstream:
        await completions.whole(upstream, body)
    assert server.requests[-1][1]["max_tokens"] == 16


@pytest.mark.parametrize("kind", ["vllm", "silent", "chat"])
@pytest.mark.parametrize("extra", [{}, {"stop": QUERY, "include_stop_str_in_output": True}])
async def test_several_prompts_choices_and_an_echo(kind: str, extra: dict[str, Any]) -> None:
    server, completions = Server(kind, "yes <|end_search_query|>" if extra else "yes"), Completions()
    async with server.running() as upstream:
        for ask in (completions.whole, lambda u, b: streamed(completions, u, b)):
            answer = await ask(upstream, asked(prompt=["One <|end_search_query|>: ", "Two: "], n=2, echo=True, **extra))
            assert [c["index"] for c in answer["choices"]] == [0, 1, 2, 3]
            said = ["One <|end_search_query|>: " + server.said] * 2 + ["Two: " + server.said] * 2
            assert completions.texts(answer) == said
    assert all("echo" not in body for _, body in server.requests)
    if kind == "chat":
        asked_for = [body["messages"][0]["content"] for path, body in server.requests if path != "/completions"]
        assert asked_for[:2] == ["One <|end_search_query|>: ", "Two: "]
        if not extra:
            assert answer["usage"]["total_tokens"] == 36


async def test_what_chat_cannot_give_is_said() -> None:
    async with Server("chat").running() as upstream:
        for name, value in (("logprobs", 5), ("suffix", "the end")):
            with pytest.raises(UpstreamError, match=f"{name} needs") as caught:
                await Completions().whole(upstream, asked(**{name: value}))
            assert caught.value.status == 400


@pytest.mark.parametrize("kind", ["silent", "chat"])
async def test_errors_and_broken_streams(kind: str) -> None:
    server, completions = Server(kind), Completions()
    server.broken = True
    async with server.running() as upstream:
        body = kept(stop=["never"])
        with pytest.raises(UpstreamError, match="ended before"):
            await streamed(completions, upstream, body)
        if kind == "chat":
            with pytest.raises(UpstreamError, match="ended before"):
                await completions.whole(upstream, body)
    nobody = HttpUpstream("http://127.0.0.1:9/v1", model="m")
    for call in (completions.whole, lambda u, b: streamed(completions, u, b)):
        with pytest.raises(UpstreamError, match="can't be reached"):
            await call(nobody, kept())
    await nobody.close()


async def test_a_recorded_answer_replays_as_a_stream_that_makes_it_again() -> None:
    server, completions = Server("vllm"), Completions()
    async with server.running() as upstream:
        answer = await completions.whole(upstream, kept(prompt=["a", "b"]))
    chunks = completions.chunks(answer)
    assert completions.joined(chunks) == answer
    assert [len(c["choices"]) for c in chunks] == [1, 1, 0]


def test_the_prompt_as_messages() -> None:
    completions = Completions()
    assert completions.messages({"prompt": PROMPT}) == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Why?"},
    ]
    assert completions.messages({"prompt": ON})[-1] == {
        "role": "prompt",
        "content": "Let me see. <|begin_search_result|>A page.<|end_search_result|>\n",
    }
    finished = f"{ON}<|im_end|>\n<|im_start|>user\nGo on<|im_end|>\n<|im_start|>assistant\nWell"
    assert [m["role"] for m in completions.messages({"prompt": finished})] == [
        "system",
        "user",
        "assistant",
        "user",
        "prompt",
    ]
    assert completions.messages({"prompt": ["One", "Two"]}) == [
        {"role": "prompt", "content": "One"},
        {"role": "prompt", "content": "Two"},
    ]
    loose = "<|im_start|>user\nWhy?<|im_end|>\nA page."
    assert completions.messages({"prompt": loose})[-1] == {"role": "prompt", "content": "\nA page."}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "prompt must be a string"),
        ({"prompt": ""}, "prompt must be a string"),
        ({"prompt": []}, "prompt must be a string"),
        ({"prompt": ["a", 1]}, "prompt must be a string"),
        ({"prompt": [1, 2]}, "token ids"),
        ({"prompt": [[1], [2]]}, "token ids"),
        ({"prompt": "a", "stop": ""}, "stop must be"),
        ({"prompt": "a", "stop": ["a", ""]}, "stop must be"),
        ({"prompt": "a", "stop": 1}, "stop must be"),
        ({"prompt": "a", "n": 0}, "n must be"),
        ({"prompt": "a", "n": True}, "n must be"),
        ({"prompt": "a", "echo": "yes"}, "echo must be"),
        ({"prompt": "a", "include_stop_str_in_output": 1}, "include_stop_str_in_output must be"),
        ({"prompt": "a", "stop": None, "n": None, "echo": None}, ""),
        ({"prompt": ["a", "b"], "stop": [], "n": 2, "echo": True}, ""),
        ({"prompt": "a", "stop": [str(n) for n in range(20)]}, ""),
    ],
)
def test_bad_requests_are_told_in_one_sentence(body: dict[str, Any], said: str) -> None:
    wrong = Completions().wrong(body)
    assert wrong.startswith(said) if said and said != "token ids" else said in wrong
    assert bool(wrong) == bool(said)
    assert "\n" not in wrong


# A model that answers whole: Inspect's.

Outputs = Callable[..., ModelOutput]


def stopping(said: str, asked_for: list[Any], finish: str = "stop") -> Outputs:
    """Says a text up to the first stop sequence that it was sent, as providers do."""

    def answer(messages: Any, tools: Any, choice: Any, config: Any) -> ModelOutput:
        asked_for.append((messages, config))
        ends = [said.index(s) for s in config.stop_seqs or [] if s in said]
        output = ModelOutput.from_content("mock", said[: min(ends, default=len(said))])
        output.choices[0].stop_reason = "max_tokens" if finish == "length" else "stop"
        return output

    return answer


@pytest.mark.parametrize(
    ("said", "text", "met"),
    [
        (SAID, UP_TO_QUERY, "<|end_search_query|>"),
        ("Check. <|begin_check_article|>made up<|end_check_article|>", "Check. <|begin_check_article|>", QUERY[2]),
        ("Done with <|begin_search_query|>a<|end_search", "Done with <|begin_search_query|>a<|end_search", None),
        ("I have finished my work.", "I have finished my work.", None),
    ],
)
async def test_a_model_that_answers_whole(said: str, text: str, met: str | None) -> None:
    seen: list[Any] = []
    upstream = InspectUpstream(mock(stopping(said, seen, "stop" if met or "fin" in said else "length")), "m")
    completions = Completions()
    for ask in (completions.whole, lambda u, b: streamed(completions, u, b)):
        answer = await ask(upstream, kept(prompt=ON))
        (choice,) = answer["choices"]
        assert (choice["text"], choice["stop_reason"]) == (text, met)
        messages, config = seen[-1]
        assert [m.role for m in messages] == ["system", "user", "assistant"]
        assert config.stop_seqs == ["<|end_search_query|>", "<|end_write_section|>", "<|end_check_article|>"]
        assert config.top_k == 20


# The stop strings themselves.


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_a_text_is_cut_at_the_stop_string_that_is_complete_first(size: int) -> None:
    text = "a <b <bcd> </x> e"
    for stops, kept_text in (
        (["</x>"], "a <b <bcd> </x>"),
        (["<bcd> </", "cd>"], "a <b <bcd>"),
        (["<bx", "zz"], text),
        (["e"], text),
        ([], text),
    ):
        cutter = Cutter(stops)
        made = ""
        for at in range(0, len(text), size):
            made += cutter.feed(text[at : at + size])
            if cutter.met:
                break
        assert made + ("" if cutter.met else cutter.rest()) == kept_text
        assert (cutter.met is None) == (kept_text == text and stops != ["e"])


def test_what_is_sent_in_the_place_of_stop_strings() -> None:
    stops = ["<|end_a|>", "<|begin_b|>", "</c>", "<c>", "Observation:"]
    assert recognisable(stops) == ["<|end_a|>", "<|end_b|>", "</c>"]
    assert ended("x <|begin_a|>y", stops, "stop") == ("x <|begin_a|>y<|end_a|>", "<|end_a|>")
    assert ended("x <|begin_a|>y", stops, "length") == ("x <|begin_a|>y", None)
    assert ended("x Observation: none", stops, "stop") == ("x Observation:", "Observation:")
    assert ended("<|begin_z|> x", ["<|end_a|>", "</c>"], "stop") == ("<|begin_z|> x", None)
    assert ended("<|begin_a|> <c> x", ["<|end_a|>", "</c>"], "stop") == ("<|begin_a|> <c> x</c>", "</c>")


@pytest.mark.local_model
async def test_the_real_local_model() -> None:
    """It has completions, and neither tells nor keeps the stop string that it met."""
    local = LocalModel()
    upstream = HttpUpstream(local.url, model=local.name, demonstration=True, extra=LOCAL_EXTRA, keep=local)
    completions = Completions()
    prompt = "<|im_start|>user\nCount from one to ten in figures.<|im_end|>\n<|im_start|>assistant\n"
    body = upstream.body(asked(prompt=prompt, max_tokens=40))
    try:
        free = (await completions.whole(upstream, body))["choices"][0]["text"]
        stop = free[6:9]
        answers = [
            await completions.whole(upstream, {**body, "stop": ["\x00", stop], "include_stop_str_in_output": True}),
            await streamed(completions, upstream, {**body, "stop": stop, "include_stop_str_in_output": True}),
        ]
        whole = await completions.whole(upstream, {**body, "stop": stop})
    finally:
        await upstream.close()
    end = free.index(stop)
    for answer in answers:
        (choice,) = answer["choices"]
        assert (choice["text"], choice["stop_reason"]) == (free[:end] + stop, stop)
    assert whole["choices"][0]["text"] == free[:end]
    assert whole["usage"]["completion_tokens"] > 0
