"""Scores: of a study's kept runs, and of the judges themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import track
from rich.table import Table

from searchsim import corpus as corpora
from searchsim import stats
from searchsim.cli.common import ERR, CorpusOption, JsonOption, print_json, say, show_table
from searchsim.cli.engagement import score_engagement
from searchsim.cli.joined import score_joined, score_results
from searchsim.cli.ratings import show_ratings
from searchsim.cli.smoothing import score_smoothing
from searchsim.cli.smoothing_runs import score_runs
from searchsim.errors import UsageError
from searchsim.judge import Judge
from searchsim.records import Record
from searchsim.scoring.agreement import agreement, judge_excerpts
from searchsim.scoring.fcar import summarise
from searchsim.scoring.metrics import METRICS
from searchsim.study.ledger import Ledger
from searchsim.study.models import Models, judge_identity, judge_spec

__all__ = ["agreement_cells", "score_app"]

score_app = typer.Typer(
    help="Scores: of kept runs, and of the judges themselves.", no_args_is_help=True, rich_markup_mode=None
)
score_app.command("engagement")(score_engagement)
score_app.command("joined")(score_joined)
score_app.command("results")(score_results)
score_app.command("smoothing")(score_smoothing)
score_app.command("runs")(score_runs)
UpstreamOption = Annotated[
    str | None,
    typer.Option(help="An OpenAI-compatible API that has the judge's model; its key in SEARCHSIM_UPSTREAM_KEY."),
]


@score_app.command("fcar")
def score_fcar(
    directory: Annotated[Path, typer.Argument(help="A study's folder.")],
    judge: Annotated[
        str | None,
        typer.Option(
            help="Judge the kept runs with contract, lexical, local, or a model by Inspect's name; else only show."
        ),
    ] = None,
    upstream: UpstreamOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show FCAR and its companions by condition; with --judge, judge the kept runs first (verdicts are only added).

    Example: searchsim score fcar studies/quickstart --judge lexical
    """
    ledger = Ledger(directory)
    contract, plan, log = ledger.contract(), ledger.plan(), ledger.log()
    first = chosen = ledger.terms()["judge"]
    kept = ledger.verified(log.records.values())
    if judge is not None:
        spec = ledger.parsed().judge if judge == "contract" else judge_spec(judge, upstream)
        chosen = judge_identity(spec)
        corpus = corpora.load(contract["corpus"]["name"])
        if corpus.hash != contract["corpus"]["sha256"]:
            raise UsageError(f"corpus {corpus.name} isn't the one of the study any more: its blueprints may differ")
        with Models() as models:
            asyncio.run(_judge_again(ledger, kept, models.judge(spec), chosen, corpus))
    records = ledger.judged_by(kept, chosen)
    before = ledger.judged_by(kept, first)
    summary = summarise(plan, records, log.failures, log.waiting)
    compared = _compared(before, records)
    if as_json:
        print_json({**chosen, "summary": summary, "agreement": compared})
        return
    say(f"judge {chosen['judge']}" + (f", {chosen['model']}" if chosen["model"] else ""))
    table = Table("agent", "model", "condition", "judged", *contract["metrics"], box=None)
    for cell in summary["cells"]:
        shown = [_figure(cell["metrics"][key]) for key in contract["metrics"]]
        table.add_row(cell["agent"], cell["model"], cell["label"], f"{cell['judged']}/{cell['planned']}", *shown)
    show_table(table)
    for key in contract["metrics"]:
        say(f"{key}: {METRICS[key].title.lower()}")
    if chosen != first:
        say(
            f"beside the contract's judge, {first['judge']}: n {compared['n']}, "
            f"the same in {_share(compared['exact'])}, kappa {_number(compared['kappa'])}"
        )
    for reason in summary["demonstration"]:
        say(f"a demonstration, no result: {reason}")


