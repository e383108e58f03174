"""A scripted model for GPT Researcher: it chooses a role, plans searches, and reports on the sources that it is given.

Its embeddings are bags of words. ``python -m tests.adapters.scripted_gpt_researcher --port 0`` serves it.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

from tests.adapters.scripted_server import Body, by_hand, said

__all__ = ["reply"]

_SOURCE = re.compile(r"Source: (\S+)\nTitle: (.*)\nContent: ")
_FIGURE = re.compile(r"\d+(?:\.\d+)? %|\d+\.\d+")


def reply(body: Body) -> dict[str, Any]:
    """The answer to a prompt, from what stands in it."""
    system = "\n".join(m["content"] for m in body["messages"] if m["role"] == "system")
    prompt = body["messages"][-1]["content"]
    if "agent_role_prompt" in system:
        return said('{"server": "Science Agent", "agent_role_prompt": "You are a careful science writer."}')
    if "Write " in prompt[:10] and "search queries" in prompt[:60]:
        return said(_plan(prompt))
    return said(_report(prompt))


def _plan(prompt: str) -> str:
    """Titles of the search results that it is shown, as many as are asked for."""
    asked = re.search(r"Write (\d+) ", prompt)
    assert asked, prompt[:200]
    titles = [single or double for single, double in re.findall(r"'title': (?:'([^']+)'|\"([^\"]+)\")", prompt)]
    return orjson.dumps(titles[: int(asked[1])]).decode()


def _report(prompt: str) -> str:
    """A sentence of each source that it is shown, one with a figure where there is one."""
    found: dict[str, str] = {}
    passages = list(_SOURCE.finditer(prompt))
    for at, passage in enumerate(passages):
        end = passages[at + 1].start() if at + 1 < len(passages) else prompt.find('"\n---', passage.end())
        sentences = [" ".join(s.split()) for s in re.split(r"(?<=[.!?。])\s", prompt[passage.end() : end])]
        figure = next((s for s in sentences if _FIGURE.search(s)), "")
        if figure or passage[1] not in found:
            found[passage[1]] = figure or sentences[0]
    lines = [f"{text} ([source]({url}))" for url, text in found.items()]
    return "\n\n".join(
        ["# Report", *(lines or ["No source was given."]), "## References", *(f"- {url}" for url in found)]
    )


if __name__ == "__main__":
    by_hand(reply)
