"""How numbers are written for readers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["NOTHING", "bounds", "interval", "p_value", "percent", "plural", "points", "share", "span"]

NOTHING = "–"
"""What stands where there is no number."""

_SPACE = "\u00a0"
_MINUS = "\u2212"


def percent(value: float | None, digits: int = 1) -> str:
    """A fraction as ``40.0 %``."""
    return NOTHING if value is None else f"{100 * value:.{digits}f}{_SPACE}%"


def share(figure: Mapping[str, Any]) -> str:
    """A figure's counts as ``12/30``."""
    return f"{figure['numerator']}/{figure['denominator']}" if figure["denominator"] else NOTHING


def interval(low: float | None, high: float | None, *, signed: bool = False) -> str:
    """Two fractions as ``[24.6, 57.7]``, in percent; empty where there are none."""
    if low is None or high is None:
        return ""
    form = _signed if signed else "{:.1f}".format
    return f"[{form(100 * low)}, {form(100 * high)}]"


def bounds(figure: Mapping[str, Any]) -> str:
    """What the missing runs could make of a figure, as ``37.5–43.8 %``; empty where none is missing."""
    if not figure["missing"] or figure["missing_as_0"] is None or figure["missing_as_1"] is None:
        return ""
    return f"{span(figure['missing_as_0'], figure['missing_as_1'])}{_SPACE}%"


def span(low: float, high: float) -> str:
    """From one fraction to another as ``37.5–43.8``, in percent."""
    return f"{100 * low:.1f}–{100 * high:.1f}"


def points(value: float | None) -> str:
    """A difference of fractions in percentage points, as ``+13.3``."""
    return NOTHING if value is None else _signed(100 * value)


def p_value(value: float | None) -> str:
    """A p-value; below 0.001 nobody needs its digits."""
    if value is None:
        return NOTHING
    return "<0.001" if value < 0.0005 else f"{value:.3f}"


def plural(count: int, noun: str, several: str = "") -> str:
    """``1 run``, ``2 runs``, ``1,200 runs``."""
    return f"{count:,} {noun if count == 1 else several or noun + 's'}"


def _signed(value: float) -> str:
    text = f"{abs(value):.1f}"
    if float(text) == 0:
        return text
    return (_MINUS if value < 0 else "+") + text
