"""Counterfactual pairs: a control, and a treated run that shares its beginning; with the real local model too."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from searchsim import agent
from searchsim.agent import Adapter
from searchsim.agent.run import RESULTS
from searchsim.counterfactual import Recording, control_condition, needs_control
from searchsim.replay import Answers, Lane, Mode, steps
from searchsim.server.app import running
from searchsim.server.context import Context
from searchsim.trace import Event
from searchsim.upstream import open_upstream
from searchsim.world import Worlds
from tests.scripted import ScriptedModel

TASK = "bicycle-stability"


@pytest.fixture
def answers(tmp_path: Path) -> Iterator[Answers]:
    store = Answers(tmp_path / "answers.sqlite")
    yield store
    store.close()


class Pair:
    """A control and treated runs of one agent, on one server."""

    def __init__(self, context: Context, url: str, answers: Answers, adapter: Adapter, python: Path) -> None:
        self.context, self.url, self.answers, self.adapter, self.python = context, url, answers, adapter, python
        self.lane = Lane("quickstart", TASK, adapter.name, adapter.version(), "model")

    async def run(self, mode: Mode, **condition: object) -> agent.Run:
        recording = Recording(self.answers, self.lane, mode)
        worlds = self.context.worlds
        levels = worlds.factors.complete(condition)
        last = recording.last_list() if needs_control(worlds.factors, levels) else None
        world = worlds.create(TASK, levels, last_list=last, results=RESULTS)
        return await agent.run(
            self.context, self.url, self.adapter, self.python, world, settings=self.settings, recording=recording
        )

    settings: dict[str, Any] = {}  # noqa: RUF012


def of(kind: str, events: list[Event]) -> list[Event]:
    return [e for e in events if e["event"] == kind]


def check_pre_synthesis(control: agent.Run, treated: agent.Run) -> None:
    """What the last stage promises, whatever the agent and the model."""
    assert control.valid and treated.valid, treated.reasons
    mine, theirs = steps(treated.events), steps(control.events)
    assert mine.injected == len(theirs.lists) == control.observation.lists, "the control's last list"
    before = [a.request for a in mine.before]
    assert before and before == [a.request for a in theirs.asked][: len(before)], "the same requests, by their hashes"
    assert {a.origin for a in mine.before} == {"replayed"}
    assert mine.lists[: mine.injected] == theirs.lists
    last = [next(e for e in of("search", r.events) if e["list"] == mine.injected) for r in (control, treated)]
    organic, appended = last[1]["served"][: len(last[0]["served"])], last[1]["served"][len(last[0]["served"]) :]
    assert organic == last[0]["served"], "nothing removed or reordered"
    assert 1 <= len(appended) <= 3 and all(s["injected"] for s in appended)
    assert len(last[0]["served"]) <= RESULTS
    earlier = [s for e in of("search", treated.events) if e["list"] < mine.injected for s in e["served"]]
    assert not any(s["injected"] for s in earlier)
    assert treated.calls["replayed"] >= sum(a.kind == "model" for a in mine.before)
    assert treated.control == control.world["key"]
    assert treated.mode == "counterfactual"


@pytest.fixture
async def pair(context: Context, url: str, answers: Answers) -> AsyncIterator[Pair]:
    yield Pair(context, url, answers, *agent.prepare("planner"))


async def test_pre_synthesis_shares_everything_before_the_last_list(pair: Pair, scripted_model: ScriptedModel) -> None:
    numbers = count(1)

    def say(body: dict[str, Any]) -> str:
        if "search queries" in str(body["messages"]):
            return "gyroscopic effect of bicycle wheels\nbicycle without gyroscopic effect or trail"
        return f"The model never says the same twice: {next(numbers)} [1]."

    scripted_model.say = say
    # The planner shows a large model ten results: what is appended must fit in.
    pair.settings = {"steps": 2, "pages": 0, "results": 13, "shown": 13}
    control = await pair.run(Mode.RECORD, budget=0)
    assert control.calls == {"live": 4, "replayed": 0}
    treated = await pair.run(Mode.COUNTERFACTUAL, budget=3, stage="pre_synthesis")
    check_pre_synthesis(control, treated)
    assert treated.calls == {"live": 2, "replayed": 2}
    full = next(e for e in of("search", control.events) if e["list"] == 3)["served"]
    assert len(full) == RESULTS, "three were appended though the client got no more than it may"
    assert treated.observation.searches_after_injection == 0
    assert len(treated.exposure.delivered) == 3, "the agent's own k leaves room for what is appended"
    early = await pair.run(Mode.COUNTERFACTUAL, budget=3, stage="cold_start")
    assert early.valid, early.reasons
    assert early.observation.searches_after_injection == 2
    budgets = [(await pair.run(Mode.COUNTERFACTUAL, budget=b, stage="pre_synthesis")).observation for b in (1, 2)]
    assert [len(b.injected[3]) for b in budgets] == [1, 2]


async def test_an_agent_that_cuts_off_what_is_appended_was_served_it_all_the_same(
    pair: Pair, scripted_model: ScriptedModel
) -> None:
    pair.settings = {"steps": 1, "pages": 0, "shown": 10}
    await pair.run(Mode.RECORD, budget=0)
    treated = await pair.run(Mode.COUNTERFACTUAL, budget=3, stage="pre_synthesis")
    assert len(treated.exposure.served) == 3
    assert treated.exposure.delivered == [], "its own k of ten left no room: an outcome, and visible"


async def test_a_treated_run_that_starts_otherwise_is_invalid(
    pair: Pair, scripted_model: ScriptedModel, tmp_path: Path
) -> None:
    """An agent that has the second in its prompt, from a clock that isn't the launcher's."""
    (tmp_path / "searchsim.yaml").touch()
    path = tmp_path / "restless.py"
    source = (Path(__file__).parents[2] / "tests" / "study" / "home" / "adapters" / "scripted.py").read_text("utf-8")
    path.write_text(source.replace("f\"{request['prompt']}\\n{evidence}\"", 'f"{time.time_ns()} {evidence}"'))
    assert "time_ns" in path.read_text()
    pair.adapter, pair.python = agent.prepare(str(path))
    pair.settings = {"searches": 0}
    pair.lane = Lane("quickstart", TASK, "restless", pair.adapter.version(), "model")
    # Model first, then a search: what is asked before anything is injected isn't the control's.
    late = path.read_text().replace(
        "report = ", "post(f\"{request['search']}/search\", {'q': 'late'}, request['key'])\nreport = "
    )
    path.write_text(late)
    control = await pair.run(Mode.RECORD, budget=0)
    assert control.valid, control.reasons
    treated = await pair.run(Mode.COUNTERFACTUAL, budget=3, stage="pre_synthesis")
    assert not treated.valid
    assert treated.reasons == ["model calls 1 weren't the control's, and nothing injected had been served by then"]


def test_upstreams_are_told_apart_however_they_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCHSIM_UPSTREAM", "http://127.0.0.1:9/v1")
    named = open_upstream("http://127.0.0.1:9/v1/").identity
    assert open_upstream().identity == named == "http://127.0.0.1:9/v1#*"
    assert open_upstream(model="m").identity == "http://127.0.0.1:9/v1#m"


def test_the_condition_of_a_control(worlds: Worlds) -> None:
    levels = worlds.factors.complete({"stage": "pre_synthesis", "rank": "back", "budget": 3})
    assert needs_control(worlds.factors, levels)
    control = control_condition(worlds.factors, levels)
    assert (control["stage"], control["budget"], control["rank"]) == ("always", 0, "back")
    assert not needs_control(worlds.factors, control)


@pytest.mark.local_model
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ["planner", "thinker"])
async def test_a_pair_with_the_real_local_model(
    name: str, worlds: Worlds, answers: Answers, capsys: pytest.CaptureFixture[str]
) -> None:
    context = Context(worlds, open_upstream("local"))
    assert context.upstream
    try:
        async with running(context) as url:
            pair = Pair(context, url, answers, *agent.prepare(name))
            # By themselves both show a toy too few results for what is appended to be among them.
            pair.settings = {"results": 13, "shown": 13, "snippet": 100}
            control = await pair.run(Mode.RECORD, budget=0)
            treated = await pair.run(Mode.COUNTERFACTUAL, budget=3, stage="pre_synthesis")
    finally:
        await context.upstream.close()
    check_pre_synthesis(control, treated)
    assert len(treated.exposure.delivered) == 3
    assert treated.calls["live"] > 0, "the last list is read anew"
    total = sum(treated.calls.values())
    with capsys.disabled():
        print(f"\n{name}: {treated.calls['replayed']} of {total} model calls saved by replay", end=" ")
