"""Who seems to say it: the publisher's standing. Publisher, URL and byline change, never the writing."""

from collections.abc import Sequence

from searchsim.documents import AUTHORITIES, MisleadingDocument
from searchsim.injection import Factor, Level


def select(documents: Sequence[MisleadingDocument], level: Level) -> list[MisleadingDocument]:
    """Keep the documents of one authority."""
    return [d for d in documents if d.authority == level]


factor = Factor(name="authority", levels=AUTHORITIES, default="high", order=10, select=select)
