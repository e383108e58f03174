"""From a study's folder to its report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from searchsim import report
from searchsim.judge import Judge
from searchsim.records import Record
from searchsim.scoring.fcar import summarise
from searchsim.study.contract import Contract
from searchsim.study.ledger import Ledger, RunLog
from searchsim.study.models import Models, judge_spec

__all__ = ["in_force", "write_report"]


def in_force(ledger: Ledger, log: RunLog, judge: Judge) -> list[Record]:
    """The records that count: held against their traces, with one judge's verdicts."""
    return ledger.judged_by(ledger.verified(log.records.values()), judge)


def write_report(
    ledger: Ledger, folder: Path, judge: str | None = None, upstream: str | None = None
) -> tuple[Path, dict[str, Any]]:
    """Write a study's report.

    Args:
        ledger: The study.
        folder: Where to.
        judge: Whose verdicts count, as `judge_spec` takes it; None for the contract's judge.
        upstream: See `judge_spec`.

    Returns:
        The page, and the summary that it shows.
    """
    contract: Contract = ledger.parsed()
    plan, log = ledger.plan(), ledger.log()
    with Models() as models:
        chosen = models.judge(contract.judge if judge is None else judge_spec(judge, upstream))
        records = in_force(ledger, log, chosen)
    summary = summarise(plan, records, log.failures)
    page = report.write(folder, contract.data, plan, records, summary, log.failures, canary=contract.corpus.canary)
    return page, summary
