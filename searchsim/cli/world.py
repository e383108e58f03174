"""Worlds of a running server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import orjson
import typer

from searchsim.cli.common import (
    LastListOption,
    SetOption,
    print_json,
)
from searchsim.errors import UsageError
from searchsim.world import parse_settings

__all__ = ["world_app"]

world_app = typer.Typer(help="Worlds of a running server.", no_args_is_help=True, rich_markup_mode=None)

UrlOption = Annotated[str, typer.Option("--url", envvar="SEARCHSIM_URL", help="The running server.")]
TokenOption = Annotated[str | None, typer.Option("--control-token", envvar="SEARCHSIM_CONTROL_TOKEN")]
DEFAULT_URL = "http://127.0.0.1:8080"


def _control(method: str, url: str, path: str, token: str | None, body: object = None) -> Any:
    """Call a running server's control."""
    import urllib.error
    import urllib.request

    if not url.startswith(("http://", "https://")):
        raise UsageError(f"--url {url}: give a URL such as {DEFAULT_URL}")
    url = url.rstrip("/") + path
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    data = None if body is None else orjson.dumps(body)
    request = urllib.request.Request(url, data=data, method=method, headers=headers)  # noqa: S310 - checked above
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            raw = answer.read()
    except urllib.error.HTTPError as refusal:
        try:
            message = orjson.loads(refusal.read())["error"]["message"]
        except (orjson.JSONDecodeError, KeyError, TypeError):
            message = f"{url} answered {refusal.code}: is that a searchsim server?"
        raise UsageError(message) from refusal
    except OSError as problem:
        raise UsageError(f"no server at {url} ({problem}): start one with `searchsim serve`") from problem
    return orjson.loads(raw) if raw else None


def _faults(given: str) -> dict[str, Any]:
    """The fields that ``--faults`` gives: of JSON, or of a file of it.

    Raises:
        UsageError: It can't be read.
    """
    text = given
    if not given.lstrip().startswith(("{", "[")):
        try:
            text = Path(given).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as problem:
            raise UsageError(f"--faults {given}: neither JSON nor a file that can be read ({problem})") from problem
    try:
        faults = orjson.loads(text)
    except orjson.JSONDecodeError as problem:
        raise UsageError(f"--faults {given[:80]}: no JSON ({problem})") from problem
    if isinstance(faults, list):
        return {"faults": faults}
    if not isinstance(faults, dict) or not set(faults) <= {"faults", "latency"}:
        raise UsageError("--faults: give an array of faults, or an object with faults, latency or both")
    return faults


@world_app.command("create")
def world_create(
    task: Annotated[str, typer.Argument(help="A task's id.")],
    settings: SetOption = [],  # noqa: B006
    key: Annotated[str | None, typer.Option(help="The world's key; else one is drawn.")] = None,
    last_list: LastListOption = None,
    faults: Annotated[
        str | None, typer.Option(help="Planned faults and latency: JSON, or a file of it; docs/http.md says how.")
    ] = None,
    url: UrlOption = DEFAULT_URL,
    token: TokenOption = None,
) -> None:
    """Make a world in a running server.

    Example: searchsim world create bicycle-stability --set budget=3 --set rank=front
    """
    body: dict[str, Any] = {"task": task, "condition": parse_settings(settings)}
    if key:
        body["key"] = key
    if last_list:
        body["last_list"] = last_list
    if faults:
        body |= _faults(faults)
    print_json(_control("POST", url, "/_sim/worlds", token, body))


@world_app.command("show")
def world_show(
    key: Annotated[str | None, typer.Argument(help="A world's key; all worlds without.")] = None,
    url: UrlOption = DEFAULT_URL,
    token: TokenOption = None,
) -> None:
    """Show a world with what it did serve, or list all.

    Example: searchsim world show KEY
    """
    print_json(_control("GET", url, "/_sim/worlds" + (f"/{quote(key, safe='')}" if key else ""), token))


@world_app.command("end")
def world_end(
    key: Annotated[str, typer.Argument(help="A world's key.")],
    url: UrlOption = DEFAULT_URL,
    token: TokenOption = None,
) -> None:
    """End a world and forget its trace.

    Example: searchsim world end KEY
    """
    _control("DELETE", url, f"/_sim/worlds/{quote(key, safe='')}", token)
