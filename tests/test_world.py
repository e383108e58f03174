"""Worlds: the rules of injection over the real corpus and the real engine."""

from __future__ import annotations

import asyncio
import itertools
import shutil
from pathlib import Path
from typing import Any

import pytest

from searchsim.corpus import Corpus
from searchsim.documents import to_record
from searchsim.engine import Hit
from searchsim.engine.embedded import EmbeddedEngine
from searchsim.engine.opening import index_folder, open_embedded
from searchsim.errors import ConditionError, KeyInUseError, UnknownWorldError, UsageError
from searchsim.injection import Mode
from searchsim.query import Query
from searchsim.store import SqliteStore
from searchsim.validity import reasons
from searchsim.world import Answer, World, Worlds, parse_settings

TASK = "bicycle-stability"


async def ask(worlds: Worlds, world: World, text: str, **more: Any) -> Answer:
    return await worlds.search(world, dialect="test", endpoint="search", text=text, **more)


def texts(corpus: Corpus, task: str) -> list[str]:
    return [corpus.tasks[task].question, *corpus.tasks[task].sub_queries]


def ids(answer: Answer) -> list[str]:
    return [i.document.id for i in answer.items]


async def test_budget_0_never_injects_and_is_the_same_with_the_misleading_files_removed(
    quickstart: Corpus, engine: EmbeddedEngine, worlds: Worlds, tmp_path: Path
) -> None:
    bare = tmp_path / "bare"
    shutil.copytree(quickstart.path, bare)
    for name in ("misleading.jsonl", "texts.jsonl", "blueprints.jsonl"):
        (bare / name).unlink()
    corpus = Corpus(bare)
    without = Worlds(corpus, open_embedded(corpus), SqliteStore())
    for task in quickstart.tasks:
        for stage in ("always", "cold_start", "mid_research"):
            treated = worlds.create(task, {"budget": 0, "stage": stage})
            control = without.create(task, {"budget": 0, "stage": stage})
            for text in texts(quickstart, task):
                ours, theirs = await ask(worlds, treated, text), await ask(without, control, text)
                assert [(i.document, i.score) for i in ours.items] == [(i.document, i.score) for i in theirs.items]
                assert not any(i.injected for i in ours.items)
    without.close()


async def test_ranks_over_every_question_and_sub_query(quickstart: Corpus, worlds: Worlds) -> None:
    moved = 0
    for task in quickstart.tasks:
        made = {rank: worlds.create(task, {"rank": rank}) for rank in ("spread", "front", "back")}
        control = worlds.create(task, {"budget": 0})
        for text in texts(quickstart, task):
            answers = {rank: await ask(worlds, world, text) for rank, world in made.items()}
            organic = ids(await ask(worlds, control, text))
            flags = {rank: [i.injected for i in a.items] for rank, a in answers.items()}
            assert flags["front"] == sorted(flags["front"], reverse=True)
            assert flags["back"] == sorted(flags["back"])
            scores = [i.score for i in answers["spread"].items]
            assert scores == sorted(scores, reverse=True)
            for answer in answers.values():
                kept = [i.document.id for i in answer.items if not i.injected]
                assert set(ids(answer)) == set(ids(answers["spread"])), "rank moves, and does nothing else"
                assert kept == organic[: len(kept)]
                assert len(answer.items) == len(organic)
                assert answer.composition is not None
                assert [d.id for d in answer.composition.displaced] == organic[len(kept) :]
            moved += flags["spread"] != flags["front"]
    assert moved > 20


async def test_budgets_are_nested_and_authorities_carry_the_same_texts(quickstart: Corpus, worlds: Worlds) -> None:
    for task in quickstart.tasks:
        pools = [worlds.create(task, {"budget": b}).plan.documents for b in range(6)]
        assert [len(p) for p in pools] == list(range(6))
        for smaller, larger in itertools.pairwise(pools):
            assert larger[: len(smaller)] == smaller
        carried = {
            a: [d.text for d in worlds.create(task, {"authority": a}).documents()] for a in ("high", "medium", "low")
        }
        assert carried["high"] == carried["medium"] == carried["low"]


