"""DeerFlow 2, whole and headless, with a scripted model: what it searches for, is shown, reads and cites.

Each run starts DeerFlow in a process of its own, whose imports take some seconds.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
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
from tests.adapters.scripted_deerflow2 import reply
from tests.adapters.scripted_server import Body, ScriptedServer, called, said

pytestmark = [
    pytest.mark.skipif(not os.environ.get("DEERFLOW2_HOME"), reason="DEERFLOW2_HOME isn't set"),
    pytest.mark.timeout(300),
]

TASK = "bicycle-stability"
COLD_START = {"budget": 3, "stage": "cold_start"}


@pytest.fixture(scope="session")
def deerflow2(cache: Path) -> tuple[Adapter, Path]:
    """The adapter, with its environment made by uv."""
    return agent.prepare("deerflow2")


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


@pytest.fixture
def script(model: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Has the model say other things, one after another; they are counted by the answers that a prompt holds."""

    def say(*messages: dict[str, Any]) -> None:
        def reply(body: Body) -> dict[str, Any]:
            said_before = [m for m in body["messages"] if m["role"] == "assistant"]
            return messages[len(said_before)]

        monkeypatch.setattr(model, "_reply", reply)

    return say


def searches(run: Run) -> list[tuple[int, int, list[str]]]:
    """Of each search: its list's number, how many documents it served, and which of them were injected."""
    served = [(e["list"], e["served"]) for e in run.events if e["event"] == "search"]
    return [(number, len(rows), [row["document"] for row in rows if row["injected"]]) for number, rows in served]


def queries(run: Run) -> list[str]:
    """What was searched for, in order."""
    return [e["query"] for e in run.events if e["event"] == "search"]


def deliveries(run: Run) -> list[list[str]]:
    """Of each model call: which of the pool's documents were in its prompt."""
    return [sorted(set(e["delivered"]) & set(run.exposure.served)) for e in run.events if e["event"] == "model"]


def world(context: Context, condition: dict[str, Any], task: str = TASK, **more: Any) -> World:
    return context.worlds.create(task, condition, results=RESULTS, **more)


def shown(body: Body) -> list[str]:
    """What tools told the model, in order."""
    return [m["content"] for m in body["messages"] if m["role"] == "tool"]


async def test_a_cold_start_is_served_shown_and_cited(
    context: Context, url: str, model: ScriptedServer, deerflow2: tuple[Adapter, Path]
) -> None:
    treated = world(context, COLD_START)
    run = await agent.run(context, url, *deerflow2, treated)
    assert run.valid, run.reasons
    pool = run.exposure.served
    assert sorted(pool) == sorted(treated.plan.documents)
    assert searches(run) == [(1, RESULTS, pool), (2, RESULTS, []), (3, RESULTS, [])]
    assert [e["k"] for e in run.events if e["event"] == "search"] == [RESULTS] * 3
    assert queries(run)[0] == context.worlds.corpus.tasks[TASK].question
    # Four calls of the model: three with a search or a page, and the report.
    assert deliveries(run) == [[], sorted(pool), sorted(pool), sorted(pool)]
    page = next(e for e in run.events if e["event"] == "page")
    assert page["found"]
    assert page["document"] not in pool
    assert page["url"] in run.citations
    assert run.exposure.opened == []
    urls = {d.id: d.url for d in treated.documents()}
    assert set(run.exposure.cited or []) == {d for d in pool if urls[d] in run.report}
    assert len(run.exposure.cited or []) == 2
    assert run.report.startswith("# Report on “Bicycle self-stability"), "the page's title, as the page reader had it"
    assert run.calls == {"live": 4, "replayed": 0}
    assert run.notes["answers"] == 4
    assert run.notes["calls"] == {"web_fetch": 1, "web_search": 3}
    assert run.versions["langgraph"] == "1.2.9"
    _, body = model.requests[0]
    assert (body["temperature"], body["stream"]) == (0, True)


async def test_a_control_is_shown_nothing(context: Context, url: str, deerflow2: tuple[Adapter, Path]) -> None:
    run = await agent.run(context, url, *deerflow2, world(context, {"budget": 0}))
    assert run.valid, run.reasons
    assert searches(run) == [(n, RESULTS, []) for n in (1, 2, 3)]
    assert (run.exposure.served, run.exposure.delivered, run.exposure.cited) == ([], [], [])
    assert run.citations


async def test_two_runs_ask_the_model_the_same(
    context: Context, url: str, model: ScriptedServer, deerflow2: tuple[Adapter, Path]
) -> None:
    sent = []
    for _ in range(2):
        model.requests.clear()
        run = await agent.run(context, url, *deerflow2, world(context, COLD_START))
        assert run.valid, run.reasons
        sent.append(model.sent((run.world["key"], "KEY"), (url.rpartition(":")[2], "PORT")))
    assert sent[0] == sent[1]
    assert f"<current_date>{context.worlds.corpus.today:%Y-%m-%d, %A}</current_date>".encode() in sent[0]


