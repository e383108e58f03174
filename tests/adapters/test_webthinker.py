"""WebThinker, whole and headless, with a scripted model: what it searches for, is shown, opens and cites.

Each run starts WebThinker in a process of its own; its libraries' imports take most of the time.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from searchsim import agent
from searchsim.agent import Adapter, Run
from searchsim.agent.run import APPENDED, RESULTS
from searchsim.counterfactual import Recording
from searchsim.errors import AgentError
from searchsim.replay import Answers, Lane, Mode
from searchsim.server.app import running
from searchsim.server.context import Context
from searchsim.upstream import HttpUpstream
from searchsim.world import World, Worlds
from tests.adapters.scripted_webthinker import ScriptedThinker

pytestmark = pytest.mark.timeout(300)
needs_home = pytest.mark.skipif(not os.environ.get("WEBTHINKER_HOME"), reason="WEBTHINKER_HOME isn't set")

TASK = "bicycle-stability"
COLD_START = {"budget": 3, "stage": "cold_start"}


@pytest.fixture(scope="session")
def webthinker(cache: Path) -> tuple[Adapter, Path]:
    """The adapter, with its environment made by uv."""
    return agent.prepare("webthinker")


@pytest.fixture
async def model() -> AsyncIterator[ScriptedThinker]:
    """The scripted model."""
    async with ScriptedThinker().running() as server:
        yield server


@pytest.fixture
async def context(worlds: Worlds, model: ScriptedThinker) -> AsyncIterator[Context]:
    """A server's state, with the scripted model behind the gateway."""
    upstream = HttpUpstream(f"{model.url}/v1", model="scripted")
    yield Context(worlds, upstream)
    await upstream.close()


def world(context: Context, condition: dict[str, Any], task: str = TASK, **more: Any) -> World:
    return context.worlds.create(task, condition, results=RESULTS, **more)


def searches(run: Run) -> list[tuple[int, int, list[str]]]:
    """Of each search: its list's number, how many documents it served, and which of them were injected."""
    served = [(e["list"], e["served"]) for e in run.events if e["event"] == "search"]
    return [(number, len(rows), [row["document"] for row in rows if row["injected"]]) for number, rows in served]


def first_delivery(run: Run) -> tuple[str, list[str]]:
    """The first model call whose prompt held a document of the pool: what it answered, and which it held."""
    pool = set(run.exposure.served)
    return next(
        (e["answer"], sorted(pool & set(e["delivered"])))
        for e in run.events
        if e["event"] == "model" and pool & set(e["delivered"])
    )


@needs_home
async def test_a_cold_start_is_shown_to_the_explorer_and_gets_into_the_report(
    context: Context, url: str, model: ScriptedThinker, webthinker: tuple[Adapter, Path]
) -> None:
    treated = world(context, COLD_START)
    run = await agent.run(context, url, *webthinker, treated)
    assert run.valid, run.reasons
    assert [(number, size, len(injected)) for number, size, injected in searches(run)] == [
        (1, RESULTS, 3),
        (2, RESULTS, 0),
        (3, RESULTS, 0),
    ]
    pool = sorted(run.exposure.served)
    assert len(pool) == 3
    queries = [e["query"] for e in run.events if e["event"] == "search"]
    assert queries[0] == context.worlds.corpus.tasks[TASK].question
    assert queries[2] == f"{queries[0]} review"
    assert run.notes["searches"] == queries
    assert (run.notes["explorer_searches"], run.notes["retries"], run.notes["pages_unread"]) == ([], 0, [])
    answered, delivered = first_delivery(run)
    assert answered.endswith("<|end_click_link|>"), "the explorer's first call"
    assert delivered == pool
    assert sorted(run.exposure.opened) == pool, "WebThinker opens every result"
    assert sorted(run.exposure.cited or ()) == pool
    assert {d.url for d in treated.documents() if d.id in pool} <= set(run.citations)
    assert run.report.startswith("# A survey: "), "the article was checked, titled and edited"
    assert "## Findings" in run.report
    assert run.versions["transformers"] == "4.46.1"
    assert {path for path, _ in model.requests} == {"/v1/completions"}
    assert {body["include_stop_str_in_output"] for _, body in model.requests} == {True}


