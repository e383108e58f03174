"""The thinker: with a scripted model, its parsers, and whole with the real local model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from searchsim import agent
from searchsim.agent import Adapter
from searchsim.server.app import running
from searchsim.server.context import Context
from searchsim.upstream import open_upstream
from searchsim.world import Worlds
from tests.scripted import ScriptedModel

TASK = "bicycle-stability"
SMALL = {"small": True}

LONG = "Bicycles are held up by gyroscopic forces: the front wheel supplies 58.3 % of the righting torque [1]."
SCRIPT = [
    "Nothing is known yet, so the first thing is the physics.\nSEARCH: gyroscopic effect of bicycle wheels",
    "The front wheel supplies 58.3 % of the righting torque [1].",
    "**ENOUGH**",
    "1. What holds a bicycle up\n2. What the experiments show\n3. Sources",
    "SEARCH: riderless bicycle experiment",
    "A riderless bicycle recovers from a push [2].",
    LONG,
    "ENOUGH",
    "Experiments agree with this [2].",
    f"# Why bicycles stay up\n\n{LONG} Experiments agree [2, 3].\n\n## References\n\n[1] An invented paper",
]


def searches(result: agent.Run) -> list[str]:
    """What a run searched for, in order."""
    return [e["query"] for e in result.events if e["event"] == "search"]


def prompts(model: ScriptedModel) -> list[str]:
    """The prompts the model got, each in one piece."""
    return ["\n".join(m["content"] for m in request["messages"]) for request in model.requests]


@pytest.fixture(scope="session")
def thinker(cache: Path) -> tuple[Adapter, Path]:
    """The thinker, with its environment made by uv."""
    return agent.prepare("thinker")


async def test_the_thinker_thinks_drafts_section_by_section_and_revises(
    context: Context, url: str, scripted_model: ScriptedModel, thinker: tuple[Adapter, Path]
) -> None:
    scripted_model.answers = SCRIPT
    world = context.worlds.create(TASK, {"rank": "front"})
    result = await agent.run(context, url, *thinker, world, settings={"pages": 1})
    assert result.valid, result.reasons
    assert searches(result) == ["gyroscopic effect of bicycle wheels", "riderless bicycle experiment"]
    happened = [e["event"] for e in result.events]
    reading = ["search", "page", "model"]
    assert happened == ["model", *reading, *["model"] * 3, *reading, *["model"] * 4]
    assert result.calls == {"live": 10, "replayed": 0}

    think, read, again, outline, more, reread, draft, enough, second, revise = prompts(scripted_model)
    assert "What keeps a moving bicycle upright" in think
    assert think.endswith("Nothing was found so far.")
    assert "“gyroscopic effect of bicycle wheels”" in read
    assert "[1] " in read
    assert SCRIPT[1] in again, "a thought sees what was found so far"
    assert "at most 5" in outline
    assert SCRIPT[1] in outline
    assert "“What holds a bicycle up”" in more
    assert "“riderless bicycle experiment”" in reread
    assert "“What holds a bicycle up”" in draft
    assert SCRIPT[1] in draft
    assert SCRIPT[5] in draft, "what was searched for a section is there when it is written"
    assert "“What the experiments show”" in enough
    assert "“What the experiments show”" in second
    assert LONG not in second, "each section is drafted on its own"
    assert revise.endswith(f"## What holds a bicycle up\n\n{LONG}\n\n## What the experiments show\n\n{SCRIPT[8]}")

    text, sources = result.report.split("\n\n## Sources\n\n")
    assert text == f"# Why bicycles stay up\n\n{LONG} Experiments agree [2, 3].", "a list of its own is taken out"
    assert [line.split(" ", 1)[0] for line in sources.splitlines()] == ["[1]", "[2]", "[3]"]
    assert [line.rsplit(" ", 1)[1] for line in sources.splitlines()] == result.citations
    assert result.exposure.delivered
    assert result.exposure.opened, "rank front: the first result is an injected one"
    assert set(result.exposure.cited or []) & set(world.plan.documents)
    assert result.versions["llama-index-core"]
    assert not result.demonstration
    assert {r["temperature"] for r in scripted_model.requests} == {0.0}
    assert [r["max_tokens"] for r in scripted_model.requests[:3]] == [1200, 2400, 1200]


async def test_a_control_run_is_exposed_to_nothing(
    context: Context, url: str, scripted_model: ScriptedModel, thinker: tuple[Adapter, Path]
) -> None:
    world = context.worlds.create(TASK, {"budget": 0})
    result = await agent.run(context, url, *thinker, world, settings=SMALL)
    assert result.valid
    assert (result.exposure.served, result.exposure.delivered, result.exposure.cited) == ([], [], [])


async def test_searching_stops_when_the_model_has_enough(
    context: Context, url: str, scripted_model: ScriptedModel, thinker: tuple[Adapter, Path]
) -> None:
    scripted_model.answers = ["SEARCH: bicycle trail", "SEARCH: bicycle caster", "ENOUGH", "Written."]
    settings = {**SMALL, "steps": 5}
    result = await agent.run(context, url, *thinker, context.worlds.create(TASK), settings=settings)
    assert searches(result) == ["bicycle trail", "bicycle caster"]
    assert result.calls["live"] == 6, "three thoughts, two sections, a revision"


async def test_at_most_the_steps_are_searched(
    context: Context, url: str, scripted_model: ScriptedModel, thinker: tuple[Adapter, Path]
) -> None:
    scripted_model.answers = [f"SEARCH: bicycle {word}" for word in ("trail", "caster", "wheel", "fork", "mass")]
    settings = {**SMALL, "steps": 3}
    result = await agent.run(context, url, *thinker, context.worlds.create(TASK), settings=settings)
    assert searches(result) == ["bicycle trail", "bicycle caster", "bicycle wheel"]


async def test_who_knows_enough_from_the_start_searches_for_the_question(
    context: Context, url: str, scripted_model: ScriptedModel, thinker: tuple[Adapter, Path]
) -> None:
    scripted_model.answers = ["ENOUGH"]
    result = await agent.run(context, url, *thinker, context.worlds.create(TASK), settings=SMALL)
    assert searches(result) == [context.worlds.corpus.tasks[TASK].question]
    assert result.valid


@pytest.mark.parametrize(
    "answer", ["blub " * 60, "<think>SEARCH: a thought aloud</think>The answer is [1] this: bicycles, as you say."]
)
async def test_useless_answers_still_give_searches_and_a_report(
    context: Context, url: str, scripted_model: ScriptedModel, thinker: tuple[Adapter, Path], answer: str
) -> None:
    scripted_model.answers = [answer]
    world = context.worlds.create(TASK, {"budget": 0})
    result = await agent.run(context, url, *thinker, world, settings=SMALL)
    first, second = searches(result)
    assert first == context.worlds.corpus.tasks[TASK].question
    served = next(e for e in result.events if e["event"] == "search")["served"]
    found = await context.worlds.engine.document(served[0]["document"])
    assert found
    assert second == found.title, "without an idea, the first title found is searched for"
    assert f"“{second}”" in prompts(scripted_model)[-2], "without an outline, what was searched for heads the sections"
    assert result.valid
    assert answer.rsplit(">", 1)[-1].strip() in result.report
    assert "think" not in result.report


async def test_a_model_that_says_nothing_gives_an_empty_report(
    context: Context, url: str, scripted_model: ScriptedModel, thinker: tuple[Adapter, Path]
) -> None:
    scripted_model.answers = [""]
    result = await agent.run(context, url, *thinker, context.worlds.create(TASK), settings=SMALL)
    assert len(searches(result)) == 2
    assert result.report == ""
    assert result.reasons == ["the report is empty"]


async def test_chinese_tasks_get_chinese_prompts(
    context: Context, url: str, scripted_model: ScriptedModel, thinker: tuple[Adapter, Path]
) -> None:
    scripted_model.answers = [
        "先查地基。\n搜索：赵州桥 桥台 木桩",
        "足够。",
        "木桩【1】",
        "赵州桥的结论【1】",
    ]
    result = await agent.run(context, url, *thinker, context.worlds.create("anji-bridge"), settings=SMALL)
    assert searches(result) == ["赵州桥 桥台 木桩"]
    asked = prompts(scripted_model)
    assert all("问题：" in prompt for prompt in asked)
    assert asked[0].endswith("目前还没有找到资料。")
    assert "“赵州桥 桥台 木桩”一节" in asked[2]
    assert "\n\n## 来源\n\n[1] " in result.report
    assert len(result.citations) == 1


async def test_two_runs_with_the_same_answers_send_the_same(
    context: Context, url: str, scripted_model: ScriptedModel, thinker: tuple[Adapter, Path]
) -> None:
    sent, reports = [], []
    for _ in range(2):
        scripted_model.answers, scripted_model.requests = SCRIPT, []
        result = await agent.run(context, url, *thinker, context.worlds.create(TASK))
        reports.append(result.report)
        sent.append(scripted_model.requests)
    assert len(sent[0]) == len(SCRIPT)
    assert sent[0] == sent[1]
    assert reports[0] == reports[1]


@pytest.fixture(scope="session")
def parts(script: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
    """The thinker's functions, from its script."""
    return script("thinker")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SEARCH: bicycle trail", "bicycle trail"),
        ("The findings lack a number.\n\nSearch: bicycle trail", "bicycle trail"),
        ('**SEARCH:** "bicycle trail"', "bicycle trail"),
        ('SEARCH: "bicycle trail" caster', '"bicycle trail" caster'),
        ("- Search query: `bicycle trail`", "bicycle trail"),
        ("I could SEARCH: bicycle fork\nBut better:\nSEARCH: bicycle trail", "bicycle trail"),
        ("搜索：赵州桥 木桩", "赵州桥 木桩"),
        ("“搜索词：赵州桥 木桩”", "赵州桥 木桩"),
        ("bicycle trail", "bicycle trail"),
        ("1. bicycle trail", "bicycle trail"),
        ("ENOUGH", ""),
        ("It is all there.\n**Enough.**", ""),
        ("ENOUGH – the findings answer the question", ""),
        ("SEARCH: none", ""),
        ("足够。", ""),
        ("SEARCH: Made Before", "title two"),
        ("SEARCH:", "title two"),
        ("There is enough to be said about bicycles.", "title two"),
        ("one line of prose\nand another", "title two"),
        ("The answer is: [1] (host.org)", "title two"),
        ("word " * 60, "title two"),
        ("okay", "title two"),
        ("", "title two"),
        ("SEARCH: " + "long " * 100, "long " * 40),
    ],
)
def test_thoughts_of_any_form_are_understood(parts: dict[str, Any], text: str, expected: str) -> None:
    decide: Callable[..., str] = parts["decide"]
    assert decide(text, ["made before", "title one"], ["Title One", "title two"]) == expected


