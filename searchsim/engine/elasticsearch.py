"""Elasticsearch, for corpora and users that outgrow one machine.

An index a corpus, named after the hash of its documents, with core features alone. Fields hold the token streams of
`searchsim.text` (whitespace analyzer), so that a corpus ranks here as it does on the embedded engine.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from elasticsearch import (
    ApiError,
    AsyncElasticsearch,
    AuthenticationException,
    AuthorizationException,
    NotFoundError,
    TransportError,
    UnsupportedProductError,
)
from elasticsearch import ConnectionError as Unreachable
from elasticsearch.helpers import async_streaming_bulk

from searchsim.corpus import Corpus
from searchsim.documents import Document, document_from, to_record
from searchsim.engine import FIELDS, SCORE_DIGITS, Hit, Statistics
from searchsim.errors import EngineError, UsageError
from searchsim.query import (
    AnyOf,
    Clause,
    Extension,
    InUrl,
    Not,
    Phrase,
    Query,
    Site,
    extension_of,
    sites_of,
    url_text,
)
from searchsim.text import tokens
from searchsim.urls import canonical_url

__all__ = ["MAPPING_VERSION", "ElasticsearchEngine", "ElasticsearchSettings", "connect", "fill"]

MAPPING_VERSION = "1"
"""Part of an index's name: raise it whenever what is indexed changes."""

_MARGIN = 6
_CHUNK = 500
_TEXT: dict[str, Any] = {"type": "text", "analyzer": "whitespace"}
_MAPPING: dict[str, Any] = {
    "dynamic": "strict",
    "properties": {
        **dict.fromkeys(("title", "body"), _TEXT),
        "url_words": {**_TEXT, "norms": False},
        **{name: {"type": "keyword"} for name in ("id", "url", "sites", "extension", "kind", "language")},
        "published": {"type": "date", "format": "strict_date"},
        "source": {"type": "object", "enabled": False},
    },
}


@dataclass(frozen=True, slots=True)
class ElasticsearchSettings:
    """How a cluster is reached, and how indexes are made on it.

    Attributes:
        url: Its address; user and password in it are never shown.
        api_key: An API key; never shown.
        ca: A file with the certificate authority of its TLS certificate.
        shards: Primary shards of a new index.
        replicas: Copies of each.
        timeout: Seconds for a request.
        retries: How often the client tries again after time-outs and lost connections.
    """

    url: str
    api_key: str | None = field(default=None, repr=False)
    ca: str | None = None
    shards: int = 1
    replicas: int = 0
    timeout: float = 30.0
    retries: int = 3

    @classmethod
    def from_environment(cls, **given: Any) -> ElasticsearchSettings:
        """Settings as given, else of the environment: SEARCHSIM_ELASTICSEARCH and its kin.

        Raises:
            UsageError: No address is given, or a number isn't one.
        """
        names = {
            "url": "SEARCHSIM_ELASTICSEARCH",
            "api_key": "SEARCHSIM_ELASTICSEARCH_API_KEY",
            "ca": "SEARCHSIM_ELASTICSEARCH_CA",
            "shards": "SEARCHSIM_ELASTICSEARCH_SHARDS",
            "replicas": "SEARCHSIM_ELASTICSEARCH_REPLICAS",
        }
        values = {n: str(given.get(n) or os.environ.get(e) or "") for n, e in names.items()}
        if not values["url"]:
            raise UsageError(
                "the engine elasticsearch wants an address: set SEARCHSIM_ELASTICSEARCH, or give --elasticsearch URL "
                "(make elasticsearch starts one for development)"
            )
        try:
            shards, replicas = int(values["shards"] or 1), int(values["replicas"] or 0)
        except ValueError as error:
            raise UsageError(f"shards and replicas of Elasticsearch are whole numbers: {error}") from error
        return cls(values["url"], values["api_key"] or None, values["ca"] or None, shards, replicas)

    @property
    def shown(self) -> str:
        """The address without secrets."""
        parts = urlsplit(self.url)
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.scheme}://{parts.hostname or ''}{port}"


