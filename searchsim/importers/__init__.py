"""Corpora made of other people's data, one small module a format.

An importer reads a source and adds records to a `Draft`; `run_import` puts the corpus in its place when all of it is
right, and leaves nothing otherwise. Documents are streamed: only ids and addresses are held.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from searchsim.errors import UsageError
from searchsim.importers.beir import import_beir
from searchsim.importers.deepresearch_bench import import_deepresearch_bench
from searchsim.importers.draft import Imported, drafting
from searchsim.importers.irds import import_irds
from searchsim.importers.jsonl import import_jsonl
from searchsim.importers.misknow import import_misknow

__all__ = ["IMPORTERS", "Imported", "Importer", "run_import"]


@dataclass(frozen=True, slots=True)
class Importer:
    """A format that can be imported.

    Attributes:
        source: What its source is, in a few words, for help and docs.
        add: The function that adds a source's records to a draft.
    """

    source: str
    add: Callable[..., None]

    @property
    def options(self) -> tuple[str, ...]:
        """The names of its options, beside ``today``, which all have."""
        parameters = inspect.signature(self.add).parameters.values()
        return tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)


IMPORTERS: dict[str, Importer] = {
    "jsonl": Importer("a JSONL file of documents", import_jsonl),
    "beir": Importer("a folder with corpus.jsonl and queries.jsonl", import_beir),
    "ir-datasets": Importer("an id of ir_datasets", import_irds),
    "misknow": Importer("a folder of blueprints and misleading documents", import_misknow),
    "deepresearch-bench": Importer("the bench's query.jsonl", import_deepresearch_bench),
}
"""What can be imported, by name."""


def run_import(
    kind: str,
    source: str,
    out: Path,
    progress: Callable[[int], None] | None = None,
    *,
    today: date | None = None,
    **options: Any,
) -> Imported:
    """Make a corpus of somebody else's data.

    Args:
        kind: One of `IMPORTERS`.
        source: A file, a folder or an id, as the kind has it.
        out: The corpus's folder; it must not exist yet, or be empty.
        progress: Called with the number of documents written so far, organic and misleading.
        today: The date that the corpus's worlds take as today; the current one if None.
        options: The importer's own: ``tasks`` (a path), ``language`` (BCP 47). None is as good as not given.

    Returns:
        What was made. The folder has a manifest.json beside the corpus's files: kind, source, date, counts, what
        was changed or left out, and the SHA-256 of every file read and written.

    Raises:
        UsageError: Kind, option, source or folder can't be used; the first fault of the source. Nothing is kept.
        MissingComponentError: The kind needs a package that isn't installed.
        SearchsimError: Reading or writing failed. Nothing is kept.
    """
    if kind not in IMPORTERS:
        raise UsageError(f"can't import {kind!r}; what can be imported: {', '.join(IMPORTERS)}")
    importer = IMPORTERS[kind]
    given = {k: v for k, v in options.items() if v is not None}
    for name in given:
        if name not in importer.options:
            takes = ", ".join(f"--{o}" for o in importer.options) or "no option of its own"
            raise UsageError(f"importing {kind} takes {takes}, not --{name}")
    with drafting(out, today or date.today(), progress) as draft:
        importer.add(source, draft, **given)
        return draft.finish(kind, source, given)
