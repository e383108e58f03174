"""The recorded engine against a stub that speaks Serper's contract."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from searchsim.corpus import Corpus
from searchsim.engine.recorded import RecordedEngine, RecordedSettings, request_name
from searchsim.errors import EngineError, UsageError
from searchsim.query import parse
from searchsim.store import SqliteStore
from searchsim.validity import reasons
from searchsim.world import Worlds
from tests.test_world import ask

KEY = "very-secret-key"


class StubSerper:
    """A stub of the live API: organic results made from the query, in the shapes that were recorded."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, Any], str]] = []
        self.status = 200
        self.without_organic = False
        self.url = ""

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.requests.append((request.path, body, request.headers.get("X-API-KEY", "")))
        if request.headers.get("X-API-KEY") != KEY:
            return web.json_response({"message": "Unauthorized.", "statusCode": 403}, status=403)
        if self.status != 200:
            return web.json_response({"message": "Not enough credits", "statusCode": self.status}, status=self.status)
        if request.path == "/":
            return web.json_response(
                {"text": f"Text of {body['url']}", "markdown": f"## Page\n\nText of {body['url']}"}
            )
        words = body["q"].split()
        dates = ["May 10, 2026", "5 days ago", "2024年4月23日", None]
        rows = [
            {
                "title": f"Result {n} on {words[n % len(words)]}",
                "link": f"https://site-{n}.example/{words[0]}/{n}?utm_source=x",
                "snippet": f"A snippet about {' '.join(words[: n % len(words) + 1])} and other things, number {n}.",
                **({"date": dates[n % 4]} if dates[n % 4] else {}),
                "sitelinks": [{"title": "More", "link": "https://x.example"}],
                "position": n + 1,
            }
            for n in range(9)
        ]
        rows.append({"title": "Twice", "link": rows[0]["link"], "snippet": "again", "position": 10})
        rows.append({"link": "https://untitled.example"})
        answer: dict[str, Any] = {"searchParameters": {**body, "type": "search", "engine": "google"}, "credits": 1}
        if not self.without_organic:
            answer["news" if request.path == "/news" else "organic"] = rows
        return web.json_response(answer)


