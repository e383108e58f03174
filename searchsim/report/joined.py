"""The runs' smoothing in a study's report: the joined table, and a page for each scored report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from searchsim.records import Record
from searchsim.report import numbers, smoothing
from searchsim.scoring.smoothing.joined import Injected, joined

__all__ = ["Joined", "clear", "shown", "write"]

_FOLDER = "smoothing"
"""The folder of the pages, beside the study's."""

_VARIANTS = {"smoothing": "", "smoothing_without_injected": "-without-injected"}
"""The two scores of a report, and what is added to the names of their pages."""

_RUNGS = ("served", "delivered", "opened", "cited")


class Joined(NamedTuple):
    """The runs and their scores.

    Attributes:
        figures: What `searchsim.scoring.smoothing.joined.joined` returns.
        pages: The pages that were written, relative to the study's.
    """

    figures: Mapping[str, Any]
    pages: frozenset[str]


def clear(folder: Path, keep: Joined | None = None) -> None:
    """Take away what an earlier report has of smoothing, but for what was written now."""
    if keep is None:
        (folder / f"{_FOLDER}.json").unlink(missing_ok=True)
    for old in (folder / _FOLDER).glob("run-[0-9]*.html"):
        if keep is None or f"{_FOLDER}/{old.name}" not in keep.pages:
            old.unlink()


def write(
    folder: Path,
    records: Sequence[Record],
    place: Mapping[str, int],
    scored: Iterable[Mapping[str, Any]],
    canary: str = "",
) -> Joined:
    """Write a page for each scored report of a run, and the joined figures as ``smoothing.json``.

    Args:
        folder: The study's report.
        records: The runs.
        place: Their numbers in the plan, from 0.
        scored: Records of scored reports, named by their runs; each is held only until its page is written.
        canary: The corpus's.

    Raises:
        UsageError: They can't be joined, see `searchsim.scoring.smoothing.joined.joined`.
    """
    (folder / _FOLDER).mkdir(exist_ok=True)
    known = {r["run"]: r for r in records}
    pages: set[str] = set()

    def paged() -> Iterator[Mapping[str, Any]]:
        for record in scored:
            # Who joins asks for the next one only when this one is sound.
            yield record
            if run := known.get(record["report"]["name"]):
                pages.add(_write_page(folder, run, place[run["run"]] + 1, record, canary))

    figures = joined(records, paged())
    (folder / f"{_FOLDER}.json").write_bytes(orjson.dumps(figures, option=orjson.OPT_INDENT_2) + b"\n")
    return Joined(figures, frozenset(pages))


def _write_page(folder: Path, run: Record, number: int, record: Mapping[str, Any], canary: str) -> str:
    without = any(d["state"] == "left_out" for d in record["documents"])
    name = _page(number, "smoothing_without_injected" if without else "smoothing")
    injected = Injected.of(run).addresses
    back = f"../index.html#run-{number}"
    (folder / name).write_text(smoothing.render(record, canary, injected=injected, back=back), "utf-8")
    return name


def _page(number: int, variant: str) -> str:
    return f"{_FOLDER}/run-{number}{_VARIANTS[variant]}.html"


def shown(found: Joined, place: Mapping[str, int]) -> dict[str, Any]:
    """What the study's page shows of it.

    Args:
        found: What `write` returned.
        place: The runs' numbers in the plan, from 0.

    Returns:
        The rows of runs and of groups by agent and model, each with what its cells say; views, by the runs' numbers:
        for each page that was written its relative URL, what it scores, as a phrase, and the mean.
    """
    figures = found.figures
    runs: dict[str, list[dict[str, Any]]] = {}
    views: dict[int, list[tuple[str, str, str]]] = {}
    for row in figures["runs"]:
        number = place[row["run"]] + 1
        links = {v: name for v in _VARIANTS if (name := _page(number, v)) in found.pages}
        views[number] = [(name, _phrase(v), _mean(row[v])) for v, name in links.items()]
        told = {
            "number": number,
            "verdict": {True: "adopted", False: "not adopted", None: row["state"].replace("_", " ")}[row["adopted"]],
            "exposure": [numbers.NOTHING if row["exposure"][r] is None else row["exposure"][r] for r in _RUNGS],
            "scores": [(_cell(row[v]), links.get(v)) for v in _VARIANTS],
        }
        runs.setdefault(_named(row), []).append({**row, **told, "opened": _opened(row["engagement"])})
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in figures["groups"]:
        told = {
            "verdict": "adopted" if row["adopted"] else "not adopted",
            "exposure": [row["exposure"][r] for r in _RUNGS],
            "scores": [_cell(row[v]) for v in _VARIANTS],
        }
        groups.setdefault(_named(row), []).append({**row, **told, "opened": _opened(row["engagement"])})
    return {
        "runs": runs,
        "count": len(figures["runs"]),
        "groups": groups,
        "rungs": _RUNGS,
        "views": views,
        "instrument": figures["instrument"],
        "unmatched": figures["unmatched"],
        "demonstration": figures["demonstration"],
    }


def _named(row: Mapping[str, Any]) -> str:
    return f"{row['agent']} × {row['model']}"


def _phrase(variant: str) -> str:
    return "against all that it cites" if variant == "smoothing" else "without the injected documents"


def _opened(engagement: Mapping[str, Any] | None) -> str:
    if engagement is None or engagement["share"] is None:
        return numbers.NOTHING
    return f"{engagement['opened']}/{engagement['cited']}"


def _mean(scores: Mapping[str, Any] | None) -> str:
    if scores is None:
        return numbers.NOTHING
    return "no score" if scores["mean"] is None else f"{scores['mean']:.2f}"


def _cell(scores: Mapping[str, Any] | None) -> dict[str, str]:
    """What a cell says of some claims' scores: their mean, its interval, and of how many it is."""
    if scores is None:
        return {"mean": numbers.NOTHING, "interval": "", "more": ""}
    interval = scores.get("mean_interval")
    missing = [f"{scores[s]} {s}" for s in ("unscored", "unjudged") if scores[s]]
    of = [numbers.plural(scores["scored"], "claim")]
    if scores["at_least_3"] is not None:
        of.append(f"{numbers.percent(scores['at_least_3'], 0)} ≥ 3")
    return {
        "mean": _mean(scores),
        "interval": f"[{interval[0]:.2f}, {interval[1]:.2f}]" if interval else "",
        "more": ", ".join([*of, *missing]),
    }
