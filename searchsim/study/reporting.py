"""From a study's folder to its report. No model is opened for it, and no corpus asked: the folder has it all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from searchsim import report
from searchsim.errors import UsageError
from searchsim.jsonl import read_objects
from searchsim.records import Record
from searchsim.scoring.fcar import summarise
from searchsim.study.ledger import Ledger, RunLog

__all__ = ["chosen_judge", "in_force", "write_report"]


def in_force(ledger: Ledger, log: RunLog, judge: Mapping[str, str | None]) -> list[Record]:
    """The records that count: held against their traces, with one judge's verdicts."""
    return ledger.judged_by(ledger.verified(log.records.values()), judge)


def chosen_judge(ledger: Ledger, log: RunLog, name: str | None) -> dict[str, str | None]:
    """The identity of the judge whose verdicts count.

    Args:
        ledger: The study.
        log: Its records.
        name: A judge that gave verdicts, by its name or its model's; None for the contract's.

    Raises:
        UsageError: None or several of the judges have this name; the message lists those there are.
    """
    if name is None:
        return dict(ledger.terms()["judge"])
    there = ledger.judges(log.records.values())
    named = [j for j in there if name in (j["judge"], j["model"]) or str(j["judge"]).rsplit("-", 1)[0] == name]
    if len(named) != 1:
        shown = "; ".join(f"{j['judge']} {j['model'] or ''} {(j['settings_sha256'] or '')[:8]}".strip() for j in there)
        what = "no judge" if not named else "more than one judge"
        raise UsageError(f"{what} named {name!r} gave verdicts here; those that did: {shown or 'none'}")
    return named[0]


def write_report(
    ledger: Ledger, folder: Path, judge: str | None = None, smoothing: Path | None = None
) -> tuple[Path, dict[str, Any]]:
    """Write a study's report.

    Args:
        ledger: The study.
        folder: Where to.
        judge: Whose verdicts count; see `chosen_judge`.
        smoothing: The scores of the runs' reports, a record a line, named by run; None where they weren't scored.

    Returns:
        The page, and the summary that it shows.

    Raises:
        UsageError: The folder can't be written to, or the scores aren't sound or aren't these runs'.
    """
    contract, plan, log = ledger.contract(), ledger.plan(), ledger.log()
    records = in_force(ledger, log, chosen_judge(ledger, log, judge))
    summary = summarise(plan, records, log.failures, log.waiting)
    scores = None if smoothing is None else read_objects(smoothing, "smoothing")
    canary = ledger.terms()["canary"]
    try:
        page = report.write(folder, contract, plan, records, summary, log.failures, canary=canary, smoothing=scores)
    except OSError as error:
        raise UsageError(f"the report can't be written to {folder} ({error.strerror}): name another --out") from error
    return page, summary
