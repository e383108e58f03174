"""The gateway: an OpenAI-compatible endpoint between agent and model.

It names worlds by key, forces temperature and seed, counts tokens, and puts every call on record with the served
documents that its prompt holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import ClientError, web

from searchsim import tokens, trace
from searchsim.delivery import Delivery, prompt_text
from searchsim.errors import UpstreamError
from searchsim.server.context import CONTEXT, Context, bearer, route, world_key
from searchsim.upstream import Upstream
from searchsim.world import World

__all__ = ["add_routes", "error"]


def add_routes(app: web.Application) -> None:
    """Serve the gateway."""
    route(app, "POST", "/v1/chat/completions", _chat)
    route(app, "GET", "/v1/models", _models)


def error(status: int, message: str, code: str | None = None, kind: str = "invalid_request_error") -> web.Response:
    """An error as OpenAI sends it."""
    body = {"error": {"message": message, "type": kind, "param": None, "code": code}}
    return web.Response(body=orjson.dumps(body), status=status, content_type="application/json")


@dataclass(slots=True)
class _Call:
    """One model call, from request to record."""

    context: Context
    world: World
    upstream: Upstream
    body: dict[str, Any]
    delivery: Delivery
    pieces: list[str] = field(default_factory=list)
    usage: dict[str, int] = field(default_factory=dict)

    @property
    def answer(self) -> str:
        return "".join(self.pieces)

    def record(self) -> None:
        """Put the call on the world's record."""
        messages = self.body["messages"]
        usage, source = self.usage, "upstream"
        if not usage:
            usage, source = _count(messages, self.answer)
        self.context.worlds.append(
            self.world,
            trace.model(
                model=str(self.body.get("model", "")),
                usage=usage,
                delivered=self.delivery.documents,
                parts=self.delivery.parts,
                ambiguous=self.delivery.ambiguous,
                settings={
                    "temperature": self.body["temperature"],
                    "seed": self.body["seed"],
                    "usage_from": source,
                    "demonstration": self.upstream.demonstration,
                    **self.upstream.extra,
                },
                messages=messages,
                answer=self.answer,
            ),
        )


def _world_or_error(request: web.Request) -> World | web.Response:
    world = request.app[CONTEXT].worlds.find(world_key(request, bearer(request)))
    if world is None:
        return error(401, "Incorrect API key provided.", "invalid_api_key")
    return world


_NO_MODEL = "no model stands behind this server: start it with --upstream URL or --upstream local"


async def _chat(request: web.Request) -> web.StreamResponse:
    context = request.app[CONTEXT]
    world = _world_or_error(request)
    if isinstance(world, web.Response):
        return world
    upstream = context.upstream
    if upstream is None:
        context.fault(world, where="gateway", status=503, message=_NO_MODEL)
        return error(503, _NO_MODEL, "no_upstream", "server_error")
    try:
        sent = orjson.loads(await request.read())
    except orjson.JSONDecodeError as problem:
        return error(400, f"the request body is no JSON: {problem}")
    wrong = _wrong(sent)
    if wrong:
        return error(400, wrong)
    body = upstream.body({**sent, "temperature": context.temperature, "seed": context.seed})
    matcher = await context.matcher(world)
    call = _Call(context, world, upstream, body, await matcher.find(body["messages"]))
    try:
        if body.get("stream"):
            return await _stream(request, call, bool((sent.get("stream_options") or {}).get("include_usage")))
        answer = await upstream.chat(body)
    except UpstreamError as failure:
        context.fault(world, where="upstream", status=failure.status, message=str(failure))
        if isinstance(failure.body, dict) and "error" in failure.body:
            return web.Response(body=orjson.dumps(failure.body), status=failure.status, content_type="application/json")
        return error(failure.status, str(failure), "upstream_error", "server_error")
    answer["model"] = body.get("model", answer.get("model"))
    call.pieces = [_text(choice.get("message") or {}) for choice in answer["choices"]]
    call.usage = _usage(answer.get("usage"))
    if not call.usage:
        answer["usage"], _ = _count(body["messages"], call.answer)
    call.record()
    return web.Response(body=orjson.dumps(answer), content_type="application/json")


