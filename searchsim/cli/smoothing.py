"""SmoothScore of a report."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table

from searchsim.cli.common import DEGRADED, ERR, JsonOption, print_json, say, show_table
from searchsim.errors import UsageError
from searchsim.home import cache_folder
from searchsim.judge.model import Reply
from searchsim.scoring.smoothing.answers import Answers, Model
from searchsim.scoring.smoothing.cache import Cache
from searchsim.scoring.smoothing.cost import CLAIMS, Estimate, estimate, whole
from searchsim.scoring.smoothing.pipeline import CHUNK, EVIDENCE, OVERLAP, Report, Scored, Settings, score
from searchsim.scoring.smoothing.record import record
from searchsim.scoring.smoothing.sources import CorpusSources, Sources, open_sources
from searchsim.study.contract import ModelSpec
from searchsim.study.models import Models, ask, judge_spec, settings_hash

__all__ = [
    "CacheOption",
    "ChunkOption",
    "DryRunOption",
    "EvidenceOption",
    "JudgeOption",
    "ModelOption",
    "ParallelOption",
    "UpstreamOption",
    "degraded",
    "model_spec",
    "opened",
    "score_smoothing",
    "settings_for",
]

_LOCAL_CHUNK = 1200
"""Tokens that go into one question to the local model, whose context is small."""

_LOCAL_ANSWER = 512
"""Most tokens of its answer: so small a model may never come to an end."""


ModelOption = Annotated[str | None, typer.Option("--model", help="local, or a model by Inspect's name; else local.")]
JudgeOption = Annotated[str | None, typer.Option("--judge", help="The model of the last step; else --model.")]
UpstreamOption = Annotated[
    str | None,
    typer.Option("--upstream", help="An OpenAI-compatible API that has the models; its key in SEARCHSIM_UPSTREAM_KEY."),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Ask nobody: tell calls and tokens beforehand.")]
CacheOption = Annotated[
    Path | None, typer.Option("--cache", help="Where answers are kept, to go on with; else a file in the user's cache.")
]
ParallelOption = Annotated[int, typer.Option("--parallel", help="Most calls at a time.", min=1, max=256)]
ChunkOption = Annotated[
    int | None,
    typer.Option(
        "--chunk", help="Most tokens of a document in one question; else 16000, local 1200.", min=100, max=1_000_000
    ),
]
EvidenceOption = Annotated[
    int | None,
    typer.Option(
        "--evidence", help="Most tokens of quotes shown to the judge; else 32000, local 1200.", min=100, max=1_000_000
    ),
]


def score_smoothing(
    report: Annotated[Path, typer.Argument(help="A report in Markdown.")],
    documents: Annotated[
        str, typer.Option(help="What it cites: a folder of files or of recordings, or a corpus by name or path.")
    ],
    question: Annotated[str, typer.Option(help="The question that the report answers.")] = "",
    model: ModelOption = None,
    judge: JudgeOption = None,
    upstream: UpstreamOption = None,
    dry_run: DryRunOption = False,
    cache: CacheOption = None,
    parallel: ParallelOption = 8,
    chunk: ChunkOption = None,
    evidence: EvidenceOption = None,
    html: Annotated[Path | None, typer.Option(help="A page with each claim, its score and its evidence.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Score how far a report's claims are smoother than the evidence in what it cites: 1 faithful to 5 misleading.

    An interrupted run goes on where it was when it is called again.

    Example: searchsim score smoothing report.md --documents pages/ --model openai/gpt-5 --dry-run
    """
    if html is not None and (html.is_dir() or not html.parent.is_dir()):
        raise UsageError(f"--html {html}: name a file in a folder that is there")
    given = Report(report.name, _text(report), question)
    reader, judging = model_spec(model, upstream, "--model"), model_spec(judge or model, upstream, "--judge")
    settings = settings_for(reader, judging, chunk, evidence, parallel)
    sources = open_sources(documents)
    with ExitStack() as stack:
        kept = Cache(cache or cache_folder() / "smoothing.sqlite")
        stack.callback(kept.close)
        models = stack.enter_context(Models())
        answers = Answers(
            opened(models, reader, dry_run), opened(models, judging, dry_run), kept, parallel=parallel, dry=dry_run
        )
        scored = asyncio.run(_score(given, sources, answers, settings))
    if dry_run:
        _tell_estimate(scored, estimate(scored, answers), as_json)
        return
    made = record(scored, answers)
    if html is not None:
        _write_page(html, made, sources)
    if as_json:
        print_json(made)
    else:
        _tell(made)
    if degraded(made):
        raise typer.Exit(DEGRADED)


def degraded(made: Mapping[str, Any]) -> bool:
    """Whether a score lacks usable answers: on claims, on pieces of the report, or on pieces of documents."""
    counts = made["counts"]
    return bool(counts["claims"]["unjudged"] or counts["report"]["unread"] or counts["evidence"]["unread"])


def _write_page(file: Path, made: Mapping[str, Any], sources: Sources) -> None:
    from searchsim.report.smoothing import render

    # What a corpus's documents say on purpose mustn't be trained on, wherever it is quoted.
    canary = sources.canary if isinstance(sources, CorpusSources) else ""
    try:
        file.write_text(render(made, canary), "utf-8")
    except OSError as error:
        raise UsageError(f"--html {file}: it can't be written: {error.strerror}") from error


def _text(path: Path) -> str:
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: no report that can be read: {error}") from error
    if not text.strip():
        raise UsageError(f"{path}: the report is empty")
    return text


