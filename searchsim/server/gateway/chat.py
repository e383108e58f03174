"""``/v1/chat/completions``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import orjson

from searchsim.upstream import Upstream

__all__ = ["Chat"]

_FORMATS = ("text", "json_object", "json_schema")


class Chat:
    """Chat completions; see `searchsim.server.gateway.call.Kind`."""

    name = "chat"

    def wrong(self, sent: Mapping[str, Any]) -> str:
        """See `Kind.wrong`."""
        messages = sent.get("messages")
        if not isinstance(messages, list) or not messages or not all(isinstance(m, dict) for m in messages):
            return "messages must be an array of at least one message object"
        tools = sent.get("tools")
        if tools is not None and not (isinstance(tools, list) and all(_is_tool(t) for t in tools)):
            return "tools must be an array of objects, each with a function object"
        wanted = sent.get("response_format")
        if wanted is None:
            return ""
        if not (isinstance(wanted, dict) and wanted.get("type") in _FORMATS):
            return f"response_format must be an object whose type is one of {', '.join(_FORMATS)}"
        if wanted["type"] == "json_schema" and not isinstance(wanted.get("json_schema"), dict):
            return "response_format.json_schema must be an object"
        return ""

    def messages(self, body: Mapping[str, Any]) -> list[dict[str, Any]]:
        """See `Kind.messages`."""
        return list(body["messages"])

    async def whole(self, upstream: Upstream, body: Mapping[str, Any]) -> dict[str, Any]:
        """See `Kind.whole`."""
        return await upstream.chat(body)

    def stream(self, upstream: Upstream, body: Mapping[str, Any]) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """See `Kind.stream`."""
        return upstream.stream(body)

    def texts(self, answer: Mapping[str, Any]) -> list[str]:
        """See `Kind.texts`. Tool calls stand as JSON after the text, so that the record shows them."""
        return [_text(choice.get("message") or {}) for choice in answer["choices"]]

    def joined(self, chunks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """See `Kind.joined`."""
        answer: dict[str, Any] = {"object": "chat.completion", "choices": []}
        choices: dict[int, dict[str, Any]] = {}
        for chunk in chunks:
            answer |= {k: v for k, v in chunk.items() if k not in ("choices", "object", "usage")}
            if chunk.get("usage"):
                answer["usage"] = chunk["usage"]
            for part in chunk.get("choices") or []:
                index = part.get("index") or 0
                choice = choices.setdefault(
                    index, {"index": index, "message": {"role": "assistant", "content": None}, "finish_reason": None}
                )
                _add(choice["message"], part.get("delta") or {})
                choice |= {k: v for k, v in part.items() if k not in ("index", "delta") and v is not None}
        answer["choices"] = [choices[n] for n in sorted(choices)]
        return answer

    def chunks(self, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
        """See `Kind.chunks`: for each choice its message, then its end; the usage comes last."""
        base = {k: v for k, v in answer.items() if k not in ("choices", "usage", "object")}
        base["object"] = "chat.completion.chunk"
        found = []
        for choice in answer["choices"]:
            delta = dict(choice.get("message") or {})
            if calls := delta.get("tool_calls"):
                delta["tool_calls"] = [{"index": n, **call} for n, call in enumerate(calls)]
            index = choice.get("index") or 0
            found.append({**base, "choices": [{"index": index, "delta": delta, "finish_reason": None}]})
            end = {"index": index, "delta": {}, "finish_reason": choice.get("finish_reason")}
            found.append({**base, "choices": [end]})
        if answer.get("usage"):
            found.append({**base, "choices": [], "usage": answer["usage"]})
        return found


def _is_tool(tool: object) -> bool:
    return isinstance(tool, dict) and isinstance(tool.get("function") or tool.get("custom"), dict)


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    text = content if isinstance(content, str) else ""
    if calls := message.get("tool_calls"):
        text += orjson.dumps(calls).decode()
    return text


def _add(message: dict[str, Any], delta: Mapping[str, Any]) -> None:
    """Put a delta onto the message so far: texts grow, tool calls by their index."""
    for name, value in delta.items():
        if name == "tool_calls":
            calls = message.setdefault("tool_calls", [])
            for part in value or []:
                index = part.get("index")
                at = len(calls) if index is None else index
                while len(calls) <= at:
                    calls.append({"type": "function", "function": {"name": "", "arguments": ""}})
                call = calls[at]
                call |= {k: v for k, v in part.items() if k not in ("index", "function") and v is not None}
                function = part.get("function") or {}
                call["function"]["name"] += function.get("name") or ""
                call["function"]["arguments"] += function.get("arguments") or ""
        elif name == "role":
            message["role"] = value or message["role"]
        elif isinstance(value, str):
            message[name] = (message.get(name) or "") + value
        elif value is not None:
            message[name] = value
