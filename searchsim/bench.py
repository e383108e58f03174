"""Benchmarks: engines beside their bare floor, and the server beside a canned answer. They are measured, not tested."""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from statistics import quantiles
from typing import Any

import orjson
from aiohttp import web

from searchsim.corpus import Corpus, load
from searchsim.engine.caching import CachingEngine
from searchsim.engine.elasticsearch import ElasticsearchEngine, ElasticsearchSettings, connect, index_name
from searchsim.engine.embedded import EmbeddedEngine, build
from searchsim.engine.opening import index_folder, open_embedded
from searchsim.errors import UsageError
from searchsim.home import cache_folder
from searchsim.query import Query, parse
from searchsim.server.app import running
from searchsim.server.context import Context
from searchsim.store import SqliteStore
from searchsim.synthesis import synthesize
from searchsim.text import snippet
from searchsim.world import Worlds

__all__ = ["bench_engine", "bench_server", "queries", "synthetic"]

CLIENTS = (1, 8, 32)
K = 10
Say = Callable[[str], None]


def synthetic(documents: int, say: Say) -> Corpus:
    """A synthetic corpus of a size, made once and kept in the cache folder."""
    folder = cache_folder() / "bench" / f"synthetic-{documents}"
    if not (folder / "corpus.yaml").is_file():
        say(f"making {documents} synthetic documents")
        folder.parent.mkdir(parents=True, exist_ok=True)
        synthesize(folder, documents)
    return Corpus(folder)


def queries(corpus: Corpus, file: Path | None = None) -> list[str]:
    """What is searched for: the corpus's tasks, those of quickstart with their sub-queries, and a bench's.

    Args:
        corpus: The corpus that is searched.
        file: DeepResearch Bench's query.jsonl; of each prompt the whole, and runs of eight words, are asked.

    Raises:
        UsageError: The file isn't there.
    """
    found = [t.question for t in corpus.tasks.values()]
    for task in load("quickstart").tasks.values():
        found += [task.question, *task.sub_queries]
    if file is not None:
        if not file.is_file():
            raise UsageError(f"{file}: no such file; name DeepResearch Bench's query.jsonl")
        for line in file.read_bytes().splitlines():
            prompt = " ".join(str(orjson.loads(line)["prompt"]).split())
            words = prompt.split() if prompt.isascii() else [prompt[i : i + 6] for i in range(0, len(prompt), 6)]
            found += [prompt[:400], *(" ".join(words[i : i + 8]) for i in range(0, min(len(words), 40), 8))]
    return [q for q in dict.fromkeys(found) if q.strip()]


async def _measure(
    ask: Callable[[int], Awaitable[Any]], clients: int, seconds: float, most: int = 1_000_000
) -> dict[str, float]:
    """Ask from several clients at once for a time; latencies in milliseconds."""
    taken: list[float] = []
    turn = 0
    end = time.perf_counter() + seconds
    started = time.perf_counter()

    async def client() -> None:
        nonlocal turn
        while time.perf_counter() < end and turn < most:
            turn += 1
            before = time.perf_counter()
            await ask(turn)
            taken.append((time.perf_counter() - before) * 1000)

    await asyncio.gather(*(client() for _ in range(clients)))
    return {"clients": clients, "per_second": len(taken) / (time.perf_counter() - started), **_percentiles(taken)}


def _percentiles(taken: Sequence[float]) -> dict[str, float]:
    cuts = quantiles(taken, n=100) if len(taken) > 1 else list(taken) * 99
    return {"p50_ms": cuts[49], "p95_ms": cuts[94], "p99_ms": cuts[98]}


