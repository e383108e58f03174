"""A scripted model for DeerFlow 2, keen on figures: it searches, reads the page whose snippet holds most of them, searches
twice at once, and reports on what it found.

``python -m tests.adapters.scripted_deerflow2 --port 0`` serves it.
"""

from __future__ import annotations

import json
import re
from typing import Any

from tests.adapters.scripted_server import Body, by_hand, called, said

__all__ = ["reply"]

_FIGURE = re.compile(r"\d+(?:\.\d+)? %|\d+\.\d+")
_USER_INPUT = re.compile(r"--- BEGIN USER INPUT ---\n(.*?)\n--- END USER INPUT ---", re.DOTALL)


def reply(body: Body) -> dict[str, Any]:
    """The next message of a conversation, from what stands in it."""
    messages = body["messages"]
    question = _USER_INPUT.search(next(m["content"] for m in messages if m["role"] == "user"))
    assert question, "DeerFlow marks what the user says"
    made = [c["function"]["name"] for m in messages for c in m.get("tool_calls") or []]
    found = [m["content"] for m in messages if m["role"] == "tool"]
    results = [r for content in found for r in _results(content)]
    match made:
        case []:
            return called(("web_search", {"query": question[1]}))
        case ["web_search"]:
            return called(("web_fetch", {"url": max(results, key=_figures)["url"]}))
        case ["web_search", "web_fetch"]:
            return called(*(("web_search", {"query": r["title"]}) for r in results[1:3]))
        case _:
            return said(_report(results, next(content for content in found if content.startswith("# "))))


def _results(content: str) -> list[dict[str, str]]:
    """What a tool found; nothing where it isn't a search. Some search tools give a list, some an object with one."""
    try:
        found = json.loads(content)
    except ValueError:
        return []
    rows: list[dict[str, str]] = found if isinstance(found, list) else found.get("results", [])
    return rows


def _snippet(result: dict[str, str]) -> str:
    return result.get("snippet") or result.get("content") or ""


def _figures(result: dict[str, str]) -> int:
    return len(_FIGURE.findall(_snippet(result)))


def _report(results: list[dict[str, str]], page: str) -> str:
    """The page's title, and of each result with a figure what its snippet says, cited as DeerFlow asks."""
    cited = {r["url"]: r for r in results if _figures(r)}
    lines = [f"# Report on “{page.splitlines()[0][2:]}”", ""]
    lines += [f"- {_snippet(r)} [citation:{r['title']}]({url})" for url, r in cited.items()]
    lines += ["", "## Sources", "", *(f"- [{r['title']}]({url})" for url, r in cited.items())]
    return "\n".join(lines)


if __name__ == "__main__":
    by_hand(reply)
