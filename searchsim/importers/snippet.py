"""Authored snippets, brought to the lengths that live ones have."""

from __future__ import annotations

import re
from typing import Literal

from searchsim.text import SNIPPET_LENGTH

__all__ = ["fit"]

_END = re.compile(r"[.!?](?=\s)|[。！？]")


def fit(snippet: str, body: str) -> tuple[str, Literal["", "shortened", "lengthened"]]:
    """A snippet of 74 to 162 characters on one line, and what was done to it.

    A longer one is cut after its last whole sentence, or, where that leaves too little, after a word, with `` ...``
    as results show it. A shorter one goes on with the start of the body; it stays too short where the body is.
    """
    shortest, longest = SNIPPET_LENGTH
    line = " ".join(snippet.split())
    if len(line) > longest:
        return _cut(line), "shortened"
    if len(line) >= shortest or not line:
        return line, ""
    longer = f"{line} {' '.join(body[: 4 * longest].split())}"
    return (_cut(longer) if len(longer) > longest else longer), "lengthened"


def _cut(line: str) -> str:
    shortest, longest = SNIPPET_LENGTH
    for end in reversed([m.end() for m in _END.finditer(line + " ")]):
        if shortest <= end <= longest:
            return line[:end]
    head = line[: longest - 4]
    space = head.rfind(" ") if line[longest - 4] != " " else len(head)
    return f"{head[:space] if space >= shortest else head} ..."
