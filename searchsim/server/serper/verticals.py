"""The verticals: what each wants, and what its answers hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["VERTICALS", "Vertical"]


class Vertical(NamedTuple):
    """A vertical.

    Attributes:
        rows: The key of its list.
        served: Whether a corpus has documents for it; its list is empty for ever where not.
        wants: A query has one of these fields.
        typed: Whether ``type`` names it on ``/search``.
        echoes: Fields of its own that it echoes.
        more: Keys of other lists in its answers, which are empty.
    """

    rows: str
    served: bool = False
    wants: tuple[str, ...] = ("q",)
    typed: bool = True
    echoes: tuple[str, ...] = ()
    more: tuple[str, ...] = ()


_PLACE = ("cid", "fid", "placeId")

VERTICALS: Mapping[str, Vertical] = {
    "search": Vertical("organic", served=True),
    "news": Vertical("news", served=True),
    "scholar": Vertical("organic", served=True),
    "images": Vertical("images"),
    "videos": Vertical("videos"),
    "places": Vertical("places"),
    "maps": Vertical("places", wants=("q", *_PLACE), echoes=("ll", *_PLACE)),
    "shopping": Vertical("shopping"),
    "patents": Vertical("organic"),
    "autocomplete": Vertical("suggestions"),
    "reviews": Vertical(
        "reviews",
        wants=(*_PLACE, "q"),
        typed=False,
        echoes=(*_PLACE, "sortBy", "topicId", "nextPageToken"),
        more=("topics",),
    ),
    "lens": Vertical("organic", wants=("url",), typed=False, echoes=("url",)),
}
