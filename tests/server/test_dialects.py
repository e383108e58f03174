"""The dialects beside Serper: the same worlds and lists, each in its own API's words."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import aiohttp
import pytest

from searchsim.errors import EngineError
from searchsim.faults import NO_CREDITS
from searchsim.query import parse
from searchsim.server import bing, brave, exa, tavily
from searchsim.server.context import Context
from searchsim.server.fields import restricted
from searchsim.validity import reasons

TASK = "bicycle-stability"
Q = "gyroscopic bicycle stability"


@dataclass(frozen=True)
class Dialect:
    """How an API is called, and where its answers hold what all have."""

    name: str
    path: str
    news: str
    query: str
    count: str
    default: int
    most: int
    key: Callable[[str], dict[str, str]]
    rows: Callable[[Any], list[dict[str, Any]]]
    news_rows: Callable[[Any], list[dict[str, Any]]]
    title: str
    snippet: str
    message: Callable[[Any], str]
    unknown: int = 401
    bad: frozenset[int] = frozenset({400})
    post: bool = False
    news_fields: dict[str, Any] = field(default_factory=dict)


def results(answer: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = answer["results"]
    return found


def tavily_message(answer: Any) -> str:
    detail = answer["detail"]
    return str(detail["error"] if isinstance(detail, dict) else detail[0]["msg"])


def bing_message(answer: Any) -> str:
    return str(answer["error"]["message"] if "error" in answer else answer["errors"][0]["message"])


DIALECTS = [
    Dialect(
        name="tavily",
        path="/tavily/search",
        news="/tavily/search",
        news_fields={"topic": "news"},
        query="query",
        count="max_results",
        default=5,
        most=20,
        key=lambda k: {"Authorization": f"Bearer {k}"},
        rows=results,
        news_rows=results,
        title="title",
        snippet="content",
        message=tavily_message,
        bad=frozenset({400, 422}),
        post=True,
    ),
    Dialect(
        name="exa",
        path="/exa/search",
        news="/exa/search",
        news_fields={"category": "news"},
        query="query",
        count="numResults",
        default=10,
        most=100,
        key=lambda k: {"x-api-key": k},
        rows=results,
        news_rows=results,
        title="title",
        snippet="summary",
        message=lambda a: str(a["error"]),
        post=True,
    ),
    Dialect(
        name="brave",
        path="/brave/res/v1/web/search",
        news="/brave/res/v1/news/search",
        query="q",
        count="count",
        default=20,
        most=20,
        key=lambda k: {"X-Subscription-Token": k},
        rows=lambda a: results(a["web"]),
        news_rows=results,
        title="title",
        snippet="description",
        message=lambda a: str(a["error"]["detail"]),
        unknown=422,
        bad=frozenset({422}),
    ),
    Dialect(
        name="bing",
        path="/bing/v7.0/search",
        news="/bing/v7.0/news/search",
        query="q",
        count="count",
        default=10,
        most=50,
        key=lambda k: {"Ocp-Apim-Subscription-Key": k},
        rows=lambda a: list(a["webPages"]["value"]),
        news_rows=lambda a: list(a["value"]),
        title="name",
        snippet="snippet",
        message=bing_message,
    ),
]
BY_NAME = {d.name: d for d in DIALECTS}
every = pytest.mark.parametrize("dialect", DIALECTS, ids=[d.name for d in DIALECTS])


class Client:
    """Calls a server as a dialect's clients do."""

    def __init__(self, http: aiohttp.ClientSession, url: str) -> None:
        self.http, self.url = http, url

    async def __call__(
        self, dialect: Dialect, fields: object, key: str | None = "k", path: str = ""
    ) -> tuple[int, Any]:
        headers = {} if key is None else dialect.key(key)
        target = self.url + (path or dialect.path)
        if dialect.post:
            async with self.http.post(target, json=fields, headers=headers) as answer:
                return answer.status, json.loads(await answer.text())
        assert isinstance(fields, dict)
        params = {name: str(value) for name, value in fields.items()}
        async with self.http.get(target, params=params, headers=headers) as answer:
            assert answer.content_type == "application/json"
            return answer.status, json.loads(await answer.text())

    async def serper(self, fields: object, key: str = "k", path: str = "/search") -> list[dict[str, Any]]:
        async with self.http.post(self.url + path, json=fields, headers={"X-API-KEY": key}) as answer:
            whole: dict[str, list[dict[str, Any]]] = json.loads(await answer.text())
        return whole["organic" if path == "/search" else "news"]

    async def links(self, dialect: Dialect, fields: object, key: str = "k", path: str = "") -> list[str]:
        status, answer = await self(dialect, fields, key, path)
        assert status == 200, answer
        return [row["url"] for row in dialect.rows(answer)]


@pytest.fixture
def call(http: aiohttp.ClientSession, url: str) -> Client:
    return Client(http, url)


