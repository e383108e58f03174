"""Studies: plan, run, report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar
from rich.table import Table

from searchsim.cli.common import (
    DEGRADED,
    ERR,
    CaOption,
    ElasticsearchOption,
    JsonOption,
    ModeOption,
    RecordingsOption,
    engine_choice,
    print_json,
    say,
    show_table,
)
from searchsim.engine.opening import EngineChoice
from searchsim.records import STATES, Record, state
from searchsim.study.contract import Contract, load
from searchsim.study.ledger import Ledger, RunLog
from searchsim.study.matrix import Plan, estimate, plan, power
from searchsim.study.run import Progress
from searchsim.study.run import run as run_study

__all__ = ["conduct", "exit_code", "study_app"]

study_app = typer.Typer(help="Studies: plan, run, report.", no_args_is_help=True, rich_markup_mode=None)
FileArgument = Annotated[str, typer.Argument(help="A contract, by name (of experiments/) or path.")]
DirArgument = Annotated[Path, typer.Argument(help="A study's folder: what --log-dir named.")]
ModelOption = Annotated[
    list[str],
    typer.Option(
        "--model", help="A model in place of the contract's: local, or Inspect's name; may stand several times."
    ),
]

INCOMPLETE = 4


@study_app.command("plan")
def study_plan(
    file: FileArgument,
    model: ModelOption = [],  # noqa: B006
    log_dir: Annotated[Path | None, typer.Option(help="A study's folder: its runs tell what a run takes.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Show the runs that a contract asks for, their calls and cost, and the smallest difference they can show.

    Example: searchsim study plan quickstart
    """
    contract = load(file, models=model)
    planned = plan(contract)
    measured = {}
    if log_dir is not None:
        ledger = Ledger(log_dir)
        ledger.plan()
        measured = ledger.measured(list(ledger.log().records.values()))
    costs, powers = estimate(contract, planned, measured), power(planned)
    if as_json:
        print_json({**planned.record(), "estimate": costs, "power": powers})
        return
    _show_plan(contract, planned, costs, powers)


def _show_plan(contract: Contract, planned: Plan, costs: list[dict[str, Any]], powers: list[dict[str, Any]]) -> None:
    say(f"{contract.name}: {contract.question}")
    say(f"contract {contract.sha256[:12]}…, corpus {contract.corpus.name} {contract.corpus.hash[:12]}…")
    held = ", ".join(f"{k} {v}" for k, v in contract.fixed.items())
    say(f"held fixed: {held}; temperature {contract.temperature:g}, seed {contract.seed}")
    judge = contract.judge.name if contract.judge else "lexical (for demonstrations)"
    again = f"again if {' or '.join(contract.rerun_on)}, {contract.attempts} times at most"
    say(f"judge: {judge}; each run is tried {again if contract.rerun_on else 'once'}")
    if contract.judge and contract.judge.model in {m.model for m in contract.models}:
        say("note: the judge is one of the models it judges")
    say("")
    table = Table("agent", "model", "condition", "tasks", "repetitions", "runs", box=None)
    for (agent, model, label), runs in Counter((r.agent, r.model, r.label) for r in planned.runs).items():
        table.add_row(agent, model, label, str(len(contract.tasks)), str(contract.repetitions), str(runs))
    show_table(table)
    say(f"\n{len(planned.runs)} runs")
    table = Table("agent", "model", "runs", "model calls", "tokens in", "tokens out", "cost, US$", "from", box=None)
    for row in costs:
        figures = ["?" if row[n] is None else f"{row[n]:,}" for n in ("calls", "input_tokens", "output_tokens")]
        cost = "?" if row["cost"] is None else f"{row['cost']:.2f}"
        table.add_row(row["agent"], row["model"], str(row["runs"]), *figures, cost, row["from"])
    show_table(table)
    say(
        "(the judge's calls come on top: one a run, two where its first answer can't be used)" if contract.judge else ""
    )
    table = Table(
        "comparison", "tests", "pairs", "alpha", "smallest that can be significant", "found with power 0.8", box=None
    )
    for row in powers:
        found = ", ".join(
            f"{_points(d)}{'' if o == '0.0' else f' (if {float(o):.0%} of pairs go against it)'}"
            for o, d in row["detectable"].items()
        )
        table.add_row(
            row["kind"],
            str(row["comparisons"]),
            str(row["pairs"]),
            f"{row['alpha']:.4f}",
            _points(row["smallest_significant"]),
            found,
        )
    show_table(table)


