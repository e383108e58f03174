"""Every endpoint in every request shape, its answers held to the schemas, and a world's settings."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from searchsim.corpus import Corpus, check
from searchsim.engine.embedded import EmbeddedEngine
from searchsim.server.app import running
from searchsim.server.context import Context
from searchsim.server.serper import HOSTS
from searchsim.server.serper.verticals import VERTICALS
from searchsim.store import SqliteStore
from searchsim.world import Worlds
from tests.server.serper_shapes import SCHEMAS, shape_faults

TASK = "bicycle-stability"
FIELDS: dict[str, dict[str, Any]] = {
    name: {"q": "bicycle stability", "gl": "us", "hl": "en", "num": 5, "page": 1, "tbs": "qdr:y9"} for name in VERTICALS
} | {
    "maps": {"q": "bicycle shop", "hl": "en", "ll": "@51.5,-0.1,14z"},
    "reviews": {"cid": "123", "hl": "en", "sortBy": "newest"},
    "lens": {"url": "https://example.org/bicycle.png", "gl": "us"},
}
SHOWN = [name for name, vertical in VERTICALS.items() if vertical.served]
EMPTY = [name for name in VERTICALS if name not in SHOWN]


@pytest.fixture
def key(context: Context) -> str:
    return context.worlds.create(TASK, {"rank": "front"}, key="k").key


async def post(http: aiohttp.ClientSession, url: str, body: object, key: str = "k") -> tuple[int, str]:
    async with http.post(url, json=body, headers={"X-API-KEY": key}) as answer:
        return answer.status, await answer.text()


@pytest.mark.parametrize("name", VERTICALS)
async def test_three_request_shapes_give_one_answer(http: aiohttp.ClientSession, url: str, key: str, name: str) -> None:
    status, text = await post(http, f"{url}/{name}", FIELDS[name])
    assert status == 200
    query = {k: str(v) for k, v in FIELDS[name].items()}
    async with http.post(f"{url}/{name}", params=query, headers={"X-API-KEY": key}) as answer:
        assert await answer.text() == text
    async with http.get(f"{url}/w/{key}/{name}", params=query) as answer:
        assert await answer.text() == text
    async with http.post(f"{url}/{name}", json=[FIELDS[name]] * 2, headers={"X-API-KEY": key}) as answer:
        assert await answer.text() == f"[{text},{text}]"
    assert shape_faults(name, text) == []
    told = json.loads(text)
    assert told["searchParameters"] == {**FIELDS[name], "type": name, "engine": "google"} | (
        {"num": 5} if "num" in FIELDS[name] else {}
    )
    assert next(iter(told)) == "searchParameters"
    assert list(told)[-1] == "credits"
    assert told["credits"] == 1


@pytest.mark.parametrize("name", SHOWN)
async def test_what_a_corpus_has_is_shown(http: aiohttp.ClientSession, url: str, key: str, name: str) -> None:
    _, text = await post(http, f"{url}/{name}", {"q": "bicycle stability"})
    rows = json.loads(text)[VERTICALS[name].rows]
    assert rows
    assert all(row["snippet"] for row in rows)


@pytest.mark.parametrize("name", EMPTY)
async def test_what_a_corpus_has_nothing_for_is_empty_and_no_list(
    http: aiohttp.ClientSession, url: str, context: Context, key: str, name: str
) -> None:
    _, text = await post(http, f"{url}/{name}", FIELDS[name])
    told = json.loads(text)
    assert told[VERTICALS[name].rows] == []
    assert list(context.worlds.events(key)) == []
    await post(http, f"{url}/search", {"q": "bicycle"})
    assert [e["list"] for e in context.worlds.events(key)] == [1]


def test_every_vertical_has_a_schema() -> None:
    assert set(SCHEMAS) == {*VERTICALS, "parameters", "scrape", "account", "error"}


async def test_scholar(http: aiohttp.ClientSession, url: str, context: Context, key: str) -> None:
    _, text = await post(http, f"{url}/scholar", {"q": "bicycle stability"})
    rows = json.loads(text)["organic"]
    (event,) = context.worlds.events(key)
    assert event["endpoint"] == "scholar"
    pool = {d.id: d for d in context.worlds.get(key).documents()}
    for row, served in zip(rows, event["served"], strict=True):
        document = pool.get(served["document"]) or await context.engine.document(served["document"])
        assert document
        assert document.kind == "paper"
        assert list(row) == ["title", "link", "publicationInfo", "snippet", "year"]
        assert document.published
        assert row["year"] == document.published.year
        assert row["publicationInfo"].endswith(f"{document.source_name}, {row['year']}")
        assert document.author in row["publicationInfo"]
    assert any(s["injected"] for s in event["served"])


async def test_type_selects_the_vertical_on_search_alone(http: aiohttp.ClientSession, url: str, key: str) -> None:
    for name, vertical in VERTICALS.items():
        if vertical.typed:
            _, typed = await post(http, f"{url}/search", {"q": "bicycle", "type": name})
            assert typed == (await post(http, f"{url}/{name}", {"q": "bicycle"}))[1]
    _, text = await post(http, f"{url}/news", {"q": "bicycle", "type": "search"})
    assert json.loads(text)["searchParameters"]["type"] == "news"
    _, text = await post(http, f"{url}/search", [{"q": "bicycle", "type": "images"}, {"q": "bicycle"}])
    assert [next(k for k in one if k not in ("searchParameters", "credits")) for one in json.loads(text)] == [
        "images",
        "organic",
    ]


async def test_images_tell_their_default_num_last(http: aiohttp.ClientSession, url: str, key: str) -> None:
    _, text = await post(http, f"{url}/images", {"q": "bicycle", "page": 2})
    assert text.startswith(
        '{"searchParameters":{"q":"bicycle","type":"images","page":2,"engine":"google","num":10},"images":[]'
    )
    _, text = await post(http, f"{url}/images", {"q": "bicycle", "num": "7"})
    assert text.startswith('{"searchParameters":{"q":"bicycle","type":"images","num":7,"engine":"google"}')


async def test_maps_tell_where_they_look(http: aiohttp.ClientSession, url: str, key: str) -> None:
    _, text = await post(http, f"{url}/maps", FIELDS["maps"])
    assert list(json.loads(text)) == ["searchParameters", "ll", "places", "credits"]
    for field in ("cid", "fid", "placeId"):
        assert (await post(http, f"{url}/maps", {field: "1"}))[0] == 200
        assert (await post(http, f"{url}/reviews", {field: "1"}))[0] == 200


@pytest.mark.parametrize(
    ("name", "missing"),
    [(name, "Missing url parameter" if name == "lens" else "Missing query parameter") for name in VERTICALS],
)
async def test_what_must_be_there(http: aiohttp.ClientSession, url: str, key: str, name: str, missing: str) -> None:
    wanted = VERTICALS[name].wants[0]
    for body in ({}, {wanted: ""}, {wanted: " "}, {wanted: ["x"]}, {wanted: None}, {wanted: True}, {"num": 3}):
        status, text = await post(http, f"{url}/{name}", body)
        assert (status, json.loads(text)) == (400, {"message": missing, "statusCode": 400}), body


@pytest.mark.parametrize("name", ["search", "images"])
@pytest.mark.parametrize(
    ("sent", "echoed"),
    [
        ({"autocorrect": "false"}, {"autocorrect": False}),
        ({"autocorrect": True}, {"autocorrect": True}),
        ({"autocorrect": 1}, {"autocorrect": True}),
        ({"autocorrect": "perhaps"}, {}),
        ({"num": "20", "page": "2"}, {"num": 20, "page": 2}),
        ({"num": 20.0, "page": 2}, {"num": 20, "page": 2}),
        ({"location": "Oslo, Norway", "gl": "no", "hl": "no"}, {"location": "Oslo, Norway", "gl": "no", "hl": "no"}),
        ({"q": 2024}, {"q": 2024}),
        ({"extendParams": {"a": [1]}, "safe": "off", "apiKey": "x"}, {}),
        ({"gl": None, "hl": "", "tbs": ""}, {}),
    ],
)
async def test_echoes(
    http: aiohttp.ClientSession, url: str, key: str, name: str, sent: dict[str, Any], echoed: dict[str, Any]
) -> None:
    status, text = await post(http, f"{url}/{name}", {"q": "bicycle", **sent})
    assert status == 200
    base = {"q": "bicycle", "type": name, "engine": "google"} | ({"num": 10} if name == "images" else {})
    assert json.loads(text)["searchParameters"] == {**base, **echoed}
    assert shape_faults(name, text) == []
    assert json.loads(text)["credits"] == (2 if echoed.get("num") == 20 else 1)


async def test_scrape_and_account_keep_to_their_schemas(
    http: aiohttp.ClientSession, url: str, context: Context, key: str
) -> None:
    page = next(context.worlds.get(key).documents()).url
    for include in (True, "true", 1, "1", False, "false", "no"):
        status, text = await post(http, f"{url}/scrape", {"url": page, "includeMarkdown": include, "gl": "us"})
        assert status == 200
        assert ("markdown" in json.loads(text)) == (str(include).lower() in ("true", "1"))
        assert shape_faults("scrape", text) == []
    async with http.post(f"{url}/scrape", params={"url": page, "apiKey": key}) as answer:
        posted = await answer.text()
    async with http.get(f"{url}/scrape", params={"url": page, "apiKey": key}) as answer:
        assert await answer.text() == posted
    async with http.get(f"{url}/account", params={"api_key": key}) as answer:
        assert shape_faults("account", await answer.text()) == []
    status, text = await post(http, f"{url}/scrape", [{"url": page}])
    assert (status, shape_faults("error", text)) == (400, [])


async def test_hosts(http: aiohttp.ClientSession, url: str, context: Context, key: str) -> None:
    """A live URL leads to its prefix and path here."""
    page = next(context.worlds.get(key).documents()).url
    for host, path, body in [
        ("google.serper.dev", "/search", {"q": "bicycle"}),
        ("google.serper.dev", "/account", None),
        ("scrape.serper.dev", "/", {"url": page}),
    ]:
        method = "POST" if body else "GET"
        async with http.request(method, f"{url}{HOSTS[host]}{path}", json=body, headers={"X-API-KEY": key}) as answer:
            assert answer.status == 200


async def test_a_free_plan(http: aiohttp.ClientSession, url: str, context: Context) -> None:
    context.worlds.create(TASK, key="k", serper={"plan": "free"})
    refused = (400, {"message": "Query pattern not allowed for free accounts."})
    for fields in (
        {"q": 'bicycle "trail" length'},
        {"q": "“self-stable” bicycle"},
        {"q": "bicycle site:example.org filetype:pdf"},
        {"q": "ext:pdf bicycle SITE:example.org"},
        {"q": "bicycle", "num": 11},
        {"q": "bicycle", "num": "100"},
    ):
        for path in ("/search", "/news", "/images"):
            status, text = await post(http, url + path, fields)
            assert (status, json.loads(text)) == refused, fields
            assert shape_faults("error", text) == []
    assert (await post(http, f"{url}/search", [{"q": "bicycle"}, {"q": '"a b"'}]))[0] == 400
    assert list(context.worlds.events("k")) == []
    for q in ("bicycle site:example.org", "bicycle filetype:pdf", 'a 3" wheel', "website:x filetype:y", '"" bicycle'):
        assert (await post(http, f"{url}/search", {"q": q, "num": 10}))[0] == 200, q
    async with http.get(f"{url}/account", headers={"X-API-KEY": "k"}) as answer:
        assert await answer.json() == {"balance": 2495, "rateLimit": 5}
    context.worlds.create(TASK, key="paid", serper={"plan": "paid"})
    assert (await post(http, f"{url}/search", {"q": '"bicycle"', "num": 20}, "paid"))[0] == 200


async def test_related_searches_are_the_tasks_others(http: aiohttp.ClientSession, url: str, context: Context) -> None:
    context.worlds.create(TASK, key="plain")
    context.worlds.create(TASK, key="k", serper={"features": ["relatedSearches"]})
    subs = context.worlds.corpus.task(TASK).sub_queries
    body = {"q": subs[0].upper()}
    plain = json.loads((await post(http, f"{url}/search", body, "plain"))[1])
    _, text = await post(http, f"{url}/search", body)
    told = json.loads(text)
    assert list(told) == ["searchParameters", "organic", "relatedSearches", "credits"]
    assert told["relatedSearches"] == [{"query": q} for q in subs[1:9]]
    assert told["organic"] == plain["organic"]
    assert "relatedSearches" not in plain
    assert shape_faults("search", text) == []
    assert "relatedSearches" not in json.loads((await post(http, f"{url}/news", body))[1])


async def test_extras_that_the_corpus_has_data_for(quickstart: Corpus, engine: EmbeddedEngine, tmp_path: Path) -> None:
    folder = tmp_path / "extras"
    shutil.copytree(quickstart.path, folder)
    tasks = [json.loads(line) for line in (folder / "tasks.jsonl").read_text("utf-8").splitlines()]
    extras = {
        "answerBox": {"snippet": "It steers into the fall.", "title": "Balance", "link": "https://a.example/"},
        "knowledgeGraph": {"title": "Bicycle", "type": "Vehicle", "attributes": {"Wheels": "2"}},
        "peopleAlsoAsk": [{"question": "Why?", "snippet": "So.", "title": "So", "link": "https://a.example/"}],
    }
    lines = [json.dumps({**t, "serp": extras} if t["id"] == TASK else t, ensure_ascii=False) for t in tasks]
    (folder / "tasks.jsonl").write_text("\n".join(lines), "utf-8")
    assert list(check(folder)) == []
    worlds = Worlds(Corpus(folder), engine, SqliteStore())
    async with running(Context(worlds)) as url, aiohttp.ClientSession() as http:
        for key, budget in (("k", 3), ("control", 0)):
            made = {"task": TASK, "key": key, "condition": {"budget": budget}, "serper": {"features": [*extras]}}
            async with http.post(f"{url}/_sim/worlds", json=made) as answer:
                assert answer.status == 201
        told = {key: (await post(http, f"{url}/search", {"q": "bicycle"}, key))[1] for key in ("k", "control")}
        answer_ = json.loads(told["k"])
        assert list(answer_) == [
            "searchParameters",
            "answerBox",
            "knowledgeGraph",
            "organic",
            "peopleAlsoAsk",
            "credits",
        ]
        assert {name: answer_[name] for name in extras} == extras
        assert {name: json.loads(told["control"])[name] for name in extras} == extras
        assert shape_faults("search", told["k"]) == []
        second = json.loads((await post(http, f"{url}/search", {"q": "bicycle", "page": 2}, "k"))[1])
        assert not set(extras) & set(second)
        bing = {"X-API-KEY": "k", "X-Searchsim-Original-Url": "https://bing.serper.dev/search"}
        async with http.post(f"{url}/search", json={"q": "bicycle"}, headers=bing) as answer:
            assert (await answer.json())["searchParameters"]["engine"] == "bing"
        other = {"task": "anji-bridge", "serper": {"features": ["answerBox"]}}
        async with http.post(f"{url}/_sim/worlds", json=other) as answer:
            assert answer.status == 400
            assert (await answer.json())["error"]["field"] == "serper.features.0"
    worlds.close()
