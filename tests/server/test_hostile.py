"""Hostile input: no request makes the server fail, none makes it grow without bound, and each gets a clear answer."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import sys
import tracemalloc
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import orjson
import pytest
import yarl
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from searchsim.server.context import Context
from searchsim.server.openapi import describe
from searchsim.server.serper.verticals import VERTICALS
from tests.server.serper_shapes import shape_faults

TASK = "bicycle-stability"
HEADERS = {"X-API-KEY": "fuzzed", "Content-Type": "application/json"}
PATHS = [f"/{name}" for name in VERTICALS] + ["/scrape"]
NAMES = [
    "q",
    "url",
    "num",
    "page",
    "tbs",
    "type",
    "hl",
    "gl",
    "location",
    "autocorrect",
    "cid",
    "ll",
    "includeMarkdown",
]
CONTROL = ["task", "condition", "key", "documents", "last_list", "faults", "latency", "serper"]


@pytest.fixture(autouse=True)
def world(context: Context) -> None:
    context.worlds.create(TASK, {"rank": "front"}, key="fuzzed")
    context.worlds.create(TASK, key="shown")


def deep(levels: int) -> str:
    return "[" * levels + "]" * levels


async def refused(answer: aiohttp.ClientResponse) -> bool:
    """Whether a request was refused; then with its status and a message, in Serper's shape."""
    text = await answer.text()
    assert answer.status < 500, text[:300]
    if answer.status == 200:
        return False
    assert shape_faults("error", text) == []
    assert json.loads(text).get("statusCode", 400) == answer.status
    return True


# --- by the description -----------------------------------------------------------------------------------------------


@pytest.mark.timeout(300)
async def test_schemathesis_finds_nothing(url: str, tmp_path: Path) -> None:
    config = Path(__file__).with_name("schemathesis.toml")
    command = [
        "--config-file", str(config), "run", f"{url}/_sim/openapi.json", "--max-examples", "10",
        "--generation-database", "none", "--no-color",
    ]  # fmt: skip
    # A process of its own, since it has its way with pytest's warnings; in a folder where it may leave things.
    process = await asyncio.create_subprocess_exec(
        Path(sys.executable).with_name("schemathesis"),
        *command,
        cwd=tmp_path,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    told, _ = await process.communicate()
    assert process.returncode == 0, told.decode()[-8000:]
    assert "No issues found" in told.decode()


async def test_the_description_is_of_all_paths(http: aiohttp.ClientSession, url: str, context: Context) -> None:
    async with http.get(f"{url}/_sim/openapi.json") as answer:
        assert answer.status == 200
        told = json.loads(await answer.text())
    assert told == json.loads(orjson.dumps(describe(context.worlds)))
    ours = {*PATHS, "/account", *(f"/_sim/{p}" for p in ("health", "tasks", "factors", "worlds", "worlds/{key}", "worlds/{key}/events"))}  # fmt: skip
    assert set(told["paths"]) == ours
    for path, operations in told["paths"].items():
        for method, operation in operations.items():
            status = 200
            async with http.request(method, url + path.replace("{key}", "nobody"), json={}) as answer:
                status = answer.status
            assert str(status) in operation["responses"], (method, path)


async def test_the_description_is_guarded_as_control_is(http: aiohttp.ClientSession, url: str) -> None:
    async with http.get(f"{url}/_sim/openapi.json", headers={"X-Searchsim-World": "fuzzed"}) as answer:
        assert answer.status == 403


# --- by chance --------------------------------------------------------------------------------------------------------

ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([10**30, -(10**400), 2**64, 0, -1, 1e308, 5e-324, 2.5]),
    st.floats(allow_nan=True, allow_infinity=True),
    st.text(),
    st.sampled_from(["\x00", "\x00" * 50, "a" * 3000, "٣", "1_0", " 7 ", "0x10", "\u202e", "😀" * 100, '"', "(" * 200, "OR " * 99]),
    st.sampled_from(["site:", "-", "before:99999-99-99", "qdr:d99999999", "cdr:1,cd_min:0/0/0,cd_max:99999/99/99999999"]),
    st.sampled_from(["http://", "http://[::1", "//", "http://a:99999999/", "javascript:alert(1)", "http://\x00/"]),
)  # fmt: skip
JSON = st.recursive(ODD, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4))
QUERY = st.dictionaries(st.sampled_from(NAMES), JSON, max_size=8) | st.dictionaries(st.text(), JSON, max_size=3)
RELAXED = settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@RELAXED
@given(path=st.sampled_from(PATHS), body=QUERY | st.lists(QUERY, max_size=3) | JSON)
@example(path="/search", body={"q": "x", "num": 10**400})
@example(path="/search", body=[{"q": "x", "page": float("inf")}])
@example(path="/search", body={"q": float("nan")})
async def test_bodies(http: aiohttp.ClientSession, url: str, path: str, body: object) -> None:
    raw = json.dumps(body).encode()
    async with http.post(url + path, data=raw, headers=HEADERS) as answer:
        if not await refused(answer) and path != "/scrape":
            text = await answer.text()
            answers = json.loads(text) if isinstance(body, list) else [json.loads(text)]
            for one in answers:
                assert shape_faults(one["searchParameters"]["type"], json.dumps(one)) == []


