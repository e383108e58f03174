"""Serving."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import orjson
import typer

from searchsim import __version__
from searchsim.cli.common import (
    CaOption,
    CorpusOption,
    ElasticsearchOption,
    EngineOption,
    LastListOption,
    ModeOption,
    RecordingsOption,
    SetOption,
    engine_choice,
    open_context,
    say,
)
from searchsim.engine.opening import EngineChoice
from searchsim.errors import UsageError
from searchsim.server.app import running
from searchsim.world import parse_settings

__all__ = ["serve"]


def serve(
    corpus: CorpusOption = "quickstart",
    engine: EngineOption = "tantivy",
    elasticsearch: ElasticsearchOption = None,
    elasticsearch_ca: CaOption = None,
    recordings: RecordingsOption = None,
    recorded_mode: ModeOption = None,
    task: Annotated[str | None, typer.Option(help="Serve one world of this task, whatever key is sent.")] = None,
    settings: SetOption = [],  # noqa: B006 - typer wants a list
    last_list: LastListOption = None,
    host: Annotated[str, typer.Option(help="Where to listen; another than loopback needs --public.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 for any free one.", min=0, max=65535)] = 8080,
    upstream: Annotated[
        str | None,
        typer.Option(envvar="SEARCHSIM_UPSTREAM", help="The model behind /v1: a URL, or `local`."),
    ] = None,
    model: Annotated[str | None, typer.Option(help="The model to ask the upstream for; else the local one.")] = None,
    store: Annotated[
        str | None,
        typer.Option(envvar="SEARCHSIM_STORE", help="Keep worlds and traces in this file; else in memory."),
    ] = None,
    public: Annotated[bool, typer.Option("--public", help="Listen beyond loopback; wants a control token.")] = False,
    control_token: Annotated[
        str | None, typer.Option(envvar="SEARCHSIM_CONTROL_TOKEN", help="What /_sim wants as bearer token.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line once it answers.")] = False,
) -> None:
    """Serve the simulated web of a corpus.

    Example: searchsim serve --corpus quickstart --port 8080
    """
    if host not in ("127.0.0.1", "localhost", "::1") and not public:
        raise UsageError(f"--host {host} is beyond loopback: add --public and --control-token, if you mean it")
    if public and not control_token:
        raise UsageError(
            "--public wants --control-token (or SEARCHSIM_CONTROL_TOKEN), so that nobody else plans worlds"
        )
    if settings and not task:
        raise UsageError("--set goes with --task: worlds made over HTTP bring their own condition")
    asyncio.run(
        _serve(
            corpus,
            engine_choice(engine, elasticsearch, elasticsearch_ca, recordings, recorded_mode),
            task,
            settings,
            last_list,
            host,
            port,
            upstream,
            model,
            store,
            control_token,
            as_json,
        )
    )


async def _serve(
    corpus: str,
    choice: EngineChoice,
    task: str | None,
    settings: Sequence[str],
    last_list: int | None,
    host: str,
    port: int,
    upstream: str | None,
    model: str | None,
    store: str | None,
    control_token: str | None,
    as_json: bool,
) -> None:
    stop = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    async with open_context(corpus, choice, store, upstream, model) as context:
        context.control_token = control_token
        worlds = context.worlds
        if task:
            worlds.only = worlds.create(task, parse_settings(settings), last_list=last_list)
        async with running(context, host, port) as url:
            if as_json:
                facts: dict[str, Any] = {
                    "url": url,
                    "corpus": worlds.corpus.name,
                    "engine": context.engine.name,
                    "version": __version__,
                }
                if worlds.only:
                    facts["key"] = worlds.only.key
                sys.stdout.write(orjson.dumps(facts).decode() + "\n")
            else:
                kept = store or "memory, until it ends (--store FILE keeps them)"
                say(f"searchsim serves {worlds.corpus.name} at {url} ({context.engine.name})")
                say(f"worlds: {url}/_sim/ui, kept in {kept}")
                if worlds.only:
                    say(f"one world of {task}, any key: {worlds.only.key}")
            sys.stdout.flush()
            await stop.wait()
