"""Real engines for the conformance suite: tantivy in this process, a genuine Elasticsearch beside it."""

from __future__ import annotations

import asyncio
import os
import threading
import uuid
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

import orjson
import pytest

from searchsim.corpus import Corpus
from searchsim.documents import Document, to_record
from searchsim.engine import SearchEngine
from searchsim.engine.caching import CachingEngine
from searchsim.engine.elasticsearch import ElasticsearchEngine, ElasticsearchSettings, connect
from searchsim.engine.embedded import EmbeddedEngine, build
from tools.elasticsearch.node import NodeError, start_node

T = TypeVar("T")
Run = Callable[[Awaitable[T]], T]
Maker = Callable[[list[Document]], SearchEngine]


@pytest.fixture(scope="session")
def elasticsearch_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A running Elasticsearch: SEARCHSIM_TEST_ELASTICSEARCH, else one started here; skipped where none can be."""
    if given := os.environ.get("SEARCHSIM_TEST_ELASTICSEARCH"):
        yield given
        return
    try:
        node = start_node(tmp_path_factory.mktemp("elasticsearch"), heap="512m")
    except NodeError as missing:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"no Elasticsearch: {missing}")
    try:
        yield node.url
    finally:
        node.stop()


@pytest.fixture(scope="session")
def run() -> Iterator[Run[object]]:
    """Runs coroutines on one loop of this session, since clients belong to their loop."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def awaited(job: Awaitable[T]) -> T:
        return await job

    def on_loop(job: Awaitable[T]) -> T:
        return asyncio.run_coroutine_threadsafe(awaited(job), loop).result(120)

    yield on_loop
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


async def drop(url: str, name: str) -> None:
    """Delete a corpus's indexes: the cluster may be somebody's."""
    client = connect(ElasticsearchSettings(url))
    found = await client.options(ignore_status=404).indices.get(index=f"searchsim-{name}-*")
    for index in found:
        await client.indices.delete(index=index)
    await client.close()


def corpus_of(folder: Path, documents: list[Document], name: str = "small") -> Corpus:
    """A corpus of some documents."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "corpus.yaml").write_text(f"name: {name}\ndescription: d\ntoday: 2026-01-01\n")
    (folder / "tasks.jsonl").write_text('{"id": "t", "question": "Why?", "language": "en"}\n')
    (folder / "documents.jsonl").write_bytes(b"".join(orjson.dumps(to_record(d)) + b"\n" for d in documents))
    return Corpus(folder)


@pytest.fixture(scope="session", params=["tantivy", "tantivy cached", "elasticsearch", "elasticsearch with 3 shards"])
def make_engine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, run: Run[SearchEngine]
) -> Iterator[Maker]:
    """Makes a real engine of each kind over some documents."""
    opened: list[SearchEngine] = []
    settings = None
    # A name of this run's own, so that nothing left by another can pass a test.
    name = f"conformance-{uuid.uuid4().hex[:8]}"
    if not request.param.startswith("tantivy"):
        shards = 3 if "3" in request.param else 1
        settings = ElasticsearchSettings(request.getfixturevalue("elasticsearch_url"), shards=shards)

    def make(documents: list[Document]) -> SearchEngine:
        folder = tmp_path_factory.mktemp("index")
        if settings is None:
            build(lambda: iter(documents), folder / "one")
            embedded = EmbeddedEngine(folder / "one")
            return CachingEngine(embedded, lists=20) if "cached" in request.param else embedded
        engine = run(ElasticsearchEngine.open(corpus_of(folder, documents, name), settings))
        opened.append(engine)
        return engine

    yield make
    for engine in opened:
        run(engine.close())  # type: ignore[arg-type]
    if settings is not None:
        run(drop(settings.url, name))  # type: ignore[arg-type]
