"""A study's report: its records and figures as one page, with the files behind it.

page.py      the page as a whole, and what its parts are made from
flow.py      what became of the planned runs
runs.py      the runs one by one, down to what was served and delivered
tables.py    cells and comparisons, as rows for files and for the page
figures.py   the charts: bars by condition
budget.py    FCAR over the budget, as lines
svg.py       a chart as a file, and as a part of the page
numbers.py   how numbers are written
marking.py   a report with some of its sentences marked
smoothing.py a scored report as a page of its own
annotated.py its text with the claims marked where they stand
joined.py    the scores of a study's reports: the joined table, and the pages behind it

Every number comes from the summary (`searchsim.scoring.fcar.summarise`) or is counted from the records.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from searchsim import records as run_records
from searchsim.records import Record
from searchsim.report import figures, joined, page, tables
from searchsim.study.matrix import Plan

__all__ = ["write"]


def write(
    folder: Path,
    contract_data: Mapping[str, Any],
    plan: Plan,
    records: Sequence[Record],
    summary: Mapping[str, Any],
    failures: Mapping[str, str] | None = None,
    *,
    canary: str = "",
    smoothing: Iterable[Mapping[str, Any]] | None = None,
) -> Path:
    """Write a study's report.

    The same arguments give the same bytes. The page needs nothing else: no network, no script, none of the files
    beside it; but to the pages of scored reports it only leads.

    Args:
        folder: Where to; it is made where it isn't there. Of a report that is there the files are replaced.
        contract_data: The contract as it stands in its file.
        plan: What was planned.
        records: The runs' records, at most one a planned run, in any order.
        summary: What `searchsim.scoring.fcar.summarise` says of them.
        failures: Runs that ended in an error without a record, with the error; the summary was told of them too.
        canary: The corpus's; it goes into the page, since the runs' reports may repeat misleading text.
        smoothing: Records of the scores of the runs' reports, named by run; None where they weren't scored.

    Returns:
        The page, ``index.html``. Beside it: ``runs.jsonl`` (the records, in the plan's order), ``cells.csv``,
        ``comparisons.csv``, ``summary.json`` and ``figures/*.svg``; of scored reports ``smoothing.json`` and
        ``smoothing/*.html``.

    Raises:
        UsageError: The scores aren't these runs', or aren't of one instrument.
        ValueError: A record breaks its schema, or a run isn't in the plan.
    """
    place = {p.run: number for number, p in enumerate(plan.runs)}
    if stray := [run for run in (*(r["run"] for r in records), *(failures or {})) if run not in place]:
        raise ValueError(f"run {stray[0]} isn't in the plan")
    ordered = sorted(records, key=lambda r: place[r["run"]])
    folder.mkdir(parents=True, exist_ok=True)
    scored = None if smoothing is None else joined.write(folder, ordered, place, smoothing, canary)
    joined.clear(folder, keep=scored)
    run_records.write(folder / "runs.jsonl", ordered)
    (folder / "summary.json").write_bytes(orjson.dumps(dict(summary), option=orjson.OPT_INDENT_2) + b"\n")
    tables.write_csv(folder / "cells.csv", tables.cell_rows(contract_data, summary))
    tables.write_csv(folder / "comparisons.csv", tables.comparison_rows(summary))
    charts = figures.draw(contract_data, summary)
    figures.save(folder / "figures", charts)
    index = folder / "index.html"
    index.write_text(
        page.render(contract_data, plan, ordered, summary, charts, canary, scored and joined.shown(scored, place)),
        "utf-8",
    )
    return index
