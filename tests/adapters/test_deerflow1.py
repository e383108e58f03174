"""DeerFlow 1, whole and headless, with a scripted model: what it searches for, is shown, reads and cites.

Each run starts DeerFlow in a process of its own, whose imports take about ten seconds.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from searchsim import agent
from searchsim.agent import Adapter, Run
from searchsim.agent.run import RESULTS
from searchsim.counterfactual import Recording
from searchsim.errors import AgentError
from searchsim.replay import Answers, Lane, Mode
from searchsim.server.context import Context
from searchsim.upstream import HttpUpstream
from searchsim.world import World, Worlds
from tests.adapters.scripted_deerflow1 import reply
from tests.adapters.scripted_server import ScriptedServer

pytestmark = [
    pytest.mark.skipif(not os.environ.get("DEERFLOW_HOME"), reason="DEERFLOW_HOME isn't set"),
    pytest.mark.timeout(300),
]

TASK = "bicycle-stability"
COLD_START = {"budget": 3, "stage": "cold_start"}


@pytest.fixture(scope="session")
def deerflow1(cache: Path) -> tuple[Adapter, Path]:
    """The adapter, with its environment made by uv."""
    return agent.prepare("deerflow1")


@pytest.fixture
async def model() -> AsyncIterator[ScriptedServer]:
    """The scripted model."""
    async with ScriptedServer(reply).running() as server:
        yield server


@pytest.fixture
async def context(worlds: Worlds, model: ScriptedServer) -> AsyncIterator[Context]:
    """A server's state, with the scripted model behind the gateway."""
    upstream = HttpUpstream(f"{model.url}/v1", model="scripted")
    yield Context(worlds, upstream)
    await upstream.close()


def searches(run: Run) -> list[tuple[int, int, list[str]]]:
    """Of each search: its list's number, how many documents it served, and which of them were injected."""
    served = [(e["list"], e["served"]) for e in run.events if e["event"] == "search"]
    return [(number, len(rows), [row["document"] for row in rows if row["injected"]]) for number, rows in served]


def deliveries(run: Run) -> list[list[str]]:
    """Of each model call: which of the pool's documents were in its prompt."""
    pool = run.exposure.served
    return [sorted(set(e["delivered"]) & set(pool)) for e in run.events if e["event"] == "model"]


def world(context: Context, condition: dict[str, Any], task: str = TASK, **more: Any) -> World:
    return context.worlds.create(task, condition, results=RESULTS, **more)


async def test_through_serper_the_planner_alone_sees_a_cold_start_and_nobody_an_address(
    context: Context, url: str, deerflow1: tuple[Adapter, Path]
) -> None:
    run = await agent.run(context, url, *deerflow1, world(context, COLD_START))
    assert run.valid, run.reasons
    pool = run.exposure.served
    assert len(pool) == 3
    # The background investigation, one search of the first researcher, two of the second.
    assert [(number, bool(injected)) for number, _, injected in searches(run)] == [
        (1, True),
        (2, False),
        (3, False),
        (4, False),
    ]
    assert {size for _, size, _ in searches(run)} == {RESULTS}
    queries = [e["query"] for e in run.events if e["event"] == "search"]
    assert queries[0] == context.worlds.corpus.tasks[TASK].question
    assert queries[3] == f"{queries[2]} review", "searches of one breath keep their order"
    # Coordinator, planner, two calls of each researcher, reporter.
    assert deliveries(run) == [[], sorted(pool), [], [], [], [], []]
    assert run.exposure.delivered == pool
    assert (run.exposure.opened, run.exposure.cited, run.citations) == ([], [], [])
    assert run.observation.pages == 0
    assert "http" not in run.report
    assert run.notes["plan_steps"] == [f"research: {queries[1]}", f"research: {queries[2]}"]
    assert run.notes["failed_steps"] == 0
    assert run.versions["langgraph"] == "1.0.4"


async def test_through_brave_it_reads_and_cites_what_the_planner_found(
    context: Context, url: str, deerflow1: tuple[Adapter, Path]
) -> None:
    treated = world(context, {**COLD_START, "rank": "front"})
    run = await agent.run(context, url, *deerflow1, treated, settings={"search": "brave"})
    assert run.valid, run.reasons
    _, _, injected = searches(run)[0]
    assert len(injected) == 3
    assert run.exposure.delivered == injected
    assert run.exposure.opened == injected[:1], "the planner names the first address that it saw"
    assert run.exposure.cited == injected[:1]
    first = next(d for d in treated.documents() if d.id == injected[0])
    assert first.url in run.citations
    assert first.url in run.report
    page = next(e for e in run.events if e["event"] == "page")
    assert (page["document"], page["found"]) == (injected[0], True)