def _memory() -> float:
    """Resident memory of this process, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def _size(folder: Path) -> float:
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) / 1e6


async def bench_engine(
    documents: int, engines: Sequence[str], *, say: Say, seconds: float = 4.0, file: Path | None = None
) -> list[dict[str, Any]]:
    """Engines in one run, each beside its bare floor.

    Args:
        documents: Size of the synthetic corpus.
        engines: ``tantivy``, ``elasticsearch``.
        seconds: How long each level is measured.
        file: See `queries`.
        say: Told what goes on.

    Returns:
        A row for each engine and level: engine, documents, what, and figures by name with their unit.
    """
    corpus = synthetic(documents, say)
    parsed = [parse(q) for q in queries(corpus, file)]
    rows: list[dict[str, Any]] = []
    for name in engines:
        say(f"{name}: indexing {documents} documents")
        if name == "tantivy":
            rows += await _tantivy(corpus, parsed, documents, seconds, say)
        elif name == "elasticsearch":
            rows += await _elasticsearch(corpus, parsed, documents, seconds, say)
        else:
            raise UsageError(f"no engine named {name!r} to measure: tantivy, elasticsearch")
    return rows


async def _tantivy(
    corpus: Corpus, parsed: Sequence[Query], documents: int, seconds: float, say: Say
) -> list[dict[str, Any]]:
    base = {"engine": "tantivy", "documents": documents}
    with tempfile.TemporaryDirectory(dir=cache_folder()) as name:
        folder = Path(name) / "index"
        before = time.perf_counter()
        build(corpus.documents, folder)
        took = time.perf_counter() - before
        opening = time.perf_counter()
        engine = EmbeddedEngine(folder)
        await engine.search(parsed[0], K)
        cold = (time.perf_counter() - opening) * 1000
        rows = [
            {
                **base,
                "what": "index",
                "documents_per_second": documents / took,
                "disk_mb": _size(folder),
                "cold_open_ms": cold,
            }
        ]
        say("tantivy: searching")

        async def ask(turn: int) -> None:
            await engine.search(parsed[turn % len(parsed)], K)

        async def with_snippets(turn: int) -> None:
            # A word more makes other snippets of it, which nobody has cached.
            query = parse(f"{parsed[turn % len(parsed)].text} z{turn}")
            for hit in await engine.search(query, K):
                snippet(hit.document, query.words)

        floor = [compiled for q in parsed if (compiled := engine._compile(q)) is not None]

        async def bare(turn: int) -> None:
            searcher = engine._searcher
            for _, address in searcher.search(floor[turn % len(floor)], limit=K, count=False).hits:
                searcher.doc(address)

        for clients in CLIENTS:
            rows.append({**base, "what": "bare tantivy", **await _measure(bare, clients, seconds)})
            rows.append({**base, "what": "search", **await _measure(ask, clients, seconds)})
            rows.append({**base, "what": "search with snippets", **await _measure(with_snippets, clients, seconds)})
        rows.append({**base, "what": "memory", "rss_mb": _memory()})
    return rows


async def _elasticsearch(
    corpus: Corpus, parsed: Sequence[Query], documents: int, seconds: float, say: Say
) -> list[dict[str, Any]]:
    base = {"engine": "elasticsearch", "documents": documents}
    settings = ElasticsearchSettings.from_environment()
    client = connect(settings)
    name = index_name(corpus, settings)
    await client.options(ignore_status=404).indices.delete(index=name)
    before = time.perf_counter()
    engine = await ElasticsearchEngine.open(corpus, settings)
    took = time.perf_counter() - before
    stats = await client.indices.stats(index=name, metric="store")
    size = stats["indices"][name]["total"]["store"]["size_in_bytes"] / 1e6
    opening = time.perf_counter()
    again = await ElasticsearchEngine.open(corpus, settings)
    await again.search(parsed[0], K)
    cold = (time.perf_counter() - opening) * 1000
    await again.close()
    rows = [{**base, "what": "index", "documents_per_second": documents / took, "disk_mb": size, "cold_open_ms": cold}]
    say("elasticsearch: searching")
    from searchsim.engine.elasticsearch import _MARGIN, _compiled

    bodies = [body for q in parsed if (body := _compiled(q)) is not None]

    async def bare(turn: int) -> None:
        # The same documents, as many, in the same order; nothing of ours before or after.
        await client.search(
            index=name,
            query=bodies[turn % len(bodies)],
            size=K + _MARGIN,
            sort=[{"_score": "desc"}, {"id": "asc"}],
            source={"includes": ["source"]},
            track_total_hits=False,
        )

    async def ask(turn: int) -> None:
        await engine.search(parsed[turn % len(parsed)], K)

    for clients in CLIENTS:
        rows.append({**base, "what": "bare _search", **await _measure(bare, clients, seconds)})
        rows.append({**base, "what": "search", **await _measure(ask, clients, seconds)})
    rows.append({**base, "what": "memory of the client", "rss_mb": _memory()})
    await engine.close()
    await client.close()
    return rows


# --- the server --------------------------------------------------------------------------------------------------

_LOAD = """
import asyncio, json, sys, time, aiohttp
url, key, clients, seconds, fresh = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), sys.argv[5] == "1"
asked = json.load(sys.stdin)
bodies = [json.dumps({"q": q, "num": 10}).encode() for q in asked]
taken = []
async def client(session, n):
    turn = n * 7
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        turn += 1
        before = time.perf_counter()
        # A word more makes another list of it, which nobody has cached.
        place = turn % len(asked)
        body = json.dumps({"q": f"{asked[place]} z{n}z{turn}", "num": 10}) if fresh else bodies[place]
        headers = {"X-API-KEY": key, "Content-Type": "application/json"}
        async with session.post(url, data=body, headers=headers) as answer:
            await answer.read()
            assert answer.status == 200, await answer.text()
        taken.append((time.perf_counter() - before) * 1000)