@pytest.fixture(autouse=True)
async def key(context: Context) -> AsyncIterator[str]:
    """A world whose lists start with its pool; whatever a test asks of it must leave it valid."""
    world = context.worlds.create(TASK, {"rank": "front"}, key="k")
    yield world.key
    assert await reasons(context.worlds, world, [e for e in context.worlds.events("k") if e["event"] != "fault"]) == []


@every
@pytest.mark.parametrize("k", [None, 1, 7, 20])
async def test_the_same_list_as_serper(call: Client, context: Context, dialect: Dialect, k: int | None) -> None:
    fields = {dialect.query: Q} if k is None else {dialect.query: Q, dialect.count: k}
    status, answer = await call(dialect, fields)
    assert status == 200
    rows = dialect.rows(answer)
    known = await call.serper({"q": Q, "num": k or dialect.default})
    assert [row["url"] for row in rows] == [row["link"] for row in known]
    assert [row[dialect.title] for row in rows] == [row["title"] for row in known]
    first, second = context.worlds.events("k")
    assert first["list"] == second["list"] == 1, "one list, in whatever dialect it is asked for"
    assert first["served"] == second["served"]
    assert first["dialect"] == dialect.name


@every
@pytest.mark.parametrize("rank", ["front", "back", "spread"])
async def test_injected_documents_stand_where_the_rank_says(
    call: Client, context: Context, dialect: Dialect, rank: str
) -> None:
    world = context.worlds.create(TASK, {"rank": rank}, key=rank)
    links = await call.links(dialect, {dialect.query: Q, dialect.count: 10}, rank)
    pool = {d.url for d in world.documents()}
    at = [n for n, link in enumerate(links) if link in pool]
    assert at
    if rank != "spread":
        assert at == list(range(len(at))) if rank == "front" else at == list(range(10 - len(at), 10))
    context.worlds.create(TASK, {"budget": 0}, key=f"{rank}-control")
    control = await call.links(dialect, {dialect.query: Q, dialect.count: 10}, f"{rank}-control")
    assert not pool & set(control)
    assert [link for link in links if link not in pool] == control[: 10 - len(at)]


@every
async def test_both_kinds_of_documents_have_the_same_fields(call: Client, context: Context, dialect: Dialect) -> None:
    more: dict[str, Any] = (
        {"contents": {"text": True, "highlights": True, "summary": True}} if dialect.name == "exa" else {}
    )
    _, answer = await call(dialect, {dialect.query: Q, dialect.count: 10, **more})
    known = await call.serper({"q": Q, "num": 10})
    event, *more_events = context.worlds.events("k")
    pages = [e["url"] for e in more_events if e["event"] == "page"]
    rows = dialect.rows(answer)
    assert pages == ([row["url"] for row in rows] if more else []), "a body that comes with a search is read"
    shapes = {tuple((name, type(value)) for name, value in row.items()) for row in rows}
    assert len(shapes) == 1
    assert {s["injected"] for s in event["served"]} == {True, False}
    assert [row[dialect.snippet] for row in rows] == [row["snippet"] for row in known]


@every
async def test_scores_tell_positions_alone(call: Client, context: Context, dialect: Dialect) -> None:
    context.worlds.create(TASK, {"budget": 0}, key="control")
    treated = dialect.rows((await call(dialect, {dialect.query: Q, dialect.count: 10}))[1])
    control = dialect.rows((await call(dialect, {dialect.query: Q, dialect.count: 10}, "control"))[1])
    assert treated[0]["url"] != control[0]["url"]
    assert [row.get("score") for row in treated] == [row.get("score") for row in control]
    scores = [row["score"] for row in treated if "score" in row]
    assert scores == sorted(set(scores), reverse=True)
    assert all(0 < score < 1 for score in scores)


@every
async def test_what_is_no_result_is_the_same_in_a_control(call: Client, context: Context, dialect: Dialect) -> None:
    context.worlds.create(TASK, {"budget": 0}, key="control")
    answers = [(await call(dialect, {dialect.query: Q}, key))[1] for key in ("k", "control")]
    for answer in answers:
        dialect.rows(answer).clear()
        answer.get("results", []).clear()
        answer.get("web", {}).get("results", []).clear()
        answer.get("webPages", {}).pop("value", None)
    assert answers[0] == answers[1]


@every
async def test_news(call: Client, context: Context, dialect: Dialect) -> None:
    status, answer = await call(dialect, {dialect.query: Q, **dialect.news_fields}, path=dialect.news)
    assert status == 200
    known = await call.serper({"q": Q, "num": dialect.default}, path="/news")
    rows = dialect.news_rows(answer)
    assert rows
    assert [row["url"] for row in rows] == [row["link"] for row in known]
    (event, _) = context.worlds.events("k")
    assert (event["dialect"], event["endpoint"]) == (dialect.name, "news")


