"""OpenAI's shapes: errors and usage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from aiohttp import web

from searchsim import tokens
from searchsim.delivery import prompt_text

__all__ = ["count", "error", "failure", "usage"]

_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")


def failure(message: str, code: str | None = None, kind: str = "invalid_request_error") -> dict[str, Any]:
    """An error's body."""
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def error(status: int, message: str, code: str | None = None, kind: str = "invalid_request_error") -> web.Response:
    """An error as OpenAI sends it."""
    body = failure(message, code, kind)
    return web.Response(body=orjson.dumps(body), status=status, content_type="application/json")


def usage(given: object) -> dict[str, int]:
    """The token counts that an upstream tells; empty where it tells none."""
    if not isinstance(given, dict):
        return {}
    counts = {n: given[n] if isinstance(given.get(n), int) else 0 for n in _COUNTS}
    counts["total_tokens"] = counts["total_tokens"] or counts["prompt_tokens"] + counts["completion_tokens"]
    return counts if counts["total_tokens"] else {}


def count(messages: Sequence[Mapping[str, Any]], answer: str) -> tuple[dict[str, int], str]:
    """Tokens of a call whose upstream didn't tell, and how they were counted."""
    prompt, how = tokens.count(prompt_text([{**m, "role": "any"} for m in messages]))
    completion, _ = tokens.count(answer)
    return dict(zip(_COUNTS, (prompt, completion, prompt + completion), strict=True)), how
