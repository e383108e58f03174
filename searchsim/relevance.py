"""The score of a pool's documents, on the organic index's statistics.

Only organic documents are indexed; a world's few misleading ones are scored here with the same BM25 that the engine
uses, so that a treated list is the control's list plus the injected ones, exactly.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from searchsim.documents import MisleadingDocument
from searchsim.engine import K1, SCORE_DIGITS, B, SearchEngine, Statistics
from searchsim.query import Query
from searchsim.text import field_length, tokens

__all__ = ["PoolDocument", "ScoredPool", "bm25", "score", "score_pool", "weigh"]


@dataclass(frozen=True, slots=True)
class PoolDocument:
    """A misleading document with its tokens counted once."""

    document: MisleadingDocument
    streams: dict[str, tuple[str, ...]]
    counts: dict[str, Counter[str]]
    vocabulary: frozenset[str]

    @classmethod
    def of(cls, document: MisleadingDocument) -> PoolDocument:
        """Count a document's tokens."""
        streams = {f: tuple(tokens(getattr(document, f) or "")) for f in ("title", "snippet", "body")}
        vocabulary = frozenset(streams["title"] + streams["body"])
        return cls(document, streams, {f: Counter(s) for f, s in streams.items()}, vocabulary)

    def matches(self, query: Query) -> bool:
        """Whether the document answers a query."""
        return query.matches_tokens(self.document, self.streams["title"], self.streams["body"], self.vocabulary)


ScoredPool = list[tuple[MisleadingDocument, float]]


def bm25(tf: int, length: int, average: float, documents: int, frequency: int) -> float:
    """One word's share of a field's score.

    Okapi BM25 as tantivy and Lucene have it (Robertson & Zaragoza 2009, eq. 3.15, with the idf that is never
    negative): ``ln(1 + (N - n + ½)/(n + ½)) · tf (k₁ + 1) / (tf + k₁ (1 - b + b · length/average))``.

    Args:
        tf: How often the word stands in the field.
        length: The field's tokens, as engines keep the number (`searchsim.text.field_length`).
        average: Mean tokens of the field.
        documents: Number of organic documents, N.
        frequency: Number of organic documents whose field holds the word, n.
    """
    if not tf or not documents:
        return 0.0
    idf = math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5))
    norm = K1 * (1 - B + B * length / average) if average else K1
    return idf * (K1 + 1) * tf / (tf + norm)


def score(pool_document: PoolDocument, query: Query, statistics: Statistics, fields: Mapping[str, float]) -> float:
    """The score the engine would give the document, rounded as the engine's are.

    Args:
        pool_document: The document.
        query: The query.
        statistics: The engine's, for this query.
        fields: The engine's fields with their weights.
    """
    return weigh(pool_document.streams, pool_document.counts, query, statistics, fields)


def weigh(
    streams: Mapping[str, Sequence[str]],
    counts: Mapping[str, Counter[str]],
    query: Query,
    statistics: Statistics,
    fields: Mapping[str, float],
) -> float:
    """The sum of BM25 over a query's words and an engine's fields, rounded to `SCORE_DIGITS`.

    Args:
        streams: A document's tokens, by field.
        counts: The same, counted.
        query: The query.
        statistics: The engine's, for this query.
        fields: The engine's fields with their weights.
    """
    total = 0.0
    for word, count in query.weights().items():
        for name, weight in fields.items():
            total += (
                count
                * weight
                * bm25(
                    counts[name][word],
                    field_length(len(streams[name])),
                    statistics.average_length[name],
                    statistics.documents[name],
                    statistics.frequency[name, word],
                )
            )
    return round(total, SCORE_DIGITS)


async def score_pool(pool: Sequence[PoolDocument], query: Query, engine: SearchEngine) -> ScoredPool:
    """Score a pool's documents that match a query.

    Args:
        pool: The world's pool, in its order.
        query: The query.
        engine: Tells the organic statistics.

    Returns:
        Pairs of document and score, best first, ties by id.
    """
    matching = [p for p in pool if p.matches(query)]
    if not matching:
        return []
    statistics = await engine.statistics(query)
    scored = [(p.document, score(p, query, statistics, engine.fields)) for p in matching]
    return sorted(scored, key=lambda pair: (-pair[1], pair[0].id))
