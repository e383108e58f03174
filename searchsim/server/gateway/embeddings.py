"""``/v1/embeddings``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from searchsim.upstream import Upstream

__all__ = ["Embeddings"]

_MOST = 2048


class Embeddings:
    """Embeddings; see `searchsim.server.gateway.call.Kind`. No model reads them: they deliver nothing."""

    name = "embeddings"

    def wrong(self, sent: Mapping[str, Any]) -> str:
        """See `Kind.wrong`. Arrays of token ids, which OpenAI's clients send, are taken."""
        if sent.get("stream"):
            return "embeddings can't be streamed"
        if sent.get("encoding_format") not in (None, "float", "base64"):
            return "encoding_format must be float or base64"
        given = sent.get("input")
        if isinstance(given, str):
            return "" if given else "input must not be empty"
        if not isinstance(given, list) or not given or len(given) > _MOST:
            return f"input must be a string, or an array of 1 to {_MOST} strings"
        kinds = {"list" if _ids(x) else type(x).__name__ for x in given}
        if kinds not in ({"str"}, {"int"}, {"list"}):
            return "input must be a string, an array of strings, or arrays of token ids"
        return ""

    def messages(self, body: Mapping[str, Any]) -> list[dict[str, Any]]:
        """See `Kind.messages`."""
        return []

    async def whole(self, upstream: Upstream, body: Mapping[str, Any]) -> dict[str, Any]:
        """See `Kind.whole`."""
        return await upstream.embed(body)

    def stream(self, upstream: Upstream, body: Mapping[str, Any]) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """See `Kind.stream`; `wrong` refuses it."""
        raise NotImplementedError

    def texts(self, answer: Mapping[str, Any]) -> list[str]:
        """See `Kind.texts`."""
        return []

    def joined(self, chunks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """See `Kind.joined`."""
        raise NotImplementedError

    def chunks(self, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
        """See `Kind.chunks`."""
        raise NotImplementedError


def _ids(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(x, int) for x in value)
