"""The commands. Exit codes: 0 as asked, 1 our failure, 2 wrong use."""

from __future__ import annotations

import asyncio
import logging
import secrets
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import date
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import orjson
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table

from searchsim import __version__, agent, home, local
from searchsim import corpus as corpora
from searchsim.admission import Rate, rates
from searchsim.corpus import Corpus
from searchsim.engine import SearchEngine
from searchsim.engine.opening import ENGINES, EngineChoice, open_engine
from searchsim.errors import SearchsimError, UsageError
from searchsim.importers import IMPORTERS, run_import
from searchsim.injection import load_factors
from searchsim.server.app import running
from searchsim.server.context import Context
from searchsim.store import SqliteStore
from searchsim.upstream import open_upstream
from searchsim.world import Worlds, parse_settings

__all__ = ["app", "main"]

app = typer.Typer(
    name="searchsim",
    help="A simulated search environment for injection experiments on deep-research agents.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
)
corpus_app = typer.Typer(help="Corpora: list, check, index, import.", no_args_is_help=True, rich_markup_mode=None)
world_app = typer.Typer(help="Worlds of a running server.", no_args_is_help=True, rich_markup_mode=None)
agent_app = typer.Typer(help="Agents: list, check, run.", no_args_is_help=True, rich_markup_mode=None)
local_app = typer.Typer(help="The small local model.", no_args_is_help=True, rich_markup_mode=None)
misknow_app = typer.Typer(help="Misleading documents.", no_args_is_help=True, rich_markup_mode=None)
bench_app = typer.Typer(help="Benchmarks.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(bench_app, name="bench")
app.add_typer(corpus_app, name="corpus")
app.add_typer(world_app, name="world")
app.add_typer(agent_app, name="agent")
app.add_typer(local_app, name="local")
app.add_typer(misknow_app, name="misknow")

_err = Console(stderr=True)
CorpusOption = Annotated[str, typer.Option("--corpus", help="A corpus by name or path.")]
SetOption = Annotated[list[str], typer.Option("--set", help="A factor's level, FACTOR=LEVEL; may stand several times.")]
EngineOption = Annotated[str, typer.Option("--engine", help=f"One of: {', '.join(ENGINES)}.")]
ElasticsearchOption = Annotated[
    str | None, typer.Option("--elasticsearch", help="Elasticsearch's address; else SEARCHSIM_ELASTICSEARCH.")
]
CaOption = Annotated[str | None, typer.Option("--elasticsearch-ca", help="Its certificate authority's file.")]
RecordingsOption = Annotated[
    str | None, typer.Option("--recordings", help="The recorded engine's folder; else the corpus's recordings/.")
]
ModeOption = Annotated[str | None, typer.Option("--recorded-mode", help="once, replay or refresh; else replay.")]
LastListOption = Annotated[
    int | None, typer.Option(help="The number of the last list, for stages that need it.", min=1)
]
JsonOption = Annotated[bool, typer.Option("--json", help="Answer in JSON, for programs.")]


def main(arguments: Sequence[str] | None = None) -> None:
    """The console script: errors are one line on stderr, never a traceback."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
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
        _complain(f"{error.format_message()} (see --help)")
        code = 2
    sys.exit(code if isinstance(code, int) else 0)


def _choice(
    engine: str, elasticsearch: str | None, ca: str | None, recordings: str | None, mode: str | None
) -> EngineChoice:
    return EngineChoice(engine, {"url": elasticsearch, "ca": ca}, {"folder": recordings, "mode": mode})


def _complain(message: str) -> None:
    line = " ".join(message.split())
    sys.stderr.write(f"searchsim: {line}\n")


def _print(value: object) -> None:
    sys.stdout.write(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode() + "\n")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def _show(table: Table) -> None:
    """Print a table whole: a pipe has no width that it must fit."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=200)
    console.print(table)


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
        _say(__version__)
        raise typer.Exit


async def _open(corpus: Corpus, choice: EngineChoice) -> SearchEngine:
    """The corpus's engine; a bar on stderr where an index has to be made."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    bar = Progress(*columns, console=_err, transient=True)
    job = None

    def tell(done: int) -> None:
        nonlocal job
        if job is None:
            bar.start()
            job = bar.add_task(f"indexing {corpus.name}", total=sum(1 for _ in corpus.documents()))
        bar.update(job, completed=done)

    try:
        return await open_engine(corpus, choice, tell)
    finally:
        if job is not None:
            bar.stop()


@asynccontextmanager
async def _context(
    corpus: str, choice: EngineChoice, store: str | None, upstream: str | None, model: str | None
) -> AsyncIterator[Context]:
    loaded = corpora.load(corpus)
    # What a request names and can't be is told before anything is opened.
    load_factors()
    opened = await _open(loaded, choice)
    kept = SqliteStore(Path(store) if store else None)
    behind = open_upstream(upstream, model) if upstream or model else None
    try:
        yield Context(Worlds(loaded, opened, kept), behind)
    finally:
        if behind:
            await behind.close()
        await opened.close()
        kept.close()


@app.command()
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
            _choice(engine, elasticsearch, elasticsearch_ca, recordings, recorded_mode),
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
    async with _context(corpus, choice, store, upstream, model) as context:
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
                _say(f"searchsim serves {worlds.corpus.name} at {url} ({context.engine.name})")
                _say(f"worlds: {url}/_sim/ui, kept in {kept}")
                if worlds.only:
                    _say(f"one world of {task}, any key: {worlds.only.key}")
            sys.stdout.flush()
            await stop.wait()


@corpus_app.command("list")
def corpus_list(as_json: JsonOption = False) -> None:
    """List the corpora that are found.

    Example: searchsim corpus list --json
    """
    found = corpora.installed()
    if as_json:
        _print(found)
        return
    table = Table("name", "tasks", "documents", "misleading", "languages", box=None)
    for entry in found:
        if "error" in entry:
            table.add_row(entry["name"], "", "", "", entry["error"])
            continue
        table.add_row(
            entry["name"],
            str(entry["tasks"]),
            str(entry["documents"]),
            str(entry["misleading"]),
            ", ".join(entry["languages"]),
        )
    _show(table)


@corpus_app.command("check")
def corpus_check(
    path: Annotated[str, typer.Argument(help="A corpus by path or name.")],
    as_json: JsonOption = False,
) -> None:
    """Check a corpus: a fault a line with file, line and field; else what its worlds would serve.

    The admission rates say, of the tasks' questions and sub-queries, how many lists take a misleading document at
    each budget, in the default condition.

    Example: searchsim corpus check corpora/quickstart
    """
    given = Path(path)
    folder = given if given.is_dir() else home.find("corpora", path)
    faults = [str(f) for f in corpora.check(folder)]
    if faults:
        if as_json:
            _print({"faults": faults, "admission": None})
        else:
            for fault in faults:
                _say(fault)
        raise typer.Exit(2)
    corpus = Corpus(folder)
    table = asyncio.run(_rates(corpus))
    if as_json:
        _print({"faults": [], "admission": [t.record() for t in table]})
        return
    _say(f"{corpus.name}: no faults")
    if not table:
        _say("no task has misleading documents: there is nothing to admit")
        return
    _say("lists that take a misleading document, of question and sub-queries (default condition):")
    budgets = sorted(table[0].admitted)
    shown = Table("task", *(f"budget {b}" for b in budgets), "never (of sub-queries)", box=None)
    for row in table:
        cells = [f"{row.admitted[b]}/{row.lists}" if b in row.admitted else "–" for b in budgets]
        shown.add_row(row.task, *cells, str(len(row.never)))
    _show(shown)


async def _rates(corpus: Corpus) -> list[Rate]:
    return await rates(corpus, await _open(corpus, EngineChoice()))


@corpus_app.command("index")
def corpus_index(
    corpus: Annotated[str, typer.Argument(help="A corpus by name or path.")],
    engine: EngineOption = "tantivy",
    elasticsearch: ElasticsearchOption = None,
    elasticsearch_ca: CaOption = None,
) -> None:
    """Build a corpus's index now; serving does it too, where it is missing. A load that broke off is taken up.

    Example: searchsim corpus index quickstart
    """
    loaded = corpora.load(corpus)
    choice = _choice(engine, elasticsearch, elasticsearch_ca, None, None)

    async def go() -> None:
        await (await _open(loaded, choice)).close()

    asyncio.run(go())
    _say(f"{loaded.name} is indexed ({engine})")


@corpus_app.command("import")
def corpus_import(
    kind: Annotated[str, typer.Argument(help=f"One of: {', '.join(IMPORTERS)}.")],
    source: Annotated[str, typer.Argument(help="The file, folder or id to read.")],
    out: Annotated[Path | None, typer.Option(help="The new corpus's folder; else one of the kind's name.")] = None,
    tasks: Annotated[Path | None, typer.Option(help="A file of tasks, where the kind takes one.")] = None,
    language: Annotated[str | None, typer.Option(help="The documents' language, where they don't say it.")] = None,
    today: Annotated[str | None, typer.Option(help="The corpus's today, YYYY-MM-DD; else this day.")] = None,
) -> None:
    """Make a corpus of somebody else's data: all of it, or nothing.

    Example: searchsim corpus import deepresearch-bench query.jsonl --out my-home/corpora/drb
    """
    with _counting(f"importing {source}") as tell:
        made = run_import(kind, source, out or Path(kind), tell, today=_date(today), tasks=tasks, language=language)
    _say(f"{made.tasks} tasks, {made.documents} documents, {made.misleading} misleading documents in {made.path}")
    if not made.tasks:
        _say("a corpus needs tasks: write some into its tasks.jsonl")


def _date(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError as error:
        raise UsageError(f"--today {text}: write YYYY-MM-DD") from error


@contextmanager
def _counting(what: str) -> Iterator[Callable[[int], None]]:
    """A count on stderr, where the whole isn't known."""
    columns = (SpinnerColumn(), TextColumn("{task.description} {task.completed:,.0f}"))
    with Progress(*columns, console=_err, transient=True) as bar:
        job = bar.add_task(what, total=None)
        yield lambda done: bar.update(job, completed=done)


@corpus_app.command("synthesize")
def corpus_synthesize(
    out: Annotated[Path, typer.Option(help="The new corpus's folder.")],
    documents: Annotated[int, typer.Option(help="How many documents.", min=1)] = 10_000,
    seed: Annotated[int, typer.Option(help="The same seed makes the same corpus.")] = 0,
    languages: Annotated[
        list[str] | None, typer.Option("--language", help="en or zh; may stand twice; else both.")
    ] = None,
    tasks: Annotated[int, typer.Option(help="How many tasks.", min=1)] = 20,
) -> None:
    """Make a corpus for load tests: plausible titles, sites and dates, Zipfian text that means nothing.

    Example: searchsim corpus synthesize --documents 100000 --out my-home/corpora/load
    """
    from searchsim.synthesis import synthesize

    with _counting("making documents") as tell:
        made = synthesize(out, documents, seed=seed, languages=languages or ("en", "zh"), tasks=tasks, progress=tell)
    _say(f"{made.tasks} tasks and {made.documents} documents in {made.path}")


@misknow_app.command("publish")
def misknow_publish(corpus: Annotated[str, typer.Argument(help="A corpus by name or path.")]) -> None:
    """Write misleading.jsonl anew from texts.jsonl and the blueprints' institutions.

    Example: searchsim misknow publish corpora/quickstart
    """
    _say(f"{corpora.republish(corpora.load(corpus))} misleading documents")


@local_app.command("install")
def local_install() -> None:
    """Bring the local model's weights into the cache folder.

    Example: searchsim local install
    """
    with _err.status("downloading the weights"):
        path = local.install()
    _say(str(path))


UrlOption = Annotated[str, typer.Option("--url", envvar="SEARCHSIM_URL", help="The running server.")]
TokenOption = Annotated[str | None, typer.Option("--control-token", envvar="SEARCHSIM_CONTROL_TOKEN")]
_DEFAULT_URL = "http://127.0.0.1:8080"


def _control(method: str, url: str, path: str, token: str | None, body: object = None) -> Any:
    """Call a running server's control."""
    import urllib.error
    import urllib.request

    if not url.startswith(("http://", "https://")):
        raise UsageError(f"--url {url}: give a URL such as {_DEFAULT_URL}")
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


@world_app.command("create")
def world_create(
    task: Annotated[str, typer.Argument(help="A task's id.")],
    settings: SetOption = [],  # noqa: B006
    key: Annotated[str | None, typer.Option(help="The world's key; else one is drawn.")] = None,
    last_list: LastListOption = None,
    url: UrlOption = _DEFAULT_URL,
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
    _print(_control("POST", url, "/_sim/worlds", token, body))


@world_app.command("show")
def world_show(
    key: Annotated[str | None, typer.Argument(help="A world's key; all worlds without.")] = None,
    url: UrlOption = _DEFAULT_URL,
    token: TokenOption = None,
) -> None:
    """Show a world with what it did serve, or list all.

    Example: searchsim world show KEY
    """
    _print(_control("GET", url, "/_sim/worlds" + (f"/{quote(key, safe='')}" if key else ""), token))


@world_app.command("end")
def world_end(
    key: Annotated[str, typer.Argument(help="A world's key.")],
    url: UrlOption = _DEFAULT_URL,
    token: TokenOption = None,
) -> None:
    """End a world and forget its trace.

    Example: searchsim world end KEY
    """
    _control("DELETE", url, f"/_sim/worlds/{quote(key, safe='')}", token)


@agent_app.command("list")
def agent_list(as_json: JsonOption = False) -> None:
    """List the agents that there are adapters for.

    Example: searchsim agent list --json
    """
    found = [{"name": a.name, "summary": a.summary, "path": str(a.path)} for a in agent.adapters().values()]
    if as_json:
        _print(found)
        return
    table = Table("name", "what", box=None)
    for entry in found:
        table.add_row(entry["name"], entry["summary"])
    _show(table)


@agent_app.command("check")
def agent_check(name: Annotated[str, typer.Argument(help="An agent.")]) -> None:
    """Make an agent's environment and say where it is.

    Example: searchsim agent check planner
    """
    with _err.status(f"preparing {name}"):
        adapter, python = agent.prepare(name)
    _say(f"{adapter.name}: ready ({python})")


@agent_app.command("run")
def agent_run(
    name: Annotated[str, typer.Argument(help="An agent.")],
    corpus: CorpusOption = "quickstart",
    task: Annotated[str | None, typer.Option(help="A task's id; else the corpus's first.")] = None,
    settings: SetOption = [],  # noqa: B006
    upstream: Annotated[str | None, typer.Option(help="The model: a URL, or `local`.")] = None,
    model: Annotated[str | None, typer.Option(help="The model to ask the upstream for; else the local one.")] = None,
    engine: EngineOption = "tantivy",
    elasticsearch: ElasticsearchOption = None,
    elasticsearch_ca: CaOption = None,
    recordings: RecordingsOption = None,
    recorded_mode: ModeOption = None,
    store: Annotated[str | None, typer.Option(envvar="SEARCHSIM_STORE", help="Keep the world in this file.")] = None,
    last_list: LastListOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run an agent against a fresh world; print its report and what it was exposed to.

    Example: searchsim agent run planner --task bicycle-stability --set budget=3
    """
    result = asyncio.run(
        _agent_run(
            name,
            corpus,
            task,
            settings,
            upstream,
            model,
            _choice(engine, elasticsearch, elasticsearch_ca, recordings, recorded_mode),
            store,
            last_list,
        )
    )
    if as_json:
        _print(result.record())
    else:
        _show_run(result)


async def _agent_run(
    name: str,
    corpus: str,
    task: str | None,
    settings: Sequence[str],
    upstream: str | None,
    model: str | None,
    choice: EngineChoice,
    store: str | None,
    last_list: int | None,
) -> agent.Run:
    async with _context(corpus, choice, store, None, None) as context:
        # Everything that can be wrong with the request is found before a model is loaded.
        chosen = task or next(iter(context.worlds.corpus.tasks), "")
        world = context.worlds.create(chosen, parse_settings(settings), last_list=last_list)
        with _err.status(f"preparing {name}"):
            adapter, python = await asyncio.to_thread(agent.prepare, name)
        context.upstream = open_upstream(upstream, model)
        # The agent must not be able to read what is planned for it.
        context.control_token = secrets.token_hex(16)
        try:
            async with running(context) as url:
                with _err.status(f"{name} works on {chosen}"):
                    return await agent.run(context, url, adapter, python, world)
        finally:
            await context.upstream.close()


def _show_run(result: agent.Run) -> None:
    seen, exposure = result.observation, result.exposure
    _say(result.report.rstrip())
    _say("")
    condition = ", ".join(f"{k} {v}" for k, v in result.world["condition"].items())
    _say(f"condition  {condition}")
    _say(f"searches   {seen.searches} ({seen.lists} lists), pages {seen.pages}, model calls {seen.models}")
    for label, ids in (
        ("served", exposure.served),
        ("delivered", exposure.delivered),
        ("opened", exposure.opened),
        ("cited", exposure.cited or []),
    ):
        _say(f"{label:<10} {len(ids)} misleading{': ' + ', '.join(ids) if ids else ''}")
    claims = f" ({', '.join(result.verdict.claims)})" if result.verdict.claims else ""
    true = {True: "yes", False: "no", None: "unjudged"}[result.verdict.states_true]
    _say(f"verdict    {result.verdict.state}{claims}, states the true conclusion: {true}")
    if result.reasons:
        _say(f"invalid    {'; '.join(result.reasons)}")
    if result.demonstration:
        _say("A toy model wrote this report and the lexical judge read it: a demonstration, no result.")
    elif result.verdict.demonstration:
        _say("The lexical judge read this report: a demonstration, no result.")


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="The folder for the page.")] = Path("demo"),
    corpus: CorpusOption = "quickstart",
    tasks: Annotated[int, typer.Option(help="How many of the corpus's tasks.", min=1)] = 3,
    budgets: Annotated[str, typer.Option(help="The budgets, with commas.")] = "0,3",
    engine: EngineOption = "tantivy",
    elasticsearch: ElasticsearchOption = None,
    elasticsearch_ca: CaOption = None,
    upstream: Annotated[str | None, typer.Option(help="The model: a URL, or `local`.")] = None,
    model: Annotated[str | None, typer.Option(help="The model to ask the upstream for; else the local one.")] = None,
) -> None:
    """Run the planner on a few tasks with and without misleading documents, and show what came of it.

    Example: searchsim demo --tasks 1
    """
    from searchsim.demo import run as run_demo
    from searchsim.demo import show, write_page

    choice = _choice(engine, elasticsearch, elasticsearch_ca, None, None)

    async def go() -> list[agent.Run]:
        async with _context(corpus, choice, None, None, None) as context:
            return await run_demo(context, _err, upstream, model, tasks, [b.strip() for b in budgets.split(",")])

    loaded = corpora.load(corpus)
    runs = asyncio.run(go())
    console = Console()
    show(runs, console if console.is_terminal else Console(width=160))
    page = write_page(loaded, runs, out)
    _say(f"\nEach run with its searches, what was served where, and its report: {page}")


@bench_app.command("engine")
def bench_engine(
    documents: Annotated[int, typer.Option(help="Size of the synthetic corpus.", min=100)] = 10_000,
    engines: Annotated[str, typer.Option(help="With commas: tantivy, elasticsearch.")] = "tantivy",
    seconds: Annotated[float, typer.Option(help="How long each level is measured.", min=0.1)] = 4.0,
    queries: Annotated[Path | None, typer.Option(help="DeepResearch Bench's query.jsonl, to search for.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure engines, each beside its bare floor, in one run.

    Example: searchsim bench engine --documents 100000 --engines tantivy,elasticsearch
    """
    from searchsim import bench

    names = [e.strip() for e in engines.split(",")]
    rows = asyncio.run(bench.bench_engine(documents, names, seconds=seconds, file=queries, say=_tell))
    _show_rows(rows, as_json)


@bench_app.command("server")
def bench_server(
    documents: Annotated[int, typer.Option(help="Size of the synthetic corpus.", min=100)] = 10_000,
    seconds: Annotated[float, typer.Option(help="How long each level is measured.", min=0.1)] = 4.0,
    queries: Annotated[Path | None, typer.Option(help="DeepResearch Bench's query.jsonl, to search for.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure the server, with injection, snippets and trace, beside a canned answer and the engine in process.

    Example: searchsim bench server --documents 100000
    """
    from searchsim import bench

    _show_rows(asyncio.run(bench.bench_server(documents, seconds=seconds, file=queries, say=_tell)), as_json)


def _tell(what: str) -> None:
    _err.print(what, markup=False)


def _show_rows(rows: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        _print(rows)
        return
    names = list(dict.fromkeys(n for row in rows for n in row))
    table = Table(*names, box=None)
    for row in rows:
        values = [row.get(n, "") for n in names]
        table.add_row(*(f"{v:,.1f}" if isinstance(v, float) else str(v) for v in values))
    _show(table)


@app.command("factors")
def show_factors(as_json: JsonOption = False) -> None:
    """List the factors with their levels.

    Example: searchsim factors
    """
    factors = load_factors()
    if as_json:
        _print(factors.describe())
        return
    table = Table("factor", "levels", "default", box=None)
    for n, r in factors.items():
        table.add_row(n, ", ".join(map(str, r.factor.levels)), str(r.factor.default))
    _show(table)


if __name__ == "__main__":
    main()
