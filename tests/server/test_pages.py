from __future__ import annotations

import aiohttp
import pytest

from searchsim.documents import Document
from searchsim.server.context import Context
from searchsim.server.render import plain_text

TASK = "bicycle-stability"


@pytest.fixture
def bad(context: Context) -> Document:
    return next(context.worlds.create(TASK, key="k").documents())


@pytest.fixture
async def organic(context: Context) -> Document:
    found = await context.engine.document("bicycle-stability-01")
    assert found
    return found


async def test_a_page_is_html_with_noindex(http: aiohttp.ClientSession, url: str, organic: Document) -> None:
    async with http.get(f"{url}/page", params={"url": organic.url}) as answer:
        assert answer.status == 200
        assert answer.content_type == "text/html"
        assert "noindex" in answer.headers["X-Robots-Tag"]
        text = await answer.text()
    assert f'<html lang="{organic.language}">' in text
    assert 'name="robots" content="noindex' in text
    assert organic.url in text
    assert "<h2" in text


async def test_injected_pages_exist_in_their_world_alone(
    http: aiohttp.ClientSession, url: str, context: Context, bad: Document
) -> None:
    context.worlds.create(TASK, {"budget": 0}, key="control")
    for prefix, page, reader in [
        ("", 404, 404),
        ("/w/k", 200, 200),
        ("/w/control", 404, 404),
        ("/w/unknown", 403, 401),
    ]:
        async with http.get(f"{url}{prefix}/page", params={"url": bad.url}) as answer:
            assert answer.status == page, prefix
        async with http.get(f"{url}{prefix}/jina/{bad.url}") as answer:
            assert answer.status == reader, prefix
    events = list(context.worlds.events("k"))
    assert [(e["dialect"], e["found"], e["injected"]) for e in events] == [("page", True, True), ("jina", True, True)]
    async with http.get(f"{url}/jina/{bad.url}", headers={"Authorization": "Bearer k"}) as answer:
        assert answer.status == 200


async def test_pages_that_do_not_exist(http: aiohttp.ClientSession, url: str) -> None:
    async with http.get(f"{url}/page", params={"url": "https://nowhere.example/"}) as answer:
        assert answer.status == 404
    async with http.get(f"{url}/page") as answer:
        assert answer.status == 400
    async with http.get(f"{url}/jina/https://nowhere.example/x?y=1") as answer:
        assert answer.status == 404
        assert "https://nowhere.example/x?y=1" in await answer.text()
    async with http.post(f"{url}/jina/", data=b"{}", headers={"Accept": "application/json"}) as answer:
        assert answer.status == 400
        assert (await answer.json())["data"] is None


def test_markdown_as_text() -> None:
    body = "## Head\n\nSome *text* with `code`\nover lines.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- one\n- two\n\n```\nx = 1\n```\n<b>raw</b>"
    assert plain_text(body) == (
        "Head\n\nSome text with code over lines.\n\na\tb\n\n1\t2\n\none\n\ntwo\n\nx = 1\n\n<b>raw</b>"
    )


async def test_an_unknown_key_is_refused_and_a_missing_one_is_not(
    http: aiohttp.ClientSession, url: str, organic: Document
) -> None:
    wrong = {"Authorization": "Bearer wrong"}
    async with http.get(f"{url}/jina/{organic.url}", headers={**wrong, "Accept": "application/json"}) as answer:
        assert answer.status == 401
        assert (await answer.json())["name"] == "AuthenticationFailedError"
    async with http.get(f"{url}/page", params={"url": organic.url}, headers=wrong) as answer:
        assert answer.status == 403
    async with http.get(f"{url}/page", params={"url": organic.url}) as answer:
        assert answer.status == 200
    async with http.head(f"{url}/page", params={"url": organic.url}) as answer:
        assert answer.status == 200
