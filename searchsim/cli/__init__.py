"""The commands, a module a group.

Exit codes: 0 as asked, 1 our failure, 2 wrong use, 4 a study is incomplete, 5 not every run of it is judged.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from searchsim import __version__, home
from searchsim.cli.agent import agent_app
from searchsim.cli.bench import bench_app
from searchsim.cli.common import say
from searchsim.cli.corpus import corpus_app
from searchsim.cli.demo import demo
from searchsim.cli.factors import show_factors
from searchsim.cli.local import local_app
from searchsim.cli.mcp import mcp
from searchsim.cli.misknow import misknow_app
from searchsim.cli.reproduce import reproduce_app
from searchsim.cli.run import run
from searchsim.cli.score import score_app
from searchsim.cli.serve import serve
from searchsim.cli.study import study_app
from searchsim.cli.world import world_app
from searchsim.errors import SearchsimError

__all__ = ["app", "main"]

app = typer.Typer(
    name="searchsim",
    help="A simulated search environment for injection experiments on deep-research agents.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command()(serve)
app.command(context_settings={"allow_interspersed_args": False})(run)
app.command()(demo)
app.command()(mcp)
app.command("factors")(show_factors)
for name, group in (
    ("corpus", corpus_app),
    ("world", world_app),
    ("agent", agent_app),
    ("study", study_app),
    ("score", score_app),
    ("reproduce", reproduce_app),
    ("bench", bench_app),
    ("local", local_app),
    ("misknow", misknow_app),
):
    app.add_typer(group, name=name)


def main(arguments: Sequence[str] | None = None) -> None:
    """The console script: errors are one line on stderr, never a traceback."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    # The client logs each attempt with a traceback; what it comes to is said in one line by us.
    logging.getLogger("elastic_transport").setLevel(logging.CRITICAL)
    command = typer.main.get_command(app)
    try:
        code = command.main(args=None if arguments is None else list(arguments), standalone_mode=False)
    except SearchsimError as error:
        _complain(str(error))
        code = error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        _complain("stopped")
        code = 130
    except Exception as error:
        # The command line's own errors, which differ in class with typer's version, bring their exit code.
        if not hasattr(error, "format_message"):
            raise
        if type(error).__name__ == "NoArgsIsHelpError":
            sys.stderr.write(f"{error.format_message()}\n")
        else:
            _complain(f"{error.format_message()} (see --help)")
        code = 2
    sys.exit(code if isinstance(code, int) else 0)


def _complain(message: str) -> None:
    line = " ".join(message.split())
    sys.stderr.write(f"searchsim: {line}\n")


@app.callback(invoke_without_command=True)
def _options(
    home_folder: Annotated[
        Path | None,
        typer.Option("--home", help="A folder of your own corpora, injectors, adapters, experiments."),
    ] = None,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    home.set_home(home_folder)
    if version:
        say(__version__)
        raise typer.Exit
