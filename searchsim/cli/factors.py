"""Factors."""

from __future__ import annotations

from rich.table import Table

from searchsim.cli.common import (
    JsonOption,
    print_json,
    show_table,
)
from searchsim.injection import load_factors

__all__ = ["show_factors"]


def show_factors(as_json: JsonOption = False) -> None:
    """List the factors with their levels.

    Example: searchsim factors
    """
    factors = load_factors()
    if as_json:
        print_json(factors.describe())
        return
    table = Table("factor", "levels", "default", box=None)
    for n, r in factors.items():
        table.add_row(n, ", ".join(map(str, r.factor.levels)), str(r.factor.default))
    show_table(table)
