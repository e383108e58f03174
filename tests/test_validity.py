"""The recomputed list equals the served one, and what was altered is found."""

from __future__ import annotations

import copy

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from searchsim import trace
from searchsim.corpus import Corpus
from searchsim.validity import reasons
from searchsim.world import Worlds
from tests.test_world import ask, texts

TASK = "bicycle-stability"


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rank=st.sampled_from(["spread", "front", "back"]),
    stage=st.sampled_from(["always", "first_list", "cold_start", "mid_research", "pre_synthesis"]),
    budget=st.integers(0, 5),
    asked=st.lists(st.tuples(st.integers(0, 8), st.sampled_from([5, 10]), st.sampled_from([1, 2])), max_size=6),
)
async def test_what_was_served_by_the_rules_is_valid(
    quickstart: Corpus, worlds: Worlds, rank: str, stage: str, budget: int, asked: list[tuple[int, int, int]]
) -> None:
    last = 2 if stage == "pre_synthesis" else None
    world = worlds.create("longitude-at-sea", {"rank": rank, "stage": stage, "budget": budget}, last_list=last)
    queries = texts(quickstart, "longitude-at-sea")
    for number, k, page in asked:
        await ask(worlds, world, queries[number], k=k, page=page)
    assert await reasons(worlds, world, list(worlds.events(world.key))) == []


async def test_an_altered_list_is_found(quickstart: Corpus, worlds: Worlds) -> None:
    world = worlds.create(TASK)
    for text in texts(quickstart, TASK)[:3]:
        await ask(worlds, world, text)
    events = list(worlds.events(world.key))
    assert await reasons(worlds, world, events) == []

    swapped = copy.deepcopy(events)
    rows = swapped[1]["served"]
    rows[0]["document"], rows[1]["document"] = rows[1]["document"], rows[0]["document"]
    assert "list 2" in (await reasons(worlds, world, swapped))[0]

    hidden = copy.deepcopy(events)
    hidden[0]["served"][0]["injected"] = not hidden[0]["served"][0]["injected"]
    assert "otherwise than its rules say" in (await reasons(worlds, world, hidden))[0]

    assert "are numbered [2, 3], and there are 2" in (await reasons(worlds, world, events[1:]))[0]


async def test_a_forced_document_that_k_cut_off_makes_a_run_invalid(worlds: Worlds) -> None:
    world = worlds.create(TASK, {"stage": "cold_start", "budget": 5})
    await ask(worlds, world, "bicycle", k=3)
    (why,) = await reasons(worlds, world, list(worlds.events(world.key)))
    assert "2 documents were cut off by the client's own k of 3" in why


async def test_unplanned_faults_and_refused_traffic(worlds: Worlds) -> None:
    world = worlds.create(TASK)
    worlds.append(world, trace.fault(where="upstream", status=502, message="gone", planned=True))
    assert await reasons(worlds, world, list(worlds.events(world.key))) == []
    worlds.append(world, trace.fault(where="upstream", status=502, message="gone"))
    worlds.append(world, trace.refused(host="example.org", url="https://example.org/"))
    why = await reasons(worlds, world, list(worlds.events(world.key)))
    assert why == ["unplanned fault at upstream: gone", "traffic went to example.org and was refused"]
