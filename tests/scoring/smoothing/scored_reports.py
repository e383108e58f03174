"""Records of scored reports with given scores, as the pipeline would write them; no model is asked."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from searchsim.judge.model import Reply
from searchsim.scoring.smoothing.answers import Answers, Model
from searchsim.scoring.smoothing.cache import Cache
from searchsim.scoring.smoothing.citations import cited
from searchsim.scoring.smoothing.claims import Claim
from searchsim.scoring.smoothing.pipeline import CitedDocument, Report, Scored, ScoredClaim, Settings
from searchsim.scoring.smoothing.record import record

__all__ = ["smoothing_record"]


async def _nobody(messages: Sequence[Mapping[str, str]]) -> Reply:
    raise AssertionError("nobody is asked")


def smoothing_record(
    name: str,
    text: str,
    scores: Sequence[int | None],
    *,
    left_out: Collection[str] = (),
    unjudged: int = 0,
    judge: str = "judge",
    demonstration: bool = False,
) -> dict[str, Any]:
    """A record of a report whose claims have these scores.

    Args:
        name: The report's.
        text: The report.
        scores: A claim's each; None for unscored.
        left_out: Addresses of what was left out of what it cites.
        unjudged: So many further claims that have no usable answer.
        judge: The judge's name, which tells instruments apart.
        demonstration: Whether it is a toy.
    """
    citations = cited(text)
    documents = [
        CitedDocument(c, state="left_out" if set(left_out) & set(c.addresses) else "unresolved")
        for c in citations.documents
    ]
    scored = Scored(Report(name, text), Settings(), citations, documents)
    for number, score in enumerate([*scores, *[None] * unjudged], start=1):
        claim = ScoredClaim(Claim(f"c{number}", f"Claim number {number}", [(0, 1)], "", "", "", [], []))
        claim.state = "scored" if score else "unscored" if number <= len(scores) else "unjudged"
        if score:
            claim.judgement = {
                "role": "r",
                "takeaway": "t",
                "objections": "",
                "resolution": "r",
                "repair": "",
                "patterns": [],
                "score": score,
            }
        scored.claims.append(claim)
    cache = Cache()
    try:
        model = Model(_nobody, judge, "0" * 64, demonstration)
        return record(scored, Answers(model, model, cache))
    finally:
        cache.close()