def connect(settings: ElasticsearchSettings) -> AsyncElasticsearch:
    """A client; nothing is sent yet.

    Raises:
        UsageError: The address or the CA file can't be used.
    """
    if not settings.url.startswith(("http://", "https://")):
        raise UsageError("--elasticsearch: give a URL such as http://127.0.0.1:9200")
    options: dict[str, Any] = {
        "request_timeout": settings.timeout,
        "max_retries": settings.retries,
        "retry_on_timeout": True,
        "connections_per_node": 64,
    }
    if settings.api_key:
        options["api_key"] = settings.api_key
    if settings.ca:
        options["ca_certs"] = settings.ca
    try:
        return AsyncElasticsearch(settings.url, **options)
    except (ValueError, OSError) as error:
        raise UsageError(f"the connection to {settings.shown} can't be set up: {error}") from error


@asynccontextmanager
async def _explained(settings: ElasticsearchSettings) -> AsyncIterator[None]:
    """The client's errors as ours, saying what to do and no secret."""
    at = f"Elasticsearch at {settings.shown}"
    try:
        yield
    except UnsupportedProductError as error:
        raise EngineError(f"{at} isn't Elasticsearch, or of another version: searchsim speaks to 9.x") from error
    except (AuthenticationException, AuthorizationException) as error:
        raise EngineError(f"{at} refuses: set SEARCHSIM_ELASTICSEARCH_API_KEY to a key that may use it") from error
    except Unreachable as error:
        raise EngineError(
            f"{at} can't be reached ({type(error).__name__}): is it running, and is TLS as set?"
        ) from error
    except TransportError as error:
        raise EngineError(
            f"{at} didn't answer in time ({type(error).__name__}): try again, or raise its timeout"
        ) from error
    except ApiError as error:
        if "media_type" in str(error) or "compatible-with" in str(error):
            raise EngineError(f"{at} is of another version: searchsim speaks to 9.x") from error
        raise EngineError(f"{at} answered {error.status_code}: {str(error.message)[:200]}") from error


def index_name(corpus: Corpus, settings: ElasticsearchSettings) -> str:
    """The index of a corpus: it never changes once it is complete."""
    shards = f"-{settings.shards}s" if settings.shards > 1 else ""
    return f"{_alias(corpus)}-{corpus.document_hash[:16]}-v{MAPPING_VERSION}{shards}"


async def fill(
    corpus: Corpus,
    client: AsyncElasticsearch,
    settings: ElasticsearchSettings,
    progress: Callable[[int], None] | None = None,
) -> str:
    """Make a corpus's index where it isn't complete, and point the alias ``searchsim-NAME`` at it.

    A load that broke off is taken up where it stopped: documents go in the file's order, one chunk after another, and
    are created under their ids, so that none is there twice and none is ever replaced (a replaced one would stay in
    the statistics).

    Returns:
        The index's name.

    Raises:
        EngineError: The cluster is away, red, full, or of a foreign version. What was loaded stays.
    """
    name = index_name(corpus, settings)
    async with _explained(settings):
        health = await client.cluster.health()
        if health["status"] == "red":
            raise EngineError(f"Elasticsearch at {settings.shown} is red: some of its data is missing; mend it first")
        meta = await _meta(client, name)
        if meta is None:
            await _create(client, name, settings)
            meta = {}
        if meta.get("complete"):
            return name
        await client.indices.refresh(index=name)
        there = (await client.count(index=name))["count"]
        # The last chunk may have gone in by half.
        skip = max(there - _CHUNK, 0)
        totals = dict.fromkeys(FIELDS, 0)
        count = 0

        def actions() -> Iterator[dict[str, Any]]:
            nonlocal count
            for document in corpus.documents():
                entry = _indexed(document)
                for f in FIELDS:
                    totals[f] += len(entry[f].split())
                count += 1
                if count > skip:
                    yield {"_op_type": "create", "_index": name, "_id": document.id, "_source": entry}

        stream = async_streaming_bulk(
            client, actions(), chunk_size=_CHUNK, max_chunk_bytes=10_000_000, max_retries=5, raise_on_error=False
        )
        loaded = skip
        async for done, item in stream:
            told = next(iter(item.values()))
            if not done and told.get("status") != 409:
                reason = (told.get("error") or {}).get("reason", "unknown")
                raise EngineError(f"Elasticsearch refused document {told.get('_id')}: {reason}")
            loaded += 1
            if progress and loaded % 100 == 0:
                progress(loaded)
        if progress:
            progress(count)
        await client.indices.refresh(index=name)
        found = (await client.count(index=name))["count"]
        if found != count:
            raise EngineError(f"the index {name} holds {found} documents instead of {count}: delete it and index anew")
        # Nothing is written any more: one segment a shard answers fastest.
        patient = client.options(request_timeout=3600)
        await patient.indices.forcemerge(index=name, max_num_segments=1)
        facts = {"complete": True, "documents": count, "totals": totals, "corpus": corpus.name}
        await client.indices.put_mapping(index=name, meta=facts)
        await client.indices.put_settings(index=name, settings={"index.blocks.write": True})
        await _point(client, _alias(corpus), name)
    return name


