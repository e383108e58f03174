"""A scripted model for WebThinker: thinker, explorer, readers, writer and editor, told apart by their prompts.

The thinker searches for the question, then for what stands first in what it was given, then for reviews on the question;
it writes a section, checks the article, has it edited, and is done. The explorer of a question opens the first page
that it was shown; every explorer tells all results with their addresses. The writer repeats what was found.

It has /v1/completions as vLLM has them (``stop``, ``include_stop_str_in_output``, ``stop_reason``), and
/v1/chat/completions, where the last message may be an unfinished one of its own. The same request gets the same answer.

``python -m tests.adapters.scripted_webthinker --port 0`` serves it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import orjson
from aiohttp import web

__all__ = ["ScriptedThinker", "reply"]

_LONGEST_QUERY = 100
_TURN = re.compile(r"<\|im_start\|>(\w+)\n(.*?)(?:<\|im_end\|>|\Z)", re.DOTALL)
_RESULT = re.compile(r"<\|begin_search_result\|>(.*?)<\|end_search_result\|>", re.DOTALL)
_FOUND = re.compile(r"^- .+ \(https?://\S+\)$", re.MULTILINE)


def reply(asked: str, begun: str) -> str:
    """What it says, stop strings apart.

    Args:
        asked: The prompt.
        begun: Its own turn so far, with what was put into it.
    """
    for words, role in _ROLES:
        if words in asked:
            return role(asked, begun)
    return "I don't know."


def _plan(asked: str, begun: str) -> str:
    question = asked.partition("question:\n")[2].partition("\n")[0]
    return f"(1) Search for: {question}\n(2) Search for what was found first\n(3) Search for reviews on the question"


def _intent(asked: str, begun: str) -> str:
    return "To learn what is known about this."


def _thinker(asked: str, begun: str) -> str:
    question = asked.partition("scientific article about:\n")[2].partition("\n")[0]
    if "<|end_edit_article|>" in begun:
        return "I have finished my work."
    if "<|end_check_article|>" in begun:
        return "\n<|begin_edit_article|>Say in the title that this is a survey.<|end_edit_article|>\n\nThen I am done."
    if "<|end_write_section|>" in begun:
        return "\n<|begin_check_article|>nothing of this is read<|end_check_article|>"
    results = _RESULT.findall(begun)
    if len(results) == 3:
        return "<|begin_write_section|>Findings\nSay what was found and where.<|end_write_section|> And on."
    first = next((m[0] for text in results for m in _FOUND.finditer(text)), f"- {question} (-)")
    topic = first.removeprefix("- ").rpartition(" (")[0][:_LONGEST_QUERY]
    query = (question, topic, f"{question} review")[len(results)]
    return f"I need to know more.\n<|begin_search_query|>{query}<|end_search_query|>\n\nAnd then I go on."


def _explorer(asked: str, begun: str) -> str:
    query = asked.partition("**Current Search Query:**\n")[2].partition("\n")[0]
    listed = re.split(r"\*\*\*Web Page \d+:\*\*\*\n", asked.partition("**Searched Web Pages:**\n")[2])[1:]
    pages = [json.JSONDecoder().raw_decode(text)[0] for text in listed]
    if query.endswith(("?", "？")) and "<|end_click_link|>" not in begun:
        return f"I open the first.\n<|begin_click_link|>{pages[0]['url']}<|end_click_link|>\nThen I read it."
    clicked = begun.partition("<|begin_click_result|>\n")[2].partition("\n<|end_click_result|>")[0]
    told = "\n".join(f"- {page['snippet']} ({page['url']})" for page in pages)
    return f"**Final Information**\n\n{told}\n{clicked}"


def _reader(asked: str, begun: str) -> str:
    page = asked.partition("Searched Web Page:\n")[2].partition("\nInstructions:")[0]
    return f"The page says: {page.strip()[:300]}"


def _writer(asked: str, begun: str) -> str:
    name = asked.partition("Name of the next section to write:\n## ")[2].partition("\n")[0]
    thoughts = asked.partition("Previous thoughts:\n")[2].partition("Outline of current written article:")[0]
    found = dict.fromkeys(m[0] for text in _RESULT.findall(thoughts) for m in _FOUND.finditer(text))
    return f"## {name}\n\n" + "\n".join(found)


def _title(asked: str, begun: str) -> str:
    return f'"{asked.partition("Original Question:")[2].strip().partition(chr(10))[0]}"'


def _editor(asked: str, begun: str) -> str:
    article = asked.partition("Current article:\n")[2].partition("\nPlease output")[0].strip()
    edited = re.sub(r"(?m)^# (.*)$", r"# A survey: \1", article, count=1)
    return f"```markdown\n{edited}\n```"


def _last_editor(asked: str, begun: str) -> str:
    article = asked.partition("Current Article:\n")[2].partition("\nNote:\n- Output the complete final-version")[0]
    return f"```markdown\n{article.strip()}\n```"


_ROLES: tuple[tuple[str, Callable[[str, str], str]], ...] = (
    ("detailed plan to search over the web", _plan),
    ("detailed intent of the latest", _intent),
    ("related to the following click intent", _reader),
    ("You are a web explorer analyzing search results", _explorer),
    ("You are a research paper writing assistant", _writer),
    ("generate a precise title", _title),
    ("You are a professional article editor", _editor),
    ("You are an final-version article editor", _last_editor),
    ("with the ability to perform web searches to write a scientific research article", _thinker),
)


class ScriptedThinker:
    """The server.

    Attributes:
        url: Where it listens.
        requests: Path and body of each request, in the order that they came.
        status: What it answers with; anything but 200 is a failure.
        say: What it says; see `reply`.
    """

    def __init__(self, *, completions: bool = True) -> None:
        """Make one that isn't started.

        Args:
            completions: Whether it has /v1/completions beside chat.
        """
        self.url = ""
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.status = 200
        self.say = reply
        self._completions = completions

    @asynccontextmanager
    async def running(self, port: int = 0) -> AsyncIterator[ScriptedThinker]:
        """Serve on loopback until the block ends; port 0 is any free one."""
        app = web.Application(client_max_size=64 * 1024**2)
        if self._completions:
            app.router.add_post("/v1/completions", self._answer)
        app.router.add_post("/v1/chat/completions", self._answer)
        app.router.add_get("/v1/models", self._models)
        runner = web.AppRunner(app, shutdown_timeout=0.5)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield self
        finally:
            await runner.cleanup()

    def sent(self) -> bytes:
        """All that it was sent, as one text."""
        return orjson.dumps(self.requests)

    async def _models(self, request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": "scripted", "object": "model"}]})

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.requests.append((request.path, body))
        if self.status != 200:
            error = {"message": "scripted failure", "type": "server_error"}
            return web.json_response({"error": error}, status=self.status)
        chat = "messages" in body
        turns = [(m["role"], m["content"]) for m in body["messages"]] if chat else _TURN.findall(body["prompt"])
        begun = turns.pop()[1] if turns[-1][0] == "assistant" else ""
        text = self.say("\n".join(words for _, words in turns), begun)
        stops = [body["stop"]] if isinstance(body.get("stop"), str) else body.get("stop") or []
        at, met = min(((text.find(s), s) for s in stops if s in text), default=(len(text), None))
        # vLLM's chat knows the option too; other servers' chat, which this one stands for, doesn't.
        text = text[:at] + (met or "" if body.get("include_stop_str_in_output") and not chat else "")
        if body.get("stream"):
            return await self._stream(request, body, text)
        said = {"message": {"role": "assistant", "content": text}} if chat else {"text": text, "stop_reason": met}
        answer = {
            "id": "scripted",
            "object": "chat.completion" if chat else "text_completion",
            "created": 0,
            "model": body["model"],
            "choices": [{"index": 0, "finish_reason": "stop", **said}],
            "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
        }
        return web.json_response(answer)

    async def _stream(self, request: web.Request, body: dict[str, Any], text: str) -> web.StreamResponse:
        chat = "messages" in body
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        head = {"id": "scripted", "created": 0, "model": body["model"]}
        head["object"] = "chat.completion.chunk" if chat else "text_completion"
        for piece in [*re.findall(r"\S+\s*|\s+", text), None]:
            end = {"finish_reason": "stop" if piece is None else None}
            said: dict[str, Any] = {"delta": {"content": piece} if piece else {}} if chat else {"text": piece or ""}
            chunk = {**head, "choices": [{"index": 0, **said, **end}]}
            await response.write(b"data: " + orjson.dumps(chunk) + b"\n\n")
        await response.write(b"data: [DONE]\n\n")
        return response


async def _serve(port: int) -> None:
    async with ScriptedThinker().running(port) as server:
        print(server.url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A scripted model for WebThinker; no model at all.")
    parser.add_argument("--port", type=int, default=0, help="the port, 0 for any free one")
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve(parser.parse_args().port))
