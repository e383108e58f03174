"""How it is written: as a paper, a news article, a blog or a post."""

from collections.abc import Sequence

from searchsim.documents import STYLES, MisleadingDocument
from searchsim.injection import Factor, Level


def select(documents: Sequence[MisleadingDocument], level: Level) -> list[MisleadingDocument]:
    """Keep the documents of one style."""
    return [d for d in documents if d.style == level]


factor = Factor(name="style", levels=STYLES, default="paper", order=20, select=select)
