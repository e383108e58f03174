"""Raters of claims compared, by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sklearn.metrics import cohen_kappa_score
from typer.testing import CliRunner

from searchsim.cli.score import score_app
from searchsim.errors import UsageError
from searchsim.scoring.agreement import ordinal_agreement, ordinal_alpha
from searchsim.scoring.ratings import compare, read, tau

SCALE = (1, 2, 3, 4, 5)


def pair(first: list[int | None], second: list[int | None]) -> dict[str, Any]:
    return ordinal_agreement(first, second, scale=SCALE, threshold=3)


def test_agreement_by_hand() -> None:
    judge, person = [1, 2, 3, 4, 5, 3, 2, 4], [1, 3, 3, 2, 5, 4, 1, None]
    found = pair([*judge], [*person])
    assert (found["n"], found["unscored"]) == (7, 1)
    assert found["exact"] == pytest.approx(3 / 7)
    assert found["within_one"] == pytest.approx(6 / 7)
    # The judge flags 3, 4, 5, 3; of these the person flags 3, 5, 4.
    assert (found["flagged"], found["ppv"]) == (4, 0.75)
    low, high = found["ppv_interval"]
    assert low < 0.75 < high
    known = [(a, b) for a, b in zip(judge, person, strict=True) if b is not None]
    one, other = [a for a, _ in known], [b for _, b in known]
    assert found["rho"] == pytest.approx(spearmanr(one, other).statistic)
    assert found["kappa"] == pytest.approx(cohen_kappa_score([a >= 3 for a in one], [b >= 3 for b in other]))


def test_whole_numbers_may_be_written_as_floats(tmp_path: Path) -> None:
    path = tmp_path / "ratings.jsonl"
    path.write_text(
        '{"item": "a", "ratings": {"person": 2, "judge": 2.0}}\n{"item": "b", "ratings": {"person": 4, "judge": 4.0}}\n'
    )
    (row,) = compare(read(path))["raters"]
    assert (row["exact"], row["alpha"], row["kappa"]) == (1, 1, 1)
    assert pair([2.0, 4.0], [2, 4]) == pair([2, 4], [2, 4])  # type: ignore[list-item]


def test_alpha_by_hand() -> None:
    """Krippendorff's own example for ordinal data: four observers, twelve units, α = 0.815."""
    observers: list[list[int | None]] = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ]
    assert ordinal_alpha(observers, scale=SCALE) == pytest.approx(0.815, abs=5e-4)


def test_alpha_of_two_items_by_hand() -> None:
    """1-2 and 2-1, so that of four values two are 1 and two are 2, and each pair is one of both.

    Observed 1, expected 2·2·2 / (4·3) of the same distance: α = 1 - 12/8.
    """
    assert ordinal_alpha([[1, 2], [2, 1]], scale=SCALE) == pytest.approx(-0.5)


@pytest.mark.parametrize(
    ("first", "second"), [([], []), ([None, 2], [3, None]), ([2, 2], [2, 2]), ([None, 4], [None, 4])]
)
def test_no_alpha(first: list[int | None], second: list[int | None]) -> None:
    assert ordinal_alpha([first, second], scale=SCALE) is None


def test_what_is_undefined_is_none() -> None:
    found = pair([1, 2], [2, 2])
    assert (found["kappa"], found["ppv"], found["ppv_interval"], found["rho"]) == (None, None, None, None)
    nothing = pair([None], [3])
    assert (nothing["n"], nothing["unscored"], nothing["exact"], nothing["within_one"]) == (0, 1, None, None)


def test_a_score_off_the_scale() -> None:
    with pytest.raises(ValueError, match="6"):
        pair([6], [5])
    with pytest.raises(ValueError, match="shorter"):
        pair([1, 2], [1])


