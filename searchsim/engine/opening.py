"""Open the engine of a corpus, and make its index first where there is none."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from searchsim.corpus import Corpus
from searchsim.engine import SearchEngine
from searchsim.engine.embedded import INDEX_VERSION, EmbeddedEngine, build
from searchsim.errors import CorpusError, UsageError
from searchsim.home import cache_folder

__all__ = ["ENGINES", "index_folder", "open_engine"]

ENGINES = ("tantivy",)


def index_folder(corpus: Corpus) -> Path:
    """Where a corpus's index is kept: under the hash of everything that it is made of."""
    made_of = f"{corpus.document_hash} {INDEX_VERSION} tantivy {version('tantivy')}"
    return cache_folder() / "indexes" / hashlib.sha256(made_of.encode()).hexdigest()[:32]


def open_engine(corpus: Corpus, name: str = "tantivy", progress: Callable[[int], None] | None = None) -> SearchEngine:
    """The engine of a corpus, ready to search.

    Args:
        corpus: The corpus.
        name: One of `ENGINES`.
        progress: Called with the number of documents indexed so far, where an index has to be made.

    Raises:
        UsageError: There is no engine of that name.
        CorpusError: The documents have faults.
    """
    if name not in ENGINES:
        raise UsageError(f"no engine named {name!r}; engines: {', '.join(ENGINES)}")
    folder = index_folder(corpus)
    if not folder.is_dir():
        _no_doubles(corpus)
        build(corpus.documents, folder, progress)
    return EmbeddedEngine(folder)


def _no_doubles(corpus: Corpus) -> None:
    seen: set[str] = set()
    for document in corpus.documents():
        if document.id in seen:
            raise CorpusError([f"{corpus.name}/documents.jsonl: id: {document.id!r} stands twice"])
        seen.add(document.id)