@every
async def test_a_repeat_is_the_same_to_the_byte(
    http: aiohttp.ClientSession, url: str, context: Context, dialect: Dialect
) -> None:
    fields = {dialect.query: Q, dialect.count: "6"}
    bodies = []
    for prefix, key in (("", "k"), ("", "k"), ("/w/k", "")):
        target = url + prefix + dialect.path
        if dialect.post:
            call = http.post(target, json=fields, headers=dialect.key(key) if key else {})
        else:
            call = http.get(target, params=fields, headers=dialect.key(key) if key else {})
        async with call as answer:
            bodies.append(await answer.read())
    assert bodies[0] == bodies[1] == bodies[2]
    assert [e["list"] for e in context.worlds.events("k")] == [1, 1, 1]


@every
@pytest.mark.parametrize("given", [None, "unknown"])
async def test_a_bad_key(call: Client, context: Context, dialect: Dialect, given: str | None) -> None:
    for path in (dialect.path, dialect.news, "/w/unknown" + dialect.path):
        status, answer = await call(dialect, {dialect.query: Q}, given, path)
        assert status == dialect.unknown
        assert dialect.message(answer)
    assert not list(context.worlds.events("k"))


async def test_errors_of_keys_have_each_apis_own_words(call: Client) -> None:
    said = {d.name: (await call(d, {d.query: Q}, "unknown"))[1] for d in DIALECTS}
    assert said["tavily"] == {"detail": {"error": "Unauthorized: missing or invalid API key."}}
    assert (said["exa"]["error"], said["exa"]["tag"]) == ("Invalid API key", "INVALID_API_KEY")
    assert list(said["exa"]) == ["requestId", "error", "tag"]
    assert said["brave"]["type"] == "ErrorResponse"
    assert said["brave"]["error"]["code"] == "SUBSCRIPTION_TOKEN_INVALID"
    assert said["bing"]["error"]["code"] == "401"
    _, missing = await call(BY_NAME["brave"], {"q": Q}, None)
    assert missing["error"]["meta"]["errors"][0]["loc"] == ["header", "x-subscription-token"]


async def test_keys_by_the_other_ways_that_apis_take_them(http: aiohttp.ClientSession, url: str) -> None:
    async with http.post(f"{url}/tavily/search", json={"query": Q, "api_key": "k"}) as answer:
        assert answer.status == 200
    async with http.post(f"{url}/exa/search", json={"query": Q}, headers={"Authorization": "Bearer k"}) as answer:
        assert answer.status == 200
    for path in ("/brave/res/v1/web/search", "/bing/v7.0/search"):
        async with http.get(url + path, params={"q": Q}, headers={"X-Searchsim-World": "k"}) as answer:
            assert answer.status == 200
        async with http.get(url + path, params={"q": Q}, headers={"Authorization": "Bearer k"}) as answer:
            assert answer.status in (401, 422), "a bearer token is no key of theirs"


@every
async def test_a_server_of_one_world_takes_any_key(call: Client, context: Context, dialect: Dialect) -> None:
    context.worlds.only = context.worlds.get("k")
    for key in (None, "tvly-whatever"):
        assert (await call(dialect, {dialect.query: Q}, key))[0] == 200


@every
@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"q": ""},
        {"q": "  "},
        {"q": "x" * 3000},
        {"n": -1},
        {"n": 100_000_000_000},
        {"n": "many"},
        {"n": "1_0"},
        {"n": "٣"},
        {"n": 2.5},
    ],
    ids=str,
)
async def test_bad_input(call: Client, context: Context, dialect: Dialect, wrong: dict[str, Any]) -> None:
    fields = {dialect.query: "x"} if "n" in wrong else {}
    fields |= {{"q": dialect.query, "n": dialect.count}[name]: value for name, value in wrong.items()}
    status, answer = await call(dialect, fields)
    assert status in dialect.bad
    assert dialect.message(answer)
    assert not list(context.worlds.events("k")), "what is refused makes no list"


