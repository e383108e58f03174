"""``/v1/completions``: raw prompts, over a model that has completions and over one that has chat alone.

Some agents write the chat template themselves and take the model's turn further and further (WebThinker: think, stop at
a search, append the results, think on). They need vLLM's ``include_stop_str_in_output``, by which they see what the
model wants. vLLM is asked for it. Other servers don't tell which stop string ended a text: these are sent none, and
their stream is cut at the first one here. Where a stream is no real one (Inspect), stop strings are sent, and which of
them was met is told from what the text left open; see `searchsim.server.gateway.stops`.

Over chat, a prompt in ChatML is taken apart into its messages; an unfinished turn of the assistant stays the last of
them, which servers that can continue one continue. Any other prompt is one message of the user.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, WeakSet

import orjson

from searchsim.delivery import PROMPT
from searchsim.errors import UpstreamError
from searchsim.server.gateway.stops import Cutter, ended, recognisable
from searchsim.upstream import Upstream

__all__ = ["Completions"]

_T = TypeVar("_T")

_DONE = b"[DONE]"
_DEFAULT_TOKENS = 16
"""What a completion has where the request doesn't say, at OpenAI as at vLLM; chat has no such bound."""

_REFUSED = (400, 422)
"""What servers answer to a field that they don't know."""

_STREAMED = {"stream": True, "stream_options": {"include_usage": True}}
_COMPLETIONS_ALONE = ("best_of", "logprobs", "prompt_logprobs", "suffix")
_NOT_CHAT = ("echo", "include_stop_str_in_output", "prompt", "stop", "stream", "stream_options", *_COMPLETIONS_ALONE)
_BEYOND_OPENAI = (
    "ignore_eos",
    "include_stop_str_in_output",
    "length_penalty",
    "min_p",
    "min_tokens",
    "repetition_penalty",
    "skip_special_tokens",
    "spaces_between_special_tokens",
    "stop_token_ids",
    "top_k",
    "use_beam_search",
)
"""Settings that vLLM and its like take and OpenAI's own API refuses."""


