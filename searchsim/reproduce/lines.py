"""What a check of published figures says: one line a figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

__all__ = ["Line", "Relation", "Value", "line", "untold"]

Line = dict[str, Any]
"""A line as JSON, as `line` makes it."""

Value = bool | int | float | Sequence[float]
"""A figure: whether something is so, a number, or several (a range, a pair)."""

Relation = Literal["=", "<", "≤", "≥"]

_EPSILON = 1e-9
"""Half a unit may be met exactly: 0.25 printed as 0.3 is right, and floats mustn't say otherwise."""


def line(
    id_: str,
    what: str,
    published: Value | None,
    recomputed: Value | None,
    *,
    unit: str,
    inputs: str,
    digits: int | None = None,
    tolerance: float | None = None,
    relation: Relation = "=",
    derived: bool = False,
    reason: str | None = None,
) -> Line:
    """A figure, and whether it comes out again.

    Args:
        id_: Its name.
        what: What it is, in our words.
        published: As printed.
        recomputed: What came out; None, or nan, where nothing did, which is a figure that doesn't hold.
        unit: Of both; ``%`` is per cent, ``points`` are percentage points.
        inputs: What it was recomputed from.
        digits: Decimals that were printed: the tolerance is half a unit of the last one. None where nothing but the
            very same will do.
        tolerance: How far off it may be, in place of digits, where it is recomputed from rounded figures.
        relation: What the recomputed figure must be to the published one.
        derived: True where the figure isn't printed but follows from printed ones.
        reason: What a reader has to know.

    Returns:
        JSON with id, what, unit, source (``paper``, or ``derived`` from the paper's figures), inputs, published,
        relation, recomputed, tolerance, holds and, where there is one, reason.
    """
    if tolerance is None:
        tolerance = 0.0 if digits is None else 0.5 * 10.0**-digits
    found: Line = {
        "id": id_,
        "what": what,
        "unit": unit,
        "source": "derived" if derived else "paper",
        "inputs": inputs,
        "published": _plain(published),
        "relation": relation,
        "recomputed": _plain(recomputed),
        "tolerance": tolerance,
        "holds": _holds(published, recomputed, tolerance, relation),
    }
    if reason:
        found["reason"] = reason
    return found


def untold(id_: str, what: str, published: Value | None, why: str, *, unit: str, relation: Relation = "=") -> Line:
    """A figure of which it can't be told whether it holds, as its inputs aren't published.

    Args:
        id_: Its name.
        what: What it is, in our words.
        published: As printed; None where it isn't printed as a figure.
        why: What is missing.
        unit: Of the figure.
        relation: What a recomputed figure would have to be to the published one.

    Returns:
        JSON as of `line`, with holds, recomputed and tolerance None.
    """
    found = line(id_, what, published, None, unit=unit, inputs="not published", relation=relation, reason=why)
    return {**found, "tolerance": None, "holds": None}


def _holds(published: Value | None, recomputed: Value | None, tolerance: float, relation: Relation) -> bool:
    if published is None or recomputed is None:
        return False
    if isinstance(published, bool) or isinstance(recomputed, bool):
        return published is recomputed
    if isinstance(published, Sequence) and isinstance(recomputed, Sequence):
        pairs = zip(published, recomputed, strict=False)
        return len(published) == len(recomputed) and all(_holds(p, r, tolerance, relation) for p, r in pairs)
    if isinstance(published, Sequence) or isinstance(recomputed, Sequence):
        return False
    match relation:
        case "=":
            return abs(recomputed - published) <= tolerance + _EPSILON
        case "<":
            return recomputed < published - _EPSILON
        case "≤":
            return recomputed <= published + _EPSILON
        case "≥":
            return recomputed >= published - _EPSILON


def _plain(value: Value | None) -> Any:
    """As JSON, without the last bits of floats."""
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, Sequence):
        return [_plain(v) for v in value]
    return value
