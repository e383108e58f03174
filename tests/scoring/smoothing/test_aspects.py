"""Aspects of many documents in one order, by a scripted stand-in for the model that merges them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from searchsim.scoring.smoothing.aspects import Aspect, Proposal, merge
from searchsim.scoring.smoothing.cache import Cache
from searchsim.scoring.smoothing.claims import Claim
from tests.scoring.smoothing.scripted import ScriptedReader, parts, scripted_answers

CLAIM = Claim("c1", "Wet towels keep bread fresh.", [(0, 5)], "", "", "", [], [])
TOLD = {"description": "It says what.", "keywords": ["bread"]}


def proposals(count: int) -> list[Proposal]:
    return [Proposal(f"d{n}", f"aspect {n}", "It is about this matter.", ("bread",)) for n in range(1, count + 1)]


def node(name: str, *sources: str, below: Any = None) -> dict[str, Any]:
    return {"name": name, **TOLD, "from": list(sources), **({} if below is None else {"subaspects": below})}


async def merged(
    count: int, say: Callable[[int, list[str]], Any], budget: int = 80
) -> tuple[list[Aspect], list[list[str]]]:
    """The aspects, and the lines that were asked about; four proposals go into a question."""
    asked: list[list[str]] = []
    reader = ScriptedReader()

    def change(step: str, answer: Any, prompt: str) -> Any:
        asked.append(parts(prompt)[-1].splitlines())
        return {"aspects": say(len(asked), re.findall(r"^(p\d+)\.", parts(prompt)[-1], re.MULTILINE))}

    reader.change = change
    aspects, broken = await merge(CLAIM, proposals(count), scripted_answers(reader, Cache()), budget)
    assert broken is None
    return aspects, asked


def told(aspects: list[Aspect]) -> list[tuple[str, str | None, str, list[str]]]:
    return [(a.id, a.parent, a.name, a.documents) for a in aspects]


def umbrella(turn: int, ids: list[str]) -> Any:
    """Two sub-aspects under an aspect that nothing went into by itself."""
    names = (f"days {turn}", "by kind")
    return [node(f"how long {turn}", below=[node(names[0], *ids[:2]), node(names[1], *ids[2:])])]


async def test_sub_aspects_of_groups_stay_with_the_aspects_that_are_merged() -> None:
    def say(turn: int, ids: list[str]) -> Any:
        return umbrella(turn, ids) if turn < 3 else [node("how long", *ids, below=[])]

    aspects, asked = await merged(8, say)
    assert [len(lines) for lines in asked] == [4, 4, 2]
    assert asked[2][0].endswith("how long 1: It says what. (bread); its sub-aspects: days 1; by kind")
    assert told(aspects) == [
        ("A1", None, "how long", ["d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8"]),
        ("A1.1", "A1", "days 1", ["d1", "d2"]),
        # Sub-aspects of one name that two groups made are one.
        ("A1.2", "A1", "by kind", ["d3", "d4", "d7", "d8"]),
        ("A1.3", "A1", "days 2", ["d5", "d6"]),
    ]


async def test_an_aspect_that_goes_below_another_brings_its_sub_aspects_there() -> None:
    def say(turn: int, ids: list[str]) -> Any:
        return umbrella(turn, ids) if turn < 3 else [node("storage", "p1", below=[node("towels", "p2")])]

    aspects, _ = await merged(8, say)
    assert told(aspects) == [
        ("A1", None, "storage", ["d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8"]),
        ("A1.1", "A1", "towels", ["d5", "d6", "d7", "d8"]),
        ("A1.2", "A1", "days 1", ["d1", "d2"]),
        ("A1.3", "A1", "by kind", ["d3", "d4", "d7", "d8"]),
        ("A1.4", "A1", "days 2", ["d5", "d6"]),
    ]


async def test_what_is_left_out_of_the_merged_keeps_its_place_and_what_is_below_it() -> None:
    def say(turn: int, ids: list[str]) -> Any:
        return umbrella(turn, ids) if turn < 3 else [node("how long", "p2", below=[])]

    aspects, _ = await merged(8, say)
    assert [(a.id, a.name, a.unmerged) for a in aspects] == [
        ("A1", "how long", False),
        ("A1.1", "days 2", False),
        ("A1.2", "by kind", False),
        ("A2", "how long 1", True),
        ("A2.1", "days 1", False),
        ("A2.2", "by kind", False),
    ]
    assert aspects[3].documents == ["d1", "d2", "d3", "d4"]