@pytest.mark.parametrize(
    ("name", "fields", "status", "says"),
    [
        ("tavily", {"query": None}, 422, "Field required"),
        ("tavily", {"query": 5}, 422, "valid string"),
        ("tavily", {"query": "x" * 401}, 400, "Query is too long. Max query length is 400 characters."),
        ("tavily", {"max_results": 21}, 400, "Invalid max_results"),
        ("tavily", {"max_results": True}, 422, "valid integer"),
        ("tavily", {"topic": "sport"}, 400, "Invalid topic"),
        ("tavily", {"topic": ["news"]}, 422, "valid string"),
        ("tavily", {"search_depth": "deepest"}, 400, "Invalid search_depth"),
        ("tavily", {"time_range": "decade"}, 400, "Invalid time_range"),
        ("tavily", {"days": "x"}, 422, "valid integer"),
        ("tavily", {"start_date": "yesterday"}, 400, "YYYY-MM-DD"),
        ("tavily", {"start_date": 2024}, 422, "valid string"),
        ("tavily", {"include_domains": {"a": 1}}, 422, "list of strings"),
        ("tavily", {"include_domains": [1]}, 422, "list of strings"),
        ("tavily", {"include_domains": ["a.org OR b.org"]}, 400, "no domain"),
        ("tavily", {"include_domains": ['a.org"']}, 400, "no domain"),
        ("tavily", {"exclude_domains": ["https://"]}, 400, "no domain"),
        ("tavily", {"include_domains": ["a.org"] * 301}, 400, "Max 300"),
        ("tavily", {"include_raw_content": "pdf"}, 400, "Invalid include_raw_content"),
        ("tavily", {"include_raw_content": [1]}, 422, "valid string"),
        ("exa", {"query": 5}, 400, 'at "query"'),
        ("exa", {"numResults": 101}, 400, "between 1 and 100"),
        ("exa", {"numResults": 0}, 400, "between 1 and 100"),
        ("exa", {"type": "guess"}, 400, "Invalid type"),
        ("exa", {"category": 7}, 400, "expected string"),
        ("exa", {"contents": "all"}, 400, "expected object"),
        ("exa", {"contents": {"text": "yes"}}, 400, "contents.text"),
        ("exa", {"contents": {"text": {"maxCharacters": 0}}}, 400, "maxCharacters"),
        ("exa", {"contents": {"highlights": 3}}, 400, "contents.highlights"),
        ("exa", {"includeDomains": "a b"}, 400, "no domain"),
        ("exa", {"startPublishedDate": "2024-13-01"}, 400, "ISO 8601"),
        ("brave", {"count": 0}, 422, "Unable to validate"),
        ("brave", {"count": 21}, 422, "Unable to validate"),
        ("brave", {"offset": 10}, 422, "Unable to validate"),
        ("brave", {"freshness": "yesterday"}, 422, "Unable to validate"),
        ("brave", {"freshness": "2024-02-30to2024-03-01"}, 422, "Unable to validate"),
        ("brave", {"q": "x " * 51}, 422, "Unable to validate"),
        ("bing", {"freshness": "Year"}, 400, "Write Day"),
        ("bing", {"freshness": "2024-02-30"}, 400, "Write Day"),
        ("bing", {"offset": "x"}, 400, "valid integer"),
        ("bing", {"count": 0}, 400, "Invalid count"),
    ],
)
async def test_bad_fields(call: Client, name: str, fields: dict[str, Any], status: int, says: str) -> None:
    dialect = BY_NAME[name]
    told, answer = await call(dialect, {dialect.query: Q, **fields})
    assert told == status
    assert says in dialect.message(answer)


@pytest.mark.parametrize("path", ["/tavily/search", "/tavily/extract", "/exa/search", "/exa/contents"])
async def test_bodies_that_are_no_object(http: aiohttp.ClientSession, url: str, path: str) -> None:
    headers = {"Authorization": "Bearer k"}
    bad = [
        b"",
        b"{",
        b"[]",
        b'"x"',
        b"null",
        b"\xff\xfe",
        b"\x00",
        b'{"query": "\\ud800"}',
        b"[" * 5000,
        b'{"query": 1e999}',
    ]
    for raw in bad:
        async with http.post(url + path, data=raw, headers=headers) as answer:
            assert answer.status in (400, 422), raw
            assert set(await answer.json()) in ({"detail"}, {"requestId", "error", "tag"})
    large = io.BytesIO(json.dumps({"query": "x", "more": "y" * (1 << 21)}).encode())
    async with http.post(url + path, data=large, headers=headers) as answer:
        assert answer.status == 413

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(33):
            yield b" " * (1 << 16)

    async with http.post(url + path, data=pieces(), headers=headers) as answer:
        assert answer.status == 413, "the same where the length isn't told"


@every
async def test_odd_queries_are_answered(http: aiohttp.ClientSession, call: Client, dialect: Dialect) -> None:
    for q in ("xyzzyplugh", "site:nowhere.example", "???", "\x00", '"', "OR", "(", "-", "自行车"):
        status, answer = await call(dialect, {dialect.query: q})
        assert status == 200
        assert isinstance(dialect.rows(answer), list)
    assert await call.links(dialect, {dialect.query: "xyzzyplugh"}) == []
    if not dialect.post:
        target = f"{call.url}{dialect.path}?q=%ED%A0%80bicycle&country=%ED%A0%80"
        async with http.get(target, headers=dialect.key("k")) as answer:
            assert answer.status == 200


async def test_bing_tells_of_nothing_found_as_no_matches(call: Client) -> None:
    _, answer = await call(BY_NAME["bing"], {"q": "xyzzyplugh"})
    assert answer["webPages"]["totalEstimatedMatches"] == 0


def hosts(links: Iterable[str]) -> set[str]:
    return {link.split("/")[2] for link in links}