def _alias(corpus: Corpus) -> str:
    name = "".join(c if c.isalnum() or c in "-_" else "-" for c in corpus.name.lower())
    return f"searchsim-{name}"


async def _meta(client: AsyncElasticsearch, name: str) -> dict[str, Any] | None:
    try:
        told = await client.indices.get_mapping(index=name)
    except NotFoundError:
        return None
    meta: dict[str, Any] = told[name]["mappings"].get("_meta", {})
    return meta


async def _create(client: AsyncElasticsearch, name: str, settings: ElasticsearchSettings) -> None:
    try:
        await client.indices.create(
            index=name,
            mappings=_MAPPING,
            settings={
                "number_of_shards": settings.shards,
                "number_of_replicas": settings.replicas,
                "refresh_interval": "-1",
            },
        )
    except ApiError as error:
        # Another process made it in the same moment; both load, and neither doubles anything.
        if "resource_already_exists" not in str(error):
            raise


async def _point(client: AsyncElasticsearch, alias: str, name: str) -> None:
    """Swap the alias in one step."""
    old: list[str] = []
    with suppress(NotFoundError):
        old = [i for i in await client.indices.get_alias(name=alias) if i != name]
    actions: list[dict[str, Any]] = [{"remove": {"index": i, "alias": alias}} for i in old]
    await client.indices.update_aliases(actions=[*actions, {"add": {"index": name, "alias": alias}}])


def _indexed(document: Document) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "title": " ".join(tokens(document.title)),
        "body": " ".join(tokens(document.body)),
        "url_words": " ".join(tokens(url_text(document.url))),
        "id": document.id,
        "url": canonical_url(document.url),
        "sites": sites_of(document.url),
        "extension": extension_of(document.url),
        "kind": document.kind,
        "language": document.language,
        "source": to_record(document),
    }
    if document.published:
        entry["published"] = document.published.isoformat()
    return entry