@pytest.fixture
async def stub() -> AsyncIterator[StubSerper]:
    made = StubSerper()
    app = web.Application()
    app.router.add_post("/{tail:.*}", made.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield made
    await runner.cleanup()


@pytest.fixture
def settings(stub: StubSerper, tmp_path: Path) -> RecordedSettings:
    return RecordedSettings(tmp_path / "recordings", "once", stub.url, KEY, scraper=stub.url)


QUERY = parse("bicycle gyroscopic stability explained")


async def test_asked_once_and_replayed_for_ever(
    quickstart: Corpus, stub: StubSerper, settings: RecordedSettings
) -> None:
    live = RecordedEngine(quickstart, settings)
    first = await live.search(QUERY, 10)
    assert [h.document.title for h in first] == [f"Result {n} on {QUERY.text.split()[n % 4]}" for n in range(9)], (
        "the recorded order; repeated links and rows without a title are left out"
    )
    assert [h.score for h in first] == sorted((h.score for h in first), reverse=True)
    assert await live.search(parse("  bicycle gyroscopic   stability explained "), 10) == first
    assert [h.document for h in await live.search(QUERY, 4)] == [h.document for h in first[:4]]
    assert len(stub.requests) == 1
    assert stub.requests[0] == ("/search", {"q": QUERY.text, "num": 10}, KEY)
    await live.close()

    replay = RecordedEngine(quickstart, replace(settings, mode="replay", key=None))
    assert await replay.search(QUERY, 10) == first
    again = RecordedEngine(quickstart, settings)
    assert await again.search(QUERY, 10) == first
    assert len(stub.requests) == 1
    for engine in (replay, again):
        await engine.close()


async def test_a_recording_is_readable_and_holds_no_key(quickstart: Corpus, settings: RecordedSettings) -> None:
    engine = RecordedEngine(quickstart, replace(settings, language="en", country="us", pages=True))
    hits = await engine.search(parse("bicycle trail", tbs="qdr:y"), 12)
    await engine.document_at(hits[0].document.url)
    await engine.close()
    files = sorted(settings.folder.rglob("*.json"))
    assert [f.parent.name for f in files] == ["pages", "searches"]
    recorded = json.loads(files[1].read_text("utf-8"))
    assert recorded["request"] == {
        "endpoint": "search",
        "q": "bicycle trail",
        "num": 20,
        "tbs": "qdr:y",
        "hl": "en",
        "gl": "us",
    }
    assert files[1].name == request_name(recorded["request"])
    assert files[1].name.startswith("bicycle-trail-")
    assert recorded["recorded"] == date.today().isoformat()
    for file in files:
        assert KEY not in file.read_text("utf-8")
    assert KEY not in repr(settings)


async def test_a_miss_names_the_query(quickstart: Corpus, settings: RecordedSettings, stub: StubSerper) -> None:
    settings.folder.mkdir()
    engine = RecordedEngine(quickstart, replace(settings, mode="replay"))
    with pytest.raises(EngineError, match="nothing is recorded for 'bicycle gyroscopic stability explained'"):
        await engine.search(QUERY, 10)
    assert stub.requests == []


async def test_refresh_asks_again_once(quickstart: Corpus, settings: RecordedSettings, stub: StubSerper) -> None:
    for expected in (1, 2):
        engine = RecordedEngine(quickstart, replace(settings, mode="refresh"))
        await engine.search(QUERY, 10)
        await engine.search(QUERY, 10)
        await engine.close()
        assert len(stub.requests) == expected


async def test_pages(quickstart: Corpus, settings: RecordedSettings, stub: StubSerper) -> None:
    bare = RecordedEngine(quickstart, settings)
    hit = (await bare.search(QUERY, 10))[0]
    found = await bare.document_at(hit.document.url)
    assert found
    assert found.body == "", "nothing was recorded of it"
    assert await bare.document_at("https://nowhere.example/") is None
    await bare.close()
    taking = RecordedEngine(quickstart, replace(settings, pages=True))
    for _ in range(2):
        page = await taking.document_at("http://www.site-0.example/bicycle/0/")
        assert page
        assert page.body.startswith("## Page")
    assert [r[0] for r in stub.requests] == ["/search", "/"]
    await taking.close()
    replay = RecordedEngine(quickstart, replace(settings, mode="replay"))
    kept = await replay.document_at(hit.document.url)
    assert kept
    assert kept.body.startswith("## Page")


async def test_dates(quickstart: Corpus, settings: RecordedSettings) -> None:
    engine = RecordedEngine(quickstart, settings)
    hits = await engine.search(QUERY, 10)
    days = [h.document.published for h in hits[:4]]
    assert days[0] == date(2026, 5, 10)
    assert days[1]
    assert (date.today() - days[1]).days in (5, 6)
    assert days[2:] == [date(2024, 4, 23), None]
    await engine.close()


async def test_injection_places_pool_documents_and_keeps_the_recorded_order(
    quickstart: Corpus, settings: RecordedSettings
) -> None:
    engine = RecordedEngine(quickstart, settings)
    worlds = Worlds(quickstart, engine, SqliteStore())
    control = worlds.create("bicycle-stability", {"budget": 0})
    injected = 0
    for rank in ("spread", "front", "back"):
        world = worlds.create("bicycle-stability", {"rank": rank})
        for text in (
            "gyroscopic front wheel righting torque bicycles",
            "bicycle wheels balance tests",
            "unrelated words",
        ):
            organic = [i.document.id for i in (await ask(worlds, control, text)).items]
            answer = await ask(worlds, world, text)
            kept = [i.document.id for i in answer.items if not i.injected]
            flags = [i.injected for i in answer.items]
            assert kept == organic[: len(kept)], "the organic order is the recorded one"
            assert len({i.document.id for i in answer.items}) == len(answer.items)
            if rank == "spread":
                assert [i.score for i in answer.items] == sorted((i.score for i in answer.items), reverse=True)
            else:
                assert flags == sorted(flags, reverse=rank == "front")
            injected += sum(flags)
        assert await reasons(worlds, world, list(worlds.events(world.key))) == []
    assert injected
    worlds.close()
    await engine.close()


async def test_news(quickstart: Corpus, settings: RecordedSettings, stub: StubSerper) -> None:
    engine = RecordedEngine(quickstart, settings)
    hits = await engine.search(QUERY.of_kinds("news"), 10)
    assert {h.document.kind for h in hits} == {"news"}
    assert stub.requests[0][0] == "/news"
    await engine.close()


async def test_answers_without_organic_are_empty(
    quickstart: Corpus, settings: RecordedSettings, stub: StubSerper
) -> None:
    stub.without_organic = True
    engine = RecordedEngine(quickstart, settings)
    assert await engine.search(QUERY, 10) == []
    assert await engine.search(parse(""), 10) == []
    await engine.close()


@pytest.mark.parametrize(("status", "message"), [(400, "answered 400: Not enough credits"), (429, "answered 429")])
async def test_a_live_api_that_refuses_leaves_no_recording(
    quickstart: Corpus, settings: RecordedSettings, stub: StubSerper, status: int, message: str
) -> None:
    stub.status = status
    engine = RecordedEngine(quickstart, settings)
    with pytest.raises(EngineError, match=message) as caught:
        await engine.search(QUERY, 10)
    assert KEY not in str(caught.value)
    assert list(settings.folder.rglob("*.json")) == []
    stub.status = 200
    assert await engine.search(QUERY, 10)
    await engine.close()


async def test_a_live_api_that_is_away(quickstart: Corpus, settings: RecordedSettings) -> None:
    engine = RecordedEngine(quickstart, replace(settings, upstream="http://127.0.0.1:9"))
    with pytest.raises(EngineError, match="can't be reached"):
        await engine.search(QUERY, 10)
    await engine.close()


async def test_a_file_that_is_no_recording_is_named(quickstart: Corpus, settings: RecordedSettings) -> None:
    (settings.folder / "searches").mkdir(parents=True)
    (settings.folder / "searches" / "broken.json").write_text("{}")
    with pytest.raises(EngineError, match=r"broken\.json is no recording"):
        RecordedEngine(quickstart, settings)


def test_settings(quickstart: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SEARCHSIM_SERPER_KEY", raising=False)
    read = RecordedSettings.from_environment(quickstart, folder=None, mode=None)
    assert (read.mode, read.folder) == ("replay", quickstart.path / "recordings")
    with pytest.raises(UsageError, match="no recordings in"):
        RecordedEngine(quickstart, read)
    with pytest.raises(UsageError, match="modes: once, replay, refresh"):
        RecordedSettings.from_environment(quickstart, mode="always")
    with pytest.raises(UsageError, match="SEARCHSIM_SERPER_KEY"):
        RecordedSettings.from_environment(quickstart, mode="once")
    monkeypatch.setenv("SEARCHSIM_SERPER_KEY", KEY)
    monkeypatch.setenv("SEARCHSIM_SERPER_URL", "http://upstream.example/")
    monkeypatch.setenv("SEARCHSIM_RECORDED_HL", "zh-cn")
    read = RecordedSettings.from_environment(quickstart, mode="once", folder=str(tmp_path))
    assert (read.key, read.upstream, read.language, read.folder) == (KEY, "http://upstream.example", "zh-cn", tmp_path)
