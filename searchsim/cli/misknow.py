"""Misleading documents."""

from __future__ import annotations

from typing import Annotated

import typer

from searchsim import corpus as corpora
from searchsim.cli.common import (
    say,
)

__all__ = ["misknow_app"]

misknow_app = typer.Typer(help="Misleading documents.", no_args_is_help=True, rich_markup_mode=None)


@misknow_app.command("publish")
def misknow_publish(corpus: Annotated[str, typer.Argument(help="A corpus by name or path.")]) -> None:
    """Write misleading.jsonl anew from texts.jsonl and the blueprints' institutions.

    Example: searchsim misknow publish corpora/quickstart
    """
    say(f"{corpora.republish(corpora.load(corpus))} misleading documents")