class Completions:
    """Text completions; see `searchsim.server.gateway.call.Kind`."""

    name = "completions"

    def __init__(self) -> None:
        """Know nothing yet of any upstream."""
        self._tells: WeakKeyDictionary[Upstream, bool] = WeakKeyDictionary()
        """Whether its completions tell which stop string ended a text; missing where that isn't known."""
        self._strict: WeakSet[Upstream] = WeakSet()
        """Those that refuse what OpenAI doesn't know."""

    def wrong(self, sent: Mapping[str, Any]) -> str:
        """See `Kind.wrong`. Arrays of token ids are refused: whose tokens they are isn't known here."""
        prompt = sent.get("prompt")
        if isinstance(prompt, list) and prompt and all(isinstance(p, int | list) for p in prompt):
            return "prompt must be text: arrays of token ids aren't read here, send the text that they stand for"
        if not _texts(prompt):
            return "prompt must be a string, or an array of at least one string, and none of them empty"
        if sent.get("stop") not in (None, []) and not _texts(sent["stop"]):
            return "stop must be a string or an array of strings, and none of them empty"
        n = sent.get("n")
        if n is not None and (not isinstance(n, int) or isinstance(n, bool) or n < 1):
            return "n must be an integer of at least 1"
        for name in ("echo", "include_stop_str_in_output"):
            if not isinstance(sent.get(name), bool | None):
                return f"{name} must be true or false"
        return ""

    def messages(self, body: Mapping[str, Any]) -> list[dict[str, Any]]:
        """See `Kind.messages`.

        The turns of a prompt in ChatML have its roles, but for an unfinished turn of the assistant: it, and the whole
        of any other prompt, has the role ``prompt``, for there the model's own words and what the agent put between
        them (search results) stand in one text. Who reads it takes the model's earlier answers out of it; the rest was
        put before the model. Finished turns of the assistant are the model's: what an agent put into one was in the
        prompt of an earlier call, while the turn was open.
        """
        return [
            {"role": PROMPT if turn.open else turn.role, "content": turn.text}
            for prompt in _texts(body["prompt"])
            for turn in _turns(prompt)
        ]

    async def whole(self, upstream: Upstream, body: Mapping[str, Any]) -> dict[str, Any]:
        """See `Kind.whole`."""
        keep = _keeps_stop(body)
        if not keep or self._tells.get(upstream, True):
            answer = await self._leniently(upstream, _without(body, "echo"), upstream.complete)
            if answer is None and not (keep and upstream.streams):
                return _echoed(await self._by_chat(upstream, body), body)
            if answer is not None and (not keep or self._told(upstream, body, answer)):
                return _echoed({**answer, "object": "text_completion"}, body)
        async with self.stream(upstream, body) as pieces:
            return self.joined([chunk async for chunk in _parsed(pieces)])

    @asynccontextmanager
    async def stream(self, upstream: Upstream, body: Mapping[str, Any]) -> AsyncIterator[AsyncIterator[bytes]]:
        """See `Kind.stream`."""
        stops = _texts(body.get("stop")) if _keeps_stop(body) and not self._tells.get(upstream) else []
        bare = _without(body, "echo", *(("stop", "include_stop_str_in_output") if stops else ()))
        bare |= _STREAMED
        chunks: AsyncIterator[dict[str, Any]]
        async with AsyncExitStack() as stack:

            async def opened(given: dict[str, Any]) -> AsyncIterator[bytes] | None:
                return await stack.enter_async_context(upstream.stream_complete(given))

            native = await self._leniently(upstream, bare, opened)
            if native is not None and not stops and not body.get("echo"):
                yield native
                return
            if native is not None:
                count = len(_texts(body["prompt"])) * _n(body)
                chunks = await stack.enter_async_context(aclosing(_cut(_parsed(native), stops, count)))
            elif upstream.streams:
                by_chat = await stack.enter_async_context(aclosing(self._streamed_by_chat(upstream, body)))
                # The first chunk is fetched before an answer is said to have begun: an error is still an error then.
                chunks = _after(await anext(by_chat, None), by_chat)
            else:
                chunks = _served(self.chunks(await self._by_chat(upstream, body)))
            yield _encoded(_echoing(chunks, body))

    def texts(self, answer: Mapping[str, Any]) -> list[str]:
        """See `Kind.texts`."""
        return [choice.get("text") or "" for choice in answer["choices"]]

    def joined(self, chunks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """See `Kind.joined`."""
        answer: dict[str, Any] = {"object": "text_completion", "choices": []}
        choices: dict[int, dict[str, Any]] = {}
        for chunk in chunks:
            answer |= {k: v for k, v in chunk.items() if k not in ("choices", "object", "usage")}
            if chunk.get("usage"):
                answer["usage"] = chunk["usage"]
            for part in chunk.get("choices") or []:
                index = part.get("index") or 0
                choice = choices.setdefault(index, {"index": index, "text": "", "finish_reason": None})
                text = choice["text"] + (part.get("text") or "")
                choice |= {k: v for k, v in part.items() if v is not None or k not in choice} | {"text": text}
        answer["choices"] = [choices[n] for n in sorted(choices)]
        return answer

    def chunks(self, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
        """See `Kind.chunks`: one for each choice; the usage comes last."""
        base = _without(answer, "choices", "usage") | {"object": "text_completion"}
        found: list[dict[str, Any]] = [{**base, "choices": [dict(choice)]} for choice in answer["choices"]]
        if answer.get("usage"):
            found.append({**base, "choices": [], "usage": answer["usage"]})
        return found

    def _told(self, upstream: Upstream, body: Mapping[str, Any], answer: Mapping[str, Any]) -> bool:
        """Whether an answer kept the stop strings that it met. What that says of the upstream is remembered."""
        choices = answer["choices"]
        if any("stop_reason" in c for c in choices):
            self._tells[upstream] = True
            return True
        stops = tuple(_texts(body["stop"]))
        if all((c.get("text") or "").endswith(stops) for c in choices if c.get("finish_reason") == "stop"):
            return True
        self._tells[upstream] = False
        return False

    async def _by_chat(self, upstream: Upstream, body: Mapping[str, Any]) -> dict[str, Any]:
        """A whole answer by chat, a call for each prompt, one after another."""
        stops, keep = _texts(body.get("stop")), _keeps_stop(body)
        answer: dict[str, Any] = {"object": "text_completion", "choices": []}
        usage: dict[str, int] = {}
        for prompt in _texts(body["prompt"]):
            asked = _as_chat(body, prompt, recognisable(stops) if keep else stops)
            given = await self._leniently(upstream, asked, upstream.chat)
            answer |= _without(given, "choices", "object", "usage")
            usage = _sum(usage, given.get("usage"))
            for choice in given["choices"]:
                text = (choice.get("message") or {}).get("content") or ""
                met = None
                if keep:
                    text, met = ended(text, stops, choice.get("finish_reason"))
                answer["choices"].append(_choice(len(answer["choices"]), text, choice.get("finish_reason"), met))
        return {**answer, "usage": usage} if usage else answer

    async def _streamed_by_chat(self, upstream: Upstream, body: Mapping[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        """The chunks of a streamed answer by chat, a call for each prompt, one after another."""
        stops, keep = _texts(body.get("stop")), _keeps_stop(body)
        usage: dict[str, int] = {}
        chunk: dict[str, Any] = {}
        for at, prompt in enumerate(_texts(body["prompt"])):
            asked = _as_chat(body, prompt, [] if keep else stops) | _STREAMED
            async with AsyncExitStack() as stack:

                async def opened(given: dict[str, Any], stack: AsyncExitStack = stack) -> AsyncIterator[bytes]:
                    return await stack.enter_async_context(upstream.stream(given))

                told = _as_completions(_parsed(await self._leniently(upstream, asked, opened)), at * _n(body))
                async for chunk in _cut(told, stops if keep else [], _n(body)):
                    usage = _sum(usage, chunk.pop("usage", None))
                    if chunk["choices"]:
                        yield chunk
        if usage:
            yield {**chunk, "choices": [], "usage": usage}

    async def _leniently(
        self, upstream: Upstream, asked: dict[str, Any], ask: Callable[[dict[str, Any]], Awaitable[_T]]
    ) -> _T:
        """Ask for what an upstream may refuse: without `_BEYOND_OPENAI` then, and from then on."""
        plain = _without(asked, *_BEYOND_OPENAI)
        if upstream in self._strict or plain == asked:
            return await ask(plain)
        try:
            return await ask(asked)
        except UpstreamError as error:
            if error.status not in _REFUSED:
                raise
        answer = await ask(plain)
        self._strict.add(upstream)
        return answer


def _texts(given: object) -> list[str]:
    """One text or several; empty where it is neither, or one of them is empty."""
    texts = [given] if isinstance(given, str) else given
    return list(texts) if isinstance(texts, list) and all(isinstance(t, str) and t for t in texts) else []


def _n(body: Mapping[str, Any]) -> int:
    return int(body.get("n") or 1)


def _keeps_stop(body: Mapping[str, Any]) -> bool:
    return bool(body.get("include_stop_str_in_output")) and bool(_texts(body.get("stop")))


def _without(body: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {k: v for k, v in body.items() if k not in names}


@dataclass(frozen=True, slots=True)
class _Turn:
    """A part of a prompt. An open one is what the model is to go on with."""

    role: str
    text: str
    open: bool = False


_HEAD, _TAIL = "<|im_start|>", "<|im_end|>"
_ROLE = re.compile(r"[ \t]*(\w+)[ \t]*(?:\n|\Z)")


def _turns(prompt: str) -> list[_Turn]:
    """The turns of a prompt in ChatML; any other text is an open turn, nobody's in particular."""
    before, *parts = prompt.split(_HEAD)
    turns = [_Turn("user", before, open=True)]
    for n, part in enumerate(parts, 1):
        role = _ROLE.match(part)
        text, tail, after = part[role.end() if role else 0 :].partition(_TAIL)
        name = role[1] if role else "user"
        turns.append(_Turn(name, text, open=name == "assistant" and n == len(parts) and not tail))
        turns.append(_Turn("user", after, open=True))
    return [t for t in turns if t.text.strip()]


def _as_chat(body: Mapping[str, Any], prompt: str, stops: Sequence[str]) -> dict[str, Any]:
    """The request of a chat for one prompt."""
    for name in _COMPLETIONS_ALONE:
        if body.get(name) is not None:
            raise UpstreamError(f"{name} needs a model with /v1/completions, and the model here has chat alone", 400)
    messages = [{"role": t.role, "content": t.text} for t in _turns(prompt)]
    if not messages:
        raise UpstreamError("the prompt has no text", 400)
    asked = {"max_tokens": _DEFAULT_TOKENS, **_without(body, *_NOT_CHAT), "messages": messages}
    return asked | ({"stop": list(stops)} if stops else {})


async def _as_completions(chunks: AsyncIterator[dict[str, Any]], first: int) -> AsyncIterator[dict[str, Any]]:
    """A chat's chunks as those of completions whose choices are numbered from ``first``."""
    async for chunk in chunks:
        choices = [
            _choice(first + (c.get("index") or 0), (c.get("delta") or {}).get("content") or "", c.get("finish_reason"))
            for c in chunk.get("choices") or []
        ]
        yield {**chunk, "object": "text_completion", "choices": choices}


def _choice(index: int, text: str, finish: str | None, met: str | None = None) -> dict[str, Any]:
    reason = "stop" if met else finish
    return {"index": index, "text": text, "logprobs": None, "finish_reason": reason, "stop_reason": met}


async def _cut(
    chunks: AsyncIterator[dict[str, Any]], stops: Sequence[str], count: int
) -> AsyncGenerator[dict[str, Any]]:
    """Chunks up to the first stop string of each choice; no more are read once all of them met one."""
    cutters: dict[int, Cutter] = {}
    async for chunk in chunks:
        choices = []
        for choice in chunk.get("choices") or []:
            cutter = cutters.setdefault(choice.get("index") or 0, Cutter(stops))
            if cutter.met:
                continue
            text = cutter.feed(choice.get("text") or "")
            if cutter.met:
                choices.append({**choice, "text": text, "finish_reason": "stop", "stop_reason": cutter.met})
            elif choice.get("finish_reason"):
                choices.append({**choice, "text": text + cutter.rest()})
            else:
                choices.append({**choice, "text": text})
        if choices or not chunk.get("choices"):
            yield {**chunk, "choices": choices}
        if len(cutters) == count and all(c.met for c in cutters.values()):
            return


async def _parsed(source: AsyncIterator[bytes]) -> AsyncIterator[dict[str, Any]]:
    """A stream's chunks, up to its end.

    Raises:
        UpstreamError: It breaks off, or tells an error.
    """
    async for data in source:
        if data == _DONE:
            return
        try:
            chunk = orjson.loads(data)
        except orjson.JSONDecodeError as problem:
            raise UpstreamError(f"a chunk is no JSON: {problem}") from problem
        if not isinstance(chunk, dict):
            raise UpstreamError("a chunk is no object")
        if "error" in chunk:
            raise UpstreamError(f"the model told an error: {chunk['error']}", body=chunk)
        yield chunk
    raise UpstreamError("the model's stream ended before [DONE]")


async def _encoded(chunks: AsyncIterator[dict[str, Any]]) -> AsyncIterator[bytes]:
    async for chunk in chunks:
        yield orjson.dumps(chunk)
    yield _DONE


async def _after(first: dict[str, Any] | None, rest: AsyncIterator[dict[str, Any]]) -> AsyncIterator[dict[str, Any]]:
    if first is not None:
        yield first
    async for chunk in rest:
        yield chunk


async def _served(chunks: Sequence[dict[str, Any]]) -> AsyncIterator[dict[str, Any]]:
    for chunk in chunks:
        yield chunk


# Not every server that takes ``echo`` heeds it, and a prompt may hold stop strings: it is never sent.
def _echoed(answer: dict[str, Any], body: Mapping[str, Any]) -> dict[str, Any]:
    """An answer, its prompts before its texts where that was asked for."""
    if not body.get("echo"):
        return answer
    prompts, n = _texts(body["prompt"]), _n(body)
    choices = [{**c, "text": prompts[(c.get("index") or 0) // n] + (c.get("text") or "")} for c in answer["choices"]]
    return {**answer, "choices": choices}


async def _echoing(chunks: AsyncIterator[dict[str, Any]], body: Mapping[str, Any]) -> AsyncIterator[dict[str, Any]]:
    """As `_echoed`, of a stream."""
    begun: set[int] = set()
    async for chunk in chunks:
        new = [c for c in chunk.get("choices") or [] if (c.get("index") or 0) not in begun]
        begun |= {c.get("index") or 0 for c in new}
        echoed = _echoed({"choices": new}, body)["choices"]
        old = [c for c in chunk.get("choices") or [] if c not in new]
        yield {**chunk, "choices": [*echoed, *old]}


def _sum(usage: dict[str, int], more: object) -> dict[str, int]:
    """The usage of several calls; details are left out."""
    if not isinstance(more, Mapping):
        return usage
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    return {n: usage.get(n, 0) + (more[n] if isinstance(more.get(n), int) else 0) for n in names}
