"""Jina's reader and search, called as their clients call them."""

from __future__ import annotations

import asyncio
import io
import json
from typing import Any
from urllib.parse import quote, urlsplit

import aiohttp
import pytest

from searchsim.documents import Document
from searchsim.errors import EngineError
from searchsim.server import jina
from searchsim.server.context import Context
from searchsim.text import snippet
from searchsim.validity import reasons

TASK = "bicycle-stability"
Q = "gyroscopic bicycle stability"
JSON = {"Accept": "application/json"}
AXIOS = {"Accept": "application/json, text/plain, */*"}


@pytest.fixture
def bad(context: Context) -> Document:
    return next(context.worlds.create(TASK, {"rank": "front"}, key="k").documents())


@pytest.fixture
async def organic(context: Context) -> Document:
    found = await context.engine.document("bicycle-stability-01")
    assert found
    return found


async def raw(url: str, target: str, method: str = "GET") -> tuple[int, str]:
    """The answer to a request line that no client library has tidied."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    writer.write(f"{method} {target} HTTP/1.1\r\nHost: r.jina.ai\r\nConnection: close\r\n\r\n".encode("latin-1"))
    await writer.drain()
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    return int(head.split()[1]), body.decode("utf-8", "replace")


async def test_text(http: aiohttp.ClientSession, url: str, organic: Document) -> None:
    assert organic.published
    expected = (
        f"Title: {organic.title}\n\nURL Source: {organic.url}\n\n"
        f"Published Time: {organic.published.isoformat()}\n\nMarkdown Content:\n{organic.body}\n"
    )
    for headers in ({}, AXIOS, {"Accept": "text/plain"}, {"Accept": "text/*;q=0.5"}):
        async with http.get(f"{url}/jina/{organic.url}", headers=headers) as answer:
            assert answer.content_type == "text/plain"
            assert answer.charset == "utf-8"
            assert int(answer.headers["X-Usage-Tokens"]) > 0
            assert "noindex" in answer.headers["X-Robots-Tag"]
            assert await answer.text() == expected
    for data in ({"json": {"url": organic.url}}, {"data": {"url": organic.url}}):
        for path in ("/jina", "/jina/"):
            async with http.post(url + path, **data) as answer:  # type: ignore[arg-type]
                assert await answer.text() == expected
    async with http.post(f"{url}/jina/{organic.url}") as answer:
        assert await answer.text() == expected
    async with http.get(f"{url}/jina/", params={"url": organic.url}) as answer:
        assert await answer.text() == expected


async def test_json(http: aiohttp.ClientSession, url: str, organic: Document) -> None:
    for accept in ("application/json", "text/json", "application/json, text/plain;q=0"):
        async with http.get(f"{url}/jina/{organic.url}", headers={"Accept": accept}) as answer:
            assert answer.content_type == "application/json"
            told = await answer.json()
        assert list(told) == ["code", "status", "data", "meta"]
        assert (told["code"], told["status"]) == (200, 20000)
        assert list(told["data"]) == ["title", "description", "url", "content", "publishedTime", "usage"]
        assert told["data"]["content"] == organic.body
        assert told["data"]["description"] == snippet(organic)
        assert told["data"]["usage"] == told["meta"]["usage"]


async def test_both_kinds_have_the_same_facts(
    http: aiohttp.ClientSession, url: str, organic: Document, bad: Document
) -> None:
    facts = []
    for document in (organic, bad):
        async with http.get(f"{url}/w/k/jina/{document.url}", headers=JSON) as answer:
            facts.append((await answer.json())["data"])
    assert list(facts[0]) == list(facts[1])
    assert all(f["description"] for f in facts)


async def test_an_event_stream_is_one_event(http: aiohttp.ClientSession, url: str, organic: Document) -> None:
    headers = {"Accept": "text/event-stream"}
    async with http.get(f"{url}/jina/{organic.url}", headers=headers) as answer:
        assert answer.content_type == "text/event-stream"
        text = await answer.text()
    assert text.startswith("event: data\ndata: {") and text.endswith("\n\n")
    assert json.loads(text.splitlines()[1].removeprefix("data: "))["content"] == organic.body
    async with http.get(f"{url}/jina/https://nowhere.example/", headers=headers) as answer:
        assert answer.status == 404
        assert (await answer.text()).startswith('event: error\ndata: "RequestedEntityNotFoundError: ')


async def test_formats(http: aiohttp.ClientSession, url: str, organic: Document) -> None:
    async def read(**headers: str) -> str:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        async with http.get(f"{url}/jina/{organic.url}", headers=sent) as answer:
            # As the reader sends everything: clients that ask for HTML look at what they got.
            assert answer.content_type == "text/plain"
            return await answer.text()

    page = await read(X_Return_Format="html")
    assert page.startswith("<!") and "<html" in page and organic.title in page
    text = await read(X_Return_Format="text")
    assert text.startswith(organic.title) and "## " not in text
    plain = await read()
    for form in ("markdown", "pageshot", "screenshot", "content", "readerlm-v2"):
        assert await read(X_Return_Format=form) == plain
    assert await read(X_Respond_With="HTML", X_Return_Format="text") == page
    async with http.get(f"{url}/jina/{organic.url}", headers={**JSON, "X-Return-Format": "html"}) as answer:
        data = (await answer.json())["data"]
        assert data["html"] == page and "content" not in data
    async with http.get(
        f"{url}/jina/{organic.url}", headers={**JSON, "X-Respond-With": "markdown+html+text"}
    ) as answer:
        assert {"html", "content", "text"} <= set((await answer.json())["data"])
    async with http.post(f"{url}/jina/", json={"url": organic.url, "respondWith": "html"}) as answer:
        assert await answer.text() == page


async def test_spellings_of_a_target(url: str, context: Context, organic: Document, bad: Document) -> None:
    bare = organic.url.removeprefix("https://")
    for target in (
        organic.url,
        organic.url.replace("https://", "http://"),
        organic.url.replace("https://", "https:/"),
        f"https://r.jina.ai/{organic.url}",
        f"http://{organic.url}",
        f"view-source:{organic.url}",
        f"{organic.url}#part",
        f"{organic.url}?utm_source=x",
        quote(organic.url, safe=""),
        quote(organic.url),
        quote(f"{organic.url}#part", safe=""),
        bare,
        bare.replace(urlsplit(organic.url).netloc, urlsplit(organic.url).netloc.upper()),
    ):
        for prefix in ("", "/w/k"):
            status, text = await raw(url, f"{prefix}/jina/{target}")
            assert status == 200, target
            assert f"URL Source: {organic.url}\n" in text
    events = list(context.worlds.events("k"))
    assert len(events) == 13, "a read is on record once, however its target is spelled"
    assert all(e["document"] == organic.id and e["found"] for e in events)


async def test_worlds_named_like_the_paths(
    http: aiohttp.ClientSession, url: str, context: Context, organic: Document
) -> None:
    for key in ("jina", "sjina", "w"):
        context.worlds.create(TASK, key=key)
        async with http.get(f"{url}/w/{key}/jina/{organic.url}") as answer:
            assert answer.status == 200
        assert await search(http, url, f"/w/{key}/sjina/{quote(Q)}")


async def test_the_raw_target_is_kept(
    url: str, context: Context, bad: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    find = context.engine.document_at

    async def document_at(target: str) -> Document | None:
        asked.append(target)
        return await find(target)

    monkeypatch.setattr(context.engine, "document_at", document_at)
    for target, seen in [
        ("https://host.example/a?b=c&d=%2F", "https://host.example/a?b=c&d=%2F"),
        ("https://host.example/a%20b/../c%3Fd?e=%E4%BD%A0", "https://host.example/a%20b/../c%3Fd?e=%E4%BD%A0"),
        ("https:/host.example//a//b/", "https://host.example//a//b/"),
        (
            "https://host.example/a?url=https://other.example/b?c=d",
            "https://host.example/a?url=https://other.example/b?c=d",
        ),
    ]:
        asked.clear()
        status, text = await raw(url, f"/w/k/jina/{target}")
        assert status == 404
        assert seen in asked
        assert seen in text
        *_, event = context.worlds.events("k")
        assert (event["event"], event["url"], event["found"]) == ("page", seen, False)


async def test_errors(
    http: aiohttp.ClientSession, url: str, context: Context, organic: Document, bad: Document
) -> None:
    async def refused(path: str, accept: str = "*/*", **sent: Any) -> tuple[int, str]:
        headers = {"Accept": accept, **sent.pop("headers", {})}
        async with http.request("POST" if sent else "GET", url + path, headers=headers, **sent) as answer:
            return answer.status, await answer.text()

    status, text = await refused("/jina/https://nowhere.example/x?y=1")
    assert status == 404
    assert json.loads(text) == {
        "data": None,
        "path": "url",
        "code": 404,
        "name": "RequestedEntityNotFoundError",
        "status": 40403,
        "message": "No page at https://nowhere.example/x?y=1",
        "readableMessage": "RequestedEntityNotFoundError: No page at https://nowhere.example/x?y=1",
    }
    status, text = await refused("/jina/https://nowhere.example/", "text/plain")
    assert (status, text) == (404, "RequestedEntityNotFoundError: No page at https://nowhere.example/\n")
    status, text = await refused(f"/jina/{bad.url}")
    assert status == 404, "no key, no injected page"
    status, text = await refused(f"/jina/{organic.url}", headers={"Authorization": "Bearer wrong"})
    assert (status, json.loads(text)["name"], json.loads(text)["status"]) == (401, "AuthenticationFailedError", 40102)
    status, text = await refused("/jina/ftp://host.example/")
    assert (status, json.loads(text)["name"]) == (400, "ParamValidationError")
    assert json.loads(text)["readableMessage"] == "ParamValidationError(url): Invalid protocol ftp:"
    for data in (b"{}", b"[]", b"{", b'{"url": 5}', b'{"url": ["x"]}', b'{"url": "' + b"x" * 9000 + b'"}', b"\xff"):
        status, text = await refused("/jina/", data=data)
        assert (status, json.loads(text)["data"]) in ((400, None), (404, None)), data
    status, text = await refused("/jina/", data=io.BytesIO(b"x" * (1 << 21)))
    assert status == 413
    for data, kind in [
        (b"--", "multipart/form-data"),
        (b"x", "text/plain; charset=nonsense"),
        (b"url=%ff%00", "application/x-www-form-urlencoded"),
    ]:
        status, _ = await refused("/jina/", data=data, headers={"Content-Type": kind})
        assert status in (400, 404)
    for target in (
        "/jina/%ff%00",
        "/jina/http://[",
        "/jina/https://h:x/",
    ):
        assert (await raw(url, target))[0] == 404
    # Bytes that are no URL: the HTTP parser may refuse them already.
    for target in ("/jina/\xff", "/w/k/jina/https://h/x?\xff"):
        assert (await raw(url, target))[0] in (400, 404)
    assert not [e for e in context.worlds.events("k") if e["event"] == "fault"]
    for status, name in (
        (405, "ResourceMethodNotAllowedError"),
        (413, "RequestPayloadTooLargeError"),
        (429, "RateLimitTriggeredError"),
        (503, "ServiceCrashedError"),
        (500, "InternalServerError"),
    ):
        told = json.loads(str(jina.error(status, "why").text))
        assert (told["code"], told["name"]) == (status, name)


async def test_the_index(http: aiohttp.ClientSession, url: str) -> None:
    for path in ("/jina", "/jina/", "/sjina", "/sjina/"):
        async with http.get(url + path) as answer:
            assert (await answer.text()).startswith("[Usage 1] ")
        async with http.get(url + path, headers=JSON) as answer:
            assert "usage1" in (await answer.json())["data"]


async def search(http: aiohttp.ClientSession, url: str, path: str, **headers: str) -> list[dict[str, Any]]:
    async with http.get(url + path, headers={**JSON, **headers}) as answer:
        assert answer.status == 200, await answer.text()
        told = await answer.json()
        assert (told["code"], told["status"]) == (200, 20000)
        rows: list[dict[str, Any]] = told["data"]
        assert told["meta"]["usage"]["tokens"] >= 10_000
        return rows


async def test_search(http: aiohttp.ClientSession, url: str, context: Context, bad: Document) -> None:
    rows = await search(http, url, f"/w/k/sjina/{quote(bad.title)}")
    async with http.get(f"{url}/w/k/search", params={"q": bad.title, "num": "5"}) as answer:
        google = (await answer.json())["organic"]
    assert [(r["url"], r["title"], r["description"], r.get("date")) for r in rows] == [
        (r["link"], r["title"], r["snippet"], r.get("date")) for r in google
    ]
    assert len(rows) == 5
    assert all(r["content"] and r["usage"]["tokens"] for r in rows)
    first, *pages, last = context.worlds.events("k")
    assert (first["event"], first["dialect"], first["endpoint"], first["k"]) == ("search", "jina", "search", 5)
    assert [(e["event"], e["dialect"], e["url"]) for e in pages] == [("page", "jina", r["url"]) for r in rows]
    assert pages[0]["injected"]
    assert (last["list"], last["served"]) == (first["list"], first["served"])
    assert await reasons(context.worlds, context.worlds.get("k"), list(context.worlds.events("k"))) == []


async def test_snippets_alone_read_no_pages(
    http: aiohttp.ClientSession, url: str, context: Context, bad: Document
) -> None:
    rows = await search(http, url, f"/w/k/sjina/{quote(Q)}", **{"X-Respond-With": "no-content"})
    assert {r["content"] for r in rows} == {""}
    assert [e["event"] for e in context.worlds.events("k")] == ["search"]
    async with http.get(f"{url}/w/k/sjina/{quote(Q)}", headers={"X-Respond-With": "no-content"}) as answer:
        assert answer.content_type == "text/plain"
        blocks = (await answer.text()).strip().split("\n\n")
    assert len(blocks) == 5
    for n, (block, row) in enumerate(zip(blocks, rows, strict=True), start=1):
        lines = block.splitlines()
        assert lines[:3] == [
            f"[{n}] Title: {row['title']}",
            f"[{n}] URL Source: {row['url']}",
            f"[{n}] Description: {row['description']}",
        ]
        assert lines[3:] == ([f"[{n}] Date: {row['date']}"] if "date" in row else [])


async def test_search_as_text(http: aiohttp.ClientSession, url: str, bad: Document) -> None:
    rows = await search(http, url, f"/w/k/sjina/{quote(Q)}")
    async with http.get(f"{url}/w/k/sjina/{quote(Q)}") as answer:
        text = await answer.text()
    for n, row in enumerate(rows, start=1):
        assert f"[{n}] Title: {row['title']}\n[{n}] URL Source: {row['url']}\n" in text
        assert f"\n\n{row['content'].rstrip()}\n" in text
    async with http.get(f"{url}/w/k/sjina/{quote(Q)}", headers={"Accept": "text/event-stream"}) as answer:
        event = (await answer.text()).splitlines()
    assert event[0] == "event: data"
    assert json.loads(event[1].removeprefix("data: ")) == rows


async def test_ways_to_search(http: aiohttp.ClientSession, url: str, bad: Document) -> None:
    wanted = await search(http, url, f"/w/k/sjina/{quote(Q)}")
    for path in ("/sjina/search", "/sjina/", "/sjina"):
        assert await search(http, url, f"{path}?q={quote(Q)}", Authorization="Bearer k") == wanted
        for data in ({"json": {"q": Q}}, {"data": {"q": Q}}):
            async with http.post(f"{url}/w/k{path}", headers=JSON, **data) as answer:  # type: ignore[arg-type]
                assert (await answer.json())["data"] == wanted
    assert await search(http, url, f"/sjina/{quote(Q)}", **{"X-Searchsim-World": "k"}) == wanted


async def test_restricted_searches(http: aiohttp.ClientSession, url: str, context: Context, bad: Document) -> None:
    rows = await search(http, url, f"/w/k/sjina/{quote(Q)}?num=12")
    assert len(rows) == 12
    one, other = (urlsplit(r["url"]).hostname for r in (rows[0], rows[-1]))
    for path, headers in [
        (f"/w/k/sjina/{quote(Q)}?site={one}&site={other}", {}),
        (f"/w/k/sjina/{quote(Q)}", {"X-Site": f"{one}, {other}"}),
    ]:
        found = await search(http, url, path, **headers)
        assert {urlsplit(r["url"]).hostname for r in found} <= {one, other}
        *_, event = (e for e in context.worlds.events("k") if e["event"] == "search")
        assert event["query"] == f"{Q} site:{one} OR site:{other}"
    both = await search(http, url, f"/w/k/sjina/{quote(Q)}?site={one}&filetype=html&count=3")
    assert {urlsplit(r["url"]).hostname for r in both} == {one}
    news = await search(http, url, f"/w/k/sjina/search?q={quote(Q)}&type=news&page=1")
    async with http.get(f"{url}/w/k/news", params={"q": Q, "num": "5"}) as answer:
        assert [r["url"] for r in news] == [r["link"] for r in (await answer.json())["news"]]
    second = await search(http, url, f"/w/k/sjina/{quote(Q)}?page=2")
    assert {r["url"] for r in second}.isdisjoint(r["url"] for r in rows[:5])


async def test_a_search_without_a_key_is_organic(
    http: aiohttp.ClientSession, url: str, context: Context, bad: Document
) -> None:
    context.worlds.create(TASK, {"budget": 0}, key="control")
    assert await search(http, url, f"/sjina/{quote(Q)}") == await search(http, url, f"/w/control/sjina/{quote(Q)}")
    assert list(context.worlds.events("k")) == []


@pytest.mark.parametrize(
    ("query", "status", "name"),
    [
        ("q=xyzzyplugh", 422, "AssertionFailureError"),
        ("q=bicycle&type=images", 422, "AssertionFailureError"),
        ("q=bicycle&type=videos", 400, "ParamValidationError"),
        ("q=bicycle&num=0", 400, "ParamValidationError"),
        ("q=bicycle&num=21", 400, "ParamValidationError"),
        ("q=bicycle&num=x", 400, "ParamValidationError"),
        ("q=bicycle&page=-1", 400, "ParamValidationError"),
        ("q=" + "x" * 3000, 400, "ParamValidationError"),
    ],
)
async def test_bad_searches(
    http: aiohttp.ClientSession, url: str, bad: Document, query: str, status: int, name: str
) -> None:
    async with http.get(f"{url}/w/k/sjina/search?{query}", headers=JSON) as answer:
        assert answer.status == status
        told = await answer.json()
    assert (told["code"], told["name"], told["data"]) == (status, name, None)


async def test_odd_searches(http: aiohttp.ClientSession, url: str, context: Context, bad: Document) -> None:
    for data in (b"", b"{}", b"[1]", b"{", b'{"q": {}}', b'{"q": "x", "site": 5}', b'{"q": "x", "num": [1]}'):
        async with http.post(f"{url}/w/k/sjina/", data=data, headers=JSON) as answer:
            assert answer.status == 400, data
            assert (await answer.json())["name"] == "ParamValidationError"
    for path in ("/w/k/sjina/\xff\xfe", "/w/k/sjina/%ED%A0%80", "/w/k/sjina/search?q=\xff", "/w/k/sjina/%00"):
        assert (await raw(url, path))[0] in (400, 422)
    assert (await raw(url, "/w/k/sjina/xyzzyplugh HTTP/1.1\r\nX-Site: \xff\r\nX-Ignore:"))[0] == 422
    async with http.get(f"{url}/w/wrong/sjina/{quote(Q)}", headers=JSON) as answer:
        assert (answer.status, (await answer.json())["name"]) == (401, "AuthenticationFailedError")
    assert not [e for e in context.worlds.events("k") if e["event"] == "fault"]


async def test_an_engine_that_fails_is_a_fault(
    http: aiohttp.ClientSession, url: str, context: Context, bad: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise EngineError("nothing is recorded for 'x'")

    monkeypatch.setattr(context.worlds.engine, "search", fail)
    async with http.get(f"{url}/sjina/x", headers={"Authorization": "Bearer k"}) as answer:
        assert answer.status == 503
    (event,) = context.worlds.events("k")
    assert event["event"] == "fault"