@pytest.mark.parametrize(
    ("name", "include", "exclude"),
    [("tavily", "include_domains", "exclude_domains"), ("exa", "includeDomains", "excludeDomains")],
)
async def test_domains(call: Client, context: Context, name: str, include: str, exclude: str) -> None:
    dialect = BY_NAME[name]
    asked = {dialect.query: Q, dialect.count: 20}
    found = sorted(hosts(await call.links(dialect, asked)))
    one, two = found[0], found[1]
    assert hosts(await call.links(dialect, {**asked, include: [one]})) == {one}
    both = await call.links(dialect, {**asked, include: [two, f"https://{one.upper()}/"]})
    assert hosts(both) == {one, two}
    assert await call.links(dialect, {**asked, include: [one, two, one]}) == both
    rest = hosts(await call.links(dialect, {**asked, exclude: [one, two]}))
    assert rest and not rest & {one, two}
    assert not hosts(await call.links(dialect, {**asked, include: [one], exclude: [one]}))
    suffix = await call.links(dialect, {**asked, include: ["*.edu"]})
    assert suffix and all(host.endswith(".edu") for host in hosts(suffix))
    texts = [e["query"] for e in context.worlds.events("k")]
    assert texts[0] == Q
    assert texts[1] == f"{Q} site:{one}"
    assert texts[4] == f"{Q} -site:({one} OR {two})"


async def test_an_or_at_the_end_does_not_take_the_filter(call: Client) -> None:
    dialect = BY_NAME["tavily"]
    host = sorted(hosts(await call.links(dialect, {"query": Q})))[0]
    for tail in (" OR", " OR ???", ' OR "', " OR AND", " |", " intitle:(", " site:", ' "', " -"):
        found = await call.links(dialect, {"query": f"bicycle{tail}", "include_domains": [host]})
        assert hosts(found) <= {host}, tail
        assert host not in hosts(await call.links(dialect, {"query": f"bicycle{tail}", "exclude_domains": [host]}))


def test_filters_hold_whatever_the_text() -> None:
    wanted = parse("site:(a.org OR b.org) -site:c.org").clauses
    for tail in ("", "OR", "OR OR", 'OR "', "intitle:(", "“", "a OR (", "-", "site:(a.org OR", "OR -"):
        text = restricted(f"x {tail}", include=["a.org", "b.org"], exclude=["c.org"])
        assert set(wanted) <= set(parse(text).clauses), tail


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("tavily", {"start_date": "2025-01-01"}, {"end_date": "2025-10-01"}),
        ("exa", {"startPublishedDate": "2025-01-01T00:00:00.000Z"}, {"endPublishedDate": "2025-09-30T08:00:00Z"}),
        ("brave", {"freshness": "2025-01-01to2025-09-30"}, {}),
        ("bing", {"freshness": "2025-01-01..2025-09-30"}, {}),
    ],
)
async def test_dates(call: Client, context: Context, name: str, low: dict[str, str], high: dict[str, str]) -> None:
    dialect = BY_NAME[name]
    found = await call.links(dialect, {dialect.query: Q, dialect.count: 20, **low, **high})
    known = await call.serper({"q": f"{Q} after:2025-01-01 before:2025-10-01", "num": 20})
    assert found
    assert found == [row["link"] for row in known]
    first, second = context.worlds.events("k")
    assert first["list"] == second["list"]


@pytest.mark.parametrize(
    ("name", "fields", "tbs"),
    [
        ("tavily", {"time_range": "year"}, "qdr:y"),
        ("tavily", {"time_range": "w"}, "qdr:w"),
        ("tavily", {"topic": "news", "days": 300}, "qdr:d300"),
        ("tavily", {"days": 300}, ""),
        ("tavily", {"topic": "news"}, ""),
        ("brave", {"freshness": "pd"}, "qdr:d"),
        ("brave", {"freshness": "pm"}, "qdr:d31"),
        ("brave", {"freshness": "py"}, "qdr:y"),
        ("bing", {"freshness": "month"}, "qdr:m"),
        ("bing", {"freshness": "Week"}, "qdr:w"),
        ("bing", {"freshness": "2025-10-06"}, "cdr:1,cd_min:10/6/2025,cd_max:10/6/2025"),
    ],
)
async def test_recent(call: Client, context: Context, name: str, fields: dict[str, Any], tbs: str) -> None:
    dialect = BY_NAME[name]
    assert (await call(dialect, {dialect.query: Q, **fields}))[0] == 200
    (event,) = context.worlds.events("k")
    assert (event["query"], event["tbs"]) == (Q, tbs)
    today = context.worlds.corpus.today
    query = parse(Q, tbs=tbs, today=today)
    for served in event["served"]:
        document = await context.engine.document(served["document"]) or next(
            d for d in context.worlds.get("k").documents() if d.id == served["document"]
        )
        assert query.matches(document)


@pytest.mark.parametrize(("name", "second"), [("brave", {"offset": 1}), ("bing", {"offset": 5})])
async def test_later_pages(call: Client, context: Context, name: str, second: dict[str, int]) -> None:
    dialect = BY_NAME[name]
    found = await call.links(dialect, {"q": Q, "count": 5, **second})
    assert found == [row["link"] for row in await call.serper({"q": Q, "num": 5, "page": 2})]
    first, other = context.worlds.events("k")
    assert (first["page"], first["k"], first["list"]) == (2, 5, 1) and other["list"] == 1