@RELAXED
@given(path=st.sampled_from(PATHS), raw=st.binary(max_size=200))
@example(path="/search", raw=b'{"q": "\xff\xfe"}')
@example(path="/search", raw=b'{"q": "\xed\xa0\x80"}')
@example(path="/search", raw=b'{"q": "\\ud800"}')
@example(path="/search", raw=b'{"q": NaN}')
@example(path="/search", raw=b'{"q": 1e999}')
@example(path="/search", raw=b'{"q": "x", "num": ' + b"9" * 5000 + b"}")
@example(path="/search", raw=b'\xef\xbb\xbf{"q": "x"}')
async def test_bytes(http: aiohttp.ClientSession, url: str, path: str, raw: bytes) -> None:
    async with http.post(url + path, data=raw, headers=HEADERS) as answer:
        await refused(answer)


@RELAXED
@given(
    path=st.sampled_from(PATHS),
    pairs=st.lists(st.tuples(st.sampled_from(NAMES), st.binary(max_size=30)), max_size=5),
    method=st.sampled_from(["GET", "POST"]),
)
@example(path="/search", pairs=[("q", b"\xff\xfe")], method="GET")
@example(path="/scrape", pairs=[("url", b"http://\xff/")], method="GET")
@example(path="/search", pairs=[("q", b"x"), ("hl", b"\x00\xff")], method="POST")
async def test_query_strings(
    http: aiohttp.ClientSession, url: str, path: str, pairs: list[tuple[str, bytes]], method: str
) -> None:
    query = "&".join(f"{name}={''.join(f'%{byte:02X}' for byte in value)}" for name, value in pairs)
    async with http.request(method, yarl.URL(f"{url}{path}?{query}", encoded=True), headers=HEADERS) as answer:
        if not await refused(answer):
            await answer.json()


FAULT = st.fixed_dictionaries({}, optional=dict.fromkeys(("kind", "on", "share", "dialect", "at"), JSON))
NEW_WORLD = st.fixed_dictionaries(
    {"task": st.just(TASK) | JSON},
    optional={
        **{name: JSON for name in CONTROL if name not in ("task", "faults", "serper")},
        "faults": st.lists(FAULT, max_size=3) | JSON,
        "serper": st.fixed_dictionaries({}, optional={"plan": JSON, "features": JSON}) | JSON,
        "condition": st.dictionaries(st.sampled_from(["budget", "rank", "style", "stage"]) | st.text(), JSON, max_size=3),
        "documents": st.lists(st.dictionaries(st.sampled_from(["id", "url", "title", "body"]), JSON) | JSON, max_size=3),
    },
)  # fmt: skip


@RELAXED
@given(body=NEW_WORLD | JSON)
@example(body={"task": TASK, "condition": {"budget": json.loads(deep(200))}})
@example(body={"task": TASK, "documents": [{"id": "x" * 200, "url": "http://[bad"}]})
async def test_worlds_that_cannot_be(http: aiohttp.ClientSession, url: str, body: object) -> None:
    async with http.post(f"{url}/_sim/worlds", data=json.dumps(body).encode()) as answer:
        told = json.loads(await answer.text())
        assert answer.status in (201, 400, 409), told
        if answer.status != 201:
            assert told["error"]["message"]


# --- by intent --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/search", "/scrape", "/_sim/worlds"])
@pytest.mark.parametrize("levels", [65, 900, 5000, 300_000])
async def test_depth(http: aiohttp.ClientSession, url: str, path: str, levels: int) -> None:
    for name in ("q", "url", "num", "page", "tbs", "hl", "type", "autocorrect", "task", "key", "latency", "faults"):
        raw = f'{{"q": "bicycle", "task": "{TASK}", "{name}": {deep(levels)}}}'
        async with http.post(url + path, data=raw, headers=HEADERS) as answer:
            assert answer.status in (200, 400), (name, levels)
            if path == "/_sim/worlds":
                assert answer.status == 400
                assert json.loads(await answer.text())["error"]["message"]
            else:
                await refused(answer)