@pytest.mark.parametrize("style", ["blog", "news"])
def test_a_budget_that_shared_bodies_cannot_fill_is_refused(worlds: Worlds, style: str) -> None:
    assert len(worlds.create(TASK, {"style": style, "budget": 1}).plan.documents) == 1
    with pytest.raises(ConditionError, match="budget 2 needs 2") as caught:
        worlds.create(TASK, {"style": style, "budget": 2})
    assert caught.value.field == "condition.budget"


async def test_stages_over_a_run(quickstart: Corpus, worlds: Worlds) -> None:
    queries = texts(quickstart, TASK)[:4]

    async def injected(stage: str, last: int | None = None) -> list[list[str]]:
        world = worlds.create(TASK, {"stage": stage}, last_list=last)
        return [[i.document.id for i in (await ask(worlds, world, q)).items if i.injected] for q in queries]

    always = await injected("always")
    assert all(always)
    assert await injected("first_list") == [always[0], [], [], []]
    assert await injected("mid_research") == [[], *always[1:]]
    cold = await injected("cold_start")
    assert sorted(cold[0]) == sorted(worlds.create(TASK).plan.documents)
    assert cold[1:] == [[], [], []]
    late = await injected("pre_synthesis", last=3)
    assert [len(x) for x in late] == [0, 0, 3, 0]


async def test_pre_synthesis_appends_beyond_k_and_moves_nothing(quickstart: Corpus, worlds: Worlds) -> None:
    text = quickstart.tasks[TASK].question
    control = ids(await ask(worlds, worlds.create(TASK, {"budget": 0}), text))
    world = worlds.create(TASK, {"stage": "pre_synthesis", "budget": 5, "rank": "front"}, last_list=1)
    answer = await ask(worlds, world, text)
    assert ids(answer)[:10] == control
    assert [i.injected for i in answer.items] == [False] * 10 + [True] * 3


def test_pre_synthesis_refuses_to_start_without_knowing_the_last_list(worlds: Worlds) -> None:
    with pytest.raises(ConditionError, match="last_list") as caught:
        worlds.create(TASK, {"stage": "pre_synthesis"})
    assert caught.value.field == "condition.stage"


async def test_a_repeat_has_the_recorded_number_and_answer(worlds: Worlds) -> None:
    world = worlds.create(TASK, {"stage": "first_list"})
    first = await ask(worlds, world, "bicycle gyroscopic stability")
    other = await ask(worlds, world, "penny-farthing history")
    again = await ask(worlds, world, "  Bicycle   GYROSCOPIC stability ")
    assert (first.number, other.number, again.number) == (1, 2, 1)
    assert again.items == first.items
    assert any(i.injected for i in again.items)
    filtered = await ask(worlds, world, "bicycle gyroscopic stability", tbs="qdr:y")
    assert filtered.number == 3
    news = await worlds.search(world, dialect="test", endpoint="news", text="bicycle gyroscopic stability")
    assert news.number == 4
    assert {i.document.kind for i in news.items} == {"news"}


async def test_later_pages_are_part_of_their_list_and_organic(worlds: Worlds) -> None:
    world, control = worlds.create(TASK), worlds.create(TASK, {"budget": 0})
    text = "bicycle stability gyroscopic wheel"
    pages = [await ask(worlds, world, text, page=p, k=5) for p in (1, 2, 3)]
    assert {a.number for a in pages} == {1}
    assert not any(i.injected for a in pages[1:] for i in a.items)
    whole = ids(await ask(worlds, control, text, k=15))
    assert ids(pages[1]) + ids(pages[2]) == whole[5:15]