async def _judge_again(
    ledger: Ledger,
    records: Sequence[Record],
    judge: Judge,
    named: Mapping[str, str | None],
    corpus: corpora.Corpus,
) -> None:
    """Verdicts of a judge on all valid runs that it gave none on."""
    known = {r["run"]: r["verdict"] for r in ledger.judged_by(records, named)}
    silent = {run for run, verdict in known.items() if verdict is None or verdict["state"] == "unjudged"}
    wanted = [r for r in records if r["status"] == "valid" and r["run"] in silent]
    with ledger.locked():
        for record in track(wanted, "judging", console=ERR, transient=True):
            blueprint = corpus.blueprints[record["task"]]
            # Each is on disk before the next is asked for: what was paid for isn't lost.
            ledger.append_verdict(record, await judge.judge(record["report"], blueprint, record["question"]))


def _compared(first: Sequence[Record], second: Sequence[Record]) -> dict[str, Any]:
    """How far two judges agree on the runs that both gave a verdict on."""
    pairs = [
        (a["verdict"]["state"], b["verdict"]["state"])
        for a, b in zip(first, second, strict=True)
        if a["verdict"] and b["verdict"] and "unjudged" not in (a["verdict"]["state"], b["verdict"]["state"])
    ]
    found = stats.agreement([a for a, _ in pairs], [b for _, b in pairs])
    return {"n": found.n, "exact": found.exact, "kappa": found.kappa}


def _figure(figure: Mapping[str, Any]) -> str:
    if figure["value"] is None:
        return "–"
    low, high = 100 * figure["low"], 100 * figure["high"]
    return f"{100 * figure['value']:.0f} % [{low:.0f}, {high:.0f}]"


@score_app.command("agreement")
def score_agreement(
    judge: Annotated[str, typer.Option(help="lexical, local, or a model by Inspect's name.")] = "lexical",
    upstream: UpstreamOption = None,
    corpus: CorpusOption = "quickstart",
    part: Annotated[str | None, typer.Option("--set", help="Only one set of excerpts: open or held_out.")] = None,
    ratings: Annotated[
        Path | None, typer.Option(help="Compare raters of claims instead: a file of their scores from 1 to 5.")
    ] = None,
    reference: Annotated[
        str | None, typer.Option(help="The rater that the others are measured by; else the first of the ratings.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure a judge against excerpts of reports that were labelled by hand, or raters of claims against one of them.

    Example: searchsim score agreement --judge lexical
    """
    if ratings is not None:
        show_ratings(ratings, reference, as_json)
        return
    loaded = corpora.load(corpus)
    excerpts = [e for e in loaded.excerpts() if part in (None, e.set)]
    if not excerpts:
        raise UsageError(f"corpus {loaded.name} has no such excerpts: they stand in its excerpts.jsonl")
    with Models() as models:
        chosen = models.judge(judge_spec(judge, upstream))
        shown = track(excerpts, "judging", console=ERR, transient=True)
        questions = {t.id: t.question for t in loaded.tasks.values()}
        judged = asyncio.run(judge_excerpts(chosen, shown, loaded.blueprints, questions))
    rows = agreement(judged)
    if as_json:
        print_json({"judge": chosen.name, "model": chosen.model, "prompt_sha256": chosen.prompt_sha256, "rows": rows})
        return
    say(f"judge {chosen.name}" + (f", {chosen.model}" if chosen.model else "") + f", corpus {loaded.name}")
    columns = (
        "excerpts",
        "n",
        "adopting",
        "unjudged",
        "exact",
        "kappa",
        "sensitivity",
        "specificity",
        "true conclusion",
    )
    table = Table(*columns, box=None)
    for row in rows:
        table.add_row(*agreement_cells(row))
    show_table(table)


def agreement_cells(row: Mapping[str, Any]) -> list[str]:
    """A row of the table of agreement."""
    return [
        row["group"].replace("_", " "),
        str(row["n"]),
        str(row["adopting"]),
        str(row["unjudged"]),
        _share(row["exact"]),
        _number(row["kappa"]),
        _rate(row, "sensitivity"),
        _rate(row, "specificity"),
        _share(row["states_true"]),
    ]


def _rate(row: Mapping[str, Any], name: str) -> str:
    if row[name] is None:
        return "–"
    low, high = row[f"{name}_interval"]
    return f"{_share(row[name])} [{100 * low:.0f}, {100 * high:.0f}]"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