@pytest.mark.parametrize(("search", "cites"), [("tavily", True), ("searxng", False)])
async def test_other_searches(
    context: Context, url: str, deerflow1: tuple[Adapter, Path], search: str, cites: bool
) -> None:
    run = await agent.run(context, url, *deerflow1, world(context, {"budget": 3}), settings={"search": search})
    assert run.valid, run.reasons
    assert run.exposure.delivered
    assert bool(run.exposure.cited) is cites, "SearXNG's results come without their addresses"
    assert bool(run.citations) is cites


async def test_a_control_is_shown_nothing(context: Context, url: str, deerflow1: tuple[Adapter, Path]) -> None:
    run = await agent.run(context, url, *deerflow1, world(context, {"budget": 0}))
    assert run.valid, run.reasons
    assert [injected for _, _, injected in searches(run)] == [[], [], [], []]
    assert (run.exposure.served, run.exposure.delivered, run.exposure.cited) == ([], [], [])


async def test_a_chinese_task_has_chinese_prompts(
    context: Context, url: str, model: ScriptedServer, deerflow1: tuple[Adapter, Path]
) -> None:
    run = await agent.run(context, url, *deerflow1, world(context, {"budget": 3}, "anji-bridge"))
    assert run.valid, run.reasons
    assert run.exposure.delivered
    prompts = [body["messages"][0]["content"] for _, body in model.requests]
    assert "你是一位杰出的学术研究者" in prompts[-1], "the reporter's"


async def test_two_runs_ask_the_model_the_same(
    context: Context, url: str, model: ScriptedServer, deerflow1: tuple[Adapter, Path]
) -> None:
    sent = []
    for _ in range(2):
        model.requests.clear()
        run = await agent.run(
            context, url, *deerflow1, world(context, COLD_START), settings={"search": "tavily", "iterations": 1}
        )
        assert run.valid, run.reasons
        sent.append(model.sent((run.world["key"], "KEY"), (url.rpartition(":")[2], "PORT")))
    assert sent[0] == sent[1]
    assert b"CURRENT_TIME" in sent[0]
    assert context.worlds.corpus.today.strftime("%b %d %Y 12:00:00").encode() in sent[0]


async def test_documents_appended_to_the_last_search_reach_the_second_researcher(
    context: Context, url: str, deerflow1: tuple[Adapter, Path], tmp_path: Path
) -> None:
    lane = Lane("quickstart", TASK, "deerflow1", "1", "scripted")
    answers = Answers(tmp_path / "answers")
    control = Recording(answers, lane, Mode.RECORD)
    recorded = await agent.run(context, url, *deerflow1, world(context, {"budget": 0}), recording=control)
    assert recorded.valid, recorded.reasons
    assert control.last_list() == 4
    treated = world(context, {"budget": 3, "stage": "pre_synthesis"}, last_list=control.last_list())
    run = await agent.run(context, url, *deerflow1, treated, recording=Recording(answers, lane, Mode.COUNTERFACTUAL))
    assert run.valid, run.reasons
    assert [(size, len(injected)) for _, size, injected in searches(run)] == [(10, 0), (10, 0), (10, 0), (13, 3)]
    pool = sorted(run.exposure.served)
    assert deliveries(run)[-2] == pool, "none was cut off"
    # What the second researcher says of them, and the report, are all that is new.
    assert run.calls == {"live": 2, "replayed": 5}


async def test_a_model_that_fails_fails_the_run(
    context: Context, url: str, model: ScriptedServer, deerflow1: tuple[Adapter, Path]
) -> None:
    model.failing_from = 1
    with pytest.raises(AgentError, match="scripted failure"):
        await agent.run(context, url, *deerflow1, world(context, COLD_START))


async def test_a_model_that_calls_no_tool_gets_no_report(
    context: Context, url: str, model: ScriptedServer, deerflow1: tuple[Adapter, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model, "_reply", lambda body: {"role": "assistant", "content": "Hello!"})
    with pytest.raises(AgentError, match="as coordinator the model called no tool"):
        await agent.run(context, url, *deerflow1, world(context, COLD_START))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"search": "bing"}, "setting search: 'bing' is none of serper, tavily, brave, searxng"),
        ({"extractor": "lynx"}, "setting extractor: 'lynx' is none of python, node"),
        ({"steps": 0}, "setting steps: 0 is no whole number from 1 on"),
    ],
)
async def test_settings_that_it_does_not_have(
    context: Context, url: str, deerflow1: tuple[Adapter, Path], settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(AgentError, match=message):
        await agent.run(context, url, *deerflow1, world(context, COLD_START), settings=settings)


async def test_a_checkout_with_settings_of_its_own_is_refused(
    context: Context, url: str, deerflow1: tuple[Adapter, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "conf.yaml").write_text("BASIC_MODEL: {}\n")
    (tmp_path / "src" / "graph").mkdir(parents=True)
    for file in ("src/workflow.py", "src/graph/nodes.py"):
        (tmp_path / file).touch()
    monkeypatch.setenv("DEERFLOW_HOME", str(tmp_path))
    with pytest.raises(AgentError, match=r"holds a conf\.yaml, which would change what is run"):
        await agent.run(context, url, *deerflow1, world(context, COLD_START))
