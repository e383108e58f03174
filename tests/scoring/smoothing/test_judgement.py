"""What the judge sees of a claim's evidence, where there is room for all of it and where there isn't."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from searchsim import tokens
from searchsim.scoring.smoothing.aspects import Aspect
from searchsim.scoring.smoothing.claims import Claim
from searchsim.scoring.smoothing.evidence import Evidence, Stance
from searchsim.scoring.smoothing.judgement import judge_prompt, within
from tests.scoring.smoothing.scripted import parts

CLAIM = Claim("c1", "Wet towels keep bread fresh.", [(0, 5)], "", "", "", [], [])
ASPECTS = [Aspect("A1", None, "How long", "Days.", []), Aspect("A2", None, "Which", "Kinds.", [])]


def item(number: int, stance: Stance = "support", strength: str = "strong", aspect: str | None = "A1") -> Evidence:
    quote = f"Passage number {number:03d} says that bread stayed fresh for a while."
    found = Evidence(f"e{number}", stance, "supports", "d1", number, number + 1, quote, "l", "It does.", strength, 1)
    found.aspect = aspect
    return found


SIZE = tokens.count(f"  - [d1, strong, supports] {item(1).quote} — It does.")[0]


def ids(items: list[Evidence]) -> list[str]:
    return [e.id for e in items]


def test_all_is_shown_where_there_is_room() -> None:
    items = [item(n) for n in range(20)]
    assert within(items, 10_000) == items


def test_the_weakest_go_first_and_then_the_latest() -> None:
    strengths = ("weak", "strong", "moderate", "strong", "weak", "moderate")
    items = [item(n, strength=s) for n, s in enumerate(strengths)]
    assert [ids(within(items, SIZE * n)) for n in (1, 2, 3, 5)] == [
        ["e1"],
        ["e1", "e3"],
        ["e1", "e2", "e3"],
        ["e0", "e1", "e2", "e3", "e5"],
    ]


def test_every_side_of_every_aspect_is_cut_alike() -> None:
    many, few = [item(n) for n in range(50)], [item(n, "skeptic", aspect="A2") for n in range(50, 53)]
    other = [item(n, "skeptic") for n in range(60, 80)]
    kept = ids(within([*many, *few, *other], 13 * SIZE))
    assert kept == [f"e{n}" for n in (0, 1, 2, 3, 4, 50, 51, 52, 60, 61, 62, 63, 64)]


def test_a_side_that_has_evidence_never_looks_empty() -> None:
    items = [item(1), item(2), item(3, "skeptic", "weak"), item(4, aspect=None, strength="weak")]
    assert ids(within(items, 1)) == ["e1", "e3", "e4"]


ITEM = st.tuples(
    st.sampled_from(("support", "skeptic")), st.sampled_from(("strong", "weak")), st.sampled_from(("A1", "A2", None))
)


@given(st.lists(ITEM, max_size=40), st.integers(1, 1500))
def test_what_is_kept_is_within_the_budget_in_order_and_of_every_side(
    given_: list[tuple[Stance, str, str | None]], budget: int
) -> None:
    items = [item(n, *told) for n, told in enumerate(given_)]
    kept = within(items, budget)
    sides = {(e.aspect, e.stance) for e in items}
    assert {(e.aspect, e.stance) for e in kept} == sides
    assert kept == [e for e in items if e in kept]
    assert len(kept) <= max(len(sides), budget // (SIZE - 2))


def test_how_much_is_left_out_is_said_where_it_would_stand() -> None:
    items = [*(item(n) for n in range(6)), item(6, "skeptic"), *(item(n, "skeptic", aspect=None) for n in range(7, 9))]
    shown = ["e0", "e1", "e6", "e7"]
    evidence = parts("".join(judge_prompt("", CLAIM, ASPECTS, items, {"d1": "T"}, shown).parts))[-1].splitlines()
    assert [line for line in evidence if "more, none stronger" in line] == [
        "  - (and 4 more, none stronger than these, left out for want of room)",
        "  - (and 1 more, none stronger than these, left out for want of room)",
    ]
    assert sum("Passage number" in line for line in evidence) == 4
    assert "more, none" not in "".join(judge_prompt("", CLAIM, ASPECTS, items, {"d1": "T"}).parts)
