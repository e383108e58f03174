"""Search engines: one contract, several implementations.

An engine knows the organic documents of one corpus and nothing of worlds or injection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from searchsim.documents import Document
from searchsim.query import Query

__all__ = ["FIELDS", "K1", "SCORE_DIGITS", "B", "Hit", "SearchEngine", "Statistics"]

FIELDS: Mapping[str, float] = {"title": 2.0, "body": 1.0}
"""The fields that words are scored in, with their weights, by engines that have the documents' bodies."""

K1, B = 1.2, 0.75
SCORE_DIGITS = 3
"""Scores are rounded before they are compared, because engines add floats in different orders; ties go by id."""


class Hit(NamedTuple):
    """A document that answers a query.

    Attributes:
        document: The document.
        score: Sum of BM25 over words and fields, rounded to `SCORE_DIGITS`; 0 where a query only filters.
    """

    document: Document
    score: float


@dataclass(frozen=True, slots=True)
class Statistics:
    """What an organic index tells of a query's words.

    Attributes:
        documents: Number of documents that count, by field.
        average_length: Mean number of tokens of these, by field.
        frequency: Number of documents that hold a word, by (field, word).
    """

    documents: Mapping[str, int]
    average_length: Mapping[str, float]
    frequency: Mapping[tuple[str, str], int]


class SearchEngine(Protocol):
    """The contract that one conformance suite (tests/engine) holds every engine to."""

    name: str
    fields: Mapping[str, float]
    """The fields that words are scored in, with their weights."""

    async def search(self, query: Query, k: int) -> list[Hit]:
        """The first k documents that match, by falling rounded score, then by id."""
        ...

    async def statistics(self, query: Query) -> Statistics:
        """The statistics that a query's words are scored on."""
        ...

    async def document(self, id_: str) -> Document | None:
        """A document by id."""
        ...

    async def document_at(self, url: str) -> Document | None:
        """A document by URL, compared as `searchsim.urls.canonical_url` writes it."""
        ...

    async def close(self) -> None:
        """Let go of what the engine holds."""
        ...
