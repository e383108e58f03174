"""Which served documents are in a prompt.

A document is delivered where its link, or a run of its words that stands in no other document, is in the prompt. The
prompt is unescaped (JSON, HTML, percent), folded (NFKC, case, white space) and cut into tokens first, so that what
agents do to results (truncate, re-encode, reorder, wrap in JSON) doesn't hide them. The model's own messages don't
count.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from searchsim.documents import Document
from searchsim.engine import SearchEngine
from searchsim.query import Phrase, Query
from searchsim.text import snippet, tokens

__all__ = ["PARTS", "PROMPT", "RUN", "Delivery", "Matcher", "prompt_text"]

RUN = 7
"""Tokens of a run. Shorter runs are phrases that anybody writes; longer ones are lost when prompts truncate."""

_SHORT = 4
_WORTH_A_LOOK = 20
"""Characters: a shorter answer holds no run."""
PROMPT = "prompt"
"""The role of a text that the model and others wrote together: a raw prompt that goes on after the model's words."""
PARTS = ("link", "title", "source", "snippet", "body")


@dataclass(frozen=True, slots=True)
class Delivery:
    """What a prompt holds of the served documents.

    Attributes:
        documents: Ids of those delivered.
        parts: For each document of which anything was found, the parts, in the order of `PARTS`. ``source`` means
            the publisher's name or host; it alone delivers nothing.
        ambiguous: Ids of documents whose only runs stand in other documents too.
    """

    documents: list[str] = field(default_factory=list)
    parts: dict[str, list[str]] = field(default_factory=dict)
    ambiguous: list[str] = field(default_factory=list)


def prompt_text(messages: Iterable[Mapping[str, Any]]) -> str:
    """The text of a prompt's messages, the model's own left out."""
    pieces: list[str] = []
    for message in messages:
        if message.get("role") == "assistant":
            continue
        content = message.get("content")
        if isinstance(content, str):
            pieces.append(content)
        elif isinstance(content, list):
            pieces += [p["text"] for p in content if isinstance(p, dict) and isinstance(p.get("text"), str)]
    return "\n".join(pieces)


_ESCAPE = re.compile(r"\\+u([0-9a-fA-F]{4})")


def _unescaped(text: str) -> str:
    """JSON, HTML and percent escapes undone, as often as they are nested (twice is what agents do)."""
    for _ in range(2):
        text = _ESCAPE.sub(lambda m: chr(int(m[1], 16)), text)
        text = text.replace("\\/", "/").replace('\\"', '"')
        text = re.sub(r"\\+[nrt]", " ", text)
        text = html.unescape(text)
        if "%" in text:
            text = unquote(text)
    # Escaped surrogate pairs become the characters they stand for; halves are lost.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "ignore")


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _hashes(stream: Sequence[str], length: int) -> dict[int, int]:
    """The runs of a length: their hashes, each with where it first starts."""
    found: dict[int, int] = {}
    for start in range(len(stream) - length + 1):
        found.setdefault(hash(tuple(stream[start : start + length])), start)
    return found


@dataclass(frozen=True, slots=True)
class _Runs:
    """A document's runs: hashes by part, and the lengths that occur (a short part is one run)."""

    parts: Mapping[str, frozenset[int]]
    lengths: frozenset[int]


@lru_cache(maxsize=4096)
def _runs(document: Document) -> _Runs:
    """A document's runs, shared by all worlds that serve it."""
    parts: dict[str, frozenset[int]] = {}
    lengths: set[int] = set()
    for part, text in (("title", document.title), ("snippet", snippet(document)), ("body", document.body)):
        stream = tokens(text)
        length = min(RUN, len(stream))
        if length >= _SHORT:
            parts[part] = frozenset(_hashes(stream, length))
            lengths.add(length)
    return _Runs(parts, frozenset(lengths))


# A link ends where no character of a URL follows, but for punctuation that closes a sentence.
_LINK = r"(?<![\w@-])(?<!\w\.)(?:www\.)?{}/?(?![\w\-/%?=&]|\.\w)"


@lru_cache(maxsize=4096)
def _link(document: Document) -> re.Pattern[str]:
    bare = document.url.split("://", 1)[-1].rstrip("/").removeprefix("www.")
    return re.compile(_LINK.format(re.escape(_folded(_unescaped(bare)))))


@dataclass(frozen=True, slots=True)
class _Said:
    """What the model said to a prompt, which is known by its length and hash."""

    length: int
    prompt: int
    pieces: tuple[str, ...]


