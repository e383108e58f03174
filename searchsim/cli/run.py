"""Any program against a fresh world."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

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
)
from searchsim.engine.opening import EngineChoice
from searchsim.errors import UsageError
from searchsim.redirect import findings
from searchsim.redirect.environment import environment
from searchsim.redirect.sockets import Watch, watched
from searchsim.server.app import running
from searchsim.server.context import Context
from searchsim.server.control import full_record
from searchsim.world import World, parse_settings

__all__ = ["run"]

_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


def run(
    command: Annotated[list[str], typer.Argument(help="The program and its arguments, after --.", metavar="-- CMD...")],
    corpus: CorpusOption = "quickstart",
    task: Annotated[str | None, typer.Option(help="A task's id; else the corpus's first.")] = None,
    settings: SetOption = [],  # noqa: B006 - typer wants a list
    allow_host: Annotated[
        list[str],
        typer.Option(help="A host, HOST or HOST:PORT, that CMD may reach as it is; may stand several times."),
    ] = [],  # noqa: B006
    upstream: Annotated[
        str | None,
        typer.Option(envvar="SEARCHSIM_UPSTREAM", help="The model behind /v1: a URL, or `local`."),
    ] = None,
    model: Annotated[str | None, typer.Option(help="The model to ask the upstream for; else the local one.")] = None,
    engine: EngineOption = "tantivy",
    elasticsearch: ElasticsearchOption = None,
    elasticsearch_ca: CaOption = None,
    recordings: RecordingsOption = None,
    recorded_mode: ModeOption = None,
    store: Annotated[str | None, typer.Option(envvar="SEARCHSIM_STORE", help="Keep the world in this file.")] = None,
    last_list: LastListOption = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the run's record to this file.")] = None,
) -> None:
    """Run any program against a fresh world, with its web traffic turned there. Its exit code is passed on.

    Example: searchsim run --set budget=3 -- python my_agent.py "What keeps a moving bicycle upright?"
    """
    for host in allow_host:
        if "/" in host or "," in host or not host.strip():
            raise UsageError(f"--allow-host {host}: give HOST or HOST:PORT, one each time")
    if not shutil.which(command[0]):
        raise UsageError(f"can't start {command[0]}: there is no such program")
    if json_file is not None and not json_file.parent.is_dir():
        raise UsageError(f"--json {json_file}: there is no folder {json_file.parent}")
    code, record = asyncio.run(
        _run(
            command,
            corpus,
            task,
            settings,
            allow_host,
            upstream,
            model,
            engine_choice(engine, elasticsearch, elasticsearch_ca, recordings, recorded_mode),
            store,
            last_list,
        )
    )
    if json_file is not None:
        record = {"command": command, "exit": code, **record}
        try:
            json_file.write_bytes(orjson.dumps(record, option=orjson.OPT_INDENT_2) + b"\n")
        except OSError as problem:
            raise UsageError(f"--json {json_file}: {problem.strerror}") from problem
    raise typer.Exit(code)


async def _run(
    command: Sequence[str],
    corpus: str,
    task: str | None,
    settings: Sequence[str],
    allow: Sequence[str],
    upstream: str | None,
    model: str | None,
    choice: EngineChoice,
    store: str | None,
    last_list: int | None,
) -> tuple[int, dict[str, Any]]:
    async with open_context(corpus, choice, store, upstream, model) as context:
        worlds = context.worlds
        chosen = task or next(iter(worlds.corpus.tasks), "")
        world = worlds.only = worlds.create(chosen, parse_settings(settings), last_list=last_list)
        # The program must not be able to read what is planned for it.
        context.control_token = secrets.token_hex(16)
        with tempfile.TemporaryDirectory(prefix="searchsim-run-") as folder:
            log = Path(folder) / "log"
            async with running(context) as url, watched(log, allow) as watch:
                env = environment(
                    url,
                    world.key,
                    f"{url}/v1" if context.upstream else None,
                    allow,
                    log=log,
                    inherited=os.environ,
                )
                code = await _start(command, {**os.environ, **env})
            found = findings.read(log)
        found.put_on_record(worlds, world)
        record = await _record(context, world, found, watch)
        _summarise(record, watch, found, list(worlds.events(world.key)))
        return code, record


async def _start(command: Sequence[str], env: dict[str, str]) -> int:
    """Run the program to its end and give its exit code, 128 and the signal's number where a signal ended it."""
    try:
        process = await asyncio.create_subprocess_exec(*command, env=env)
    except OSError as problem:
        raise UsageError(f"can't start {command[0]}: {problem.strerror}") from problem
    loop = asyncio.get_running_loop()

    def forward(number: signal.Signals) -> None:
        # A terminal sends its interrupts to the program itself, which must not get them twice.
        if number not in (signal.SIGINT, signal.SIGQUIT) or not sys.stdin.isatty():
            with suppress(ProcessLookupError):
                process.send_signal(number)

    for number in _FORWARDED:
        loop.add_signal_handler(number, forward, number)
    try:
        code = await process.wait()
    finally:
        for number in _FORWARDED:
            loop.remove_signal_handler(number)
    return code if code >= 0 else 128 - code


async def _record(context: Context, world: World, found: findings.Findings, watch: Watch) -> dict[str, Any]:
    record = await full_record(context.worlds, world)
    why = record["reasons"] + found.reasons(watch.strays)
    return {
        **record,
        "valid": not why,
        "reasons": why,
        "hooked": found.hooked,
        "unhooked": list(found.unhooked),
        "past": found.past(watch.strays) if watch.able else None,
    }


def _summarise(
    record: dict[str, Any], watch: Watch, found: findings.Findings, events: Sequence[dict[str, Any]]
) -> None:
    def tell(text: str) -> None:
        sys.stderr.write(f"searchsim: {text}\n")

    condition = ", ".join(f"{k} {v}" for k, v in record["condition"].items())
    tell(f"world {record['key']} of {record['task']} ({condition})")
    refused = Counter(e["url"] for e in events if e["event"] == "refused")
    for url, times in refused.items():
        tell(f"refused {url}{f', {times} times' if times > 1 else ''}")
    if not found.hooked:
        tell("no Python or Node process took up the hook: what else ran may have gone its own way")
    for command in found.unhooked:
        tell(f"no hook enters `{command}`: its traffic wasn't turned")
    for place in record["past"] or ():
        tell(f"not routed: a socket of {watch.strays[place]} to {place}")
    if not watch.able:
        tell("this system doesn't tell which sockets were opened: whether all were routed isn't known")
    seen = record["observation"]
    tell(
        f"searches {seen['searches']}, pages {seen['pages']}, injected {len(record['exposure']['served'])}, "
        f"refused {seen['refused']}"
    )
