"""One model call, from request to record."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

import orjson
from aiohttp import ClientError, web

from searchsim import trace
from searchsim.delivery import Delivery
from searchsim.errors import UpstreamError
from searchsim.replay import Mode, Recorded, Replay, Request
from searchsim.server.context import CONTEXT, Context, bearer, world_key
from searchsim.server.gateway.wire import count, error, failure, usage
from searchsim.upstream import Upstream
from searchsim.world import World

__all__ = ["Kind", "named", "take"]

_NO_MODEL = "no model stands behind this server: start it with --upstream URL or --upstream local"


class Kind(Protocol):
    """What differs between the kinds of calls."""

    @property
    def name(self) -> str:
        """``chat``, ``completions`` or ``embeddings``."""
        ...

    def wrong(self, sent: Mapping[str, Any]) -> str:
        """What makes a body unusable; empty where it is usable."""
        ...

    def messages(self, body: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The prompt, as chat messages; empty where no model reads one."""
        ...

    async def whole(self, upstream: Upstream, body: Mapping[str, Any]) -> dict[str, Any]:
        """A whole answer.

        Raises:
            UpstreamError: There is none.
        """
        ...

    def stream(self, upstream: Upstream, body: Mapping[str, Any]) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """The data of the chunks of a streamed answer, the closing ``[DONE]`` among them.

        Raises:
            UpstreamError: There is none.
        """
        ...

    def texts(self, answer: Mapping[str, Any]) -> list[str]:
        """What each choice of a whole answer says."""
        ...

    def joined(self, chunks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """The whole answer that a stream's chunks make."""
        ...

    def chunks(self, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The chunks of a stream that says what a whole answer says."""
        ...


@dataclass(slots=True)
class _Call:
    context: Context
    world: World
    kind: Kind
    body: dict[str, Any]
    """As it is sent to the upstream."""
    replay: Replay
    request: Request
    lists: int
    exposed: bool
    delivery: Delivery = field(default_factory=Delivery)
    origin: str = "live"
    demonstration: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)

    def record(self, answer: Mapping[str, Any]) -> None:
        """Put the call on the world's record."""
        asked = {
            "request": self.request.hash,
            "occurrence": self.request.occurrence,
            "origin": self.origin,
            "lists": self.lists,
            "exposed": self.exposed,
        }
        said = "".join(self.kind.texts(answer))
        told, source = usage(answer.get("usage")), "upstream"
        messages = self.kind.messages(self.body)
        if self.kind.name == "embeddings":
            event = trace.embedding(
                model=str(answer.get("model") or self.body.get("model", "")),
                usage=told,
                given=self.body["input"],
                asked=asked,
            )
            self.context.worlds.append(self.world, event)
            return
        if not told:
            told, source = count(messages, said)
        matcher = self.context.matchers.get(self.world.key)
        # An answer that repeats its prompt isn't the model's own words alone.
        if matcher is not None and not self.body.get("echo"):
            matcher.said(messages, said)
        self.context.worlds.append(
            self.world,
            trace.model(
                kind=self.kind.name,
                model=str(self.body.get("model", "")),
                usage=told,
                delivered=self.delivery.documents,
                parts=self.delivery.parts,
                ambiguous=self.delivery.ambiguous,
                settings={
                    "temperature": self.body["temperature"],
                    "seed": self.body["seed"],
                    "usage_from": source,
                    "demonstration": self.demonstration,
                    **self.extra,
                },
                messages=messages,
                answer=said,
                asked=asked,
            ),
        )


def named(request: web.Request) -> World | web.Response:
    """The world that a call names, or its refusal."""
    world = request.app[CONTEXT].worlds.find(world_key(request, bearer(request)))
    if world is None:
        return error(401, "Incorrect API key provided.", "invalid_api_key")
    return world


async def take(kind: Kind, request: web.Request) -> web.StreamResponse:
    """Answer a call: from the record where the world's mode has it there, else by the upstream."""
    context = request.app[CONTEXT]
    world = named(request)
    if isinstance(world, web.Response):
        return world
    upstream, replay = context.upstream, context.replay(world)
    if upstream is None and replay.mode is not Mode.REPLAY:
        context.fault(world, where="gateway", status=503, message=_NO_MODEL)
        return error(503, _NO_MODEL, "no_upstream", "server_error")
    try:
        sent = orjson.loads(await request.read())
    except orjson.JSONDecodeError as problem:
        return error(400, f"the request body is no JSON: {problem}")
    if not isinstance(sent, dict):
        return error(400, "the request body must be an object")
    if not isinstance(sent.get("stream_options") or {}, dict):
        return error(400, "stream_options must be an object")
    if wrong := kind.wrong(sent):
        return error(400, wrong)
    forced = sent if kind.name == "embeddings" else {**sent, "temperature": context.temperature, "seed": context.seed}
    # What the agent had been served when it asked, however long the answer takes.
    call = _Call(context, world, kind, forced, replay, replay.request(kind.name, forced), world.lists, world.exposed)
    if upstream is not None:
        # Which model embeds is the agent's choice, and not the one that answers.
        call.body = forced if kind.name == "embeddings" else upstream.body(forced)
        call.demonstration, call.extra = upstream.demonstration, upstream.extra
    wants_usage = bool((sent.get("stream_options") or {}).get("include_usage"))
    if messages := kind.messages(forced):
        call.delivery = await (await context.matcher(world)).find(messages)
    if (recorded := replay.find(call.request)) is not None:
        call.origin = "replayed"
        return await _again(request, call, recorded, wants_usage)
    if upstream is None or replay.mode is Mode.REPLAY:
        message = f"this {kind.name} request was never recorded: {replay.missing(call.request)}"
        replay.release(call.request)
        context.fault(world, where="replay", status=400, message=message)
        # A status that clients don't try again.
        return error(400, message, "not_recorded")
    try:
        if sent.get("stream"):
            return await _stream(request, call, upstream, wants_usage)
        answer = await kind.whole(upstream, call.body)
    except UpstreamError as failed:
        replay.release(call.request)
        context.fault(world, where="upstream", status=failed.status, message=str(failed))
        if isinstance(failed.body, dict) and "error" in failed.body:
            return web.Response(body=orjson.dumps(failed.body), status=failed.status, content_type="application/json")
        return error(failed.status, str(failed), "upstream_error", "server_error")
    if kind.name != "embeddings":
        answer["model"] = call.body.get("model") or answer.get("model")
    call.record(answer)
    replay.keep(call.request, Recorded(answer))
    return _whole(call, answer)


def _whole(call: _Call, answer: dict[str, Any]) -> web.Response:
    """A whole answer, with the usage that its upstream didn't tell."""
    if call.kind.name != "embeddings" and not usage(answer.get("usage")):
        answer["usage"], _ = count(call.kind.messages(call.body), "".join(call.kind.texts(answer)))
    return web.Response(body=orjson.dumps(answer), content_type="application/json")


async def _again(request: web.Request, call: _Call, recorded: Recorded, wants_usage: bool) -> web.StreamResponse:
    """Give a recorded answer again: as a stream where one is asked for."""
    call.record(recorded.answer)
    if not call.body.get("stream"):
        return _whole(call, recorded.answer)
    response = await _opened(request)
    chunks = call.kind.chunks(recorded.answer) if recorded.chunks is None else recorded.chunks
    with suppress(_ClientGoneError):
        for chunk in chunks:
            if chunk.get("choices") or wants_usage:
                await _send(response, orjson.dumps(chunk))
        await _send(response, b"[DONE]")
    return response


async def _stream(request: web.Request, call: _Call, upstream: Upstream, wants_usage: bool) -> web.StreamResponse:
    """Pass a stream on as it comes, and keep what it says."""
    body = {**call.body, "stream_options": {**(call.body.get("stream_options") or {}), "include_usage": True}}
    async with call.kind.stream(upstream, body) as answer:
        response = await _opened(request)
        chunks: list[dict[str, Any]] = []
        done = gone = False
        try:
            async for data in answer:
                if data == b"[DONE]":
                    done = True
                    break
                chunk = _chunk(call, data)
                if "error" not in chunk:
                    chunks.append(chunk)
                if chunk.get("choices") or "error" in chunk or wants_usage:
                    await _send(response, orjson.dumps(chunk))
                if "error" in chunk:
                    message = f"the model's stream told of an error: {orjson.dumps(chunk['error']).decode()[:300]}"
                    call.context.fault(call.world, where="upstream", status=502, message=message)
                    return response
        except _ClientGoneError:
            # The agent has what it wanted, or has lost its patience; neither is a fault of the run.
            gone = True
        except (UpstreamError, ClientError, OSError, TimeoutError) as failed:
            message = f"the model's stream broke off: {failed}"
            call.context.fault(call.world, where="upstream", status=502, message=message)
            with suppress(_ClientGoneError):
                await _send(response, orjson.dumps(failure(message, "upstream_error", "server_error")))
            return response
        finally:
            # What was answered is on record even where the client went away in the middle.
            whole = call.kind.joined(chunks)
            call.record(whole)
            if done or gone:
                call.replay.keep(call.request, Recorded(whole, chunks))
            if not done:
                # An agent that asks again gets the same number, and the whole answer takes this one's place.
                call.replay.release(call.request)
        if not (done or gone):
            call.context.fault(
                call.world, where="upstream", status=502, message="the model's stream ended before [DONE]"
            )
        with suppress(_ClientGoneError):
            await _send(response, b"[DONE]")
        return response


async def _opened(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
    await response.prepare(request)
    return response


class _ClientGoneError(Exception):
    """The agent closed the connection."""


async def _send(response: web.StreamResponse, data: bytes) -> None:
    try:
        await response.write(b"data: " + data + b"\n\n")
    except (ConnectionError, RuntimeError) as gone:
        raise _ClientGoneError from gone


def _chunk(call: _Call, data: bytes) -> dict[str, Any]:
    """A chunk with the model's served name."""
    try:
        chunk = orjson.loads(data)
    except orjson.JSONDecodeError as problem:
        raise UpstreamError(f"a chunk is no JSON: {problem}") from problem
    if not isinstance(chunk, dict):
        raise UpstreamError("a chunk is no object")
    if "model" in chunk:
        chunk["model"] = call.body.get("model", chunk["model"])
    return chunk