async def test_bings_offset_is_taken_back_to_its_page(call: Client, context: Context) -> None:
    dialect = BY_NAME["bing"]
    assert await call.links(dialect, {"q": Q, "offset": 3}) == await call.links(dialect, {"q": Q})
    await call.links(dialect, {"q": Q, "offset": 900_000})
    assert [e["page"] for e in context.worlds.events("k")] == [1, 1, 100]


async def test_tavily_shape(call: Client, context: Context) -> None:
    dialect = BY_NAME["tavily"]
    asked = {
        "query": Q,
        "include_answer": "advanced",
        "include_images": True,
        "search_depth": "advanced",
        "country": "x",
    }
    _, answer = await call(dialect, {**asked, "include_domains": [], "exclude_domains": None, "topic": "finance"})
    assert list(answer) == [
        "query",
        "follow_up_questions",
        "answer",
        "images",
        "results",
        "response_time",
        "request_id",
    ]
    assert (answer["query"], answer["answer"], answer["follow_up_questions"], answer["images"]) == (Q, None, None, [])
    assert 0.5 < answer["response_time"] < 2
    assert len(answer["results"]) == 5
    assert all(list(r) == ["title", "url", "content", "score", "raw_content"] for r in answer["results"])
    assert all(r["raw_content"] is None for r in answer["results"])
    bodies = {d.url: d.body for d in context.worlds.get("k").documents()}
    for wanted in (True, "markdown"):
        _, answer = await call(dialect, {"query": Q, "max_results": 10, "include_raw_content": wanted})
        first = answer["results"][0]
        assert first["raw_content"] == bodies[first["url"]]
    _, answer = await call(dialect, {"query": Q, "max_results": 10, "include_raw_content": "text"})
    assert "## " in bodies[answer["results"][0]["url"]]
    assert "##" not in answer["results"][0]["raw_content"]
    _, answer = await call(dialect, {"query": Q, "topic": "news"})
    assert all(row["published_date"].endswith(" 00:00:00 GMT") for row in answer["results"])
    _, answer = await call(dialect, {"query": Q, "max_results": 0})
    assert answer["results"] == []
    wide = await call.links(dialect, {"query": Q, "include_domains": ["x.example"], "include_domains_mode": "prefer"})
    assert wide, "to prefer isn't to restrict"


async def test_tavily_extract(call: Client, context: Context) -> None:
    dialect = BY_NAME["tavily"]
    bad = next(context.worlds.get("k").documents())
    good = (await call.links(dialect, {"query": Q, "max_results": 10}))[-1]
    path = "/tavily/extract"
    unknown = "https://live.example.com/page"
    _, answer = await call(dialect, {"urls": [bad.url, unknown, good]}, path=path)
    assert list(answer) == ["results", "failed_results", "response_time", "request_id"]
    assert [r["url"] for r in answer["results"]] == [bad.url, good]
    assert answer["results"][0] == {"url": bad.url, "raw_content": bad.body, "images": []}
    assert answer["failed_results"] == [{"url": unknown, "error": "Failed to fetch url"}]
    events = [e for e in context.worlds.events("k") if e["event"] == "page"]
    assert [(e["dialect"], e["url"], e["found"], e["injected"]) for e in events] == [
        ("tavily", bad.url, True, True),
        ("tavily", unknown, False, False),
        ("tavily", good, True, False),
    ]
    context.worlds.create(TASK, {"budget": 0}, key="control")
    _, answer = await call(dialect, {"urls": bad.url, "format": "text"}, "control", path)
    assert (answer["results"], len(answer["failed_results"])) == ([], 1)
    assert (await call(dialect, {"urls": bad.url}, "unknown", path))[0] == 401
    for wrong, status in (
        ({}, 422),
        ({"urls": []}, 422),
        ({"urls": [1]}, 422),
        ({"urls": 5}, 422),
        ({"urls": ["x"] * 21}, 400),
    ):
        assert (await call(dialect, wrong, path=path))[0] == status
    for odd in ("", "not a url", "http://[", "\x00", "file:///etc/passwd", "x" * 5000):
        status, answer = await call(dialect, {"urls": ["https://a.example", odd]}, path=path)
        assert (status, len(answer["failed_results"])) == (200, 2)


