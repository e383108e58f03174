"""Composition: nothing lost, nothing doubled, the organic order kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchsim import home
from searchsim.documents import Document, MisleadingDocument
from searchsim.engine import Hit
from searchsim.errors import ConditionError, UsageError
from searchsim.injection import Admission, Item, ListContext, Mode, compose, load_factors


def _organic(n: int) -> Document:
    return Document(
        id=f"o{n}", url=f"https://a.org/{n}", title="t", body="b", source_name="S", kind="news", language="en"
    )


def _bad(n: int, body: str = "", shared: bool = False, style: str = "paper") -> MisleadingDocument:
    return MisleadingDocument(
        id=f"m{n}", url=f"https://b.org/{n}", title="t", body=body or f"b{n}", source_name="S", kind=style,
        language="en", task="t", authority="high", style=style, institution="S", shared_body=shared,
    )  # fmt: skip


SCORE = st.floats(0.1, 9.9).map(lambda x: round(x, 3))


@st.composite
def lists(draw: st.DrawFn) -> tuple[list[Hit], list[tuple[MisleadingDocument, float]], list[MisleadingDocument], int]:
    scores = sorted(draw(st.lists(SCORE, max_size=14)), reverse=True)
    organic = [Hit(_organic(n), s) for n, s in enumerate(scores)]
    pool = [_bad(n) for n in range(draw(st.integers(0, 5)))]
    matching = [(d, draw(SCORE)) for d in pool if draw(st.booleans())]
    matching.sort(key=lambda pair: (-pair[1], pair[0].id))
    return organic, matching, pool, draw(st.integers(1, 12))


FACTORS = load_factors()
RANKS = st.sampled_from(["spread", "front", "back"])
MODES = st.sampled_from([*Mode])


@given(lists(), MODES, RANKS, st.none() | st.integers(0, 3))
def test_any_composition(
    given_lists: tuple[list[Hit], list[tuple[MisleadingDocument, float]], list[MisleadingDocument], int],
    mode: Mode,
    rank: str,
    limit: int | None,
) -> None:
    organic, matching, pool, k = given_lists
    condition = FACTORS.complete({"rank": rank})
    made = compose(
        organic, matching, k, Admission(mode, limit), whole_pool=pool, place=lambda i: FACTORS.place(i, condition)
    )
    control = [h.document.id for h in organic[:k]]
    ids = [i.document.id for i in made.items]
    kept = [i.document.id for i in made.items if not i.injected]
    bad = [i.document.id for i in made.items if i.injected]

    assert len(set(ids)) == len(ids), "nothing is doubled"
    assert kept == control[: len(kept)], "the organic results keep their order, and go from the end"
    assert [d.id for d in made.displaced] == control[len(kept) :], "nothing is lost"
    if mode is Mode.NO:
        assert ids == control
    elif mode is Mode.APPENDED:
        assert ids == control + bad
        assert len(bad) == min(len(pool), len(pool) if limit is None else limit)
    else:
        assert len(ids) <= k
        assert len(kept) + len(bad) == min(k, len(kept) + len(bad))
        if mode is Mode.FORCED and limit is None:
            assert len(bad) + len(made.cut) == len(pool)
        if mode is Mode.RELEVANCE and limit is None:
            # An included document beats, by score then id, every organic one that isn't in the list.
            everything = sorted([(-h.score, h.document.id) for h in organic[:k]] + [(-s, d.id) for d, s in matching])[
                :k
            ]
            assert set(ids) == {id_ for _, id_ in everything}
            if rank == "spread":
                assert ids == [id_ for _, id_ in everything]
        flags = [i.injected for i in made.items]
        if rank == "front":
            assert flags == sorted(flags, reverse=True)
        elif rank == "back":
            assert flags == sorted(flags)


@given(lists(), MODES)
def test_without_a_pool_every_list_is_the_control(
    given_lists: tuple[list[Hit], list[tuple[MisleadingDocument, float]], list[MisleadingDocument], int], mode: Mode
) -> None:
    organic, _, _, k = given_lists
    made = compose(organic, [], k, Admission(mode))
    assert [(i.document.id, i.score, i.injected) for i in made.items] == [
        (h.document.id, h.score, False) for h in organic[:k]
    ]
    assert not made.displaced


def test_stages() -> None:
    def modes(stage: str, last: int | None = None) -> list[str]:
        condition = FACTORS.complete({"stage": stage})
        return [FACTORS.admission(ListContext(n, last, "search", "q"), condition).mode.value for n in (1, 2, 3)]

    assert modes("always") == ["relevance"] * 3
    assert modes("first_list") == ["relevance", "no", "no"]
    assert modes("cold_start") == ["forced", "no", "no"]
    assert modes("mid_research") == ["no", "relevance", "relevance"]
    assert modes("pre_synthesis", last=3) == ["no", "no", "appended"]
    condition = FACTORS.complete({"stage": "pre_synthesis"})
    assert FACTORS.admission(ListContext(3, 3, "search", "q"), condition) == Admission(Mode.APPENDED, 3)


def test_a_condition_is_completed_with_defaults() -> None:
    assert FACTORS.complete({}) == {
        "authority": "high", "style": "paper", "stage": "always", "rank": "spread", "budget": 3,
    }  # fmt: skip
    assert FACTORS.complete({"budget": "2"})["budget"] == 2


@pytest.mark.parametrize("level", [6, -1, "many", True, 2.5, None, [3]])
def test_levels_that_do_not_exist(level: object) -> None:
    with pytest.raises(ConditionError, match="levels: 0, 1, 2, 3, 4, 5") as caught:
        FACTORS.complete({"budget": level})
    assert caught.value.field == "condition.budget"


def test_factors_that_do_not_exist() -> None:
    with pytest.raises(ConditionError, match="factors: authority") as caught:
        FACTORS.complete({"tier": "high"})
    assert caught.value.field == "condition.tier"


def test_documents_that_share_a_body_never_stand_in_one_pool() -> None:
    pool = [_bad(n, "one body", True, "blog") for n in range(5)]
    condition = FACTORS.complete({"style": "blog", "budget": 1})
    assert [d.id for d in FACTORS.select(pool, condition)] == ["m0"]
    with pytest.raises(ConditionError, match="4 more share a body"):
        FACTORS.select(pool, FACTORS.complete({"style": "blog", "budget": 2}))


def test_budget_runs_last() -> None:
    assert list(FACTORS)[-1] == "budget"


OWN = '''
"""Documents of one colour."""
from searchsim.injection import Factor

def place(items, level):
    return {body}

factor = Factor(name="colour", levels=("plain", "odd"), default="plain", place=place)
'''


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "searchsim.yaml").touch()
    (tmp_path / "injectors").mkdir()
    monkeypatch.setenv("SEARCHSIM_HOME", str(tmp_path))
    return tmp_path


def test_a_factor_in_a_home_works_without_touching_the_package(own_home: Path) -> None:
    (own_home / "injectors" / "colour.py").write_text(OWN.format(body="list(reversed(items))"))
    factors = load_factors()
    condition = factors.complete({"colour": "odd"})
    assert condition["colour"] == "odd"
    items = [Item(_organic(n), 1.0, False) for n in range(3)]
    assert [i.document.id for i in factors.place(items, condition)] == ["o2", "o1", "o0"]


def test_a_hook_that_loses_results_is_caught(own_home: Path) -> None:
    (own_home / "injectors" / "colour.py").write_text(OWN.format(body="items[1:]"))
    with pytest.raises(UsageError, match="place"):
        load_factors().place([Item(_organic(0), 1.0, False)], load_factors().complete({}))


@pytest.mark.parametrize(("text", "match"), [("1/0", "ZeroDivisionError"), ("x = 1", "defines no")])
def test_a_broken_factor_names_its_file(own_home: Path, text: str, match: str) -> None:
    (own_home / "injectors" / "broken.py").write_text(text)
    with pytest.raises(UsageError, match=match) as caught:
        load_factors()
    assert "broken.py" in str(caught.value)


def test_an_unmarked_folder_is_never_searched_for_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "injectors").mkdir()
    (tmp_path / "injectors" / "evil.py").write_text("raise SystemExit('searched')")
    monkeypatch.chdir(tmp_path)
    assert "evil" not in dict(home.instances("injectors"))
    with pytest.raises(UsageError, match=r"searchsim\.yaml"):
        home.set_home(tmp_path)


def test_two_factors_of_one_name_are_refused(own_home: Path) -> None:
    for name in ("a", "b"):
        (own_home / "injectors" / f"{name}.py").write_text(OWN.format(body="items"))
    with pytest.raises(UsageError, match="both define a factor named 'colour'"):
        load_factors()


HOOKS = [
    ("select", "None", "not iterable"),
    ("rewrite", "None", "must return the document"),
    ("admit", "None", "must return an Admission"),
    ("place", "None", "not iterable"),
    ("place", "1 / 0", "ZeroDivisionError"),
]


@pytest.mark.parametrize(("hook", "body", "message"), HOOKS)
def test_a_hook_that_fails_names_file_and_hook(own_home: Path, hook: str, body: str, message: str) -> None:
    (own_home / "injectors" / "bad.py").write_text(
        "from searchsim.injection import Factor\n"
        f"factor = Factor(name='bad', levels=('x',), default='x', {hook}=lambda given, level: {body})"
    )
    factors = load_factors()
    condition = factors.complete({"budget": 0})
    with pytest.raises(UsageError, match=message) as caught:
        factors.select([_bad(1)], condition)
        factors.rewrite([_bad(1)], condition)
        factors.admission(ListContext(1, None, "search", "q"), condition)
        factors.place([Item(_organic(0), 1.0, False)], condition)
    assert f"bad.py: {hook}()" in str(caught.value)


def test_a_default_that_is_no_level_is_refused(own_home: Path) -> None:
    (own_home / "injectors" / "bad.py").write_text(
        "from searchsim.injection import Factor\nfactor = Factor(name='bad', levels=('x',), default='y')"
    )
    with pytest.raises(UsageError, match="the default is no level"):
        load_factors()