async def test_fifty_worlds_at_once_serve_only_their_own(quickstart: Corpus, worlds: Worlds) -> None:
    tasks = list(quickstart.tasks)
    made = [
        worlds.create(
            tasks[n % len(tasks)],
            {"budget": n % 6, "authority": ("high", "medium", "low")[n % 3], "style": ("paper", "post")[n % 2]},
            key=f"world-{n}",
        )
        for n in range(50)
    ]
    jobs = [(w, text) for text_number in range(9) for w in made for text in [texts(quickstart, w.task)[text_number]]]
    answers = await asyncio.gather(*(ask(worlds, w, text) for w, text in jobs))
    served: dict[str, set[str]] = {w.key: set() for w in made}
    for (world, _), answer in zip(jobs, answers, strict=True):
        served[world.key].update(i.document.id for i in answer.items if i.injected)
    for world in made:
        assert served[world.key] <= set(world.plan.documents)
        assert bool(served[world.key]) == bool(world.plan.documents)


def test_keys(worlds: Worlds) -> None:
    worlds.create(TASK, key="mine")
    with pytest.raises(KeyInUseError):
        worlds.create(TASK, key="mine")
    for bad in ("", "a b", "x" * 129, "a/b", "..", "-x"):
        with pytest.raises(ConditionError):
            worlds.create(TASK, key=bad)
    assert len({worlds.create(TASK).key for _ in range(20)}) == 20
    worlds.end("mine")
    with pytest.raises(UnknownWorldError):
        worlds.get("mine")
    worlds.create(TASK, key="mine")


async def test_a_pool_can_be_given(quickstart: Corpus, worlds: Worlds) -> None:
    known = quickstart.misleading[TASK][7]
    own = {
        "id": "own-1",
        "title": "Bicycle stability and the gyroscopic wheel",
        "source_name": "An institute",
        "url": "https://own.example/1",
        "published": "2026-01-05",
        "snippet": "A snippet that is long enough to look like the live ones, with a false number: 58.3 % of it all.",
        "body": "Bicycle stability is all gyroscopic. " * 30,
    }
    world = worlds.create(TASK, {"rank": "front"}, documents=[known.id, own])
    assert world.plan.documents == (known.id, "own-1")
    assert world.condition["budget"] == 2
    answer = await ask(worlds, world, "bicycle stability gyroscopic wheel")
    assert "own-1" in [i.document.id for i in answer.items if i.injected]
    with pytest.raises(ConditionError) as caught:
        worlds.create(TASK, documents=[{**own, "url": "nowhere"}])
    assert caught.value.field == "documents.0.url"
    with pytest.raises(ConditionError, match="no misleading document"):
        worlds.create(TASK, documents=["absent"])
    with pytest.raises(ConditionError, match="twice"):
        worlds.create(TASK, documents=[known.id, known.id])


async def test_worlds_outlive_the_server(quickstart: Corpus, engine: EmbeddedEngine, tmp_path: Path) -> None:
    file = tmp_path / "store.sqlite"
    before = Worlds(quickstart, engine, SqliteStore(file))
    world = before.create(TASK, {"stage": "mid_research"}, key="kept")
    await ask(before, world, "bicycle stability")
    second = await ask(before, world, "gyroscopic bicycle")
    before.close()
    after = Worlds(quickstart, engine, SqliteStore(file))
    again = after.get("kept")
    assert again.record() == world.record()
    assert [to_record(d) for d in again.documents()] == [to_record(d) for d in world.documents()]
    assert (await ask(after, again, "gyroscopic bicycle")).items == second.items
    assert (await ask(after, again, "trail")).number == 3
    assert len(list(after.events("kept"))) == 4
    after.close()


