"""Open the engine of a corpus, and make its index first where there is none."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from searchsim.corpus import Corpus
from searchsim.engine import SearchEngine
from searchsim.engine.caching import CachingEngine
from searchsim.engine.embedded import INDEX_VERSION, EmbeddedEngine, build
from searchsim.errors import CorpusError, UsageError
from searchsim.home import cache_folder

__all__ = ["ENGINES", "EngineChoice", "index_folder", "open_embedded", "open_engine"]

ENGINES = ("tantivy", "elasticsearch", "recorded")
Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """Which engine, and how it is reached.

    Attributes:
        name: One of `ENGINES`.
        elasticsearch: Settings given on the command line; the environment has the others.
        recorded: The same for the recorded engine.
    """

    name: str = "tantivy"
    elasticsearch: Mapping[str, Any] = field(default_factory=dict)
    recorded: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.name not in ENGINES:
            raise UsageError(f"no engine named {self.name!r}; engines: {', '.join(ENGINES)}")


async def open_engine(
    corpus: Corpus, choice: EngineChoice | None = None, progress: Progress | None = None
) -> SearchEngine:
    """The engine of a corpus, ready to search.

    Args:
        corpus: The corpus.
        choice: Which engine; None is the embedded one. Its lists are cached, except those of recordings, which grow.
        progress: Called with the number of documents indexed so far, where an index has to be made.

    Raises:
        UsageError: The choice can't be used.
        CorpusError: The documents have faults.
        EngineError: An engine outside this process can't be used as it is.
    """
    chosen = choice or EngineChoice()
    # What isn't chosen isn't imported: the Elasticsearch client alone takes a third of a second.
    if chosen.name == "elasticsearch":
        from searchsim.engine.elasticsearch import ElasticsearchEngine, ElasticsearchSettings

        settings = ElasticsearchSettings.from_environment(**chosen.elasticsearch)
        return CachingEngine(await ElasticsearchEngine.open(corpus, settings, progress))
    if chosen.name == "recorded":
        from searchsim.engine.recorded import RecordedEngine, RecordedSettings

        return RecordedEngine(corpus, RecordedSettings.from_environment(corpus, **chosen.recorded))
    return CachingEngine(open_embedded(corpus, progress))


def index_folder(corpus: Corpus) -> Path:
    """Where a corpus's embedded index is kept: under the hash of everything that it is made of."""
    made_of = f"{corpus.document_hash} {INDEX_VERSION} tantivy {version('tantivy')}"
    return cache_folder() / "indexes" / hashlib.sha256(made_of.encode()).hexdigest()[:32]


def open_embedded(corpus: Corpus, progress: Progress | None = None) -> EmbeddedEngine:
    """The embedded engine of a corpus; its index is built first where it isn't there.

    Raises:
        CorpusError: The documents have faults.
        UsageError: The cache folder can't be used.
    """
    folder = index_folder(corpus)
    if not folder.is_dir():
        build(corpus.documents, folder, progress, ids=_ids(corpus))
    return EmbeddedEngine(folder)


def _ids(corpus: Corpus) -> set[str]:
    """All ids, from a quick look: what is at fault in a line is said when it is indexed."""
    seen: set[str] = set()
    for id_ in corpus.document_ids():
        if id_ in seen:
            raise CorpusError([f"{corpus.name}/documents.jsonl: id: {id_!r} stands twice"])
        seen.add(id_)
    return seen
