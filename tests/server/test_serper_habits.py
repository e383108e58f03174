"""Habits of clients, and what their users complained of: each as a request that the server must bear.

What a client does with an answer is written down here as it does it; the clients themselves run in the suite of the
compatibility matrix.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from searchsim.server.context import Context
from searchsim.server.serper import HOSTS
from searchsim.server.serper.verticals import VERTICALS

TASK = "bicycle-stability"
HEADERS = {"X-API-KEY": "k", "Content-Type": "application/json"}
ODD = ("xyzzyplugh", "site:nowhere.example", '"no such phrase at all"', "???", "before:1800", "-bicycle")


@pytest.fixture(autouse=True)
def world(context: Context) -> None:
    context.worlds.create(TASK, {"rank": "front"}, key="k")


async def post(http: aiohttp.ClientSession, url: str, path: str, body: object) -> Any:
    async with http.post(url + path, json=body, headers=HEADERS) as answer:
        assert answer.status == 200, await answer.text()
        return json.loads(await answer.text())


def searches(context: Context, key: str = "k") -> list[dict[str, Any]]:
    return [e for e in context.worlds.events(key) if e["event"] == "search"]


# --- habits -----------------------------------------------------------------------------------------------------------


async def langchain(http: aiohttp.ClientSession, url: str, path: str, q: str) -> dict[str, Any]:
    """Its wrapper sends a content type, no body, and everything in the query string."""
    params: dict[str, str | int] = {"q": q, "gl": "us", "hl": "en", "num": 10}
    async with http.post(url + path, params=params, headers=HEADERS) as answer:
        answer.raise_for_status()
        told: dict[str, Any] = await answer.json()
        return told


def langchain_text(results: dict[str, Any], k: int = 10) -> str:
    """What its ``run`` gives: an answer box alone, or else snippets, joined by spaces."""
    if box := results.get("answerBox"):
        return str(box.get("answer") or box.get("snippet") or " ".join(box["snippetHighlighted"]))
    if graph := results.get("knowledgeGraph"):
        return str(graph.get("description"))
    snippets = [row["snippet"] for row in results["organic"][:k] if "snippet" in row]
    return " ".join(snippets) or "No good Google Search Result was found"


async def test_langchain(http: aiohttp.ClientSession, url: str, context: Context) -> None:
    results = await langchain(http, url, "/search", "bicycle stability")
    assert results["searchParameters"] == {
        "q": "bicycle stability", "gl": "us", "hl": "en", "type": "search", "num": 10, "engine": "google",
    }  # fmt: skip
    text = langchain_text(results)
    for row in results["organic"]:
        assert row["snippet"] in text
    (event,) = searches(context)
    assert event["k"] == 10
    for q in ODD:
        assert langchain_text(await langchain(http, url, "/search", q)), q


async def test_nothing_pre_empts_results_unless_asked_for(
    http: aiohttp.ClientSession, url: str, context: Context
) -> None:
    """haystack-core-integrations 3425: an answer box broke "as many links as documents"."""
    context.worlds.create(TASK, key="more", serper={"features": ["relatedSearches"]})
    for key in ("k", "more"):
        for q in ("what is a bicycle", "who invented the bicycle", "bicycle"):
            async with http.post(f"{url}/search", json={"q": q}, headers={"X-API-KEY": key}) as answer:
                results = await answer.json()
            assert not {"answerBox", "knowledgeGraph", "peopleAlsoAsk", "topStories"} & set(results)
            assert len({row["link"] for row in results["organic"]}) == len(results["organic"])


async def test_camel_asks_for_page_10(http: aiohttp.ClientSession, url: str, context: Context) -> None:
    results = await post(http, url, "/search", {"q": "bicycle stability", "page": 10, "num": 10, "gl": "us"})
    assert results["organic"] == []
    assert results["searchParameters"]["page"] == 10
    await post(http, url, "/search", {"q": "bicycle stability"})
    assert [(e["list"], e["page"]) for e in searches(context)] == [(1, 10), (1, 1)], "pages are of one list"


async def test_websailor_asks_five_times(http: aiohttp.ClientSession, url: str, context: Context) -> None:
    """Its retry loop never breaks, and it sends fields that nobody knows."""
    body = {
        "q": "bicycle stability",
        "num": 10,
        "extendParams": {"country": "en", "page": 1},
        "platformInput": {"model": "google-search"},
    }
    answers = [await post(http, url, "/search", body) for _ in range(5)]
    assert all(answer == answers[0] for answer in answers)
    assert "extendParams" not in answers[0]["searchParameters"]
    assert [e["list"] for e in searches(context)] == [1] * 5
    async with http.get(f"{url}/_sim/worlds/k") as answer:
        told = await answer.json()
    assert (told["observation"]["searches"], told["observation"]["lists"]) == (5, 1)
    assert told["valid"]


async def test_deepresearcher_recurses_until_there_is_a_list(http: aiohttp.ClientSession, url: str) -> None:
    """Up to 512 times where ``organic`` is missing: so it never is, unless planned."""
    depth = 0

    async def search(q: str) -> list[Any]:
        nonlocal depth
        depth += 1
        results = await post(http, url, "/search", {"q": q, "num": 10})
        rows: list[Any] = results["organic"] if "organic" in results else await search(q)
        return rows

    for q in ODD:
        depth = 0
        assert isinstance(await search(q), list)
        assert depth == 1


async def test_mirothinker_retries_without_quotes(http: aiohttp.ClientSession, url: str, context: Context) -> None:
    assert (await post(http, url, "/search", {"q": '"bicycle that nobody wrote of"'}))["organic"] == []
    assert (await post(http, url, "/search", {"q": "bicycle that nobody wrote of"}))["organic"]
    assert [e["list"] for e in searches(context)] == [1, 2]


async def test_dify_and_smolagents_get(http: aiohttp.ClientSession, url: str) -> None:
    async with http.get(f"{url}/search", params={"q": "bicycle", "gl": "us", "hl": "en"}, headers=HEADERS) as answer:
        dify = await answer.json()
    async with http.get(f"{url}/search", params={"q": "bicycle", "api_key": "k", "gl": "us", "hl": "en"}) as answer:
        assert await answer.json() == dify
    assert "api_key" not in json.dumps(dify)


async def test_agno_sends_search_fields_to_the_reader(http: aiohttp.ClientSession, url: str, context: Context) -> None:
    page = next(context.worlds.get("k").documents())
    body = {"url": page.url, "includeMarkdown": True, "gl": "us", "hl": "en", "tbs": "qdr:y"}
    told = await post(http, url, "/scrape", body)
    assert page.title in told["text"]
    assert list(told) == ["text", "markdown", "metadata", "credits"]


async def test_numbers_and_flags_as_strings(http: aiohttp.ClientSession, url: str) -> None:
    loose = {"q": "bicycle", "num": "7", "page": "1", "autocorrect": "true"}
    strict = {"q": "bicycle", "num": 7, "page": 1, "autocorrect": True}
    assert await post(http, url, "/search", loose) == await post(http, url, "/search", strict)


async def test_a_client_that_slices_drops_what_is_appended_beyond_its_k(
    http: aiohttp.ClientSession, url: str, context: Context
) -> None:
    context.worlds.create(TASK, {"stage": "pre_synthesis"}, key="late", last_list=1)
    async with http.post(f"{url}/search", json={"q": "bicycle"}, headers={"X-API-KEY": "late"}) as answer:
        rows = (await answer.json())["organic"]
    (event,) = searches(context, "late")
    assert len(rows) > 10
    assert not any(s["injected"] for s in event["served"][:10])
    assert [row["position"] for row in rows] == list(range(1, len(rows) + 1))


# --- complaints -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("q", ODD)
async def test_organic_is_always_a_list(http: aiohttp.ClientSession, url: str, q: str) -> None:
    """KeyError 'organic': gpt-researcher 1373, crewAI 299, FinSight 8; None: storm 468; no list: gpt-researcher 1898."""
    for page in (1, 2, 100):
        for path in ("/search", "/scholar", "/patents", "/lens"):
            body = {"url": "https://example.org/1.png"} if path == "/lens" else {"q": q, "page": page}
            assert isinstance((await post(http, url, path, body))["organic"], list)


async def test_every_row_has_what_clients_index(http: aiohttp.ClientSession, url: str, context: Context) -> None:
    """Missing 'snippet': gpt-researcher 694, onyx 7217, haystack 7725."""
    for q in (*context.worlds.corpus.task(TASK).sub_queries, "bicycle", "a"):
        for path in ("/search", "/news", "/scholar"):
            results = await post(http, url, path, {"q": q, "num": 100})
            for row in results[VERTICALS[path[1:]].rows]:
                assert row["title"] and row["link"].startswith("http")
                assert isinstance(row["snippet"], str) and row["snippet"].strip()


@pytest.mark.parametrize("kind", ["no_organic", "organic_null", "organic_object", "missing_snippet"])
async def test_what_was_complained_of_is_there_on_demand(
    http: aiohttp.ClientSession, url: str, context: Context, kind: str
) -> None:
    context.worlds.create(TASK, key="bad", faults=[{"kind": kind, "on": [1]}])
    async with http.post(f"{url}/search", json={"q": "bicycle"}, headers={"X-API-KEY": "bad"}) as answer:
        results = await answer.json()
    with pytest.raises((KeyError, TypeError)):
        [row["snippet"] for row in results["organic"]] or results["organic"][0]


@pytest.mark.parametrize("name", VERTICALS)
async def test_each_vertical_has_its_own_key(http: aiohttp.ClientSession, url: str, name: str) -> None:
    """langchain 4414: other keys for news, places, images. Its wrapper reads by this table, and crashes without."""
    body = {"url": "https://example.org/1.png"} if name == "lens" else {"q": "bicycle"}
    results = await post(http, url, f"/{name}", body)
    read = {"search": "organic", "news": "news", "places": "places", "images": "images"}.get(name, VERTICALS[name].rows)
    assert isinstance(results[read], list)
    assert results["searchParameters"]["type"] == name


async def test_a_key_is_taken_wherever_clients_put_it(http: aiohttp.ClientSession, url: str) -> None:
    """403 with a key set: crewAI 633, MiroFlow 7."""
    for headers, params in [
        ({"X-API-KEY": "k"}, {}),
        ({"x-api-key": "k"}, {}),
        ({"X-Api-Key": " k "}, {}),
        ({}, {"apiKey": "k"}),
        ({}, {"api_key": "k"}),
    ]:
        async with http.post(f"{url}/search", json={"q": "x"}, headers=headers, params=params) as answer:
            assert answer.status == 200, (headers, params)
    for headers in ({}, {"X-API-KEY": "unknown"}, {"Authorization": "Bearer k"}, {"X-API-KEY": '"k"'}):
        async with http.post(f"{url}/search", json={"q": "x"}, headers=headers) as answer:
            assert answer.status == 403
            assert await answer.text() == '{"message":"Unauthorized.","statusCode":403}'


async def test_unbounded_concurrency_is_served(http: aiohttp.ClientSession, url: str, context: Context) -> None:
    """429 from unbounded concurrency: openfactcheck 1. Here only what is planned fails."""
    asked = [f"bicycle {n % 40}" for n in range(200)]
    results = await asyncio.gather(*(post(http, url, "/search", {"q": q}) for q in asked))
    for q, result in zip(asked, results, strict=True):
        assert result["searchParameters"]["q"] == q
        assert result == results[asked.index(q)]
    assert {e["list"] for e in searches(context)} == set(range(1, 41))
    async with http.get(f"{url}/_sim/worlds/k") as answer:
        assert (await answer.json())["valid"]


async def test_a_planned_429_passes(http: aiohttp.ClientSession, url: str, context: Context) -> None:
    context.worlds.create(TASK, key="busy", faults=[{"kind": "429", "on": [1, 2]}])
    told = []
    for _ in range(3):
        async with http.post(f"{url}/search", json={"q": "x"}, headers={"X-API-KEY": "busy"}) as answer:
            told.append(answer.status)
    assert told == [429, 429, 200]


def test_the_hosts_that_clients_have_written_into_them() -> None:
    """TLS name mismatch for google.serper.dev (crewAI-tools 303): no certificate is needed for these names, since they
    lead to paths of a plain server."""
    assert {"google.serper.dev": "", "scrape.serper.dev": "/scrape"}.items() <= HOSTS.items()
