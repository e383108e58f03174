"""Loading, resuming and failing: a genuine node is killed in the middle."""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from searchsim.corpus import Corpus
from searchsim.documents import Document
from searchsim.engine import elasticsearch as module
from searchsim.engine.elasticsearch import ElasticsearchEngine, ElasticsearchSettings, connect, fill, index_name
from searchsim.errors import EngineError, UsageError
from searchsim.query import parse
from tests.engine.conftest import corpus_of, drop
from tools.elasticsearch.node import Node, NodeError, start_node


def documents(count: int) -> list[Document]:
    words = "red blue green stone bridge river tower harbour lamp wheel".split()  # noqa: SIM905
    return [
        Document(
            id=f"d{n:05}",
            url=f"https://a.org/{n}",
            title=f"{words[n % 10]} number {n}",
            body=" ".join(words[(n * 7 + k * k) % 10] for k in range(60)),
            source_name="A",
            kind="news",
            language="en",
        )
        for n in range(count)
    ]


@pytest.fixture
async def corpus(tmp_path: Path, elasticsearch_url: str) -> AsyncIterator[Corpus]:
    """A corpus of a name that no cluster has seen."""
    name = f"loading-{uuid.uuid4().hex[:8]}"
    yield corpus_of(tmp_path / "corpus", documents(3000), name)
    await drop(elasticsearch_url, name)


@pytest.fixture
def settings(elasticsearch_url: str) -> ElasticsearchSettings:
    return ElasticsearchSettings(elasticsearch_url, timeout=10, retries=1)


async def test_the_mapping_and_the_alias(corpus: Corpus, settings: ElasticsearchSettings) -> None:
    told: list[int] = []
    engine = await ElasticsearchEngine.open(corpus, settings, told.append)
    client = connect(settings)
    name = index_name(corpus, settings)
    mapping = (await client.indices.get_mapping(index=name))[name]["mappings"]
    assert mapping["properties"]["url"]["type"] == "keyword"
    assert mapping["properties"]["body"] == {"type": "text", "analyzer": "whitespace"}
    assert mapping["_meta"]["documents"] == told[-1] == 3000
    alias = f"searchsim-{corpus.name}"
    assert list(await client.indices.get_alias(name=alias)) == [name]

    changed = corpus_of(corpus.path.parent / "changed", documents(10), corpus.name)
    again = await ElasticsearchEngine.open(changed, settings)
    assert list(await client.indices.get_alias(name=alias)) == [index_name(changed, settings)], "swapped in one step"
    assert len(await engine.search(parse("number"), 100)) == 100, "who has the old index open keeps it"
    for opened in (engine, again, client):
        await opened.close()


async def test_a_complete_index_is_not_loaded_again(corpus: Corpus, settings: ElasticsearchSettings) -> None:
    client = connect(settings)
    await fill(corpus, client, settings)
    told: list[int] = []
    await fill(corpus, client, settings, told.append)
    assert told == []
    await client.close()


async def test_two_loads_at_once_double_nothing(corpus: Corpus, settings: ElasticsearchSettings) -> None:
    clients = [connect(settings) for _ in range(2)]
    await asyncio.gather(*(fill(corpus, c, settings) for c in clients))
    assert (await clients[0].count(index=index_name(corpus, settings)))["count"] == 3000
    for client in clients:
        await client.close()


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Callable[[int | None], Node]]:
    """A node of this test's own, to be killed and started again on its data."""
    started: list[Node] = []

    def start(port: int | None = None) -> Node:
        try:
            made = start_node(tmp_path / "node", heap="512m", port=port)
        except NodeError as missing:
            pytest.skip(f"no Elasticsearch: {missing}")
        started.append(made)
        return made

    yield start
    for made in started:
        made.stop(hard=True)


@pytest.mark.timeout(240)
async def test_a_node_killed_in_the_middle_of_a_load_and_of_a_search(
    tmp_path: Path, node: Callable[[int | None], Node]
) -> None:
    corpus = corpus_of(tmp_path / "corpus", documents(20_000), "killed")
    first = node(None)
    settings = ElasticsearchSettings(first.url, timeout=5, retries=0)
    reached: list[int] = []

    def kill(done: int) -> None:
        reached.append(done)
        if done > 6000:
            first.stop(hard=True)

    with pytest.raises(EngineError, match="can't be reached") as caught:
        await ElasticsearchEngine.open(corpus, settings, kill)
    assert "is it running" in str(caught.value)
    assert 6000 < reached[-1] < 8000

    second = node(int(first.url.rsplit(":", 1)[1]))
    told: list[int] = []
    engine = await ElasticsearchEngine.open(corpus, settings, told.append)
    client = connect(settings)
    assert (await client.count(index=index_name(corpus, settings)))["count"] == 20_000
    ids: set[str] = set()
    for word in ("red", "blue", "green", "stone", "bridge"):
        ids |= {h.document.id for h in await engine.search(parse(f"intitle:{word}"), 5000)}
    assert len(ids) == 10_000, "nothing is lost and nothing doubled"

    before = await engine.search(parse("stone bridge"), 10)
    stop = threading.Timer(0.5, lambda: second.stop(hard=True))
    stop.start()
    with pytest.raises(EngineError, match=r"can't be reached|didn't answer"):
        for _ in range(5000):
            await engine.search(parse("stone bridge"), 10)
    stop.join()
    node(int(first.url.rsplit(":", 1)[1]))
    deadline = time.monotonic() + 30
    while True:
        try:
            assert await engine.search(parse("stone bridge"), 10) == before
            break
        except EngineError:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.2)
    await engine.close()
    await client.close()