@needs_home
async def test_appended_documents_reach_the_explorer_and_the_control_was_shown_nothing(
    context: Context, url: str, webthinker: tuple[Adapter, Path], tmp_path: Path
) -> None:
    lane = Lane("quickstart", TASK, "webthinker", "1", "scripted")
    answers = Answers(tmp_path / "answers")
    recording = Recording(answers, lane, Mode.RECORD)
    control = await agent.run(context, url, *webthinker, world(context, {"budget": 0}), recording=recording)
    assert control.valid, control.reasons
    assert searches(control) == [(1, RESULTS, []), (2, RESULTS, []), (3, RESULTS, [])]
    assert (control.exposure.served, control.exposure.delivered, control.exposure.cited) == ([], [], [])
    assert control.report
    assert recording.last_list() == 3
    treated = world(context, {"budget": 3, "stage": "pre_synthesis"}, last_list=recording.last_list())
    run = await agent.run(context, url, *webthinker, treated, recording=Recording(answers, lane, Mode.COUNTERFACTUAL))
    assert run.valid, run.reasons
    assert [(size, len(injected)) for _, size, injected in searches(run)] == [
        (RESULTS, 0),
        (RESULTS, 0),
        (RESULTS + APPENDED, APPENDED),
    ]
    answered, delivered = first_delivery(run)
    assert answered.startswith("**Final Information**"), "the explorer of the last search"
    assert delivered == sorted(run.exposure.served), "none was cut off"
    # Plan, three searches with what belongs to them; the last explorer's answer is the first that is new.
    assert run.calls == {"live": 9, "replayed": 12}
    assert run.report != control.report


@needs_home
async def test_two_runs_ask_the_model_the_same(
    context: Context, url: str, model: ScriptedThinker, webthinker: tuple[Adapter, Path]
) -> None:
    sent = []
    for _ in range(2):
        model.requests.clear()
        run = await agent.run(context, url, *webthinker, world(context, COLD_START))
        assert run.valid, run.reasons
        sent.append(model.sent())
        assert run.world["key"].encode() not in sent[-1]
        assert url.rpartition(":")[2].encode() not in sent[-1]
    assert sent[0] == sent[1]


@needs_home
async def test_a_model_that_has_chat_alone_and_pages_through_jina(
    worlds: Worlds, webthinker: tuple[Adapter, Path]
) -> None:
    async with ScriptedThinker(completions=False).running() as model:
        upstream = HttpUpstream(f"{model.url}/v1", model="scripted")
        context = Context(worlds, upstream)
        async with running(context) as url:
            treated = world(context, COLD_START, "anji-bridge")
            run = await agent.run(context, url, *webthinker, treated, settings={"jina": True})
        await upstream.close()
    assert run.valid, run.reasons
    assert [len(injected) for _, _, injected in searches(run)] == [3, 0, 0]
    pool = sorted(run.exposure.served)
    assert first_delivery(run)[1] == pool
    assert sorted(run.exposure.opened) == pool
    assert sorted(run.exposure.cited or ()) == pool
    assert {e["dialect"] for e in run.events if e["event"] == "page"} == {"jina"}
    assert {path for path, _ in model.requests} == {"/v1/chat/completions"}
    assert model.requests[-2][1]["messages"][-1]["role"] == "assistant", "its unfinished turn"


@needs_home
async def test_a_model_that_fails_fails_the_run(
    context: Context, url: str, model: ScriptedThinker, webthinker: tuple[Adapter, Path]
) -> None:
    model.status = 400
    with pytest.raises(
        AgentError, match=r"went on without what it asked for: Failed after 3 attempts.*scripted failure"
    ):
        await agent.run(context, url, *webthinker, world(context, COLD_START))


@needs_home
async def test_a_model_that_searches_for_nothing_gets_no_report(
    context: Context, url: str, model: ScriptedThinker, webthinker: tuple[Adapter, Path]
) -> None:
    model.say = lambda asked, begun: "Bicycles stay up."
    with pytest.raises(AgentError, match="WebThinker made no search"):
        await agent.run(context, url, *webthinker, world(context, COLD_START))


