"""Agents in processes of their own: the planner with a scripted model, and whole with the real local one."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from searchsim import agent
from searchsim.agent import Adapter
from searchsim.errors import AgentError, UsageError
from searchsim.judge import LexicalJudge
from searchsim.server.app import running
from searchsim.server.context import Context
from searchsim.upstream import open_upstream
from searchsim.world import Worlds
from tests.scripted import ScriptedModel

TASK = "bicycle-stability"


@pytest.fixture(scope="session")
def planner(cache: Path) -> tuple[Adapter, Path]:
    """The planner, with its environment made by uv."""
    return agent.prepare("planner")


async def test_the_planner_plans_researches_and_reports(
    context: Context, url: str, scripted_model: ScriptedModel, planner: tuple[Adapter, Path]
) -> None:
    scripted_model.answers = [
        "1. gyroscopic effect of bicycle wheels\n2. bicycle without gyroscopic effect or trail\nThanks!",
        "The front wheel supplies 58.3 % of the righting torque [1].",
        "Neither effect is necessary [2].",
        "Bicycles are held up by gyroscopic forces: the front wheel supplies 58.3 % of the righting torque [1].",
    ]
    world = context.worlds.create(TASK, {"rank": "front"})
    result = await agent.run(context, url, *planner, world, settings={"steps": 2, "pages": 1})
    assert result.valid, result.reasons
    events = result.events
    searches = [e["query"] for e in events if e["event"] == "search"]
    assert searches == [
        context.worlds.corpus.tasks[TASK].question,
        "gyroscopic effect of bicycle wheels",
        "bicycle without gyroscopic effect or trail",
    ]
    assert [e["event"] for e in events] == [
        "search",
        "model",
        "search",
        "page",
        "model",
        "search",
        "page",
        "model",
        "model",
    ]
    assert result.calls == {"live": 4, "replayed": 0}
    assert "## Sources" in result.report
    assert len(result.citations) == 1
    blueprint = context.worlds.corpus.blueprints[TASK]
    assert LexicalJudge().read(result.report, blueprint).state == "adopted"
    assert result.exposure.delivered
    assert result.exposure.opened, "rank front: the first result is an injected one"
    assert result.exposure.cited == [i for i in world.plan.documents if i in (result.exposure.cited or [])] != []
    assert result.versions["llama-index-core"]
    assert not result.demonstration
    prompts = [m["messages"][0]["content"] for m in scripted_model.requests]
    assert "Question: What keeps a moving bicycle upright" in prompts[0]
    assert scripted_model.requests[0]["temperature"] == 0.0


async def test_a_control_run_is_exposed_to_nothing(
    context: Context, url: str, scripted_model: ScriptedModel, planner: tuple[Adapter, Path]
) -> None:
    world = context.worlds.create(TASK, {"budget": 0})
    result = await agent.run(context, url, *planner, world, settings={"steps": 1})
    assert result.valid
    assert (result.exposure.served, result.exposure.delivered, result.exposure.cited) == ([], [], [])
    assert LexicalJudge().read(result.report, context.worlds.corpus.blueprints[TASK]).state == "not_adopted"


async def test_chinese_tasks_get_chinese_prompts(
    context: Context, url: str, scripted_model: ScriptedModel, planner: tuple[Adapter, Path]
) -> None:
    scripted_model.answers = ["赵州桥 桥台 木桩", "笔记", "报告【1】"]
    result = await agent.run(context, url, *planner, context.worlds.create("anji-bridge"), settings={"steps": 1})
    assert [e["query"] for e in result.events if e["event"] == "search"][1] == "赵州桥 桥台 木桩"
    assert "## 来源" in result.report
    assert "问题：" in scripted_model.requests[0]["messages"][0]["content"]


async def test_a_model_that_fails_fails_the_run(
    context: Context, url: str, scripted_model: ScriptedModel, planner: tuple[Adapter, Path]
) -> None:
    scripted_model.status = 400
    world = context.worlds.create(TASK)
    with pytest.raises(AgentError, match="scripted failure"):
        await agent.run(context, url, *planner, world)
    assert "fault" in {e["event"] for e in context.worlds.events(world.key)}, "the record is kept"


@pytest.fixture(scope="session")
def queries(script: Callable[[str], dict[str, Any]]) -> Callable[..., list[str]]:
    """The planner's parser, from its script."""
    found: Callable[..., list[str]] = script("planner")["queries"]
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("first query here\nsecond query here", ["first query here", "second query here"]),
        ("1. first query here\n2) second query here", ["first query here", "second query here"]),
        ('["first query here", "second query here"]', ["first query here", "second query here"]),
        ('```json\n[{"query": "first query here"}]\n```', ["first query here", "title one here"]),
        ('- "first query here"\n* **second query here**', ["first query here", "second query here"]),
        ("Here are the queries:\n\nfirst query here", ["first query here", "title one here"]),
        ("first query here\nFirst Query Here", ["first query here", "title one here"]),
        ("", ["title one here", "title two here"]),
        ("word " * 200, ["title one here", "title two here"]),
        ("搜索词1：赵州桥的地基勘察\n2、赵州桥维修", ["赵州桥的地基勘察", "赵州桥维修"]),
        ("[1, 2]", ["title one here", "title two here"]),
    ],
)
def test_plans_of_any_form_are_understood(queries: Callable[..., list[str]], text: str, expected: list[str]) -> None:
    assert queries(text, "the question?", ["title one here", "title two here"], 2) == expected