async def test_a_world_made_by_other_rules_is_not_served(
    quickstart: Corpus, engine: EmbeddedEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "store.sqlite"
    before = Worlds(quickstart, engine, SqliteStore(file))
    before.create(TASK, key="kept")
    before.close()
    own = tmp_path / "home"
    (own / "injectors").mkdir(parents=True)
    (own / "searchsim.yaml").touch()
    source = (Path(__file__).parent.parent / "injectors" / "rank.py").read_text()
    (own / "injectors" / "rank.py").write_text(source + "\n# changed\n")
    monkeypatch.setenv("SEARCHSIM_HOME", str(own))
    after = Worlds(quickstart, engine, SqliteStore(file))
    assert after.find("kept") is None
    with pytest.raises(KeyInUseError, match="made with another corpus or other factors"):
        after.create(TASK, key="kept")
    after.end("kept")
    after.create(TASK, key="kept")
    after.close()


async def test_modes_are_told(worlds: Worlds) -> None:
    world = worlds.create(TASK, {"stage": "cold_start"})
    assert (await ask(worlds, world, "a question about bicycles")).mode is Mode.FORCED
    assert (await ask(worlds, world, "another question about bicycles")).mode is Mode.NO


def test_settings_of_a_command_line() -> None:
    assert parse_settings(["budget=3", "rank = back"]) == {"budget": "3", "rank": "back"}
    with pytest.raises(UsageError, match="FACTOR=LEVEL"):
        parse_settings(["budget"])


class SlowEngine(EmbeddedEngine):
    """The real engine, answering out of order, as engines over a network do."""

    async def search(self, query: Query, k: int) -> list[Hit]:
        await asyncio.sleep(0.03 if len(query.words) % 2 else 0.0)
        return await super().search(query, k)


async def test_searches_side_by_side_that_end_out_of_order_are_valid(quickstart: Corpus, tmp_path: Path) -> None:
    engine = SlowEngine(index_folder(quickstart))
    file = tmp_path / "s.sqlite"
    worlds = Worlds(quickstart, engine, SqliteStore(file))
    world = worlds.create(TASK, {"stage": "first_list"}, key="k")
    answers = await asyncio.gather(*(ask(worlds, world, text) for text in texts(quickstart, TASK)))
    assert [a.number for a in answers] == list(range(1, 10))
    order = [e["list"] for e in worlds.events("k")]
    assert order != sorted(order)
    assert await reasons(worlds, world, list(worlds.events("k"))) == []
    worlds.close()
    again = Worlds(quickstart, engine, SqliteStore(file))
    assert (await ask(again, again.get("k"), texts(quickstart, TASK)[4])).number == 5
    again.close()


async def test_factors_that_change_while_a_server_runs_change_nothing(
    worlds: Worlds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = worlds.create(TASK)
    (tmp_path / "injectors").mkdir()
    (tmp_path / "searchsim.yaml").touch()
    (tmp_path / "injectors" / "half.py").write_text("factor = ")
    monkeypatch.setenv("SEARCHSIM_HOME", str(tmp_path))
    assert (await ask(worlds, world, "bicycle")).items
    assert await reasons(worlds, world, list(worlds.events(world.key))) == []


async def test_a_world_caps_the_results_of_a_page(worlds: Worlds) -> None:
    world = worlds.create(TASK, {"budget": 3, "stage": "cold_start"}, key="capped", results=5)
    answer = await worlds.search(world, dialect="serper", endpoint="search", text="bicycle wheels", k=13)
    assert len(answer.items) == 5
    later = await worlds.search(world, dialect="serper", endpoint="search", text="bicycle wheels", k=13, page=2)
    assert len(later.items) == 5 and not {i.document.id for i in later.items} & {
        i.document.id for i in answer.items if not i.injected
    }
    assert [e["k"] for e in worlds.events("capped")] == [5, 5]
    last = worlds.create(TASK, {"stage": "pre_synthesis"}, key="last", results=5, last_list=1)
    assert len((await worlds.search(last, dialect="serper", endpoint="search", text="bicycle wheels", k=13)).items) == 8
    for wrong in (0, 101, True):
        with pytest.raises(ConditionError, match="results is a number"):
            worlds.create(TASK, results=wrong)