async def test_long_queries_fit_a_query_string(http: aiohttp.ClientSession, url: str) -> None:
    async with http.get(f"{url}/search", params={"q": "赵州桥拱" * 512}, headers=HEADERS) as answer:
        assert answer.status == 200
    async with http.get(f"{url}/search", params={"q": "赵州桥拱" * 513}, headers=HEADERS) as answer:
        assert answer.status == 400
        assert "too long" in (await answer.json())["message"]
    async with http.get(f"{url}/search", params={"q": "a" * (1 << 18)}, headers=HEADERS) as answer:
        assert answer.status == 400


async def test_long_fields(http: aiohttp.ClientSession, url: str, context: Context) -> None:
    for path, body in [
        ("/search", {"q": "x" * 2049}),
        ("/search", {"q": "x", "tbs": "qdr:y" + " " * 300}),
        ("/scrape", {"url": f"https://example.org/{'x' * 8192}"}),
        ("/lens", {"url": "x" * 8193}),
    ]:
        async with http.post(url + path, json=body, headers=HEADERS) as answer:
            assert answer.status == 400
            assert "too long" in (await answer.json())["message"]
    assert list(context.worlds.events("fuzzed")) == [], "nothing of it is kept"


@pytest.mark.parametrize(
    ("path", "limit"), [("/search", 1 << 20), ("/news", 1 << 20), ("/scrape", 1 << 20), ("/_sim/worlds", 16 << 20)]
)
async def test_large_bodies_are_refused_before_they_are_held(
    http: aiohttp.ClientSession, url: str, path: str, limit: int
) -> None:
    bomb = gzip.compress(bytes(256 << 20), 9)

    async def endless() -> Any:
        for _ in range(2 * limit // (1 << 16)):
            yield b" " * (1 << 16)

    tracemalloc.start()
    try:
        for data, headers in [
            (bomb, {"Content-Encoding": "gzip"}),
            (endless(), {}),
            (io.BytesIO(b"[" * (limit + 1)), {}),
        ]:
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            async with http.post(url + path, data=data, headers={**HEADERS, **headers}) as answer:
                assert answer.status == 413
                told = await answer.json()
            assert str(limit) in told.get("message", told.get("error", {}).get("message"))
            # The client's own buffers are among it.
            assert tracemalloc.get_traced_memory()[1] - before < 3 * limit + (8 << 20)
    finally:
        tracemalloc.stop()


async def test_bodies_packed_otherwise_than_said(http: aiohttp.ClientSession, url: str) -> None:
    for encoding in ("gzip", "deflate", "br"):
        for path in ("/search", "/scrape", "/_sim/worlds", "/v1/chat/completions"):
            headers = {**HEADERS, "Authorization": "Bearer fuzzed", "Content-Encoding": encoding}
            async with http.post(url + path, data=b"\x00no such thing", headers=headers) as answer:
                assert answer.status in (400, 415), (path, encoding, await answer.text())
    packed = gzip.compress(b'{"q": "bicycle"}')
    async with http.post(f"{url}/search", data=packed, headers={**HEADERS, "Content-Encoding": "gzip"}) as answer:
        assert answer.status == 200


@pytest.mark.parametrize(
    "path",
    ["/%ff", "/w/%ff/search?q=x", "/w/%00/search?q=x", "/w/fuzzed/%ff%fe", "/_sim/worlds/%ff", "/_sim/worlds/%00/events", "/%2e%2e/etc", "/w//search"],
)  # fmt: skip
async def test_paths_that_are_no_text(http: aiohttp.ClientSession, url: str, path: str) -> None:
    for method in ("GET", "POST", "DELETE", "HEAD"):
        async with http.request(method, yarl.URL(url + path, encoded=True), headers=HEADERS) as answer:
            assert 400 <= answer.status < 500
            if method != "HEAD":
                json.loads(await answer.text())


@pytest.mark.parametrize(
    "request_",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"GET /search HTTP/9.9\r\n\r\n",
        b"POST /search HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        b"POST /search HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST /search HTTP/1.1\r\nHost: x\r\nX-API-KEY: fuzzed\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
        b"GET /search?q=x HTTP/1.1\r\nHost: x\r\nX-API-KEY: \x00\r\n\r\n",
        b"GET /search?q=" + b"a" * (1 << 18) + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: y\r\n" % n for n in range(100_000)) + b"\r\n",
    ],
    ids=["bytes", "version", "negative", "smuggled", "chunks", "nul", "line", "headers"],
)
async def test_what_is_no_http(http: aiohttp.ClientSession, url: str, request_: bytes) -> None:
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        writer.write(request_)
        await writer.drain()
        told = await asyncio.wait_for(reader.read(1 << 16), 10)
        assert told.startswith((b"HTTP/1.1 4", b"HTTP/1.0 4")), told[:100]
    except ConnectionError:
        pass
    finally:
        writer.close()
    async with http.get(f"{url}/search", params={"q": "bicycle"}, headers=HEADERS) as answer:
        assert answer.status == 200, "the server lives"
