"""The model of an Inspect sample behind the gateway.

Every call runs in a copy of the sample's context: the gateway answers in tasks of its server, and Inspect books a
call on the sample of the context that it is made in.
"""

from __future__ import annotations

import asyncio
import contextvars
import time
import uuid
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import orjson

from searchsim import embedding
from searchsim.errors import UpstreamError

if TYPE_CHECKING:
    from inspect_ai.model import Model, ModelOutput

__all__ = ["InspectUpstream", "usage_of"]

_T = TypeVar("_T")

_CONFIG = {
    "max_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "seed": "seed",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
    "n": "num_choices",
    "parallel_tool_calls": "parallel_tool_calls",
    "reasoning_effort": "reasoning_effort",
    "logprobs": "logprobs",
    "top_logprobs": "top_logprobs",
}
"""What of a request goes into Inspect's GenerateConfig, and under which name."""

_FINISH = {
    "stop": "stop",
    "max_tokens": "length",
    "model_length": "length",
    "tool_calls": "tool_calls",
    "content_filter": "content_filter",
}


class InspectUpstream:
    """An Inspect model in OpenAI's shapes; see `searchsim.upstream.Upstream`.

    Make it where the sample is worked on: the context of that place is the one that calls are booked on.
    """

    streams = False

    def __init__(self, model: Model, name: str, *, demonstration: bool = False) -> None:
        """Make an upstream.

        Args:
            model: Inspect's model.
            name: What agents and traces call it.
            demonstration: True for a toy.
        """
        self._model = model
        self._context = contextvars.copy_context()
        self.model: str | None = name
        self.demonstration = demonstration
        self.extra: dict[str, Any] = {}

    def body(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """See `Upstream.body`."""
        return {**request, "model": self.model}

    async def chat(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """See `Upstream.chat`."""
        return await self._inside(self._generate(body))

    @asynccontextmanager
    async def stream(self, body: Mapping[str, Any]) -> AsyncIterator[AsyncIterator[bytes]]:
        """See `Upstream.stream`. Inspect answers whole, so the stream has a chunk for each choice."""
        answer = await self.chat(body)
        yield _chunks(answer)

    async def complete(self, body: Mapping[str, Any]) -> None:
        """See `Upstream.complete`. Inspect's models chat."""

    @asynccontextmanager
    async def stream_complete(self, body: Mapping[str, Any]) -> AsyncIterator[None]:
        """See `Upstream.stream_complete`."""
        yield None

    async def embed(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """See `Upstream.embed`. Inspect's models embed nothing: words are counted instead."""
        return embedding.embedded(body["input"], body.get("encoding_format"))

    async def models(self) -> list[str]:
        """See `Upstream.models`."""
        return [self.model or ""]

    async def close(self) -> None:
        """See `Upstream.close`; the model is Inspect's."""

    async def _inside(self, call: Coroutine[Any, Any, _T]) -> _T:
        # A context can be entered by one task at a time, and agents may call in parallel.
        return await asyncio.get_running_loop().create_task(call, context=self._context.copy())

    async def _generate(self, body: Mapping[str, Any]) -> dict[str, Any]:
        from inspect_ai.model import messages_from_openai

        try:
            # Inspect's converter changes what it is given, and the record is made of the body afterwards.
            given = orjson.loads(orjson.dumps(body["messages"]))
            messages = await messages_from_openai(given, self.model)
            options = _options(body)
        except (ValueError, KeyError, TypeError, AttributeError, AssertionError) as error:
            raise UpstreamError(f"the request can't be put to the model: {error}", 400) from error
        try:
            output = await self._model.generate(messages, **options)
        except Exception as error:
            # Providers raise what their clients raise; to an agent, each is a failure of the model.
            raise UpstreamError(f"the model failed: {type(error).__name__}: {error}") from error
        if output.error:
            raise UpstreamError(f"the model failed: {output.error}")
        return _completion(output, self.model or "")


def _options(body: Mapping[str, Any]) -> dict[str, Any]:
    """A request's settings and tools, as `Model.generate` takes them."""
    from inspect_ai.model import GenerateConfig, ResponseSchema
    from inspect_ai.tool import ToolFunction, ToolInfo, ToolParams
    from inspect_ai.util import JSONSchema

    settings = {to: body[name] for name, to in _CONFIG.items() if body.get(name) is not None}
    if stop := body.get("stop"):
        settings["stop_seqs"] = [stop] if isinstance(stop, str) else list(stop)
    wanted = body.get("response_format") or {}
    if wanted.get("type") == "json_schema":
        form = wanted["json_schema"]
        settings["response_schema"] = ResponseSchema(
            name=form.get("name", "answer"),
            json_schema=JSONSchema.model_validate(form.get("schema") or {}),
            strict=form.get("strict"),
        )
    tools = []
    for tool in body.get("tools") or []:
        function = tool["function"]
        parameters = function.get("parameters") or {"type": "object", "properties": {}}
        tools.append(
            ToolInfo(
                name=function["name"],
                description=function.get("description") or function["name"],
                parameters=ToolParams.model_validate(parameters),
            )
        )
    options: dict[str, Any] = {"config": GenerateConfig(**settings)}
    if tools:
        options["tools"] = tools
        choice = body.get("tool_choice") or "auto"
        if isinstance(choice, Mapping):
            options["tool_choice"] = ToolFunction(name=choice["function"]["name"])
        else:
            options["tool_choice"] = "any" if choice == "required" else choice
    return options


def _completion(output: ModelOutput, name: str) -> dict[str, Any]:
    choices = []
    for index, choice in enumerate(output.choices):
        message: dict[str, Any] = {"role": "assistant", "content": choice.message.text}
        if calls := choice.message.tool_calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.function, "arguments": orjson.dumps(call.arguments).decode()},
                }
                for call in calls
            ]
        reasons = [c.reasoning for c in choice.message.content if not isinstance(c, str) and c.type == "reasoning"]
        if reasons:
            message["reasoning_content"] = "\n".join(reasons)
        choices.append({"index": index, "message": message, "finish_reason": _FINISH.get(choice.stop_reason, "stop")})
    answer: dict[str, Any] = {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": name,
        "choices": choices,
    }
    if usage := usage_of(output):
        answer["usage"] = {**usage, "total_tokens": usage["prompt_tokens"] + usage["completion_tokens"]}
    return answer


def usage_of(output: ModelOutput) -> dict[str, int]:
    """Prompt and completion tokens of an answer; empty where the provider doesn't tell."""
    usage = output.usage
    if usage is None:
        return {}
    # What was read from a provider's cache was sent all the same; Inspect counts it apart.
    cached = (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
    return {"prompt_tokens": usage.input_tokens + cached, "completion_tokens": usage.output_tokens}


async def _chunks(answer: Mapping[str, Any]) -> AsyncIterator[bytes]:
    base = {k: answer[k] for k in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    for choice in answer["choices"]:
        delta = dict(choice["message"])
        if calls := delta.get("tool_calls"):
            delta["tool_calls"] = [{"index": n, **call} for n, call in enumerate(calls)]
        index = choice["index"]
        yield orjson.dumps({**base, "choices": [{"index": index, "delta": delta, "finish_reason": None}]})
        end = {"index": index, "delta": {}, "finish_reason": choice["finish_reason"]}
        yield orjson.dumps({**base, "choices": [end]})
    if "usage" in answer:
        yield orjson.dumps({**base, "choices": [], "usage": answer["usage"]})
    yield b"[DONE]"