class ElasticsearchEngine:
    """An index that `fill` made, opened for searching."""

    name = "elasticsearch"
    fields = FIELDS

    def __init__(
        self, client: AsyncElasticsearch, index: str, settings: ElasticsearchSettings, meta: Mapping[str, Any]
    ) -> None:
        """Use `open`."""
        self._client = client
        self._index = index
        self._settings = settings
        count = meta["documents"]
        self._average = {f: meta["totals"][f] / max(count, 1) for f in FIELDS}
        self._count: int = count
        self._frequency: dict[tuple[str, str], int] = {}

    @classmethod
    async def open(
        cls, corpus: Corpus, settings: ElasticsearchSettings, progress: Callable[[int], None] | None = None
    ) -> ElasticsearchEngine:
        """The engine of a corpus; its index is made first where it isn't there.

        Raises:
            EngineError: See `fill`.
            UsageError: See `connect`.
        """
        client = connect(settings)
        try:
            index = await fill(corpus, client, settings, progress)
            async with _explained(settings):
                meta = await _meta(client, index)
        except BaseException:
            await client.close()
            raise
        return cls(client, index, settings, meta or {})

    async def search(self, query: Query, k: int) -> list[Hit]:
        """See `SearchEngine.search`: one round trip, unless more than a few documents tie at the end."""
        body = _compiled(query)
        if k <= 0 or body is None:
            return []
        size = k + (_MARGIN if query.words else 0)
        while True:
            found = await self._ask(body, size, scored=bool(query.words))
            hits = [Hit(document_from(h["_source"]["source"]), _rounded(h.get("_score"))) for h in found]
            if len(hits) < size or not query.words or hits[-1].score < hits[k - 1].score:
                break
            size *= 4
        return sorted(hits, key=lambda h: (-h.score, h.document.id))[:k]

    async def _ask(self, query: dict[str, Any], size: int, *, scored: bool) -> list[dict[str, Any]]:
        order: list[Any] = [{"_score": "desc"}, {"id": "asc"}] if scored else [{"id": "asc"}]
        async with _explained(self._settings):
            answer = await self._client.search(
                index=self._index,
                query=query,
                size=size,
                sort=order,
                source={"includes": ["source"]},
                track_total_hits=False,
                search_type="dfs_query_then_fetch" if self._settings.shards > 1 else "query_then_fetch",
            )
        found: list[dict[str, Any]] = answer["hits"]["hits"]
        return found

    async def statistics(self, query: Query) -> Statistics:
        """See `SearchEngine.statistics`; asked once for each word, since the index doesn't change."""
        wanted = [(f, w) for w in set(query.words) for f in FIELDS]
        missing = [pair for pair in wanted if pair not in self._frequency]
        if missing:
            filters = {str(n): {"term": {f: w}} for n, (f, w) in enumerate(missing)}
            async with _explained(self._settings):
                answer = await self._client.search(
                    index=self._index,
                    size=0,
                    track_total_hits=False,
                    aggregations={"words": {"filters": {"filters": filters}}},
                )
            buckets = answer["aggregations"]["words"]["buckets"]
            self._frequency.update({pair: buckets[str(n)]["doc_count"] for n, pair in enumerate(missing)})
        return Statistics(
            dict.fromkeys(FIELDS, self._count), self._average, {pair: self._frequency[pair] for pair in wanted}
        )

    async def document(self, id_: str) -> Document | None:
        """See `SearchEngine.document`."""
        return await self._first({"term": {"id": id_}})

    async def document_at(self, url: str) -> Document | None:
        """See `SearchEngine.document_at`."""
        return await self._first({"term": {"url": canonical_url(url)}})

    async def _first(self, query: dict[str, Any]) -> Document | None:
        found = await self._ask({"bool": {"filter": [query]}}, 1, scored=False)
        return document_from(found[0]["_source"]["source"]) if found else None

    async def close(self) -> None:
        """See `SearchEngine.close`."""
        await self._client.close()


def _rounded(score: float | None) -> float:
    # Elasticsearch keeps BM25's constant (k₁ + 1), which Lucene itself has dropped.
    return round(score or 0.0, SCORE_DIGITS)


def _compiled(query: Query) -> dict[str, Any] | None:
    """The engine's query: words score, everything else filters."""
    filters = [_clause(c) for c in query.clauses]
    if query.since or query.until:
        bounds = {"gte": query.since, "lt": query.until}
        filters.append({"range": {"published": {k: v.isoformat() for k, v in bounds.items() if v}}})
    if not query.words and not filters:
        return None
    if query.kinds:
        filters.append({"terms": {"kind": list(query.kinds)}})
    compiled: dict[str, Any] = {"filter": filters}
    if query.words:
        scoring = [
            {"term": {name: {"value": word, "boost": weight * count}}}
            for word, count in query.weights().items()
            for name, weight in FIELDS.items()
        ]
        compiled["must"] = [{"bool": {"should": scoring, "minimum_should_match": 1}}]
    return {"bool": compiled}


def _any(choices: list[dict[str, Any]]) -> dict[str, Any]:
    return {"bool": {"should": choices, "minimum_should_match": 1}}


def _clause(clause: Clause) -> dict[str, Any]:
    match clause:
        case Phrase(words, where):
            return _any([_run(f, words) for f in (("title",) if where == "title" else tuple(FIELDS))])
        case InUrl(words):
            return _run("url_words", words)
        case Site(site):
            return {"term": {"sites": site}}
        case Extension(extension):
            return {"term": {"extension": extension}}
        case AnyOf(clauses):
            return _any([_clause(c) for c in clauses])
        case Not(inner):
            return {"bool": {"must_not": [_clause(inner)]}}


def _run(name: str, words: tuple[str, ...]) -> dict[str, Any]:
    if len(words) == 1:
        return {"term": {name: words[0]}}
    return {"match_phrase": {name: {"query": " ".join(words)}}}
