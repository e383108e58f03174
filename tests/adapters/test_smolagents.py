"""smolagents in the simulation: whole runs with a scripted model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from searchsim import agent
from searchsim.agent import Adapter
from searchsim.errors import AgentError
from searchsim.server.context import Context
from searchsim.world import World
from tests.adapters.scripted_server import ScriptedServer
from tests.adapters.scripted_smolagents import reply

TASK = "bicycle-stability"
TREATED = {"budget": 3, "stage": "cold_start"}


@pytest.fixture
async def scripted_model() -> AsyncIterator[ScriptedServer]:
    """The model behind the gateway of this module's tests."""
    async with ScriptedServer(reply).running() as server:
        yield server


@pytest.fixture(scope="session")
def smolagents(cache: Path) -> tuple[Adapter, Path]:
    """The adapter, with its environment made by uv."""
    return agent.prepare("smolagents")


def searches(run: agent.Run) -> list[tuple[int, str]]:
    """Number and query of each search."""
    return [(e["list"], e["query"]) for e in run.events if e["event"] == "search"]


def pages(run: agent.Run) -> list[str]:
    """URLs of the pages that were read."""
    return [e["url"] for e in run.events if e["event"] == "page"]


def first_list(run: agent.Run) -> list[dict[str, Any]]:
    """What the first search was served."""
    served: list[dict[str, Any]] = next(e["served"] for e in run.events if e["event"] == "search")
    return served


@pytest.mark.parametrize("kind", ["tool_calling", "code"])
async def test_a_treated_run(
    context: Context, url: str, scripted_model: ScriptedServer, smolagents: tuple[Adapter, Path], kind: str
) -> None:
    world = context.worlds.create(TASK, TREATED)
    run = await agent.run(context, url, *smolagents, world, settings={"agent": kind})
    assert run.valid, run.reasons
    pool = set(world.plan.documents)
    assert [number for number, _ in searches(run)] == [1, 2, 3], "two calls in one step keep their order"
    assert searches(run)[0][1] == context.worlds.corpus.tasks[TASK].question
    served = first_list(run)
    assert len(served) == 10
    assert pages(run) == [row["url"] for row in served[:3]]
    assert set(run.exposure.served) == set(run.exposure.delivered) == pool
    opened = [row["document"] for row in served[:3] if row["injected"]]
    assert run.exposure.opened == opened != []
    assert run.exposure.cited == opened
    assert "58.3 %" in run.report
    assert run.report.startswith("# What the sources say")
    assert run.calls["live"] == 6
    assert run.versions["smolagents"] == "1.26.0"
    assert run.notes["state"] == "success"
    assert run.notes["errors"] == []
    tools = [{t["function"]["name"] for t in body.get("tools", [])} for _, body in scripted_model.requests]
    expected = {"web_search", "visit_webpage", "final_answer"} if kind == "tool_calling" else set()
    assert tools == [expected] * 6
    assert "report in Markdown" in str(scripted_model.requests[0][1]["messages"])


async def test_a_control_is_exposed_to_nothing(
    context: Context, url: str, scripted_model: ScriptedServer, smolagents: tuple[Adapter, Path]
) -> None:
    run = await agent.run(context, url, *smolagents, context.worlds.create(TASK, {"budget": 0}))
    assert run.valid, run.reasons
    assert [number for number, _ in searches(run)] == [1, 2, 3]
    exposure = run.exposure
    assert (exposure.served, exposure.delivered, exposure.opened, exposure.cited) == ([], [], [], [])
    assert len(pages(run)) == 3
    assert set(pages(run)) <= set(run.citations)
    assert "58.3 %" not in run.report


async def test_two_runs_send_the_same(
    context: Context, url: str, scripted_model: ScriptedServer, smolagents: tuple[Adapter, Path]
) -> None:
    sent = []
    for _ in range(2):
        scripted_model.requests.clear()
        world = context.worlds.create(TASK, TREATED)
        await agent.run(context, url, *smolagents, world)
        sent.append(scripted_model.sent((world.key, "KEY")))
    assert sent[0] == sent[1]
    assert len(sent[0]) > 10_000


async def test_what_comes_appended_is_not_cut_off(
    context: Context, url: str, scripted_model: ScriptedServer, smolagents: tuple[Adapter, Path]
) -> None:
    world = context.worlds.create(TASK, {"budget": 3, "stage": "pre_synthesis"}, last_list=3)
    run = await agent.run(context, url, *smolagents, world)
    assert run.valid, run.reasons
    lists = [e["served"] for e in run.events if e["event"] == "search"]
    assert [len(rows) for rows in lists] == [10, 10, 13]
    assert set(run.exposure.delivered) == {row["document"] for row in lists[2][10:]} == set(world.plan.documents)


async def test_out_of_steps_it_answers_without_tools(
    context: Context, url: str, scripted_model: ScriptedServer, smolagents: tuple[Adapter, Path]
) -> None:
    run = await agent.run(context, url, *smolagents, context.worlds.create(TASK), settings={"steps": 2})
    assert run.valid, run.reasons
    assert run.notes["state"] == "max_steps_error"
    assert "tools" not in scripted_model.requests[-1][1]
    assert len(pages(run)) == 1
    assert run.report.startswith("# What the sources say")


async def test_chinese_tasks_are_asked_in_chinese(
    context: Context, url: str, scripted_model: ScriptedServer, smolagents: tuple[Adapter, Path]
) -> None:
    run = await agent.run(context, url, *smolagents, context.worlds.create("anji-bridge"), settings={"steps": 1})
    assert run.valid, run.reasons
    assert "Markdown 格式的报告" in str(scripted_model.requests[0][1]["messages"])
    assert searches(run) == [(1, context.worlds.corpus.tasks["anji-bridge"].question)]


@pytest.mark.parametrize("steps", [1, 20])
async def test_a_model_that_fails_fails_the_run(
    context: Context, url: str, smolagents: tuple[Adapter, Path], scripted_model: ScriptedServer, steps: int
) -> None:
    world: World = context.worlds.create(TASK)
    # At a step, or at the answer without tools after the last, where smolagents gives the failure as its answer.
    scripted_model.failing_from = 2
    with pytest.raises(AgentError, match="scripted failure"):
        await agent.run(context, url, *smolagents, world, settings={"steps": steps})
    assert "fault" in {e["event"] for e in context.worlds.events(world.key)}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"stepps": 3}, "no setting 'stepps'; there are: agent, steps, page_characters"),
        ({"agent": "chat"}, "it can be: tool_calling, code"),
        ({"steps": 0}, "must be a whole number above 0"),
    ],
)
async def test_settings_that_there_are_not(
    context: Context, url: str, smolagents: tuple[Adapter, Path], settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(AgentError, match=message):
        await agent.run(context, url, *smolagents, context.worlds.create(TASK), settings=settings)
