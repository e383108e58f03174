"""An OpenAI-compatible server whose answers a function makes of the request: what the scripted models stand on.

Nothing behind it is a model. The same request gets the same answer, so that two runs of one agent can be compared.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import orjson
from aiohttp import web

__all__ = ["Body", "ScriptedServer", "by_hand", "called", "said"]

Body = Mapping[str, Any]


def said(text: str) -> dict[str, Any]:
    """A message of words."""
    return {"role": "assistant", "content": text}


def called(*calls: tuple[str, Mapping[str, Any]]) -> dict[str, Any]:
    """A message of tool calls; their ids follow from what they call."""
    made = []
    for place, (name, arguments) in enumerate(calls):
        text = orjson.dumps(arguments).decode()
        mark = hashlib.sha256(f"{place} {name} {text}".encode()).hexdigest()[:12]
        made.append({"id": f"call_{place}_{mark}", "type": "function", "function": {"name": name, "arguments": text}})
    return {"role": "assistant", "content": None, "tool_calls": made}


class ScriptedServer:
    """The server.

    Attributes:
        url: Where it listens.
        requests: Path and body of each request, in the order that they came.
        status: What every chat request is answered with; anything but 200 is a failure.
        failing_from: The number of the first chat request that is answered with 400, from 1 on; None is none.
        embeds: Whether its embeddings work, or are answered with 400.
    """

    def __init__(self, reply: Callable[[Body], dict[str, Any]]) -> None:
        """Make one that isn't started.

        Args:
            reply: The message that answers a chat request.
        """
        self.url = ""
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.status = 200
        self.failing_from: int | None = None
        self.embeds = True
        self._reply = reply

    @asynccontextmanager
    async def running(self, port: int = 0) -> AsyncIterator[ScriptedServer]:
        """Serve on loopback until the block ends; port 0 is any free one."""
        app = web.Application(client_max_size=64 * 1024**2)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/v1/embeddings", self._embeddings)
        app.router.add_get("/v1/models", self._models)
        runner = web.AppRunner(app, shutdown_timeout=0.5)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield self
        finally:
            await runner.cleanup()

    def sent(self, *names: tuple[str, str]) -> bytes:
        """All that it was sent, as one text in which names (a key, a port) have been replaced by others."""
        text = orjson.dumps(self.requests)
        for old, new in names:
            text = text.replace(old.encode(), new.encode())
        return text

    async def _taken(self, request: web.Request) -> dict[str, Any]:
        """The body of a request, which is kept.

        Raises:
            _Failure: It is to fail.
        """
        body: dict[str, Any] = await request.json()
        self.requests.append((request.path, body))
        if request.path.endswith("/embeddings"):
            status = 200 if self.embeds else 400
        else:
            number = sum(path == request.path for path, _ in self.requests)
            status = 400 if self.failing_from is not None and number >= self.failing_from else self.status
        if status != 200:
            raise _Failure(status)
        return body

    async def _models(self, request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": "scripted", "object": "model"}]})

    async def _embeddings(self, request: web.Request) -> web.Response:
        body = await self._taken(request)
        given = body["input"]
        texts = given if isinstance(given, list) and not isinstance(given[0], int) else [given]
        data = [{"object": "embedding", "index": n, "embedding": _embedded(text)} for n, text in enumerate(texts)]
        usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
        return web.json_response({"object": "list", "data": data, "model": body["model"], "usage": usage})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await self._taken(request)
        message = self._reply(body)
        reason = "tool_calls" if message.get("tool_calls") else "stop"
        usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
        head = {"id": "scripted", "created": 0, "model": body["model"]}
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": reason}
            return web.json_response({**head, "object": "chat.completion", "choices": [choice], "usage": usage})
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        head["object"] = "chat.completion.chunk"
        if message.get("tool_calls"):
            deltas = [{"tool_calls": [{"index": n, **call}]} for n, call in enumerate(message["tool_calls"])]
        else:
            deltas = [{"content": piece} for piece in re.findall(r"\S+\s*|\s+", message["content"])]
        for delta in [{"role": "assistant"}, *deltas]:
            await _send(response, {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        await _send(response, {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
        if (body.get("stream_options") or {}).get("include_usage"):
            await _send(response, {**head, "choices": [], "usage": usage})
        await response.write(b"data: [DONE]\n\n")
        return response


class _Failure(web.HTTPException):
    """A failure as OpenAI's API tells of one."""

    def __init__(self, status: int) -> None:
        self.status_code = status
        error = {"message": "scripted failure", "type": "invalid_request_error", "code": "scripted"}
        super().__init__(text=orjson.dumps({"error": error}).decode(), content_type="application/json")


async def _send(response: web.StreamResponse, chunk: Mapping[str, Any]) -> None:
    await response.write(b"data: " + orjson.dumps(chunk) + b"\n\n")


def _embedded(text: str) -> list[float]:
    """A bag of words, and of single characters where nothing parts words, each counted in a place that its hash names: texts with common words are near each other.

    A last place is common to all: no two texts have a similarity under 0.4, as in the embeddings of many real models.
    """
    vector = [0.0] * 256
    for word in set(re.findall(r"[a-z0-9]+|[^\W\x00-\x7f]", str(text).lower())):
        vector[int.from_bytes(hashlib.sha256(word.encode()).digest()[:2], "big") % 256] += 1.0
    length = sum(x * x for x in vector) ** 0.5 or 1.0
    return [*(x / length * 0.6**0.5 for x in vector), 0.4**0.5]


def by_hand(reply: Callable[[Body], dict[str, Any]]) -> None:
    """Serve from the command line until it is interrupted; the URL is printed first."""
    parser = argparse.ArgumentParser(description="A scripted model; no model at all.")
    parser.add_argument("--port", type=int, default=0, help="the port, 0 for any free one")
    port = parser.parse_args().port

    async def serve() -> None:
        async with ScriptedServer(reply).running(port) as server:
            print(server.url, flush=True)
            await asyncio.Event().wait()

    try:
        asyncio.run(serve())
    except KeyboardInterrupt:
        return
