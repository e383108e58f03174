# /// script
# requires-python = ">=3.11"
# dependencies = ["ddgs==9.16.1"]
#
# [tool.uv]
# exclude-newer = "2026-11-28T00:00:00Z"
# ///
"""ddgs, a Rust client, which no hook of ours can enter."""

from _script import answer, page, query
from ddgs import DDGS


def failed(call, *arguments, **more):
    try:
        return f"answered: {call(*arguments, **more)}"
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"


client = DDGS(timeout=5)
answer(
    "ddgs",
    {
        "DDGS.text": failed(client.text, query, backend="duckduckgo"),
        "DDGS.extract": failed(client.extract, page),
    },
)
