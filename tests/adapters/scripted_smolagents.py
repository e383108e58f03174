"""A scripted model for smolagents: it searches, reads the first three pages, searches twice at once, and reports.

``python -m tests.adapters.scripted_smolagents --port 0`` serves it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tests.adapters.scripted_server import Body, by_hand, called, said

__all__ = ["reply"]

_RESULT = re.compile(r"^\d+\. \[(.+)\]\((\S+)\)", re.MULTILINE)
_VISIT = re.compile(r"visit_webpage(?:\(url=|', 'arguments': \{'url': )'([^']+)'")
_FIGURE = re.compile(r"\d+(?:\.\d+)? %|\d+\.\d+")


def reply(body: Body) -> dict[str, Any]:
    """The next message of a conversation, from what stands in it."""
    texts = [_text(m) for m in body["messages"]]
    system, conversation = texts[0], "\n".join(texts[1:])
    if "providing an answer instead" in system:
        return said(_report(conversation))
    calls = _next(texts[1], conversation)
    if "solve any task using code blobs" in system:
        return said(_code(calls))
    return called(*calls)


def _text(message: Mapping[str, Any]) -> str:
    """The words of a message, whose content is a text or a list of parts."""
    content = message["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def _next(task: str, conversation: str) -> list[tuple[str, dict[str, str]]]:
    """The next tools to call."""
    results = _RESULT.findall(conversation)
    done = conversation.count("Observation:")
    if done == 0:
        return [("web_search", {"query": task.removeprefix("New task:").strip().split("\n")[0]})]
    if done <= 3:
        return [("visit_webpage", {"url": results[done - 1][1]})]
    if done == 4:
        return [("web_search", {"query": results[n][0]}) for n in (1, 4)]
    return [("final_answer", {"answer": _report(conversation)})]


def _report(conversation: str) -> str:
    """A sentence with a figure from each page that was read, with its source; then the last result of all."""
    found: dict[str, str] = {}
    for visit in _VISIT.finditer(conversation):
        page = conversation[visit.end() :].partition("Observation:")[2].partition("Observation:")[0]
        sentences = [" ".join(s.split()) for s in re.split(r"(?<=[.!?])\s", page)]
        found[visit[1]] = next((s for s in sentences if _FIGURE.search(s)), "No figure is given.")
    lines = ["# What the sources say", "", *(f"- {text} ([source]({url}))" for url, text in found.items())]
    for title, url in _RESULT.findall(conversation)[-1:]:
        lines += ["", f"See also [{title}]({url})."]
    return "\n".join(lines)


def _code(calls: list[tuple[str, dict[str, str]]]) -> str:
    """The same calls as a CodeAgent's model writes them."""
    lines = []
    for name, arguments in calls:
        call = f"{name}({', '.join(f'{k}={v!r}' for k, v in arguments.items())})"
        lines.append(call if name == "final_answer" else f"print({call})")
    body = "\n".join(lines)
    return f"Thought: I go on.\n<code>\n{body}\n</code>"


if __name__ == "__main__":
    by_hand(reply)
