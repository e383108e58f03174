from __future__ import annotations

import pytest

from searchsim.report import numbers
from searchsim.report.marking import marked


@pytest.mark.parametrize(
    ("value", "told"), [(None, "–"), (0.0, "0.0 %"), (1.0, "100.0 %"), (1 / 3, "33.3 %"), (0.99999, "100.0 %")]
)
def test_percent(value: float | None, told: str) -> None:
    assert numbers.percent(value).replace("\u00a0", " ") == told


def test_points_and_intervals() -> None:
    assert [numbers.points(v) for v in (0.133, -0.02, 0.0, -0.0001, None)] == ["+13.3", "−2.0", "0.0", "0.0", "–"]
    assert numbers.interval(0.246, 0.577) == "[24.6, 57.7]"
    assert numbers.interval(-0.1, 0.2, signed=True) == "[−10.0, +20.0]"
    assert numbers.interval(None, None) == ""


@pytest.mark.parametrize(
    ("value", "told"), [(None, "–"), (1.0, "1.000"), (0.0005, "0.001"), (0.00049, "<0.001"), (0.0625, "0.062")]
)
def test_p_values(value: float | None, told: str) -> None:
    assert numbers.p_value(value) == told


def test_plurals() -> None:
    assert [numbers.plural(n, "run") for n in (0, 1, 1200)] == ["0 runs", "1 run", "1,200 runs"]
    assert numbers.plural(2, "search", "searches") == "2 searches"


@pytest.mark.parametrize(
    ("evidence", "told"),
    [
        (["c & d."], "a &lt; b. <mark>c &amp; d.</mark> mark"),
        ((), "a &lt; b. c &amp; d. mark"),
        (["missing"], "a &lt; b. c &amp; d. mark"),
        (["", "mark"], "a &lt; b. c &amp; d. <mark>mark</mark>"),
        # One in another, and two that overlap.
        (["b. c & d.", "c & d."], "a &lt; <mark>b. c &amp; d.</mark> mark"),
        (["< b. c", "c & d."], "a <mark>&lt; b. c &amp; d.</mark> mark"),
        # Each as often as it stands there.
        (["a"], "<mark>a</mark> &lt; b. c &amp; d. m<mark>a</mark>rk"),
    ],
)
def test_marking_keeps_the_text(evidence: list[str], told: str) -> None:
    assert marked("a < b. c & d. mark", evidence) == told