async def test_exa_shape(call: Client, context: Context) -> None:
    dialect = BY_NAME["exa"]
    _, answer = await call(dialect, {"query": Q, "useAutoprompt": True, "livecrawl": "always", "category": "pdf"})
    assert list(answer) == ["requestId", "resolvedSearchType", "results", "searchType", "costDollars"]
    assert answer["costDollars"] == {"total": 0.005, "search": {"neural": 0.005}}
    plain = ["id", "title", "url", "publishedDate", "author", "score"]
    assert all(list(r) == plain and r["id"] == r["url"] for r in answer["results"])
    assert answer["results"][0]["publishedDate"].endswith("T00:00:00.000Z")
    bodies = {d.url: d.body for d in context.worlds.get("k").documents()}
    contents = {"text": {"maxCharacters": 500}, "highlights": {"numSentences": 2}, "summary": {"query": "x"}}
    _, answer = await call(dialect, {"query": Q, "contents": contents, "type": "keyword"})
    assert answer["searchType"] == answer["resolvedSearchType"] == "keyword"
    first = answer["results"][0]
    assert list(first) == [*plain, "text", "highlights", "highlightScores", "summary"]
    assert first["text"] == bodies[first["url"]][:500]
    assert answer["costDollars"]["contents"] == {"text": 0.01, "highlights": 0.01, "summary": 0.01}
    for whole in (True, {"text": True}):
        _, answer = await call(dialect, {"query": Q, "contents": whole})
        assert answer["results"][0]["text"] == bodies[answer["results"][0]["url"]]
    for none in (False, {}, {"text": False}):
        _, answer = await call(dialect, {"query": Q, "contents": none})
        assert list(answer["results"][0]) == plain


async def test_exa_contents(call: Client, context: Context) -> None:
    dialect = BY_NAME["exa"]
    bad = next(context.worlds.get("k").documents())
    unknown = "https://live.example.com/page"
    path = "/exa/contents"
    for name in ("urls", "ids"):
        _, answer = await call(dialect, {name: [bad.url, unknown], "text": True}, path=path)
        assert list(answer) == ["requestId", "results", "statuses", "costDollars"]
        (row,) = answer["results"]
        assert (row["id"], row["text"]) == (bad.url, bad.body)
        assert answer["statuses"] == [
            {"id": bad.url, "status": "success", "source": "cached"},
            {"id": unknown, "status": "error", "error": {"tag": "CRAWL_NOT_FOUND", "httpStatusCode": 404}},
        ]
    events = list(context.worlds.events("k"))
    assert [(e["event"], e["dialect"], e["found"], e["injected"]) for e in events[:2]] == [
        ("page", "exa", True, True),
        ("page", "exa", False, False),
    ]
    _, answer = await call(dialect, {"urls": bad.url}, path=path)
    assert answer["results"][0]["text"] == bad.body, "text is what it gives where nothing is asked for"
    _, answer = await call(dialect, {"urls": bad.url, "highlights": True}, path=path)
    assert "text" not in answer["results"][0] and answer["results"][0]["highlights"]
    _, answer = await call(dialect, {"urls": bad.url, "text": False}, path=path)
    assert "text" not in answer["results"][0]
    context.worlds.create(TASK, {"budget": 0}, key="control")
    _, answer = await call(dialect, {"urls": bad.url}, "control", path)
    assert answer["results"] == []
    assert (await call(dialect, {"urls": bad.url}, "unknown", path))[0] == 401
    bad_fields: list[dict[str, Any]] = [{}, {"urls": []}, {"ids": [None]}, {"urls": ["x"] * 101}]
    for wrong in (*bad_fields, {"urls": bad.url, "text": "x"}):
        assert (await call(dialect, wrong, path=path))[0] == 400


async def test_brave_shape(call: Client, context: Context) -> None:
    dialect = BY_NAME["brave"]
    asked = {"q": Q, "count": 5, "extra_snippets": True, "search_lang": "en", "country": "DE", "safesearch": "off"}
    _, answer = await call(dialect, asked)
    assert list(answer) == ["query", "mixed", "type", "web"]
    assert (answer["type"], answer["web"]["type"], answer["query"]["country"]) == ("search", "search", "de")
    assert answer["query"]["original"] == Q
    assert answer["query"]["more_results_available"] is True
    assert answer["mixed"]["main"] == [{"type": "web", "index": n, "all": False} for n in range(5)]
    row = answer["web"]["results"][0]
    document = await context.engine.document_at(row["url"])
    assert document is not None
    steps = document.url.split("/")[3:]
    assert row["meta_url"] == {
        "scheme": "https",
        "netloc": document.host,
        "hostname": document.host,
        "path": "› " + "  › ".join(steps),
    }
    assert row["profile"] == {"name": document.source_name, "url": document.url, "long_name": document.host}
    assert row["page_age"] == f"{document.published}T00:00:00"
    assert row["language"] == "en" and row["family_friendly"] is True
    _, answer = await call(dialect, {"q": Q, "count": 3}, path=dialect.news)
    assert list(answer) == ["type", "query", "results"]
    assert {r["type"] for r in answer["results"]} == {"news_result"}


@pytest.mark.parametrize(
    ("day", "shown"),
    [
        (date(2026, 9, 1), "September 1, 2026"),
        (date(2026, 8, 31), "1 day ago"),
        (date(2026, 8, 27), "5 days ago"),
        (date(2026, 8, 25), "1 week ago"),
        (date(2026, 8, 10), "3 weeks ago"),
        (date(2025, 1, 8), "January 8, 2025"),
        (date(2026, 9, 3), "September 3, 2026"),
    ],
)
def test_brave_ages(day: date, shown: str) -> None:
    assert brave.shown_age(day, date(2026, 9, 1)) == shown