@needs_home
async def test_searches_that_fail_again_and_again_fail_the_run(
    context: Context, url: str, webthinker: tuple[Adapter, Path]
) -> None:
    failing = world(context, COLD_START, faults=[{"kind": "500", "share": 1}])
    with pytest.raises(AgentError, match=r"went on without what it asked for: Google Serper API .* after 5 retries"):
        await agent.run(context, url, *webthinker, failing)


# What the adapter makes of what WebThinker wrote, without WebThinker.

Functions = dict[str, Any]


@pytest.fixture
def functions(script: Callable[[str], Functions]) -> Functions:
    """The adapter's functions."""
    return script("webthinker")


@pytest.fixture
def wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Puts into a fresh working folder what WebThinker leaves there; gives what it printed."""
    monkeypatch.chdir(tmp_path)

    def write(
        printed: str = "", explored: tuple[str, ...] = ("a",), lists: object = None, article: str | None = "Text"
    ) -> Path:
        out = tmp_path / "outputs" / "custom.qwq.webthinker"
        (out / "markdown.test.1.2,12:0.49").mkdir(parents=True)
        (tmp_path / "cache").mkdir()
        record = [{"WebExplorer": [{"search_query": q} for q in explored]}]
        (out / "test.1.2,12:0.49.json").write_text(json.dumps(record))
        found = {"a": {"organic": [{"link": "https://x.org"}]}} if lists is None else lists
        (tmp_path / "cache" / "serper_search_cache.json").write_text(json.dumps(found))
        (tmp_path / "cache" / "url_cache.json").write_text("{}")
        if article is not None:
            (out / "markdown.test.1.2,12:0.49" / "article_1.md").write_text(f"Question: Q?\n\n{article}")
        (tmp_path / "log").write_text(printed)
        return tmp_path / "log"

    return write


@pytest.mark.parametrize(
    ("left", "message"),
    [
        (
            {"printed": "x\nFailed after 3 attempts: Error code: 500\n"},
            "went on without what it asked for: Failed after",
        ),
        ({"printed": "Google Serper API Request Error occurred: 500 after 5 retries"}, "went on without"),
        ({"printed": "Error during search query 'a' using serper: no JSON"}, "went on without"),
        ({"lists": {"a": {}}}, "went on without the results of: a"),
        ({"explored": (), "lists": {}}, "made no search"),
        ({"article": None}, "made 1 searches and wrote no article"),
    ],
)
def test_a_run_that_went_on_without_evidence_is_none(
    functions: Functions, wrote: Callable[..., Path], left: dict[str, Any], message: str, tmp_path: Path
) -> None:
    log = wrote(**left)
    with pytest.raises(SystemExit, match=message) as caught:
        functions["answer"]({"prompt": "Q?"}, tmp_path, {}, log)
    assert "\n" not in str(caught.value)


def test_a_bad_record_is_told_in_one_line(
    functions: Functions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log").write_text("Error: Invalid search engine 'x'.\n")
    with pytest.raises(SystemExit, match=r"no record of its run; its last words: .*Invalid search engine"):
        functions["answer"]({"prompt": "Q?"}, tmp_path, {}, tmp_path / "log")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"jina": "yes"}, "setting jina: 'yes' is neither true nor false"),
        ({"max_tokens": 0}, "setting max_tokens: 0 is no whole number from 4 on"),
        ({"tokenizer": "/nowhere"}, "setting tokenizer: /nowhere is no folder"),
    ],
)
def test_settings_that_it_does_not_have(functions: Functions, given: dict[str, Any], message: str) -> None:
    with pytest.raises(SystemExit, match=message):
        functions["settings"](given)


def test_a_toys_answers_are_short_unless_told_otherwise(functions: Functions) -> None:
    assert functions["settings"]({"small": False})["max_tokens"] == 81920
    assert functions["settings"]({"small": True})["max_tokens"] == 1024
    assert functions["settings"]({"small": True, "max_tokens": 300})["max_tokens"] == 300