def _wrong(sent: object) -> str:
    """What makes a body unusable; empty where it is usable."""
    if not isinstance(sent, dict):
        return "the request body must be an object"
    messages = sent.get("messages")
    if not isinstance(messages, list) or not messages or not all(isinstance(m, dict) for m in messages):
        return "messages must be an array of at least one message object"
    if not isinstance(sent.get("stream_options") or {}, dict):
        return "stream_options must be an object"
    return ""


async def _stream(request: web.Request, call: _Call, wants_usage: bool) -> web.StreamResponse:
    """Pass a stream on as it comes, and keep what it says."""
    body = {**call.body, "stream_options": {**(call.body.get("stream_options") or {}), "include_usage": True}}
    async with call.upstream.stream(body) as answer:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
        await response.prepare(request)
        done = False
        try:
            async for data in answer:
                if data == b"[DONE]":
                    done = True
                    break
                chunk = _take(call, data)
                if chunk.get("choices") or "error" in chunk or wants_usage:
                    await _send(response, orjson.dumps(chunk))
        except _ClientGoneError:
            # The agent has what it wanted; that is no fault of the run.
            done = True
        except (UpstreamError, ClientError, OSError, TimeoutError) as failure:
            message = f"the model's stream broke off: {failure}"
            call.context.fault(call.world, where="upstream", status=502, message=message)
            broken = {"error": {"message": message, "type": "server_error", "param": None, "code": "upstream_error"}}
            with suppress(_ClientGoneError):
                await _send(response, orjson.dumps(broken))
            return response
        finally:
            # What was answered is on record even where the client went away in the middle.
            call.record()
        if not done:
            call.context.fault(
                call.world, where="upstream", status=502, message="the model's stream ended before [DONE]"
            )
        with suppress(_ClientGoneError):
            await _send(response, b"[DONE]")
        return response


class _ClientGoneError(Exception):
    """The agent closed the connection."""


async def _send(response: web.StreamResponse, data: bytes) -> None:
    try:
        await response.write(b"data: " + data + b"\n\n")
    except (ConnectionError, RuntimeError) as gone:
        raise _ClientGoneError from gone


def _take(call: _Call, data: bytes) -> dict[str, Any]:
    """Keep what a chunk says, and give it with the model's served name."""
    try:
        chunk = orjson.loads(data)
    except orjson.JSONDecodeError as problem:
        raise UpstreamError(f"a chunk is no JSON: {problem}") from problem
    if not isinstance(chunk, dict):
        raise UpstreamError("a chunk is no object")
    if usage := _usage(chunk.get("usage")):
        call.usage = usage
    for choice in chunk.get("choices") or []:
        call.pieces.append(_text(choice.get("delta") or {}))
    if "model" in chunk:
        chunk["model"] = call.body.get("model", chunk["model"])
    return chunk


def _text(message: Mapping[str, Any]) -> str:
    """A message's text; tool calls as JSON after it, so that the record shows them."""
    content = message.get("content")
    text = content if isinstance(content, str) else ""
    if calls := message.get("tool_calls"):
        text += orjson.dumps(calls).decode()
    return text


def _usage(given: object) -> dict[str, int]:
    if not isinstance(given, dict):
        return {}
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    counts = {n: given[n] if isinstance(given.get(n), int) else 0 for n in names}
    counts["total_tokens"] = counts["total_tokens"] or counts["prompt_tokens"] + counts["completion_tokens"]
    return counts if counts["total_tokens"] else {}


def _count(messages: Sequence[Mapping[str, Any]], answer: str) -> tuple[dict[str, int], str]:
    """Tokens of a call whose upstream didn't tell, and how they were counted."""
    prompt, how = tokens.count(prompt_text([{**m, "role": "any"} for m in messages]))
    completion, _ = tokens.count(answer)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }, how


async def _models(request: web.Request) -> web.Response:
    context = request.app[CONTEXT]
    world = _world_or_error(request)
    if isinstance(world, web.Response):
        return world
    names = [context.upstream.model] if context.upstream and context.upstream.model else []
    if context.upstream and not names:
        try:
            names = await context.upstream.models()
        except UpstreamError as failure:
            return error(failure.status, str(failure), "upstream_error", "server_error")
    data = [{"id": n, "object": "model", "created": 0, "owned_by": "system"} for n in names]
    return web.Response(body=orjson.dumps({"object": "list", "data": data}), content_type="application/json")