async def test_bing_shape(call: Client, context: Context) -> None:
    dialect = BY_NAME["bing"]
    asked = {
        "q": "gyroscopic bicycle & more",
        "textDecorations": True,
        "textFormat": "HTML",
        "mkt": "en-US",
        "setLang": "en",
    }
    _, answer = await call(dialect, asked)
    assert list(answer) == ["_type", "queryContext", "webPages", "rankingResponse"]
    assert answer["_type"] == "SearchResponse"
    pages = answer["webPages"]
    assert pages["webSearchUrl"] == "https://www.bing.com/search?q=gyroscopic+bicycle+%26+more"
    assert pages["totalEstimatedMatches"] >= 1000
    assert pages["value"][0] | {"name": "", "snippet": ""} == {
        "id": "https://api.bing.microsoft.com/api/v7/#WebPages.0",
        "name": "",
        "url": pages["value"][0]["url"],
        "datePublished": f"{pages['value'][0]['datePublished'][:10]}T00:00:00.0000000",
        "datePublishedDisplayText": pages["value"][0]["datePublishedDisplayText"],
        "isFamilyFriendly": True,
        "displayUrl": pages["value"][0]["url"],
        "snippet": "",
        "dateLastCrawled": f"{context.worlds.corpus.today}T00:00:00.0000000Z",
        "language": "en",
        "isNavigational": False,
        "noCache": False,
    }
    items = answer["rankingResponse"]["mainline"]["items"]
    assert [item["value"]["id"] for item in items] == [page["id"] for page in pages["value"]]
    _, answer = await call(dialect, {"q": Q, "count": 5}, path=dialect.news)
    assert list(answer) == ["_type", "readLink", "queryContext", "totalEstimatedMatches", "sort", "value"]
    assert list(answer["value"][0]) == ["name", "url", "description", "provider", "datePublished"]
    _, answer = await call(dialect, {"q": Q, "count": 60})
    assert [e["k"] for e in context.worlds.events("k")][-1] == 50, "more than it gives is no error"
    _, answer = await call(dialect, {})
    assert answer["_type"] == "ErrorResponse"
    assert answer["errors"][0] == {
        "code": "InvalidRequest",
        "subCode": "ParameterMissing",
        "message": "Required parameter is missing.",
        "parameter": "q",
    }


@every
async def test_other_paths_and_methods_have_the_dialects_shape(
    http: aiohttp.ClientSession, url: str, dialect: Dialect
) -> None:
    for method, path, status in (("GET", "/nothing", 404), ("PUT", "", 405)):
        for prefix in ("", "/w/k"):
            async with http.request(method, url + prefix + dialect.path + path) as answer:
                assert answer.status == status
                assert dialect.message(await answer.json())


@every
async def test_an_engine_that_fails_is_a_503_and_a_fault(
    call: Client, context: Context, dialect: Dialect, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise EngineError("nothing is recorded for 'x'")

    with monkeypatch.context() as patch:
        patch.setattr(context.worlds.engine, "search", fail)
        status, answer = await call(dialect, {dialect.query: "x"})
    assert status == 503
    assert dialect.message(answer) == "Internal Server Error", "what an agent gets tells it of nothing inside"
    (event,) = context.worlds.events("k")
    assert (event["event"], event["where"]) == ("fault", dialect.path)


@every
async def test_a_planned_fault_has_the_dialects_shape(call: Client, context: Context, dialect: Dialect) -> None:
    faults = [{"kind": kind, "on": [n]} for n, kind in enumerate(("429", "500", "403", "no_credits"), start=1)]
    world = context.worlds.create(TASK, key="faulty", faults=faults)
    told = [await call(dialect, {dialect.query: Q}, "faulty") for _ in range(5)]
    assert [status for status, _ in told] == [429, 500, 403, NO_CREDITS[dialect.name], 200]
    assert all(dialect.message(answer) for _, answer in told[:4])
    assert await reasons(context.worlds, world, list(context.worlds.events("faulty"))) == []


@every
async def test_what_was_served_can_be_delivered(call: Client, context: Context, dialect: Dialect) -> None:
    world = context.worlds.get("k")
    matcher = await context.matcher(world)
    rows = dialect.rows((await call(dialect, {dialect.query: Q, dialect.count: 10}))[1])
    found = await matcher.find([{"role": "user", "content": json.dumps(rows)}])
    (event,) = context.worlds.events("k")
    assert set(found.documents) == {s["document"] for s in event["served"]}


def test_hosts_name_a_path_each() -> None:
    named = {host: prefix for dialect in (tavily, exa, brave, bing) for host, prefix in dialect.HOSTS.items()}
    assert named == {
        "api.tavily.com": "/tavily",
        "api.exa.ai": "/exa",
        "api.search.brave.com": "/brave",
        "api.bing.microsoft.com": "/bing",
    }