def model_spec(name: str | None, upstream: str | None, option: str) -> ModelSpec:
    """The model that the command line names."""
    if name is None and upstream:
        raise UsageError(f"--upstream {upstream} needs --model: the name of a model of that API")
    chosen = name or "local"
    if chosen != "local" and "/" not in chosen and not upstream:
        raise UsageError(
            f"{option} {chosen}: give `local`, Inspect's name of a model (provider/name), or --upstream URL with a "
            "model of that API"
        )
    spec = judge_spec(chosen, upstream)
    if spec is None:
        raise UsageError(f"{option} {chosen}: claims are read by a model, not by words")
    return replace(spec, config={"max_tokens": _LOCAL_ANSWER}) if spec.model is None else spec


def settings_for(
    reader: ModelSpec, judge: ModelSpec, chunk: int | None, evidence: int | None, parallel: int
) -> Settings:
    """How texts are cut for a reader, and evidence for a judge."""
    size = chunk or (_LOCAL_CHUNK if reader.model is None else CHUNK)
    most = evidence or (_LOCAL_CHUNK if judge.model is None else EVIDENCE)
    return Settings(size, min(OVERLAP, size // 4), parallel, most)


def opened(models: Models, spec: ModelSpec, dry: bool) -> Model:
    """A model to ask; in a dry run one that nobody asks."""
    asked = _ask_nobody if dry else ask(models.model(spec))
    return Model(asked, spec.model or spec.name, settings_hash(spec), spec.demonstration)


async def _ask_nobody(messages: Sequence[Mapping[str, str]]) -> Reply:
    raise AssertionError("a dry run asks nobody")


async def _score(report: Report, sources: Sources, answers: Answers, settings: Settings) -> Scored:
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=ERR, transient=True, disable=not ERR.is_terminal) as bar:
        jobs: dict[str, Any] = {}

        def tell(what: str, done: int, total: int) -> None:
            if what not in jobs:
                jobs[what] = bar.add_task(what, total=total)
            bar.update(jobs[what], completed=done, total=total)

        return await score(report, sources, answers, settings, progress=tell)


def _tell_estimate(scored: Scored, estimates: list[Estimate], as_json: bool) -> None:
    documents = {"cited": len(scored.documents), "resolved": len(scored.resolved)}
    known = not scored.pending
    if as_json:
        steps = [e.record() for e in estimates]
        print_json(
            {
                "documents": documents,
                "claims": len(scored.claims) if known else None,
                "steps": steps,
                **whole(estimates),
            }
        )
        return
    say(f"{scored.report.name}: {documents['cited']} documents cited, {documents['resolved']} resolved")
    claims = str(len(scored.claims)) if known else f"not known yet, taken as {CLAIMS}"
    say(f"claims: {claims}")
    table = Table("step", "kept", "calls", "prompt tokens", "completion tokens", box=None)
    for e in estimates:
        about = "" if e.exact else "about "
        table.add_row(e.step, str(e.kept), f"{about}{e.calls}", f"{e.prompt_tokens:,}", f"{e.completion_tokens:,}")
    show_table(table)
    total = whole(estimates)
    tokens = f"{total['prompt_tokens']:,} tokens of prompts and {total['completion_tokens']:,} of answers"
    say(f"{total['calls']} calls, {tokens}")
    say("calls without 'about' are exact but for answers that have to be asked for once more; tokens are estimates")


def _tell(made: Mapping[str, Any]) -> None:
    counts, summary = made["counts"], made["summary"]
    cited, claims, evidence = counts["documents"], counts["claims"], counts["evidence"]
    say(f"{made['report']['name']}: {cited['cited']} documents cited, {cited['resolved']} resolved")
    for d in made["documents"]:
        if d["state"] != "resolved":
            say(f"  {d['state'].replace('_', ' ')}: {_named(d)}: {d['reason']}")
    say(
        f"evidence: {evidence['support']} in support, {evidence['skeptic']} to qualify; {evidence['not_in_document']} "
        f"dropped as not in the document, {evidence['repeated']} repeated, {evidence['unread']} pieces unread"
    )
    if made["claims"]:
        table = Table("claim", "score", "patterns", "says", box=None)
        for c in made["claims"]:
            patterns = ", ".join(c["judgement"]["patterns"]) if c["judgement"] else ""
            table.add_row(c["id"], str(c["score"] or c["state"]), patterns.replace("_", " "), c["text"])
        show_table(table)
    for c in made["claims"]:
        if c["reason"]:
            say(f"{c['id']} {c['state']}: {c['reason']}")
    for fault in made["faults"]:
        say(f"{counts['report']['unread']} of {counts['report']['pieces']} pieces of the report unread: {fault}")
    if summary["mean"] is not None:
        shares = " ".join(f"{bin_}: {100 * share:.0f} %" for bin_, share in summary["shares"].items())
        say(f"mean {summary['mean']:.2f} over {claims['scored']} claims ({shares})")
    who = made["identity"]
    named = f"{who['version']}, model {who['model']}, judge {who['judge']}"
    say(f"comparable with scores of {who['sha256'][:12]} alone: {named}")
    for reason in made["demonstration"]:
        say(f"a demonstration, no result: {reason}")


def _named(document: Mapping[str, Any]) -> str:
    labels = " ".join(f"[{label}]" for label in document["labels"])
    shown = document["url"] or document["title"]
    return " ".join(part for part in (labels, shown) if part) or document["id"]
