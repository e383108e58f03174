"""Tables over many scored reports: of runs beside their verdicts, and of any systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from searchsim.cli.common import ERR, JsonOption, print_json, say, show_table
from searchsim.cli.engagement import share
from searchsim.errors import UsageError
from searchsim.jsonl import read_objects
from searchsim.records import read
from searchsim.scoring.smoothing.joined import joined
from searchsim.scoring.smoothing.record import report_scores
from searchsim.scoring.smoothing.results import RESAMPLES, results

__all__ = ["score_joined", "score_results"]

SeedOption = Annotated[int, typer.Option(help="Of the bootstraps' draws.", min=0)]
ResamplesOption = Annotated[int, typer.Option(help="Samples of each bootstrap.", min=100)]


def score_joined(
    runs: Annotated[Path, typer.Argument(help="Run records.", metavar="RUNS.jsonl")],
    smoothing: Annotated[Path, typer.Argument(help="Their reports' scores.", metavar="SMOOTHING.jsonl")],
    resamples: ResamplesOption = RESAMPLES,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Show each run's verdict, exposure, engagement and SmoothScore, with the injected documents and without them.

    Example: searchsim score joined studies/quickstart-report/runs.jsonl smoothing.jsonl
    """
    with ERR.status("joining"):
        found = joined(read(runs), read_objects(smoothing, "smoothing"), resamples=resamples, seed=seed)
    if as_json:
        print_json(found)
        return
    table = Table("run", "verdict", *_RUNGS, "links opened", "SmoothScore", "without injected", box=None)
    for row in found["runs"]:
        verdict = {True: "adopted", False: "not adopted", None: row["state"]}[row["adopted"]]
        rungs = ("–" if row["exposure"][r] is None else str(row["exposure"][r]) for r in _RUNGS)
        both = (_mean(row[variant]) for variant in _VARIANTS)
        table.add_row(row["run"], verdict, *rungs, _opened(row["engagement"]), *both)
    show_table(table)
    if found["groups"]:
        say("")
        of = Table(
            "agent",
            "model",
            "condition",
            "verdict",
            "runs",
            "links opened",
            "SmoothScore",
            "without injected",
            box=None,
        )
        for row in found["groups"]:
            verdict = "adopted" if row["adopted"] else "not adopted"
            names = (row["agent"], row["model"], row["label"], verdict, str(row["runs"]))
            of.add_row(*names, _opened(row["engagement"]), *(_mean(row[variant]) for variant in _VARIANTS))
        show_table(of)
    say("served, delivered, opened and cited count injected documents; SmoothScore is the mean over scored claims")
    if found["unmatched"]:
        say(f"{len(found['unmatched'])} scored reports are of none of these runs, the first {found['unmatched'][0]}")
    _closing(found["instrument"], found["demonstration"])


def score_results(
    files: Annotated[
        list[str],
        typer.Argument(help="Scored reports of a system, on a dataset.", metavar="[DATASET/]SYSTEM=SMOOTHING.jsonl"),
    ],
    resamples: ResamplesOption = RESAMPLES,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Show the SmoothScores of systems: means, distributions, and what goes with them.

    Of a report that was scored once more without some of its documents, as `score runs` does, the first score counts.

    Example: searchsim score results drb/luna=luna.jsonl drb/sol=sol.jsonl
    """
    instrument: Mapping[str, Any] | None = None
    toys: dict[str, None] = {}
    reports: dict[tuple[str, str, str], Any] = {}
    left_out = 0
    for name in files:
        dataset, system, path = _named(name)
        for record in read_objects(path, "smoothing"):
            if instrument is not None and record["identity"]["sha256"] != instrument["sha256"]:
                raise UsageError(
                    f"{path.name}: its scores are of another instrument than the ones before: they don't compare"
                )
            instrument = record["identity"]
            toys.update(dict.fromkeys(record["demonstration"]))
            if any(d["state"] == "left_out" for d in record["documents"]):
                left_out += 1
                continue
            key = (dataset, system, record["report"]["name"])
            if key in reports:
                raise UsageError(f"{path.name}: report {key[2]} of {system} stands twice")
            reports[key] = report_scores(record, system, dataset)
    with ERR.status("computing"):
        found = results(list(reports.values()), resamples=resamples, seed=seed)
    if as_json:
        print_json({**found, "left_out": left_out, "instrument": instrument, "demonstration": list(toys)})
        return
    table = Table(
        "dataset", "system", "reports", "claims", "unscored", "mean", "1", "2", "3", "4", "5", "3 on", "4 on", box=None
    )
    for row in found["cells"]:
        shares = (share(value) for value in (*row["shares"].values(), row["at_least_3"], row["at_least_4"]))
        counts = (row["reports"], row["claims"], row["unscored"] + row["unjudged"])
        table.add_row(row["dataset"] or "–", row["system"], *map(str, counts), _mean(row), *shares)
    show_table(table)
    say("")
    goes = Table("goes with", "across systems", "p", "within", "p", "pooled", "p", box=None)
    for name, row in found["correlations"].items():
        kinds = (row[kind] for kind in ("across", "within", "pooled"))
        goes.add_row(name.replace("_", " "), *(_number(k[v]) for k in kinds for v in ("rho", "rho_p")))
    show_table(goes)
    say("correlations are Spearman's; across systems over the means of each system on each dataset")
    if left_out:
        say(f"{left_out} scores of reports without some of their documents are left out")
    _closing(instrument, list(toys))


_RUNGS = ("served", "delivered", "opened", "cited")
_VARIANTS = ("smoothing", "smoothing_without_injected")


def _named(given: str) -> tuple[str, str, Path]:
    """Dataset, system and file of an argument."""
    name, _, path = given.partition("=")
    dataset, _, system = name.rpartition("/")
    if not system or not path:
        raise UsageError(f"{given}: write [DATASET/]SYSTEM=FILE, e.g. drb/luna=luna.jsonl")
    return dataset, system, Path(path)


def _mean(found: Mapping[str, Any] | None) -> str:
    if found is None or found["mean"] is None:
        return "–"
    interval = found.get("mean_interval")
    shown = f" [{interval[0]:.2f}, {interval[1]:.2f}]" if interval else ""
    return f"{found['mean']:.2f}{shown} of {found['scored']}"


def _opened(found: Mapping[str, Any] | None) -> str:
    return "–" if found is None or found["share"] is None else f"{found['opened']}/{found['cited']}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}" if abs(value) >= 0.01 else f"{value:.1g}"


def _closing(instrument: Mapping[str, Any] | None, toys: Sequence[str]) -> None:
    if instrument is not None:
        named = f"{instrument['version']}, model {instrument['model']}, judge {instrument['judge']}"
        say(f"comparable with scores of {instrument['sha256'][:12]} alone: {named}")
    for reason in toys:
        say(f"a demonstration, no result: {reason}")