@given(st.lists(st.tuples(st.sampled_from(SCALE), st.sampled_from(SCALE)), min_size=1, max_size=30))
def test_agreement_has_two_sides(pairs: list[tuple[int, int]]) -> None:
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    forth, back = pair([*first], [*second]), pair([*second], [*first])
    assert forth["exact"] <= forth["within_one"] <= 1
    for key in ("exact", "within_one", "rho", "alpha", "kappa"):
        assert forth[key] == (None if back[key] is None else pytest.approx(back[key]))
    same = pair([*first], [*first])
    assert (same["exact"], same["within_one"]) == (1, 1)
    assert same["alpha"] == (None if len(set(first)) == 1 else pytest.approx(1))
    assert same["ppv"] in (None, 1)


def item(name: str, system: str | None = None, **ratings: int | None) -> dict[str, Any]:
    return {"item": name, **({"system": system} if system else {}), "ratings": ratings}


ITEMS = [
    item("1", "x", person=1, judge=2, other=5),
    item("2", "x", person=2, judge=2, other=4),
    item("3", "y", person=3, judge=4, other=3),
    item("4", "y", person=5, judge=4, other=2),
    item("5", "y", person=5, judge=None, other=1),
    item("6", person=1, judge=1),
]


def test_raters_against_one() -> None:
    found = compare(ITEMS)
    assert (found["reference"], found["items"]) == ("person", 6)
    assert [(r["rater"], r["n"], r["unscored"]) for r in found["raters"]] == [("judge", 5, 1), ("other", 5, 1)]
    # Means are over the items that all scored: the fifth is in none.
    assert found["systems"] == [
        {"system": "x", "items": 2, "means": {"person": 1.5, "judge": 2.0, "other": 4.5}},
        {"system": "y", "items": 2, "means": {"person": 4.0, "judge": 4.0, "other": 2.5}},
    ]
    assert found["tau"] == {"judge": 1, "other": -1}
    other = compare(ITEMS, "judge")
    assert (other["reference"], other["alpha"]) == ("judge", found["alpha"])
    assert [r["rater"] for r in other["raters"]] == ["person", "other"]


def test_tau() -> None:
    assert tau([1, 2, 3], [1.5, 2.5, 2.6]) == 1
    assert tau([1, 2, 3], [1, 3, 2]) == pytest.approx(1 / 3)
    assert tau([1], [2]) is None
    assert tau([1, 1], [1, 2]) is None


@pytest.mark.parametrize(
    ("items", "reference", "message"),
    [
        ([], None, "no item"),
        (ITEMS, "nobody", "no rater 'nobody'; there are: person, judge, other"),
        ([item("1", person=1)], None, "agreement needs two"),
    ],
)
def test_what_cant_be_compared(items: list[dict[str, Any]], reference: str | None, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        compare(items, reference)


def written(path: Path, items: list[Any]) -> Path:
    path.write_bytes(b"".join(orjson.dumps(i) + b"\n" for i in items))
    return path


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (item("1", person=6), "r.jsonl:2: ratings.person"),
        (item("1", person=2.5), "r.jsonl:2: ratings.person"),  # type: ignore[arg-type]
        (item("1"), "r.jsonl:2: ratings"),
        ({"ratings": {"person": 1}}, "r.jsonl:2: item"),
        (item("0", person=2), "r.jsonl:2: item 0 stands twice"),
    ],
)
def test_ratings_that_arent_sound(tmp_path: Path, line: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read(written(tmp_path / "r.jsonl", [item("0", person=1), line]))


def test_the_command(tmp_path: Path) -> None:
    path = str(written(tmp_path / "r.jsonl", ITEMS))
    answered = CliRunner().invoke(score_app, ["agreement", "--ratings", path, "--json"])
    assert answered.exit_code == 0
    assert orjson.loads(answered.stdout) == compare(ITEMS)
    shown = CliRunner().invoke(score_app, ["agreement", "--ratings", path, "--reference", "judge"]).stdout
    assert "6 items, against judge" in shown
    assert "Kendall's tau" in shown
