"""GPT Researcher in the simulation: whole runs with a scripted model, embeddings among them."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from searchsim import agent
from searchsim.agent import Adapter
from searchsim.errors import AgentError
from searchsim.server.context import Context
from searchsim.world import World
from tests.adapters.scripted_gpt_researcher import reply
from tests.adapters.scripted_server import ScriptedServer

TASK = "bicycle-stability"
TREATED = {"budget": 3, "stage": "cold_start"}


@pytest.fixture
async def scripted_model() -> AsyncIterator[ScriptedServer]:
    """The model behind the gateway of this module's tests."""
    async with ScriptedServer(reply).running() as server:
        yield server


@pytest.fixture(scope="session")
def gpt_researcher(cache: Path) -> tuple[Adapter, Path]:
    """The adapter, with its environment made by uv."""
    return agent.prepare("gpt-researcher")


def world_of(context: Context, condition: dict[str, object], task: str = TASK, **more: Any) -> World:
    """A world as agents get it."""
    return context.worlds.create(task, condition, results=10, **more)


def events(run: agent.Run, kind: str) -> list[dict[str, Any]]:
    """The events of a kind."""
    return [dict(e) for e in run.events if e["event"] == kind]


async def test_a_treated_run(
    context: Context, url: str, scripted_model: ScriptedServer, gpt_researcher: tuple[Adapter, Path]
) -> None:
    world = world_of(context, TREATED)
    run = await agent.run(context, url, *gpt_researcher, world)
    assert run.valid, run.reasons
    question = context.worlds.corpus.tasks[TASK].question
    searches = events(run, "search")
    # The question alone for the plan, then what was planned, one after another, then the question again.
    assert [s["list"] for s in searches] == [1, 2, 3, 4, 1]
    assert [s["query"] for s in searches if s["list"] == 1] == [question, question]
    planned = [s["query"] for s in searches[1:4]]
    assert len(set(planned)) == 3
    assert [len(s["served"]) for s in searches] == [7, 10, 10, 10, 10]
    pool = set(world.plan.documents)
    assert {row["document"] for row in searches[0]["served"] if row["injected"]} == pool
    assert not any(row["injected"] for s in searches[1:4] for row in s["served"])
    assert set(run.exposure.served) == set(run.exposure.delivered) == pool
    # It opens all that it finds, each once, between the searches that found it and the next.
    found = {row["url"] for s in searches for row in s["served"]}
    opened = [p["url"] for p in events(run, "page")]
    assert set(opened) <= found
    assert len(opened) == len(set(opened)) > 15
    assert set(run.exposure.opened or []) == pool
    cited = set(run.exposure.cited or [])
    assert cited
    last = events(run, "model")[-1]
    assert cited == pool & set(last["delivered"]), "the report cites what the last prompt held"
    chat = [body for path, body in scripted_model.requests if path.endswith("/chat/completions")]
    assert len(chat) == 3
    assert all(body["temperature"] == 0 for body in chat)
    embedded = [body for path, body in scripted_model.requests if path.endswith("/embeddings")]
    assert embedded
    assert all(isinstance(text, str) for body in embedded for text in body["input"])
    today = context.worlds.corpus.today
    assert f"the current date is {today.isoformat()}" in str(chat[-1])
    assert f"the current date is {today.strftime('%B %d, %Y')}" in str(chat[1])
    assert "in the following language: english" in str(chat[-1])
    assert run.versions["gpt-researcher"] == "0.15.0"
    assert run.notes["role"] == "Science Agent"
    assert run.notes["errors"] == []

    sent = scripted_model.sent((world.key, "KEY"))
    scripted_model.requests.clear()
    twin = world_of(context, TREATED)
    again = await agent.run(context, url, *gpt_researcher, twin)
    assert scripted_model.sent((twin.key, "KEY")) == sent
    told = [[(e["event"], e.get("query") or e.get("url")) for e in one.events] for one in (run, again)]
    assert told[0] == told[1], "searches and pages too come in the same order"


async def test_a_control_is_exposed_to_nothing(
    context: Context, url: str, scripted_model: ScriptedServer, gpt_researcher: tuple[Adapter, Path]
) -> None:
    run = await agent.run(context, url, *gpt_researcher, world_of(context, {"budget": 0}))
    assert run.valid, run.reasons
    assert [s["list"] for s in events(run, "search")] == [1, 2, 3, 4, 1]
    exposure = run.exposure
    assert (exposure.served, exposure.delivered, exposure.opened, exposure.cited) == ([], [], [], [])
    opened = {p["url"] for p in events(run, "page")}
    assert run.citations
    assert set(run.citations) <= opened


async def test_what_comes_appended_is_not_cut_off(
    context: Context, url: str, scripted_model: ScriptedServer, gpt_researcher: tuple[Adapter, Path]
) -> None:
    world = world_of(context, {"budget": 3, "stage": "pre_synthesis"}, last_list=4)
    run = await agent.run(context, url, *gpt_researcher, world)
    assert run.valid, run.reasons
    searches = events(run, "search")
    assert [(s["list"], len(s["served"])) for s in searches] == [(1, 7), (2, 10), (3, 10), (4, 13), (1, 10)]
    assert set(run.exposure.opened or []) == set(world.plan.documents)


@pytest.mark.parametrize("retriever", ["tavily", "searx"])
async def test_other_ways_of_searching_for_a_chinese_task(
    context: Context, url: str, scripted_model: ScriptedServer, gpt_researcher: tuple[Adapter, Path], retriever: str
) -> None:
    world = world_of(context, TREATED, task="anji-bridge")
    settings = {"retriever": retriever, "queries": 1, "words": 300}
    run = await agent.run(context, url, *gpt_researcher, world, settings=settings)
    assert run.valid, run.reasons
    searches = events(run, "search")
    assert {s["dialect"] for s in searches} == {{"searx": "searxng"}.get(retriever, retriever)}
    assert set(run.exposure.served) == set(run.exposure.opened or []) == set(world.plan.documents)
    assert run.exposure.cited
    last = str(scripted_model.requests[-1])
    assert "at least 300 words" in last
    assert "in the following language: chinese" in last


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"iterations": 3}, "no setting 'iterations'; there are: retriever, queries, results, words, embedding"),
        ({"retriever": "google"}, "it can be: serper, tavily, searx"),
        ({"queries": "three"}, "must be a whole number above 0"),
    ],
)
async def test_settings_that_there_are_not(
    context: Context, url: str, gpt_researcher: tuple[Adapter, Path], settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(AgentError, match=re.escape(message)):
        await agent.run(context, url, *gpt_researcher, world_of(context, {}), settings=settings)


async def test_embeddings_that_fail_fail_the_run(
    context: Context, url: str, scripted_model: ScriptedServer, gpt_researcher: tuple[Adapter, Path]
) -> None:
    # The framework would write its report from nothing.
    scripted_model.embeds = False
    world = world_of(context, {})
    with pytest.raises(AgentError, match="scripted failure"):
        await agent.run(context, url, *gpt_researcher, world, settings={"queries": 1})
    assert not any("Using the above information" in str(body) for _, body in scripted_model.requests)
    assert "fault" in {e["event"] for e in context.worlds.events(world.key)}
