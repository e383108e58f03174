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
from typing import Any
from urllib.parse import unquote

from searchsim.documents import Document
from searchsim.engine import SearchEngine
from searchsim.query import Phrase, Query
from searchsim.text import snippet, tokens

__all__ = ["PARTS", "RUN", "Delivery", "Matcher", "prompt_text"]

RUN = 7
"""Tokens of a run. Shorter runs are phrases that anybody writes; longer ones are lost when prompts truncate."""

_SHORT = 4
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


def _runs(stream: Sequence[str]) -> list[tuple[str, ...]]:
    if len(stream) < RUN:
        return [tuple(stream)] if len(stream) >= _SHORT else []
    return [tuple(stream[i : i + RUN]) for i in range(len(stream) - RUN + 1)]


_LINK_END = r"(?![\w\-/%?=&])"


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
        self._links: dict[str, re.Pattern[str]] = {}
        self._sources: dict[str, list[str]] = {}
        self._runs: dict[tuple[str, ...], set[tuple[str, str]]] = defaultdict(set)
        self._pool_runs: dict[tuple[str, ...], set[str]] = defaultdict(set)
        self._known: dict[tuple[str, ...], frozenset[str]] = {}
        for document in pool:
            for part in _texts(document):
                for run in _runs(tokens(part)):
                    self._pool_runs[run].add(document.id)

    def add(self, document: Document) -> None:
        """Take note that a document was served."""
        if document.id in self._documents:
            return
        self._documents[document.id] = document
        bare = document.url.split("://", 1)[-1].rstrip("/")
        self._links[document.id] = re.compile(re.escape(_folded(_unescaped(bare))) + "/?" + _LINK_END)
        self._sources[document.id] = [_folded(s) for s in (document.source_name, document.host) if s]
        for part, text in zip(("title", "snippet", "body"), _texts(document), strict=True):
            for run in _runs(tokens(text)):
                self._runs[run].add((document.id, part))

    async def find(self, messages: Sequence[Mapping[str, Any]]) -> Delivery:
        """What is delivered by a prompt.

        Args:
            messages: The prompt, as OpenAI's chat messages.
        """
        if not self._documents:
            return Delivery()
        raw = _unescaped(prompt_text(messages))
        text = _folded(raw)
        stream = tokens(raw)
        found: dict[str, set[str]] = defaultdict(set)
        shared: set[str] = set()
        for length in {RUN, *(len(r) for r in self._runs if len(r) < RUN)}:
            for run in {tuple(stream[i : i + length]) for i in range(len(stream) - length + 1)}:
                if run not in self._runs:
                    continue
                holders = await self._holders(run)
                for id_, part in self._runs[run]:
                    if holders <= {id_}:
                        found[id_].add(part)
                    else:
                        shared.add(id_)
        for id_, link in self._links.items():
            if link.search(text):
                found[id_].add("link")
        delivered = [id_ for id_ in self._documents if found.get(id_)]
        for id_, sources in self._sources.items():
            if any(s in text for s in sources):
                found[id_].add("source")
        return Delivery(
            delivered,
            {id_: [p for p in PARTS if p in found[id_]] for id_ in self._documents if found.get(id_)},
            [id_ for id_ in self._documents if id_ in shared and id_ not in delivered],
        )

    async def _holders(self, run: tuple[str, ...]) -> frozenset[str]:
        """Ids of the documents, organic, in the pool or served, that hold a run."""
        if run not in self._known:
            hits = await self._engine.search(Query(clauses=(Phrase(run),)), 3)
            # Authored snippets aren't indexed; those of served documents are known here.
            here = {id_ for id_, _ in self._runs[run]} | self._pool_runs.get(run, set())
            self._known[run] = frozenset({h.document.id for h in hits} | here)
        return self._known[run]


def _texts(document: Document) -> tuple[str, str, str]:
    return document.title, snippet(document), document.body