async def main():
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        await asyncio.gather(*(client(session, n) for n in range(clients)))
asyncio.run(main())
print(json.dumps(taken))
"""


async def _load(
    url: str, key: str, asked: Sequence[str], clients: int, seconds: float, *, fresh: bool = False
) -> dict[str, float]:
    """Load from a process of its own, over connections that are kept."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _LOAD, url, key, str(clients), str(seconds), str(int(fresh)),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    out, _ = await process.communicate(json.dumps(list(asked)).encode())
    if process.returncode:
        raise UsageError("the load's process failed: see its message above")
    taken = json.loads(out)
    return {"clients": clients, "per_second": len(taken) / seconds, **_percentiles(taken)}


async def bench_server(
    documents: int, *, say: Say, seconds: float = 4.0, file: Path | None = None
) -> list[dict[str, Any]]:
    """The server through HTTP, with injection, snippets and trace, beside a canned answer and the engine in process.

    Args:
        documents: Size of the synthetic corpus; its worlds inject documents of their own.
        seconds: How long each level is measured.
        file: See `queries`.
        say: Told what goes on.

    Returns:
        Rows as of `bench_engine`. ``cold``: every search is another list; ``warm``: lists are cached.
    """
    corpus = synthetic(documents, say)
    if not index_folder(corpus).is_dir():
        say("indexing")
    engine = open_embedded(corpus)
    asked = queries(corpus, file)
    parsed = [parse(q) for q in asked]
    base = {"engine": "tantivy", "documents": documents}
    rows: list[dict[str, Any]] = []

    async def in_process(turn: int) -> None:
        query = parse(f"{asked[turn % len(asked)]} z{turn}")
        for hit in await engine.search(query, K):
            snippet(hit.document, query.words)

    say("the engine in process, with snippets")
    rows.append({**base, "what": "engine in process, with snippets", **await _measure(in_process, 1, seconds)})

    say("a canned answer")
    hits = [h for q in parsed[:5] for h in await engine.search(q, K)][:K]
    canned = orjson.dumps(
        {"organic": [{"title": h.document.title, "link": h.document.url, "snippet": snippet(h.document)} for h in hits]}
    )

    async def answer(request: web.Request) -> web.Response:
        await request.read()
        return web.Response(body=canned, content_type="application/json")

    app = web.Application()
    app.router.add_post("/search", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    for clients in CLIENTS:
        url = f"http://127.0.0.1:{runner.addresses[0][1]}/search"
        rows.append({**base, "what": "canned answer", **await _load(url, "k", asked, clients, seconds)})
    await runner.cleanup()

    task = next(iter(corpus.tasks))
    pool = [
        {
            "id": f"bench-{n}", "title": asked[n], "source_name": "Bench", "url": f"https://bench.example/{n}",
            "published": corpus.today.isoformat(), "snippet": ("A snippet of the benchmark. " * 4).strip(),
            "body": " ".join(asked[n::3]),
        }
        for n in range(3)
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "store.sqlite")
        worlds = Worlds(corpus, CachingEngine(engine), store)
        async with running(Context(worlds)) as url:
            for what in ("cold", "warm"):
                for clients in CLIENTS:
                    say(f"the server, {what}, {clients} clients")
                    world = worlds.create(task, documents=pool)
                    address, fresh = f"{url}/search", what == "cold"
                    if not fresh:
                        await _load(address, world.key, asked, 1, max(1.0, seconds / 2))
                    measured = await _load(address, world.key, asked, clients, seconds, fresh=fresh)
                    rows.append({**base, "what": f"server, {what}", **measured})
        store.close()
    rows.append({**base, "what": "memory of the server", "rss_mb": _memory()})
    return rows