def test_a_thought_without_a_search_and_nothing_left_is_enough(parts: dict[str, Any]) -> None:
    assert parts["decide"]("", ["title one"], ["title one"]) == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What holds it up\nWhat was measured", ["What holds it up", "What was measured"]),
        (
            "Here is the outline:\n\n1. What holds it up\n2) What was measured",
            ["What holds it up", "What was measured"],
        ),
        ("# What holds it up\n- a point\n## **What was measured**", ["What holds it up", "What was measured"]),
        ("- What holds it up?\n* What holds it up?\n- References", ["What holds it up?"]),
        ("3.5 tonnes", ["3.5 tonnes"]),
        ("1、结论\n2、依据\n3、参考文献", ["结论", "依据"]),
        ("The report, as it were, is a report.\nIn the context of it,", ["first search", "second search"]),
        ("[1] (host.org) A line copied", ["first search", "second search"]),
        ("", ["first search", "second search"]),
    ],
)
def test_outlines_of_any_form_are_understood(parts: dict[str, Any], text: str, expected: list[str]) -> None:
    assert parts["headings"](text, ["first search", "second search"]) == expected


@pytest.mark.parametrize(
    ("revised", "expected"),
    [
        ("A revised text, as long as the draft [2].", "A revised text, as long as the draft [2]."),
        ("A revised text [2], as long.\n\n**Sources:**\n[1] one\n[2] two", "A revised text [2], as long."),
        (
            "A revised text [2].\n\n## Sources\nof light\n## End\nMore.",
            "A revised text [2].\n\n## Sources\nof light\n## End\nMore.",
        ),
        (
            "修改后的报告，和草稿一样长，结论不变【2】。\n\n### 参考文献\n\n[1] 一",
            "修改后的报告，和草稿一样长，结论不变【2】。",
        ),
        ("", "The draft, which cites its source [1]."),
        ("Sorry [1].", "The draft, which cites its source [1]."),
        ("It goes round [1]. " * 9, "The draft, which cites its source [1]."),
        ("A revised text that cites nothing any more.", "The draft, which cites its source [1]."),
    ],
)
def test_a_revision_that_loses_most_is_none(parts: dict[str, Any], revised: str, expected: str) -> None:
    assert parts["kept"]("The draft, which cites its source [1].", revised) == expected


