"""SmoothScore of a study's runs: each report, and once more without the injected documents where it cites any."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table

from searchsim.cli.common import ERR, print_json, say, show_table
from searchsim.cli.smoothing import (
    CacheOption,
    ChunkOption,
    DryRunOption,
    JudgeOption,
    ModelOption,
    ParallelOption,
    UpstreamOption,
    model_spec,
    opened,
    settings_for,
)
from searchsim.errors import UsageError
from searchsim.home import cache_folder
from searchsim.jsonl import append, mend, read_objects
from searchsim.records import Record, read
from searchsim.scoring.smoothing.answers import Answers
from searchsim.scoring.smoothing.cache import Cache
from searchsim.scoring.smoothing.citations import cited
from searchsim.scoring.smoothing.cost import Estimate, estimate, whole
from searchsim.scoring.smoothing.pipeline import Report, Settings, score
from searchsim.scoring.smoothing.record import identity, record
from searchsim.scoring.smoothing.sources import Sources, open_sources
from searchsim.study.models import Models
from searchsim.urls import cited_url

__all__ = ["score_runs"]

Job = tuple[Record, frozenset[str]]
"""A run, and the addresses that are left out in scoring it."""


def score_runs(
    runs: Annotated[Path, typer.Argument(help="Run records.", metavar="RUNS.jsonl")],
    out: Annotated[Path, typer.Option(help="Where the scores go, one record a line; those that are there stay.")],
    documents: Annotated[
        str | None, typer.Option(help="What the reports cite, as in `score smoothing`; else the runs' corpus.")
    ] = None,
    model: ModelOption = None,
    judge: JudgeOption = None,
    upstream: UpstreamOption = None,
    dry_run: DryRunOption = False,
    cache: CacheOption = None,
    parallel: ParallelOption = 8,
    chunk: ChunkOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="With --dry-run: answer in JSON, for programs.")] = False,
) -> None:
    """Score the reports of valid runs: against all that they cite, and against that without the injected documents.

    An adopted falsehood looks faithful beside the misleading documents that support it; hence the second score. An
    interrupted run goes on where it was.

    Example: searchsim score runs report/runs.jsonl --out smoothing.jsonl --model openai/gpt-5 --dry-run
    """
    reader, judging = model_spec(model, upstream, "--model"), model_spec(judge or model, upstream, "--judge")
    settings = settings_for(reader, chunk, parallel)
    records = [r for r in read(runs) if r["status"] == "valid"]
    sources = _sources(records, documents)
    with ExitStack() as stack:
        kept = Cache(cache or cache_folder() / "smoothing.sqlite")
        stack.callback(kept.close)
        models = stack.enter_context(Models())
        asked = (opened(models, reader, dry_run), opened(models, judging, dry_run))

        def answers() -> Answers:
            return Answers(*asked, kept, parallel=parallel, dry=dry_run)

        jobs = _missing(records, out, identity(answers(), settings)["sha256"])
        if dry_run:
            estimates = []
            for run, without in jobs:
                dry = answers()
                found = asyncio.run(score(_report(run), sources, dry, settings, without=without))
                estimates.append(estimate(found, dry))
            _tell(len(records), jobs, estimates, as_json)
            return
        unjudged = asyncio.run(_score(jobs, out, answers, sources, settings))
    say(f"{len(records)} valid runs, {len(jobs)} scores made: {out}")
    say(f"beside their verdicts: searchsim score joined {runs} {out}")
    if unjudged:
        say(f"{unjudged} scores have claims that no usable answer came for")
        raise typer.Exit(5)


def _report(run: Record) -> Report:
    return Report(run["run"], run["report"], run["question"])


def _sources(records: Sequence[Record], given: str | None) -> Sources:
    corpora = sorted({r["corpus"]["name"] for r in records})
    if given is None and len(corpora) != 1:
        raise UsageError(f"the runs are of {len(corpora)} corpora ({', '.join(corpora)}): give --documents")
    return open_sources(given or corpora[0])


def _missing(records: Sequence[Record], out: Path, instrument: str) -> list[Job]:
    """The scores that aren't there yet."""
    if not out.parent.is_dir():
        raise UsageError(f"--out {out}: name a file in a folder that is there")
    mend(out)
    there: set[tuple[str, bool]] = set()
    for made in read_objects(out, "smoothing") if out.is_file() else ():
        if made["identity"]["sha256"] != instrument:
            raise UsageError(f"{out} holds scores of another model, version or --chunk: name another --out")
        there.add((made["report"]["name"], any(d["state"] == "left_out" for d in made["documents"])))
    return [(run, without) for run, without in _jobs(records) if (run["run"], bool(without)) not in there]


def _jobs(records: Sequence[Record]) -> Iterator[Job]:
    for run in records:
        yield run, frozenset()
        injected = {cited_url(c["url"]) for c in run["citations"] if c["injected"]}
        in_report = {a for c in cited(run["report"]).documents for a in c.addresses}
        if without := frozenset(injected & in_report):
            yield run, without


async def _score(
    jobs: Sequence[Job], out: Path, answers: Callable[[], Answers], sources: Sources, settings: Settings
) -> int:
    """Make scores and keep each as it comes; gives how many have claims or pieces without a usable answer."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    unjudged = 0
    with Progress(*columns, console=ERR, transient=True, disable=not ERR.is_terminal) as bar:
        job = bar.add_task("reports", total=len(jobs))
        for run, without in jobs:
            own = answers()
            made = record(await score(_report(run), sources, own, settings, without=without), own)
            append(out, made)
            unjudged += bool(made["counts"]["claims"]["unjudged"] or made["counts"]["report"]["unread"])
            bar.advance(job)
    return unjudged


def _tell(valid: int, jobs: Sequence[Job], estimates: Sequence[list[Estimate]], as_json: bool) -> None:
    sums: Counter[str] = Counter()
    for one in estimates:
        sums.update(whole(one))
    exact = all(e.exact for one in estimates for e in one)
    if as_json:
        print_json({"runs": valid, "scores": len(jobs), "exact": exact, **sums})
        return
    table = Table("run", "left out", "calls", "prompt tokens", "completion tokens", box=None)
    for (run, without), one in zip(jobs, estimates, strict=True):
        total = whole(one)
        about = "" if all(e.exact for e in one) else "about "
        counts = (f"{total[n]:,}" for n in ("prompt_tokens", "completion_tokens"))
        table.add_row(run["run"], str(len(without)), f"{about}{total['calls']}", *counts)
    show_table(table)
    about = "" if exact else "about "
    tokens = f"{sums['prompt_tokens']:,} tokens of prompts and {sums['completion_tokens']:,} of answers"
    say(f"{valid} valid runs, {len(jobs)} scores to make: {about}{sums['calls']} calls, {tokens}")
