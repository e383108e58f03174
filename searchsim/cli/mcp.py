"""The MCP server."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["mcp"]

# Under `searchsim run` the run's own server and world come first, which no configuration can name beforehand.


def mcp(
    key: Annotated[
        str,
        typer.Option(
            "--key", envvar=["SEARCHSIM_REDIRECT_WORLD", "SEARCHSIM_KEY"], help="The key of the world to search."
        ),
    ],
    url: Annotated[
        str,
        typer.Option("--url", envvar=["SEARCHSIM_REDIRECT_URL", "SEARCHSIM_URL"], help="The running server."),
    ] = "http://127.0.0.1:8080",
) -> None:
    """Serve a world's search and pages as MCP tools on stdin and stdout, for agents that start such a server.

    Example: searchsim mcp --url http://127.0.0.1:8080 --key my-key
    """
    # The SDK takes seconds to import, and only this command wants it.
    from searchsim.server.mcp_tools import serve_stdio

    serve_stdio(url, key)
