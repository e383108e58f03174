"""The embedded engine: tantivy, in this process, over an index that is built once and kept in the cache folder."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson
import tantivy
from tantivy import Occur
from tantivy import Query as TantivyQuery

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
from searchsim.text import analyzer, spread
from searchsim.urls import canonical_url

__all__ = ["INDEX_VERSION", "EmbeddedEngine", "build"]

INDEX_VERSION = "2"
"""Part of an index's key: raise it whenever what is indexed changes."""

_ANALYZER = "searchsim"
_HEAP = 256_000_000


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    for name in (*FIELDS, "url_words"):
        builder.add_text_field(name, tokenizer_name=_ANALYZER, index_option="position")
    for name in ("id", "url", "sites", "extension", "kind"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("published", indexed=True, fast=True)
    builder.add_unsigned_field("ordinal", fast=True)
    builder.add_bytes_field("source", stored=True)
    return builder.build()


def build(
    documents: Callable[[], Iterable[Document]],
    folder: Path,
    progress: Callable[[int], None] | None = None,
    *,
    ids: Iterable[str] | None = None,
) -> None:
    """Build an index in a folder that doesn't exist yet.

    Safe when two processes build the same one at once: each works beside the folder and the first to finish
    moves its own there; the other's is thrown away.

    Args:
        documents: Gives all organic documents; called twice where their ids aren't given.
        folder: Where the index shall be.
        progress: Called with the number of documents indexed so far.
        ids: The documents' ids, where they are known.

    Raises:
        UsageError: The folder can't be made.
    """
    ordinals = {id_: n for n, id_ in enumerate(sorted(ids or (d.id for d in documents())))}
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
    except OSError as error:
        raise UsageError(f"no index can be kept in {folder.parent} ({error.strerror}): set SEARCHSIM_CACHE") from error
    try:
        index = tantivy.Index(_schema(), path=str(work))
        index.register_tokenizer(_ANALYZER, analyzer())
        # One thread makes segments in the order of the documents, so that two builds are alike.
        writer = index.writer(heap_size=_HEAP, num_threads=1)
        count = 0
        for document in documents():
            writer.add_document(_indexed(document, ordinals[document.id]))
            count += 1
            if progress and count % 100 == 0:
                progress(count)
        writer.commit()
        writer.wait_merging_threads()
        if progress:
            progress(count)
        (work / "searchsim.json").write_bytes(orjson.dumps({"documents": count}))
        try:
            os.rename(work, folder)  # noqa: PTH104 - fails where a filled folder is, which Path.rename doesn't promise
        except OSError:
            if not (folder / "searchsim.json").is_file():
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _steps(explanation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield explanation
    for inner in explanation.get("details", ()):
        yield from _steps(inner)


def _indexed(document: Document, ordinal: int) -> tantivy.Document:
    entry = tantivy.Document()
    for name in FIELDS:
        entry.add_text(name, spread(getattr(document, name)))
    entry.add_text("url_words", spread(url_text(document.url)))
    entry.add_text("id", document.id)
    entry.add_text("url", canonical_url(document.url))
    entry.add_text("extension", extension_of(document.url))
    entry.add_text("kind", document.kind)
    for site in sites_of(document.url):
        entry.add_text("sites", site)
    if document.published:
        entry.add_integer("published", document.published.toordinal())
    entry.add_unsigned("ordinal", ordinal)
    entry.add_bytes("source", orjson.dumps(to_record(document)))
    return entry


class EmbeddedEngine:
    """A tantivy index, opened for reading.

    Searches take about a millisecond and run where they are called: handing them to a thread costs more.
    """

    name = "tantivy"
    fields = FIELDS

    def __init__(self, folder: Path) -> None:
        """Open an index that `build` made.

        Args:
            folder: The index's folder.
        """
        self._index = tantivy.Index.open(str(folder))
        self._index.register_tokenizer(_ANALYZER, analyzer())
        self._schema = self._index.schema
        self._searcher = self._index.searcher()
        self._documents: int = orjson.loads((folder / "searchsim.json").read_bytes())["documents"]
        self._average = {f: self._average_length(f) for f in FIELDS}

    def _average_length(self, name: str) -> float:
        """A field's mean number of tokens, as the engine's own scores use it: it tells when asked to explain one."""
        terms = self._searcher.terms_with_prefix(name, "", limit=1)
        if not terms:
            return 0.0
        query = TantivyQuery.term_query(self._schema, name, terms[0][0], index_option="freq")
        address = self._searcher.search(query, limit=1, count=False).hits[0][1]
        for step in _steps(orjson.loads(query.explain(self._searcher, address).to_json())):
            if step["description"].startswith("avgdl"):
                return float(step["value"])
        raise EngineError(f"tantivy explains no average length of {name}: this version can't be used")

    async def search(self, query: Query, k: int) -> list[Hit]:
        """See `SearchEngine.search`."""
        if k <= 0 or not self._documents:
            return []
        compiled = self._compile(query)
        if compiled is None:
            return []
        if not query.words:
            found = self._searcher.search(
                compiled, limit=k, count=False, order_by_field="ordinal", order=tantivy.Order.Asc
            )
            return [Hit(self._load(address), 0.0) for _, address in found.hits]
        limit = k + 16
        while True:
            hits = self._searcher.search(compiled, limit=limit, count=False).hits
            rounded = [round(score, SCORE_DIGITS) for score, _ in hits]
            # All that tie with the k-th must be seen before ties can be settled by id.
            if len(hits) < limit or rounded[-1] < rounded[k - 1]:
                break
            limit *= 4
        addresses = [address for _, address in hits]
        order = self._searcher.fast_field_values("ordinal", addresses)
        ranked = sorted(zip(rounded, order, addresses, strict=True), key=lambda r: (-r[0], r[1]))
        return [Hit(self._load(address), score) for score, _, address in ranked[:k]]

    async def statistics(self, query: Query) -> Statistics:
        """See `SearchEngine.statistics`."""
        frequency = {(f, w): self._searcher.doc_freq(f, w) for w in set(query.words) for f in FIELDS}
        return Statistics(dict.fromkeys(FIELDS, self._documents), self._average, frequency)

    async def document(self, id_: str) -> Document | None:
        """See `SearchEngine.document`."""
        return self._first("id", id_)

    async def document_at(self, url: str) -> Document | None:
        """See `SearchEngine.document_at`."""
        return self._first("url", canonical_url(url))

    async def close(self) -> None:
        """See `SearchEngine.close`; the files are only read, so nothing is to be done."""

    def _first(self, name: str, value: str) -> Document | None:
        hits = self._searcher.search(self._term(name, value), limit=1, count=False).hits
        return self._load(hits[0][1]) if hits else None

    def _load(self, address: tantivy.DocAddress) -> Document:
        stored: Any = self._searcher.doc(address).get_first("source")
        return document_from(orjson.loads(bytes(stored)))

    def _term(self, name: str, value: str) -> TantivyQuery:
        return TantivyQuery.term_query(self._schema, name, value, index_option="basic")

    def _compile(self, query: Query) -> TantivyQuery | None:
        """The engine's query: words score, everything else filters with a score of 0."""
        parts: list[tuple[Occur, TantivyQuery]] = []
        if query.words:
            scoring = [
                (
                    Occur.Should,
                    TantivyQuery.boost_query(
                        TantivyQuery.term_query(self._schema, name, word, index_option="freq"), weight * count
                    ),
                )
                for word, count in query.weights().items()
                for name, weight in FIELDS.items()
            ]
            parts.append((Occur.Must, TantivyQuery.boolean_query(scoring)))
        filters = [self._clause(c) for c in query.clauses]
        if query.since or query.until:
            filters.append(
                TantivyQuery.range_query(
                    self._schema,
                    "published",
                    tantivy.FieldType.Integer,
                    query.since.toordinal() if query.since else None,
                    query.until.toordinal() - 1 if query.until else None,
                )
            )
        if not parts and not filters:
            return None
        if query.kinds:
            filters.append(self._any([self._term("kind", kind) for kind in query.kinds]))
        parts += [(Occur.Must, TantivyQuery.const_score_query(f, 0.0)) for f in filters]
        return TantivyQuery.boolean_query(parts)

    @staticmethod
    def _any(choices: Sequence[TantivyQuery]) -> TantivyQuery:
        return TantivyQuery.boolean_query([(Occur.Should, c) for c in choices])

    def _clause(self, clause: Clause) -> TantivyQuery:
        match clause:
            case Phrase(words, where):
                fields = ("title",) if where == "title" else tuple(FIELDS)
                return self._any([self._run(f, words) for f in fields])
            case InUrl(words):
                return self._run("url_words", words)
            case Site(site):
                return self._term("sites", site)
            case Extension(extension):
                return self._term("extension", extension)
            case AnyOf(clauses):
                return self._any([self._clause(c) for c in clauses])
            case Not(inner):
                return TantivyQuery.boolean_query(
                    [(Occur.Must, TantivyQuery.all_query()), (Occur.MustNot, self._clause(inner))]
                )

    def _run(self, name: str, words: tuple[str, ...]) -> TantivyQuery:
        if len(words) == 1:
            return TantivyQuery.term_query(self._schema, name, words[0], index_option="freq")
        return TantivyQuery.phrase_query(self._schema, name, list(words))