def _points(share: float | None) -> str:
    return "none" if share is None else f"{100 * share:.0f} points"


@study_app.command("run")
def study_run(
    file: FileArgument,
    log_dir: Annotated[Path, typer.Option(help="The study's folder; a study that was stopped goes on there.")],
    model: ModelOption = [],  # noqa: B006
    elasticsearch: ElasticsearchOption = None,
    elasticsearch_ca: CaOption = None,
    recordings: RecordingsOption = None,
    recorded_mode: ModeOption = None,
) -> None:
    """Make a contract's runs, or those that are still missing. Exit codes: 4 incomplete, 5 not every run is judged.

    Example: searchsim study run quickstart --log-dir studies/quickstart
    """
    contract = load(file, models=model)
    choice = engine_choice(contract.engine, elasticsearch, elasticsearch_ca, recordings, recorded_mode)
    _, planned, log = conduct(contract, log_dir, choice)
    count = Counter("failed" if r.run in log.failures else state(log.records.get(r.run)) for r in planned.runs)
    _say_states(count, len(planned.runs))
    for run, reason in log.failures.items():
        say(f"{run}: {reason}")
    for reason, several in Counter(log.waiting.values()).items():
        say(f"{several} runs wait: {reason}")
    say(f"transcripts: inspect view --log-dir {log_dir}; the report: searchsim study report {log_dir} --out FOLDER")
    raise typer.Exit(exit_code(count))


def _say_states(count: Mapping[Any, int], planned: int) -> None:
    say(", ".join(f"{s.replace('_', ' ')} {count[s]}" for s in STATES) + f"; {planned} planned")


def exit_code(count: Mapping[Any, int]) -> int:
    """What a study's states mean for the shell."""
    if count["not_run"]:
        return INCOMPLETE
    return DEGRADED if count["failed"] + count["invalid"] + count["unjudged"] else 0


def conduct(contract: Contract, log_dir: Path, choice: EngineChoice) -> tuple[Ledger, Plan, RunLog]:
    """Run a study with its progress on stderr."""
    planned = plan(contract)
    ledger = Ledger.create(log_dir, contract, planned)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with ledger.locked(), Bar(*columns, console=ERR) as bar:
        job = bar.add_task(f"{contract.name}: preparing", total=len(planned.runs))

        def tell(progress: Progress, record: Record | None) -> None:
            cost = ", cost unknown" if progress.cost is None else f", US$ {progress.cost:.2f} so far"
            bar.update(job, completed=progress.done, description=f"{contract.name}{cost}")
            if record is None and progress.done:
                ERR.print(f"{progress.done} of {progress.planned} runs were made before", markup=False)
            elif record is not None and not ERR.is_terminal:
                # A bar shows nothing in a pipe; a line a run does.
                line = f"{progress.done}/{progress.planned} {_told(record)}"
                ERR.print(line, markup=False, highlight=False, soft_wrap=True)

        log = run_study(contract, planned, ledger, engine=choice, tell=tell)
    return ledger, planned, log


def _told(record: Record) -> str:
    ended = state(record)
    said = record["verdict"]["state"].replace("_", " ") if ended == "judged" else "; ".join([ended, *record["reasons"]])
    return f"{record['run']}: {said}"


@study_app.command("report")
def study_report(
    directory: DirArgument,
    out: Annotated[Path, typer.Option(help="The folder for index.html, runs.jsonl, cells.csv and the figures.")],
    judge: Annotated[
        str | None, typer.Option(help="Whose verdicts count: a judge that gave some, by its or its model's name.")
    ] = None,
    smoothing: Annotated[
        Path | None,
        typer.Option(help="SmoothScore records of the runs' reports, named by run: a table, and a page a report."),
    ] = None,
) -> None:
    """Write a study's report: one page with figures, tables and every run; JSONL and CSV beside it.

    Example: searchsim study report studies/quickstart --out report
    """
    from searchsim.study.reporting import write_report

    page, summary = write_report(Ledger(directory), out, judge, smoothing)
    flow = summary["flow"]
    _say_states(flow, flow["planned"])
    for reason in summary["demonstration"]:
        say(f"a demonstration, no result: {reason}")
    say(str(page))
