"""A scripted model for DeerFlow 1: coordinator, planner, researcher and reporter, told apart by tools and prompt.

The plan has two steps, named after the first two sentences that the background investigation found; the first of them
also names the first address found, where there is one. The first researcher searches, reads that page (else the first
of its results that has an address) and tells what it found; the second searches twice at once. The reporter repeats
what it was told, and where that is from.

``python -m tests.adapters.scripted_deerflow1 --port 0`` serves it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from itertools import zip_longest
from typing import Any

from searchsim.scoring.exposure import citations
from tests.adapters.scripted_server import Body, by_hand, called, said

__all__ = ["reply"]

_STEP = re.compile(r"# Current Step\n\n## Title\n\n(.+?)\n\n## Description", re.DOTALL)
_BACKGROUND = "background investigation results of user query:\n"
_FINDINGS, _REFERENCES = "## Research Findings\n\n", "\n\n## References\n\n"
_LONGEST_QUERY = 100


def reply(body: Body) -> dict[str, Any]:
    """The next message of a conversation, from what stands in it."""
    messages = body["messages"]
    tools = {tool["function"]["name"] for tool in body.get("tools") or []}
    told = [_text(m) for m in messages if m["role"] == "user"]
    if "handoff_to_planner" in tools:
        return called(("handoff_to_planner", {"research_topic": told[0], "locale": _locale(told[0])}))
    if "web_search" in tools:
        return _researcher("\n".join(told), [_text(m) for m in messages if m["role"] == "tool"])
    if any("has_enough_context" in _text(m) for m in messages if m["role"] == "system"):
        return said(_plan(told[0], [t.partition(_BACKGROUND)[2] for t in told]))
    return said(_report(told))


def _plan(question: str, background: list[str]) -> str:
    titles = [*_sentences(background), question, f"{question} review"][:2]
    pages = [f" Read {url}" for url in _addresses(background)[:1]]
    plan = {
        "locale": _locale(question),
        "has_enough_context": False,
        "thought": question,
        "title": question,
        "steps": [
            {
                "need_search": True,
                "title": title[:_LONGEST_QUERY],
                "description": f"Find what is known about this: {title}.{page}",
                "step_type": "research",
            }
            for title, page in zip_longest(titles, pages, fillvalue="")
        ],
    }
    return json.dumps(plan, ensure_ascii=False)


def _researcher(told: str, results: list[str]) -> dict[str, Any]:
    step = _STEP.search(told)
    assert step, "DeerFlow tells a researcher its step"
    title, first = step[1], "# Completed Research Steps" not in told
    if not results:
        queries = [title] if first else [title, f"{title} review"]
        return called(*(("web_search", {"query": query}) for query in queries))
    if first and len(results) == 1 and (addresses := _addresses([told, *results])):
        return called(("crawl_tool", {"url": addresses[0]}))
    return said(f"# {title}\n\n{_FINDINGS}" + "\n\n".join(_sentences(results)) + _references(results))


def _report(told: list[str]) -> str:
    title = told[0].partition("## Task\n\n")[2].partition("\n")[0]
    findings = [t.partition(_FINDINGS)[2].partition(_REFERENCES)[0] for t in told]
    return "\n\n".join([f"# {title}", *filter(None, findings)]) + _references(told)


def _references(texts: Iterable[str]) -> str:
    listed = "\n\n".join(f"- [{url.split('/')[2]}]({url})" for url in _addresses(texts))
    return f"{_REFERENCES}{listed}" if listed else ""


def _locale(question: str) -> str:
    return "en-US" if question.isascii() else "zh-CN"


def _text(message: Mapping[str, Any]) -> str:
    """A message's words: DeerFlow writes no parts."""
    return str(message.get("content") or "")


def _plain(text: str) -> str:
    """A text without the escapes of the JSON that wraps it, of which there may be two layers."""
    text = re.sub(r"\\+u([0-9a-f]{4})", lambda m: chr(int(m[1], 16)), text)
    return re.sub(r'\\+(["/])', r"\1", re.sub(r"\\+[nrt]", "\n", text))


def _addresses(texts: Iterable[str]) -> list[str]:
    """The URLs in texts, each once, in order."""
    return list(dict.fromkeys(url for text in texts for url in citations(_plain(text))))


def _sentences(texts: Iterable[str]) -> list[str]:
    """The sentences in texts, each once, in order; addresses and the names of JSON's fields aren't any."""
    found = []
    for text in texts:
        bare = re.sub(r"https?://[^\s\"\\]+", " ", _plain(text))
        for piece in re.split(r"(?<=[.!?])\s|[。！？\n\"#{}\[\]]", bare):
            words = piece.strip(" ,:.*-")
            if len(words) >= (30 if words.isascii() else 12):
                found.append(words)
    return list(dict.fromkeys(found))


if __name__ == "__main__":
    by_hand(reply)
