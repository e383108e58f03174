"""SmoothScore of a study's runs: each report, and once more without the injected documents where it cites any."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table

from searchsim.cli.common import DEGRADED, ERR, print_json, say, show_table
from searchsim.cli.smoothing import (
    CacheOption,
    ChunkOption,
    DryRunOption,
    EvidenceOption,
    JudgeOption,
    ModelOption,
    ParallelOption,
    UpstreamOption,
    degraded,
    model_spec,
    opened,
    settings_for,
)
from searchsim.errors import UsageError
from searchsim.home import cache_folder
from searchsim.jsonl import append, held, read_lines
from searchsim.records import Record, read
from searchsim.scoring.smoothing.answers import Answers, Tally
from searchsim.scoring.smoothing.cache import Cache
from searchsim.scoring.smoothing.citations import cited
from searchsim.scoring.smoothing.cost import Estimate, estimate, whole
from searchsim.scoring.smoothing.joined import Injected
from searchsim.scoring.smoothing.pipeline import Report, Settings, score
from searchsim.scoring.smoothing.record import identity, record
from searchsim.scoring.smoothing.sources import Sources, open_sources
from searchsim.study.models import Models

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
    evidence: EvidenceOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="With --dry-run: answer in JSON, for programs.")] = False,
) -> None:
    """Score the reports of valid runs: against all that they cite, and against that without the injected documents.

    An adopted falsehood looks faithful beside the misleading documents that support it; hence the second score. An
    interrupted run goes on where it was.

    Example: searchsim score runs report/runs.jsonl --out smoothing.jsonl --model openai/gpt-5 --dry-run
    """
    if out.suffix.lower() == ".json":
        raise UsageError(f"--out {out}: scores are a record a line: name a .jsonl file")
    if out.is_dir() or not out.parent.is_dir():
        raise UsageError(f"--out {out}: name a file in a folder that is there")
    reader, judging = model_spec(model, upstream, "--model"), model_spec(judge or model, upstream, "--judge")
    settings = settings_for(reader, judging, chunk, evidence, parallel)
    records = [r for r in read(runs) if r["status"] == "valid"]
    sources = _sources(records, documents)
    with ExitStack() as stack:
        kept = Cache(cache or cache_folder() / "smoothing.sqlite")
        stack.callback(kept.close)
        models = stack.enter_context(Models())
        asked = (opened(models, reader, dry_run), opened(models, judging, dry_run))
        planned: set[str] = set()

        def answers() -> Answers:
            return Answers(*asked, kept, parallel=parallel, dry=dry_run, planned=planned)

        if not dry_run:
            stack.enter_context(held(out))
        there = _there(out, identity(answers(), settings)["sha256"])
        wanted = list(_jobs(records, sources))
        jobs = [job for job in wanted if _name(job) not in there]
        if dry_run:
            _tell(len(records), jobs, _estimates(jobs, answers, sources, settings), as_json)
            return
        failed, poor = asyncio.run(_score(jobs, out, answers, sources, settings))
    poor += sum(there.get(_name(job), False) for job in wanted)
    say(f"{len(records)} valid runs, {len(jobs) - failed} scores made: {out}")
    say(f"beside their verdicts: searchsim score joined {runs} {out}")
    if failed:
        say(f"{failed} scores weren't made, as the model failed; what it answered is kept: call this again to go on")
    if poor:
        say(f"{poor} scores have claims, or pieces of documents, that no usable answer came for")
    if failed or poor:
        raise typer.Exit(DEGRADED)


def _report(run: Record) -> Report:
    return Report(run["run"], run["report"], run["question"])


def _sources(records: Sequence[Record], given: str | None) -> Sources:
    corpora = sorted({r["corpus"]["name"] for r in records})
    if given is None and len(corpora) != 1:
        raise UsageError(f"the runs are of {len(corpora)} corpora ({', '.join(corpora)}): give --documents")
    return open_sources(given or corpora[0])


def _there(out: Path, instrument: str) -> dict[tuple[str, bool], bool]:
    """The scores that are there: run, and whether anything was left out; and whether they lack usable answers."""
    found: dict[tuple[str, bool], bool] = {}
    for _, made in read_lines(out, "smoothing", begun=_BEGUN) if out.is_file() else ():
        if made["identity"]["sha256"] != instrument:
            raise UsageError(f"{out} holds scores of another model, version, --chunk or --evidence: name another --out")
        found[made["report"]["name"], any(d["state"] == "left_out" for d in made["documents"])] = degraded(made)
    return found


_BEGUN = b'{"record":1,'
"""How a record's line begins."""


def _name(job: Job) -> tuple[str, bool]:
    run, without = job
    return run["run"], bool(without)


def _jobs(records: Sequence[Record], sources: Sources) -> Iterator[Job]:
    """The scores of each run: the second without whatever is, by its text or its address, an injected document."""
    documents = [cited(r["report"]).documents for r in records]
    found = sources.find({a for listed in documents for d in listed for a in d.addresses})
    for run, listed in zip(records, documents, strict=True):
        yield run, frozenset()
        injected = Injected.of(run)
        left_out = (d for d in listed if injected.has(d.addresses, (found[a].name for a in d.addresses if a in found)))
        if without := frozenset(a for d in left_out for a in d.addresses):
            yield run, without


def _estimates(
    jobs: Sequence[Job], answers: Callable[[], Answers], sources: Sources, settings: Settings
) -> list[list[Estimate]]:
    """What each score takes beside those before it: a question that two of them ask is asked once."""
    found: list[list[Estimate]] = []
    first: set[str] = set()
    for run, without in jobs:
        dry = answers()
        one = estimate(asyncio.run(score(_report(run), sources, dry, settings, without=without)), dry)
        if run["run"] in first:
            # What isn't known yet of these was estimated with the first score, which asks all that the second asks.
            one = [_known(e, dry.tally[e.step]) if e.step in _READING else e for e in one]
        first.add(run["run"])
        found.append(one)
    return found


_READING = ("support", "skeptic", "proposals")
"""Steps that ask of each document by itself."""


def _known(estimated: Estimate, tally: Tally) -> Estimate:
    """The part of an estimate that is no guess."""
    if estimated.exact:
        return estimated
    each = estimated.completion_tokens // max(estimated.calls, 1)
    return replace(
        estimated,
        calls=tally.planned,
        prompt_tokens=tally.planned_tokens,
        completion_tokens=each * tally.planned,
    )


async def _score(
    jobs: Sequence[Job], out: Path, answers: Callable[[], Answers], sources: Sources, settings: Settings
) -> tuple[int, int]:
    """Make scores and keep each as it comes.

    Returns:
        How many aren't kept, since the model failed in one of their questions and may not the next time; and how many
        of those that are kept lack usable answers.
    """
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    failed = poor = 0
    with Progress(*columns, console=ERR, transient=True, disable=not ERR.is_terminal) as bar:
        job = bar.add_task("reports", total=len(jobs))
        for run, without in jobs:
            own = answers()
            made = record(await score(_report(run), sources, own, settings, without=without), own)
            if made["usage"]["failed"]:
                failed += 1
            else:
                append(out, made)
                poor += degraded(made)
            bar.advance(job)
    return failed, poor


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