@pytest.mark.parametrize(("search", "rows"), [("searxng", 13), ("brave", 13), ("tavily", 13), ("serper", 10)])
async def test_documents_appended_to_a_list_reach_the_model_but_through_serper(
    context: Context, url: str, model: ScriptedServer, deerflow2: tuple[Adapter, Path], search: str, rows: int
) -> None:
    treated = world(context, {"budget": 3, "stage": "pre_synthesis"}, last_list=1)
    run = await agent.run(context, url, *deerflow2, treated, settings={"search": search})
    assert [e["dialect"] for e in run.events if e["event"] == "search"] == [search] * 3
    assert [size for _, size, _ in searches(run)] == [13, 10, 10]
    _, body = model.requests[1]
    assert shown(body)[0].count('"title":') == rows
    assert run.exposure.delivered == (run.exposure.served if rows == 13 else [])


async def test_what_is_appended_to_the_controls_last_list_changes_the_report_alone(
    context: Context, url: str, deerflow2: tuple[Adapter, Path], tmp_path: Path
) -> None:
    lane = Lane("quickstart", TASK, "deerflow2", "1", "scripted")
    answers = Answers(tmp_path / "answers")
    control = Recording(answers, lane, Mode.RECORD)
    recorded = await agent.run(context, url, *deerflow2, world(context, {"budget": 0}), recording=control)
    assert recorded.valid, recorded.reasons
    assert control.last_list() == 3
    treated = world(context, {"budget": 3, "stage": "pre_synthesis"}, last_list=3)
    run = await agent.run(context, url, *deerflow2, treated, recording=Recording(answers, lane, Mode.COUNTERFACTUAL))
    assert run.valid, run.reasons
    assert [(size, len(injected)) for _, size, injected in searches(run)] == [(10, 0), (10, 0), (13, 3)]
    assert deliveries(run) == [[], [], [], sorted(run.exposure.served)]
    assert run.calls == {"live": 1, "replayed": 3}
    answers.close()


async def test_a_chinese_task(context: Context, url: str, deerflow2: tuple[Adapter, Path]) -> None:
    run = await agent.run(context, url, *deerflow2, world(context, COLD_START, "anji-bridge"))
    assert run.valid, run.reasons
    assert run.exposure.delivered == run.exposure.served
    assert queries(run)[0] == context.worlds.corpus.tasks["anji-bridge"].question


async def test_many_calls_in_one_answer_keep_their_order(
    context: Context, url: str, model: ScriptedServer, deerflow2: tuple[Adapter, Path], script: Callable[..., None]
) -> None:
    # More than a thread pool on a small machine has threads.
    asked = [f"bicycle {word}" for word in ("wheel", "trail", "mass", "steer", "lean", "fork", "spin", "speed", "hub")]
    calls = [("web_search", {"query": q}) for q in asked]
    script(called(("no_such_tool", {}), *calls), said("A report."))
    run = await agent.run(context, url, *deerflow2, world(context, {"budget": 0}))
    assert run.valid, run.reasons
    assert queries(run) == asked
    assert "no_such_tool" in shown(model.requests[-1][1])[0]


async def test_nobody_is_there_to_be_asked(
    context: Context, url: str, model: ScriptedServer, deerflow2: tuple[Adapter, Path], script: Callable[..., None]
) -> None:
    script(
        called(("ask_clarification", {"question": "Which bicycle?"}), ("web_search", {"query": "bicycle"})),
        said("<think>Any bicycle.</think>\n\nA report."),
    )
    run = await agent.run(context, url, *deerflow2, world(context, {"budget": 0}))
    assert run.valid, run.reasons
    assert run.report == "A report."
    assert [t["function"]["name"] for t in model.requests[0][1]["tools"]] == ["web_search", "web_fetch"]
    refusal, found = shown(model.requests[-1][1])
    assert "ask_clarification" in refusal
    assert found.count('"title":') == RESULTS


async def test_a_model_that_fails_fails_the_run(
    context: Context, url: str, model: ScriptedServer, deerflow2: tuple[Adapter, Path]
) -> None:
    model.failing_from = 1
    with pytest.raises(AgentError, match=r"DeerFlow failed: .*scripted failure"):
        await agent.run(context, url, *deerflow2, world(context, COLD_START))
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    ("message", "settings", "reason"),
    [
        (called(("web_search", {"query": "bicycle"})), {}, "broke off before there was a report: loop_capped"),
        (called(("web_search", {"query": "bicycle"})), {"recursion_limit": 30}, "wasn't done after 30 steps"),
        (said(""), {}, "ended without a report"),
    ],
)
async def test_a_model_that_never_reports(
    context: Context,
    url: str,
    deerflow2: tuple[Adapter, Path],
    script: Callable[..., None],
    message: dict[str, Any],
    settings: dict[str, Any],
    reason: str,
) -> None:
    script(*[message] * 10)
    with pytest.raises(AgentError, match=reason):
        await agent.run(context, url, *deerflow2, world(context, COLD_START), settings=settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"search": "bing"}, "setting search: 'bing' is none of searxng, brave, tavily, serper"),
        ({"recursion_limit": 0}, "setting recursion_limit: 0 is no whole number from 1 on"),
    ],
)
async def test_settings_that_it_does_not_have(
    context: Context, url: str, deerflow2: tuple[Adapter, Path], settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(AgentError, match=message):
        await agent.run(context, url, *deerflow2, world(context, COLD_START), settings=settings)
