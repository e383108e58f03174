"""Every dialect's searches meet what a world has planned."""

from __future__ import annotations

import time
from typing import Any

import aiohttp
import pytest

from searchsim.faults import DIALECTS
from searchsim.server.context import Context

TASK = "bicycle-stability"
BEARER = {"Authorization": "Bearer k"}
REQUESTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "serper": ("POST", "/search", {"json": {"q": "bicycle"}, "headers": {"X-API-KEY": "k"}}),
    "tavily": ("POST", "/tavily/search", {"json": {"query": "bicycle"}, "headers": BEARER}),
    "exa": ("POST", "/exa/search", {"json": {"query": "bicycle"}, "headers": {"x-api-key": "k"}}),
    "brave": (
        "GET", "/brave/res/v1/web/search", {"params": {"q": "bicycle"}, "headers": {"X-Subscription-Token": "k"}}
    ),
    "bing": (
        "GET", "/bing/v7.0/search", {"params": {"q": "bicycle"}, "headers": {"Ocp-Apim-Subscription-Key": "k"}}
    ),
    "searxng": ("GET", "/w/k/searxng/search", {"params": {"q": "bicycle", "format": "json"}}),
    "jina": ("GET", "/sjina/", {"params": {"q": "bicycle"}, "headers": BEARER}),
    "mcp": ("POST", "/mcp/search", {"json": {"query": "bicycle"}, "headers": BEARER}),
}  # fmt: skip


def test_all_are_here() -> None:
    assert set(REQUESTS) == set(DIALECTS)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_status_and_latency(http: aiohttp.ClientSession, url: str, context: Context, dialect: str) -> None:
    faults = [{"kind": "429", "on": [1]}, {"kind": "500", "on": [2], "dialect": dialect}, {"kind": "403", "on": [4]}]
    context.worlds.create(TASK, key="k", faults=faults, latency={"constant": 0.15})
    method, path, more = REQUESTS[dialect]
    statuses = []
    start = time.perf_counter()
    for _ in range(4):
        async with http.request(method, url + path, **more) as answer:
            statuses.append(answer.status)
            assert "Traceback" not in await answer.text()
    assert statuses == [429, 500, 200, 403]
    assert time.perf_counter() - start >= 0.6
    events = [e for e in context.worlds.events("k") if e["event"] != "page"]
    assert [e["event"] for e in events] == ["fault", "fault", "search", "fault"]
    assert all(e["planned"] for e in events if e["event"] == "fault")
    assert events[2]["dialect"] == dialect
    async with http.get(f"{url}/_sim/worlds/k") as answer:
        assert (await answer.json())["valid"]


async def test_a_dialects_faults_are_its_own(http: aiohttp.ClientSession, url: str, context: Context) -> None:
    context.worlds.create(
        TASK, key="k", faults=[{"kind": "500", "share": 1, "dialect": "tavily"}, {"kind": "no_organic", "share": 1}]
    )
    for dialect, (method, path, more) in REQUESTS.items():
        async with http.request(method, url + path, **more) as answer:
            assert answer.status == (500 if dialect == "tavily" else 200)
            if dialect == "serper":
                assert "organic" not in await answer.json()