def _whole(messages: Sequence[Mapping[str, Any]]) -> str:
    return "\0".join(str(m.get("content") or "") for m in messages)


class Matcher:
    """Finds a world's served documents in prompts. Documents are added as they are served."""

    def __init__(self, engine: SearchEngine, pool: Iterable[Document] = ()) -> None:
        """Make a matcher.

        Args:
            engine: Tells whether a run stands in other organic documents.
            pool: The world's misleading documents, served or not: runs must be unique among these too.
        """
        self._engine = engine
        self._documents: dict[str, Document] = {}
        self._pool = tuple(pool)
        self._elsewhere: dict[int, frozenset[str]] = {}
        self._said: list[_Said] = []

    def said(self, messages: Sequence[Mapping[str, Any]], answer: str) -> None:
        """Take note of what the model said to a prompt, for prompts that go on from there in one text.

        Args:
            messages: The prompt.
            answer: What the model said; of a reasoning model's, agents keep parts.
        """
        if any(m.get("role") == PROMPT for m in messages):
            text = _whole(messages)
            pieces = [p.strip() for p in (answer, *answer.split("</think>"))]
            self._said.append(_Said(len(text), hash(text), tuple(p for p in pieces if len(p) >= _WORTH_A_LOOK)))

    def add(self, document: Document) -> None:
        """Take note that a document was served."""
        self._documents.setdefault(document.id, document)

    async def find(self, messages: Sequence[Mapping[str, Any]]) -> Delivery:
        """What is delivered by a prompt.

        Args:
            messages: The prompt, as OpenAI's chat messages. One of role `PROMPT` is a text in which the model's
                earlier words stand among others: what it said in this conversation is left out of it first.
        """
        if not self._documents:
            return Delivery()
        raw_text = _unescaped(prompt_text(self._without_said(messages)))
        text = _folded(raw_text)
        stream = tokens(raw_text)
        runs = {id_: _runs(document) for id_, document in self._documents.items()}
        prompt: dict[int, tuple[str, ...]] = {}
        for length in {length for r in runs.values() for length in r.lengths}:
            for run, start in _hashes(stream, length).items():
                prompt[run] = tuple(stream[start : start + length])
        found: dict[str, set[str]] = defaultdict(set)
        shared: set[str] = set()
        for id_, its in runs.items():
            for part, hashes in its.parts.items():
                # One run that no other document holds is enough.
                for run in sorted(prompt.keys() & hashes):
                    if await self._holders(run, prompt[run]) <= {id_}:
                        found[id_].add(part)
                        break
                    shared.add(id_)
        for id_, document in self._documents.items():
            if _link(document).search(text):
                found[id_].add("link")
        delivered = [id_ for id_ in self._documents if found.get(id_)]
        for id_, document in self._documents.items():
            if any(_folded(s) in text for s in (document.source_name, document.host) if s):
                found[id_].add("source")
        return Delivery(
            delivered,
            {id_: [p for p in PARTS if p in found[id_]] for id_ in self._documents if found.get(id_)},
            [id_ for id_ in self._documents if id_ in shared and id_ not in delivered],
        )

    def _without_said(self, messages: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        if not any(m.get("role") == PROMPT for m in messages):
            return messages
        whole = _whole(messages)
        # Another conversation's answer may have been put before the model by the agent, and is delivered then.
        here = [s for s in self._said if s.length <= len(whole) and hash(whole[: s.length]) == s.prompt]
        pieces = sorted({p for s in here for p in s.pieces}, key=len, reverse=True)
        found = []
        for message in messages:
            content = message.get("content")
            if message.get("role") == PROMPT and isinstance(content, str):
                for piece in pieces:
                    content = content.replace(piece, "\n")
                message = {**message, "content": content}
            found.append(message)
        return found

    async def _holders(self, run: int, words: tuple[str, ...]) -> frozenset[str]:
        """Ids of the documents, organic, in the pool or served, that hold a run."""
        if run not in self._elsewhere:
            hits = await self._engine.search(Query(clauses=(Phrase(words),)), 3)
            self._elsewhere[run] = frozenset(h.document.id for h in hits)
        # Authored snippets aren't indexed; those of served and of pool documents are known here.
        near = (*self._documents.values(), *self._pool)
        return self._elsewhere[run].union(
            d.id for d in near if any(run in hashes for hashes in _runs(d).parts.values())
        )
