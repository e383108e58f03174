from __future__ import annotations

import aiohttp

from searchsim.server.context import Context

TASK = "bicycle-stability"


async def page(http: aiohttp.ClientSession, url: str) -> tuple[int, str]:
    async with http.get(url) as answer:
        assert answer.content_type == "text/html"
        return answer.status, await answer.text()


async def test_the_search_page_shows_organic_documents_and_records_nothing(
    http: aiohttp.ClientSession, url: str, context: Context
) -> None:
    context.worlds.only = context.worlds.create(TASK, {"rank": "front"})
    status, text = await page(http, f"{url}/?q=gyroscopic+bicycle")
    assert status == 200
    assert text.count("<article>") == 10
    for document in context.worlds.only.documents():
        assert document.url not in text
    assert list(context.worlds.events(context.worlds.only.key)) == []
    link = text.split('href="/_sim/page?url=')[1].split('"')[0]
    assert "<article>" in (await page(http, f"{url}/_sim/page?url={link}"))[1]
    assert list(context.worlds.events(context.worlds.only.key)) == []
    assert "Nothing found" in (await page(http, f"{url}/?q=xyzzyplugh"))[1]
    assert "<script>alert" not in (await page(http, f"{url}/?q=<script>alert(1)</script>"))[1]
    assert (await page(http, f"{url}/"))[0] == 200


async def test_the_inspector(http: aiohttp.ClientSession, url: str, context: Context) -> None:
    world = context.worlds.create(TASK, {"rank": "front"}, key="k")
    assert "/_sim/ui/k" in (await page(http, f"{url}/_sim/ui"))[1]
    async with http.post(f"{url}/search", json={"q": "gyroscopic bicycle"}, headers={"X-API-KEY": "k"}):
        pass
    call = {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "search"}}]}
    body = {"messages": [{"role": "user", "content": "<b>Hi</b>"}, call, {}]}
    async with http.post(f"{url}/v1/chat/completions", json=body, headers={"Authorization": "Bearer k"}):
        pass
    status, text = await page(http, f"{url}/_sim/ui/k")
    assert status == 200
    assert "(injected)" in text
    assert next(world.documents()).id in text
    assert "&lt;b&gt;Hi" in text
    assert (await page(http, f"{url}/_sim/ui/absent"))[0] == 404
