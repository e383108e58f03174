"""The scores of claims and reports: what the results are computed from."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["BINS", "ClaimScore", "ReportScores"]

BINS = (1, 2, 3, 4, 5)
"""The scores that a claim can have: 1 says what its evidence says, 5 misleads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimScore:
    """A claim's score and length.

    Attributes:
        score: One of `BINS`; None without one.
        words: The claim's length.
        unjudged: It has no score as a model gave no usable answer, rather than for want of documents.
    """

    score: int | None
    words: int = 0
    unjudged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportScores:
    """A report's claims, and what correlations are taken with.

    Attributes:
        report: Its name, unique within dataset and system.
        system: Who wrote it.
        dataset: What its question belongs to.
        claims: Its claims.
        documents: How many documents it cites.
        words: Its length.
    """

    report: str
    system: str
    dataset: str
    claims: tuple[ClaimScore, ...]
    documents: int = 0
    words: int = 0

    @property
    def scores(self) -> list[int]:
        """The scores of the claims that have one."""
        return [c.score for c in self.claims if c.score is not None]
