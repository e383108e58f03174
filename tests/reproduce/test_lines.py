"""When a figure holds."""

from __future__ import annotations

from math import nan

import pytest

from searchsim.reproduce.lines import Relation, Value, line, untold


def _holds(published: Value, recomputed: Value | None, digits: int | None = None, relation: Relation = "=") -> object:
    return line("X", "what", published, recomputed, unit="%", inputs="", digits=digits, relation=relation)["holds"]


@pytest.mark.parametrize(
    ("published", "recomputed", "digits", "holds"),
    [
        (54.7, 54.6667, 1, True),
        (54.7, 54.65, 1, True),  # half a unit exactly, which floats miss
        (54.7, 54.5, 1, False),
        (54, 54.4, 0, True),
        (54, 54.6, 0, False),
        (3, 3, None, True),
        (3, 4, None, False),
        (54.7, None, 1, False),
        (54.7, nan, 1, False),
        ([77, 94], [77.2, 93.9], 0, True),
        ([77, 94], [77.2, 93.0], 0, False),
        ([77, 94], [77.0], 0, False),
        ([77, 94], 77.0, 0, False),
        (True, True, None, True),
        (True, False, None, False),
        (1, True, None, False),
    ],
)
def test_a_figure_holds_within_half_a_unit(
    published: Value, recomputed: Value | None, digits: int | None, holds: bool
) -> None:
    assert _holds(published, recomputed, digits) is holds


def test_relations() -> None:
    assert _holds(4, 3.67, relation="<") is True
    assert _holds(4, 4.0, relation="<") is False
    assert _holds(6, 6.0, relation="≤") is True
    assert _holds(6, 6.2, relation="≤") is False
    assert _holds(6, 6.0, relation="≥") is True
    assert _holds(6, 5.8, relation="≥") is False


def test_a_tolerance_of_its_own() -> None:
    near, far = (line("X", "what", 0.39, r, unit="", inputs="", tolerance=0.02) for r in (0.4087, 0.4101))
    assert (near["holds"], near["tolerance"], far["holds"]) == (True, 0.02, False)


def test_what_cant_be_told() -> None:
    found = untold("X", "what", 6, "the cells are missing", unit="points", relation="≤")
    assert (found["holds"], found["recomputed"], found["reason"]) == (None, None, "the cells are missing")
    assert found.keys() - {"reason"} == line("X", "what", 6, 6, unit="points", inputs="").keys()