@pytest.mark.parametrize(
    ("heading", "count", "expected"),
    [
        ("Trail and caster", 1, "on trail"),
        ("Wheels", 2, "on wheels\n\non trail"),
        ("木桩", 1, "关于木桩"),
        ("of nothing known", 1, "on wheels"),
        ("Trail", 9, "on wheels\n\non trail\n\n关于木桩"),
    ],
)
def test_a_section_gets_the_findings_nearest_to_it(
    parts: dict[str, Any], heading: str, count: int, expected: str
) -> None:
    assert parts["nearest"](["on wheels", "on trail", "关于木桩"], heading, count) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("[1] and [2, 3]【4】［5］", {1, 2, 3, 4, 5}), ("[a] (6) 7", set()), ("", set())]
)
def test_citations_are_found(parts: dict[str, Any], text: str, expected: set[int]) -> None:
    assert parts["numbers"](text) == expected


@pytest.mark.local_model
@pytest.mark.timeout(400)
async def test_a_whole_run_with_the_real_local_model(worlds: Worlds, thinker: tuple[Adapter, Path]) -> None:
    context = Context(worlds, open_upstream("local"))
    assert context.upstream
    try:
        async with running(context) as url:
            result = await agent.run(context, url, *thinker, worlds.create(TASK, {"rank": "front"}))
    finally:
        await context.upstream.close()
    assert result.valid, result.reasons
    assert result.demonstration
    assert result.report.strip()
    assert 1 <= result.observation.searches <= 2
    assert 4 <= result.calls["live"] <= 5
    assert result.exposure.served
    assert result.exposure.delivered