@pytest.mark.parametrize(
    ("status", "headers", "body", "message"),
    [
        (200, {}, {"status": "green"}, "isn't Elasticsearch, or of another version"),
        (200, {"X-Elastic-Product": "Elasticsearch"}, {"status": "red"}, "is red"),
        (401, {"X-Elastic-Product": "Elasticsearch"}, {}, "SEARCHSIM_ELASTICSEARCH_API_KEY"),
        (403, {"X-Elastic-Product": "Elasticsearch"}, {}, "SEARCHSIM_ELASTICSEARCH_API_KEY"),
        (
            400,
            {"X-Elastic-Product": "Elasticsearch"},
            {"error": {"type": "media_type_header_exception", "reason": "Invalid media-type: compatible-with=9"}},
            "speaks to 9.x",
        ),
    ],
)
async def test_clusters_that_cannot_be_used(
    corpus: Corpus, status: int, headers: dict[str, str], body: dict[str, Any], message: str
) -> None:
    """A scripted server in the cluster's place, for states that a healthy node can't be brought into."""
    seen: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        seen.append(request.headers.get("Authorization", ""))
        return web.json_response(body, status=status, headers=headers)

    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    address = f"http://127.0.0.1:{runner.addresses[0][1]}"
    scripted = ElasticsearchSettings(address, api_key="very-secret", retries=0)
    with pytest.raises(EngineError, match=message) as caught:
        await ElasticsearchEngine.open(corpus, scripted)
    await runner.cleanup()
    assert seen[0] == "ApiKey very-secret"
    assert "very-secret" not in f"{caught.value!r} {scripted!r}"


async def test_a_cluster_that_is_away(corpus: Corpus) -> None:
    away = ElasticsearchSettings("http://user:very-secret@127.0.0.1:9", retries=0)
    with pytest.raises(EngineError, match=r"Elasticsearch at http://127\.0\.0\.1:9 can't be reached") as caught:
        await ElasticsearchEngine.open(corpus, away)
    assert "very-secret" not in str(caught.value)


def test_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("", "_API_KEY", "_CA", "_SHARDS", "_REPLICAS"):
        monkeypatch.delenv(f"SEARCHSIM_ELASTICSEARCH{name}", raising=False)
    with pytest.raises(UsageError, match="make elasticsearch"):
        ElasticsearchSettings.from_environment(url=None)
    monkeypatch.setenv("SEARCHSIM_ELASTICSEARCH", "https://es.example:9200")
    monkeypatch.setenv("SEARCHSIM_ELASTICSEARCH_SHARDS", "4")
    monkeypatch.setenv("SEARCHSIM_ELASTICSEARCH_API_KEY", "k")
    read = ElasticsearchSettings.from_environment(url=None, ca="/nowhere/ca.pem")
    assert (read.url, read.shards, read.replicas, read.api_key, read.ca) == (
        "https://es.example:9200", 4, 0, "k", "/nowhere/ca.pem",
    )  # fmt: skip
    assert ElasticsearchSettings.from_environment(url="http://other:1").url == "http://other:1"
    with pytest.raises(UsageError, match="can't be set up"):
        connect(read)
    with pytest.raises(UsageError, match="give a URL"):
        connect(replace(read, url="es.example"))
    monkeypatch.setenv("SEARCHSIM_ELASTICSEARCH_SHARDS", "many")
    with pytest.raises(UsageError, match="whole numbers"):
        ElasticsearchSettings.from_environment()


async def test_one_round_trip_a_search(quickstart: Corpus, settings: ElasticsearchSettings) -> None:
    engine = await ElasticsearchEngine.open(quickstart, settings)
    asked = 0
    real = engine._client.search

    async def counting(**arguments: Any) -> Any:
        nonlocal asked
        asked += 1
        assert arguments["track_total_hits"] is False
        return await real(**arguments)

    engine._client.search = counting  # type: ignore[method-assign]
    await engine.search(parse(quickstart.tasks["bicycle-stability"].question), 10)
    assert asked == 1
    await engine.statistics(parse("stone bridge"))
    await engine.statistics(parse("bridge stone"))
    assert asked == 2, "statistics are asked for once"
    await engine.close()


def test_the_mapping_uses_core_features_only() -> None:
    kinds = {p["type"] for p in module._MAPPING["properties"].values()}
    assert kinds == {"text", "keyword", "date", "object"}
