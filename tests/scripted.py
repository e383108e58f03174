"""Scripted stand-ins. Nothing here is a model: they say what a test tells them to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import orjson
from aiohttp import web

__all__ = ["ScriptedModel"]


class ScriptedModel:
    """An OpenAI-compatible server that answers from a script.

    Attributes:
        answers: What it says, first to last; the last one for ever.
        say: What it says to a request, instead of these.
        requests: The bodies it got.
        headers: The headers it got.
        status: What it answers with.
        broken: How it misbehaves: "" not at all, "json" no JSON, "cut" a stream that breaks off, "error" one
            that tells of an error, "hang up".
        usage: Whether it tells token counts.
        delay: Seconds before it answers.
        called: What it calls its model; else as it was asked.
    """

    def __init__(self) -> None:
        self.answers = ["scripted answer"]
        self.say: Callable[[dict[str, Any]], str] | None = None
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.status = 200
        self.broken = ""
        self.usage = True
        self.delay = 0.0
        self.called = ""
        self.url = ""

    @classmethod
    @asynccontextmanager
    async def running(cls) -> AsyncIterator[ScriptedModel]:
        """Serve on a free port of loopback."""
        model = cls()
        app = web.Application()
        app.router.add_post("/v1/chat/completions", model._chat)
        app.router.add_get("/v1/models", model._models)
        runner = web.AppRunner(app, shutdown_timeout=0.5)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        model.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield model
        finally:
            await runner.cleanup()

    async def _models(self, request: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": "scripted-a"}, {"id": "scripted-b"}]})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.requests.append(body)
        self.headers.append(dict(request.headers))
        text = self.say(body) if self.say else self.answers[min(len(self.requests), len(self.answers)) - 1]
        await asyncio.sleep(self.delay)
        if self.broken == "hang up":
            assert request.transport is not None
            request.transport.close()
        if self.broken == "json":
            return web.Response(text="<html>no JSON</html>")
        if self.status != 200:
            error = {"error": {"message": "scripted failure", "type": "server_error", "code": "scripted"}}
            return web.json_response(error, status=self.status)
        usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
        if not body.get("stream"):
            message = {"role": "assistant", "content": text}
            answer: dict[str, Any] = {
                "id": "x",
                "object": "chat.completion",
                "model": self.called or body["model"],
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            }
            if self.usage:
                answer["usage"] = usage
            return web.json_response(answer)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for piece in text.split(" "):
            chunk = {
                "object": "chat.completion.chunk",
                "model": self.called or "scripted",
                "choices": [{"index": 0, "delta": {"content": f"{piece} "}}],
            }
            await response.write(b"data: " + orjson.dumps(chunk) + b"\n\n")
            if self.broken == "cut":
                assert request.transport is not None
                request.transport.close()
                return response
            if self.broken == "error":
                error = {"error": {"message": "scripted error in a stream", "type": "server_error"}}
                await response.write(b"data: " + orjson.dumps(error) + b"\n\ndata: [DONE]\n\n")
                return response
        if self.usage and (body.get("stream_options") or {}).get("include_usage"):
            await response.write(b"data: " + orjson.dumps({"choices": [], "usage": usage}) + b"\n\n")
        await response.write(b"data: [DONE]\n\n")
        return response
