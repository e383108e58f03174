"""The model behind the gateway: any OpenAI-compatible URL, or the local model."""

from __future__ import annotations

import os
from collections.abc import AsyncIterable, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, Protocol

import aiohttp
import orjson

from searchsim import embedding
from searchsim.errors import UpstreamError, UsageError
from searchsim.local import LOCAL_EXTRA, LocalModel

__all__ = ["HttpUpstream", "Upstream", "open_upstream"]

_URL = "SEARCHSIM_UPSTREAM"
_KEY = "SEARCHSIM_UPSTREAM_KEY"
_ABSENT = (404, 405, 501)
"""What servers answer on a path that they don't have."""
_PASSED_ON = (400, 404, 405, 413, 422, 429, 501)
"""Errors that are the request's; any other is told as a bad gateway."""
_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=600)


class Upstream(Protocol):
    """What answers the gateway's requests, in OpenAI's shapes.

    Attributes:
        model: The model that requests are sent to whatever they name; None leaves the request's own.
        demonstration: True for a toy: whatever it made says so.
        extra: Fields set in every request.
        streams: Whether a stream comes as it is made; False where it is a whole answer in pieces, so that ending it
            early saves nothing.
    """

    model: str | None
    demonstration: bool
    extra: dict[str, Any]
    streams: bool

    def body(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The request as it is sent."""
        ...

    async def chat(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """A whole answer of ``/chat/completions``.

        Raises:
            UpstreamError: It can't be reached, answers with an error, or with no chat completion.
        """
        ...

    def stream(self, body: Mapping[str, Any]) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """The data of the chunks of a streamed answer, the closing ``[DONE]`` among them.

        Raises:
            UpstreamError: It can't be reached, or answers with an error, before the first chunk.
        """
        ...

    async def complete(self, body: Mapping[str, Any]) -> dict[str, Any] | None:
        """A whole answer of ``/completions``; None where it has chat alone.

        Raises:
            UpstreamError: See `chat`.
        """
        ...

    def stream_complete(self, body: Mapping[str, Any]) -> AbstractAsyncContextManager[AsyncIterator[bytes] | None]:
        """As `stream`, of ``/completions``; gives None where it has chat alone.

        Raises:
            UpstreamError: See `stream`.
        """
        ...

    async def embed(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """A whole answer of ``/embeddings``.

        Raises:
            UpstreamError: See `chat`.
        """
        ...

    async def models(self) -> list[str]:
        """The names of its models.

        Raises:
            UpstreamError: See `chat`.
        """
        ...

    async def close(self) -> None:
        """Let go of it."""
        ...


class HttpUpstream:
    """An OpenAI-compatible server; see `Upstream`.

    Whether it has ``/completions`` is told by its first answer there, for each model: OpenAI's own has it for some.
    """

    streams = True

    def __init__(
        self,
        url: str,
        *,
        model: str | None = None,
        key: str | None = None,
        demonstration: bool = False,
        extra: Mapping[str, Any] | None = None,
        keep: object = None,
    ) -> None:
        """Make an upstream; `close` it in the end.

        Args:
            url: The API's base, e.g. ``https://host/v1``.
            model: See `Upstream`.
            key: Sent as bearer token; it is never logged or traced.
            demonstration: See `Upstream`.
            extra: See `Upstream`.
            keep: An object that must live as long as the upstream (the local model).
        """
        if not url.startswith(("http://", "https://")):
            raise UsageError(f"upstream {url}: give `local`, or a URL such as http://127.0.0.1:8000/v1")
        self._url = url.rstrip("/")
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.extra = dict(extra or {})
        self._keep = keep
        self._session: aiohttp.ClientSession | None = None
        self._chat_alone: set[object] = set()
        self.model = model
        self.demonstration = demonstration

    @property
    def identity(self) -> str:
        """What tells this upstream's answers from another's; the local model's address is another each time."""
        return f"local#{self.model}" if self.demonstration else f"{self._url}#{self.model or '*'}"

    def body(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """See `Upstream.body`."""
        body = {**request, **self.extra}
        if self.model:
            body["model"] = self.model
        return body

    @asynccontextmanager
    async def _request(
        self, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send a request and give the response, not yet read."""
        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=_TIMEOUT)
        headers = {**self._headers, "Content-Type": "application/json"}
        data = None if body is None else orjson.dumps(body)
        try:
            async with self._session.request(method, f"{self._url}{path}", data=data, headers=headers) as response:
                if response.status >= 400:
                    raise await _refusal(response)
                yield response
        except (aiohttp.ClientError, TimeoutError) as error:
            reason = str(error) or type(error).__name__
            raise UpstreamError(f"the model at {self._url} can't be reached: {reason}") from error

    async def chat(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """See `Upstream.chat`."""
        return await self._whole("/chat/completions", body)

    async def _whole(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        async with self._request("POST", path, body) as response:
            raw = await response.read()
        try:
            answer = orjson.loads(raw)
        except orjson.JSONDecodeError as error:
            raise UpstreamError(f"the model at {self._url} answered no JSON") from error
        if not isinstance(answer, dict) or not answer.get("choices"):
            raise UpstreamError(f"the model at {self._url} answered without choices")
        return answer

    @asynccontextmanager
    async def stream(self, body: Mapping[str, Any]) -> AsyncIterator[AsyncIterator[bytes]]:
        """See `Upstream.stream`."""
        async with self._request("POST", "/chat/completions", body) as answer:
            yield _data(answer.content)

    async def complete(self, body: Mapping[str, Any]) -> dict[str, Any] | None:
        """See `Upstream.complete`."""
        if body.get("model") in self._chat_alone:
            return None
        try:
            return await self._whole("/completions", body)
        except UpstreamError as error:
            self._take_absence(body, error)
            return None

    @asynccontextmanager
    async def stream_complete(self, body: Mapping[str, Any]) -> AsyncIterator[AsyncIterator[bytes] | None]:
        """See `Upstream.stream_complete`."""
        async with AsyncExitStack() as stack:
            answer = None
            if body.get("model") not in self._chat_alone:
                try:
                    answer = await stack.enter_async_context(self._request("POST", "/completions", body))
                except UpstreamError as error:
                    self._take_absence(body, error)
            yield _data(answer.content) if answer else None

    def _take_absence(self, body: Mapping[str, Any], error: UpstreamError) -> None:
        """Remember that there is no ``/completions`` where an error says so; raise any other."""
        if error.status not in _ABSENT:
            raise error
        self._chat_alone.add(body.get("model"))

    async def embed(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """See `Upstream.embed`. The small local model has none, so that words are counted instead."""
        if self.demonstration:
            return embedding.embedded(body["input"], body.get("encoding_format"))
        async with self._request("POST", "/embeddings", body) as response:
            raw = await response.read()
        try:
            answer = orjson.loads(raw)
        except orjson.JSONDecodeError as error:
            raise UpstreamError(f"the model at {self._url} answered no JSON") from error
        if not isinstance(answer, dict) or not isinstance(answer.get("data"), list):
            raise UpstreamError(f"the model at {self._url} answered without embeddings")
        return answer

    async def models(self) -> list[str]:
        """See `Upstream.models`."""
        async with self._request("GET", "/models") as response:
            raw = await response.read()
        try:
            return [str(m["id"]) for m in orjson.loads(raw)["data"]]
        except (orjson.JSONDecodeError, KeyError, TypeError) as error:
            raise UpstreamError(f"the model at {self._url} lists no models") from error

    async def close(self) -> None:
        """Close connections, and let the local model go."""
        if self._session is not None:
            await self._session.close()
        self._keep = None


async def _data(lines: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """The data of server-sent events; OpenAI's have one data line each."""
    async for line in lines:
        if line.startswith(b"data:"):
            yield line[5:].strip()


async def _refusal(response: aiohttp.ClientResponse) -> UpstreamError:
    text = await response.text(errors="replace")
    try:
        body: object = orjson.loads(text)
    except orjson.JSONDecodeError:
        body = None
    status = response.status if response.status in _PASSED_ON else 502
    return UpstreamError(f"the model answered {response.status}: {text[:300]}", status, body)


def open_upstream(name: str | None = None, model: str | None = None) -> HttpUpstream:
    """The upstream that a command line names.

    Args:
        name: ``local``, or the base URL of an OpenAI-compatible API; None takes SEARCHSIM_UPSTREAM, else the local
            model. A key, where the API wants one, comes from SEARCHSIM_UPSTREAM_KEY.
        model: The model to send requests to; ``local`` is the local one.

    Raises:
        UsageError: The name is neither, or a model is named that the local upstream isn't.
        MissingComponentError: The local model isn't there.
    """
    chosen = name or ("local" if model == "local" else os.environ.get(_URL) or "local")
    if chosen == "local":
        if model not in (None, "local"):
            raise UsageError(f"--model {model} needs the API that has it: give --upstream URL, or set {_URL}")
        local = LocalModel()
        return HttpUpstream(local.url, model=local.name, demonstration=True, extra=LOCAL_EXTRA, keep=local)
    return HttpUpstream(chosen, model=model, key=os.environ.get(_KEY))
