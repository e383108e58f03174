"""The small local model."""

from __future__ import annotations

import typer

from searchsim import local
from searchsim.cli.common import (
    ERR,
    say,
)

__all__ = ["local_app"]

local_app = typer.Typer(help="The small local model.", no_args_is_help=True, rich_markup_mode=None)


@local_app.command("install")
def local_install() -> None:
    """Bring the local model's weights into the cache folder.

    Example: searchsim local install
    """
    with ERR.status("downloading the weights"):
        path = local.install()
    say(str(path))
