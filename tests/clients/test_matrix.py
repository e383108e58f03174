"""Real clients from the package index, unpatched, each in an environment of its own, against a world."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import pytest

from searchsim import agent
from searchsim.documents import Document
from searchsim.redirect import findings
from searchsim.redirect.environment import environment
from searchsim.server.context import Context
from searchsim.server.render import plain_text
from searchsim.text import snippet, tokens
from searchsim.validity import reasons
from searchsim.world import World, Worlds
from tests.clients.matrix import CASES, FOUND, PAGE, SCRIPTS, Call, Case, page, rows
from tests.scripted import ScriptedModel

# An environment of two hundred packages is made in the first run.
pytestmark = pytest.mark.timeout(900)

TASK = "bicycle-stability"
QUERY = "gyroscopic bicycle stability"
ANSWER = "a scripted answer"
# What a program needs of its surroundings; everything else it gets from us.
PASSED_ON = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "SSL_CERT_FILE")


@pytest.fixture(scope="session")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Node scripts with their packages beside them; npm keeps what it has downloaded."""
    if not shutil.which("npm"):
        pytest.skip("there is no npm")
    folder = tmp_path_factory.mktemp("node")
    for file in (SCRIPTS / "package.json", *SCRIPTS.glob("*.mjs")):
        shutil.copy(file, folder)
    quiet = ("--no-audit", "--no-fund", "--no-package-lock", "--no-update-notifier")
    done = subprocess.run(
        ["npm", "install", *quiet, "--ignore-scripts", "--prefer-offline", "--before", "2026-11-28T00:00:00Z"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr
    return folder


@pytest.fixture(scope="session")
def found() -> Iterator[dict[str, str]]:
    """Versions by the ids of the cases that this run came to, empty where one failed; kept for the page."""
    versions: dict[str, str] = {}
    yield versions
    if versions:
        kept = orjson.loads(FOUND.read_bytes()) if FOUND.is_file() else {}
        FOUND.parent.mkdir(parents=True, exist_ok=True)
        FOUND.write_bytes(orjson.dumps({name: v for name, v in {**kept, **versions}.items() if v}))


@cache
def interpreter(script: str) -> str:
    """The interpreter of a script's environment, which uv makes where it isn't there, and keeps."""
    return str(agent.prepare(str(SCRIPTS / script))[1])


def command(script: str, request: pytest.FixtureRequest) -> list[str]:
    """What starts a script."""
    if script.endswith(".mjs"):
        return ["node", str(request.getfixturevalue("modules") / script)]
    return [interpreter(script), str(SCRIPTS / script)]


async def run(started: list[str], asked: dict[str, Any], folder: Path, **env: str) -> tuple[dict[str, Any], str]:
    """Run a script in a fresh folder with a fresh HOME; gives its answer, and what was printed."""
    for name in ("home", "work", "tmp"):
        (folder / name).mkdir()
    (folder / "request.json").write_text(json.dumps(asked), "utf-8")
    inherited = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    process = await asyncio.create_subprocess_exec(
        *started,
        str(folder / "request.json"),
        str(folder / "answer.json"),
        cwd=folder / "work",
        env={**inherited, "HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp"), **env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        said, _ = await asyncio.wait_for(process.communicate(), 300)
    finally:
        if process.returncode is None:
            process.kill()
    printed = said.decode("utf-8", "replace")
    assert process.returncode == 0, printed[-4000:]
    told: dict[str, Any] = json.loads((folder / "answer.json").read_text("utf-8"))
    return told, printed


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
async def test_a_client(
    case: Case,
    request: pytest.FixtureRequest,
    context: Context,
    scripted_model: ScriptedModel,
    url: str,
    tmp_path: Path,
    found: dict[str, str],
) -> None:
    found[case.id] = ""
    scripted_model.answers = [ANSWER]
    worlds = context.worlds
    world = worlds.create(TASK, {"rank": "front", "budget": 3})
    wanted = next(world.documents())
    log = tmp_path / "log"
    hooked = case.way == "hook"
    asked = {
        "way": case.way,
        "url": url,
        # Under the hook the world is named by the hook: a user's own keys stay in place, and mean nothing.
        "key": "a-key-of-the-users-own" if hooked else world.key,
        "query": QUERY,
        "page": wanted.url,
        "server": [sys.executable, "-m", "searchsim.cli", "mcp", "--url", url, "--key", world.key],
    }
    env = environment(url, world.key, f"{url}/v1", log=log) if hooked else {}
    answer, _ = await run(command(case.script, request), asked, tmp_path, **env)

    assert list(answer["results"]) == answer["calls"] == list(case.calls)
    events = list(worlds.events(world.key))
    if all(call.kind != "refused" for call in case.calls.values()):
        assert await reasons(worlds, world, events) == []
        assert findings.read(log).refused == ()
    served = iter([e for e in events if e["event"] in ("search", "page", "model", "refused")])
    for name, call in case.calls.items():
        await CHECKS[call.kind](worlds, world, answer["results"][name], call, served)
    assert list(served) == [], "what no call asked for"
    if hooked:
        seen = findings.read(log)
        assert seen.hooked
        assert seen.unhooked == ()
    assert answer["version"]
    found[case.id] = answer["version"]


# What a call's answer must be.


async def document_of(worlds: Worlds, world: World, id_: str) -> Document:
    pool: dict[str, Document] = {d.id: d for d in world.documents()}
    document = pool.get(id_) or await worlds.engine.document(id_)
    assert document is not None
    return document


async def shown(worlds: Worlds, world: World, call: Call, events: Iterator[dict[str, Any]]) -> list[dict[str, str]]:
    """What the next list on record shows of its documents, the injected ones first."""
    event = next(events)
    assert (event["event"], event["dialect"], event["endpoint"]) == ("search", call.dialect, call.endpoint)
    assert event["page"] == call.number
    injected = [row["injected"] for row in event["served"]]
    assert injected == sorted(injected, reverse=True)
    assert any(injected) == (call.number == 1 and call.endpoint != "news")
    words = worlds.query(event).words
    documents = [await document_of(worlds, world, row["document"]) for row in event["served"]]
    return [{"title": d.title, "link": d.url, "text": snippet(d, words), "body": d.body} for d in documents]


async def check_results(worlds: Worlds, world: World, told: Any, call: Call, events: Iterator[dict[str, Any]]) -> None:
    expected = await shown(worlds, world, call, events)
    assert expected
    assert told == [{name: document[name] for name in got} for got, document in zip(told, expected, strict=True)]
    assert all(got.keys() & {"title", "link"} for got in told)


async def check_contents(worlds: Worlds, world: World, told: Any, call: Call, events: Iterator[dict[str, Any]]) -> None:
    await check_results(worlds, world, told, call, events)
    for got in told:
        assert got["body"]
        event = next(events)
        assert (event["event"], event["dialect"], event["url"]) == ("page", call.dialect, got["link"])


async def check_text(worlds: Worlds, world: World, told: Any, call: Call, events: Iterator[dict[str, Any]]) -> None:
    snippets = [document["text"] for document in await shown(worlds, world, call, events)]
    assert told.split() == " ".join(snippets).split()


async def check_nothing(_: Worlds, __: World, told: Any, ___: Call, ____: Iterator[dict[str, Any]]) -> None:
    assert told == []


async def check_page(worlds: Worlds, world: World, told: Any, call: Call, events: Iterator[dict[str, Any]]) -> None:
    event = next(events)
    assert (event["event"], event["dialect"], event["found"], event["injected"]) == ("page", call.dialect, True, True)
    document = await document_of(worlds, world, event["document"])
    body = tokens(plain_text(document.body))
    there = set(tokens(told))
    assert sum(token in there for token in body) > 0.97 * len(body)


async def check_model(_: Worlds, __: World, told: Any, ___: Call, events: Iterator[dict[str, Any]]) -> None:
    event = next(events)
    assert (event["event"], event["messages"][-1]["content"]) == ("model", QUERY)
    assert told == event["answer"]
    assert told.strip() == ANSWER


async def check_models(_: Worlds, __: World, told: Any, ___: Call, ____: Iterator[dict[str, Any]]) -> None:
    assert told == "scripted"


async def check_refused(_: Worlds, __: World, told: Any, ___: Call, events: Iterator[dict[str, Any]]) -> None:
    event = next(events)
    assert event["event"] == "refused"
    assert event["host"] in told


CHECKS = {
    "results": check_results,
    "contents": check_contents,
    "text": check_text,
    "nothing": check_nothing,
    "page": check_page,
    "model": check_model,
    "models": check_models,
    "refused": check_refused,
}


# Through the command itself.


@pytest.mark.parametrize("script", ["smolagents_tools.py", "ddgs_search.py"])
async def test_the_command(script: str, request: pytest.FixtureRequest, worlds: Worlds, tmp_path: Path) -> None:
    wanted = next(worlds.create(TASK, {"rank": "front", "budget": 3}).documents())
    asked = {"way": "hook", "url": "", "key": "a-key-of-the-users-own", "query": QUERY, "page": wanted.url}
    kept = tmp_path / "record.json"
    settings = ("--task", TASK, "--set", "rank=front", "--set", "budget=3", "--json", str(kept))
    started = [sys.executable, "-m", "searchsim.cli", "run", *settings, "--", *command(script, request)]
    answer, printed = await run(started, asked, tmp_path, SEARCHSIM_CACHE=os.environ["SEARCHSIM_CACHE"])
    record = json.loads(kept.read_text("utf-8"))
    last = printed.splitlines()[-1]
    if script == "smolagents_tools.py":
        assert answer["results"]["GoogleSearchTool"]
        assert last == "searchsim: searches 2, pages 1, injected 3, refused 0"
        assert record["valid"], record["reasons"]
    else:
        assert last == "searchsim: searches 0, pages 0, injected 0, refused 2"
        assert "searchsim: refused tcp://html.duckduckgo.com:443\n" in printed
        assert "traffic went to html.duckduckgo.com and was refused" in record["reasons"]
        assert not record["valid"]


# The page. These come last, since they tell of what the others found.


def told() -> list[list[str]]:
    """The rows of the page's table."""
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ")]
    return [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in lines[2:]]


def test_the_page_has_every_case() -> None:
    everywhere = [[*cells[:1], *cells[2:]] for cells in rows({case.id: "" for case in CASES})]
    assert [[*cells[:1], *cells[2:]] for cells in told()] == everywhere


def test_the_page_says_what_was_found(found: dict[str, str]) -> None:
    there = {client: version for client, version, *_ in told()}
    for case in CASES:
        if version := found.get(case.id):
            assert there[case.client] == version
    if all(found.get(case.id) for case in CASES):
        assert PAGE.read_text("utf-8") == page(found)
