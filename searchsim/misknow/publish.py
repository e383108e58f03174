"""From written texts to the documents of every institution.

Authority changes publisher and URL alone, never the writing: a text is published as it is under one byline of each
authority (or, where a style has a single text, under all of them, marked ``shared_body``).
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta

from searchsim.documents import STYLES, Blueprint, Institution, MisleadingDocument, Text

__all__ = ["page_url", "publication_day", "publish"]

_SECTIONS = {
    "paper": ("articles", "publications", "papers", "research"),
    "news": ("news", "stories", "headlines"),
    "blog": ("blog", "posts", "notes"),
    "post": ("threads", "topic", "forum"),
    "reference": ("reference", "encyclopedia", "topics"),
}
# The same shapes for every kind, so that the mixture of kinds doesn't show in the shapes of addresses.
_SHAPES = (
    "/{section}/{slug}",
    "/{section}/{year}/{slug}",
    "/{section}/{year}/{month}/{slug}",
    "/{section}/{slug}-{number}",
    "/{section}/{number}",
)


def _draw(seed: str, size: int) -> int:
    """A number below size, the same for the same seed everywhere."""
    return int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8]) % size


def publication_day(seed: str, today: date) -> date:
    """A day three to thirty-six months before today, the same for the same seed.

    Organic documents of a written corpus take their days from here too, so that dates tell nothing.
    """
    return today - timedelta(days=90 + _draw(f"day {seed}", 1005))


def page_url(host: str, kind: str, slug: str, day: date, seed: str) -> str:
    """An address such as sites of this kind have; organic and misleading documents both get theirs here."""
    sections = _SECTIONS[kind]
    return f"https://{host}" + _SHAPES[_draw(f"shape {seed}", len(_SHAPES))].format(
        section=sections[_draw(f"section {seed}", len(sections))],
        slug=slug,
        year=day.year,
        month=f"{day.month:02}",
        number=10_000 + _draw(f"number {seed}", 80_000),
    )


def publish(blueprint: Blueprint, texts: Iterable[Text], language: str, today: date) -> Iterator[MisleadingDocument]:
    """All documents of a task: every institution, in every style that has texts.

    Args:
        blueprint: The task's blueprint.
        texts: The task's texts, in order. A style with as many texts as an authority has institutions gives each
            institution its own; with one text, all share it.
        language: The task's language.
        today: The corpus's date.

    Raises:
        ValueError: A style has some other number of texts.
    """
    by_style: dict[str, list[Text]] = defaultdict(list)
    for text in texts:
        by_style[text.style].append(text)
    for authority, institutions in blueprint.institutions.items():
        for style in STYLES:
            written = by_style.get(style, [])
            if not written:
                continue
            for number, (institution, text, shared) in enumerate(_pairs(institutions, written, style), start=1):
                id_ = f"{blueprint.task}-{authority}-{style}-{number}"
                day = publication_day(id_, today)
                yield MisleadingDocument(
                    id=id_,
                    task=blueprint.task,
                    authority=authority,
                    style=style,
                    kind=style,
                    institution=institution.name,
                    source_name=institution.name,
                    text=text.id,
                    shared_body=shared,
                    title=text.title,
                    snippet=text.snippet,
                    body=text.body,
                    url=page_url(institution.host, style, text.slug, day, id_),
                    published=day,
                    language=language,
                )


def _pairs(
    institutions: Sequence[Institution], written: Sequence[Text], style: str
) -> list[tuple[Institution, Text, bool]]:
    if len(written) == len(institutions):
        return [(i, t, False) for i, t in zip(institutions, written, strict=True)]
    if len(written) == 1:
        return [(i, written[0], True) for i in institutions]
    raise ValueError(
        f"style {style} has {len(written)} texts for {len(institutions)} institutions: write one, or one for each"
    )