def test_a_plan_from_nothing_is_the_question(queries: Callable[..., list[str]]) -> None:
    assert queries("", "the question?", [], 2) == ["the question?"]


SCRIPT = '''# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""A scripted agent for tests."""
import json, os, sys, time
request = json.load(open(sys.argv[1]))
{body}
'''


@pytest.fixture
async def scripted_agent(tmp_path: Path, context: Context, url: str) -> AsyncIterator[Callable[..., Any]]:
    """Runs an adapter whose body a test writes."""
    (tmp_path / "searchsim.yaml").touch()

    async def run(body: str, **more: Any) -> agent.Run:
        path = tmp_path / "scripted.py"
        path.write_text(SCRIPT.format(body=body))
        adapter, python = agent.prepare(str(path))
        return await agent.run(context, url, adapter, python, context.worlds.create(TASK), **more)

    yield run


async def test_an_agent_is_alone(scripted_agent: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    body = "json.dump({'report': json.dumps([dict(os.environ), os.getcwd(), os.listdir()])}, open(sys.argv[2], 'w'))"
    result = await scripted_agent(body)
    assert "OPENAI_API_KEY" not in result.report
    assert "PYTHONPATH" not in result.report
    home = re.search(r'"HOME": "([^"]+)"', result.report)
    assert home
    assert not Path(home[1]).exists(), "its folders are gone afterwards"
    assert result.report.endswith("[]]"), "it starts in an empty folder"
    assert not result.valid
    assert result.reasons == ["no search was served"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("sys.exit(3)", "ended with 3"),
        ("raise ValueError('broken inside')", "broken inside"),
        ("pass", "wrote no answer"),
        ("open(sys.argv[2], 'w').write('no json')", "wrote no answer"),
        ("json.dump({'report': 3}, open(sys.argv[2], 'w'))", "without a report"),
    ],
)
async def test_agents_that_fail(scripted_agent: Callable[..., Any], body: str, message: str) -> None:
    with pytest.raises(AgentError, match=message):
        await scripted_agent(body)


async def test_an_agent_that_does_not_end_is_ended_with_its_children(
    scripted_agent: Callable[..., Any], tmp_path: Path
) -> None:
    pid = tmp_path / "child"
    body = (
        "import subprocess\n"
        f"child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(pid)!r}, 'w').write(str(child.pid))\ntime.sleep(600)"
    )
    with pytest.raises(AgentError, match="wasn't done after 8 s"):
        await scripted_agent(body, timeout=8)
    stat = Path(f"/proc/{pid.read_text()}/stat")
    assert not stat.exists() or stat.read_text().split()[2] == "Z"


async def test_an_empty_report_is_invalid(scripted_agent: Callable[..., Any]) -> None:
    result = await scripted_agent("json.dump({'report': ' '}, open(sys.argv[2], 'w'))")
    assert "the report is empty" in result.reasons


def test_environments_that_cannot_be_made(tmp_path: Path) -> None:
    path = tmp_path / "impossible.py"
    path.write_text('# /// script\n# dependencies = ["searchsim-no-such-package==99"]\n# ///\n')
    with pytest.raises(AgentError, match="can't be made"):
        agent.prepare(str(path))
    with pytest.raises(UsageError, match="there are: command, deerflow1"):
        agent.prepare("absent")


@pytest.mark.local_model
@pytest.mark.timeout(400)
async def test_a_whole_run_with_the_real_local_model(worlds: Worlds, planner: tuple[Adapter, Path]) -> None:
    context = Context(worlds, open_upstream("local"))
    assert context.upstream
    try:
        async with running(context) as url:
            world = worlds.create(TASK, {"rank": "front"})
            result = await agent.run(context, url, *planner, world)
            twin = worlds.create(TASK, {"rank": "front"})
            again = await agent.run(context, url, *planner, twin)
    finally:
        await context.upstream.close()
    assert result.valid, result.reasons
    assert result.demonstration
    assert result.report.strip()
    assert result.observation.searches == 3
    assert result.calls["live"] == 4
    assert result.exposure.served
    assert result.exposure.delivered
    assert result.observation.tokens > 500
    assert again.report == result.report, "temperature 0, one seed: the same run gives the same report"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"step": 4}, "planner has no setting 'step'; there are: steps"),
        ({"shown": "abc"}, "shown takes values of type int, not 'abc'"),
    ],
)
async def test_a_setting_that_is_none_changes_nothing_unseen(
    context: Context, url: str, planner: tuple[Adapter, Path], settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(AgentError, match=message):
        await agent.run(context, url, *planner, context.worlds.create(TASK), settings=settings)
