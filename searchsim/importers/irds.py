"""A data set of ir_datasets (MacAvaney et al. 2021), through that package, which downloads what is missing."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from typing import Any

from searchsim.errors import MissingComponentError, SearchsimError, UsageError
from searchsim.importers.draft import Draft
from searchsim.importers.passage import add_passage, add_query

__all__ = ["import_irds"]


def import_irds(source: str, draft: Draft, *, language: str | None = None) -> None:
    """Documents and queries of an ir_datasets id.

    Args:
        source: The id, e.g. ``beir/scifact/test``.
        draft: Where they go.
        language: Of queries and documents where the data set doesn't say; ``en`` if not given.

    Raises:
        MissingComponentError: ir_datasets isn't installed.
        UsageError: It knows no such id, or the data set has no documents with text.
        SearchsimError: It can't be downloaded or read.
    """
    try:
        package = importlib.import_module("ir_datasets")
    except ImportError as error:
        raise MissingComponentError(
            "importing from ir-datasets needs ir_datasets: install searchsim with its extra (searchsim[corpora])"
        ) from error
    try:
        dataset = package.load(source)
    except KeyError as error:
        raise UsageError(f"ir_datasets knows no {source!r}: https://ir-datasets.com lists what there is") from error
    if not dataset.has_docs():
        raise UsageError(f"{source} has no documents: take the data set it belongs to")
    draft.facts |= {"title": f"ir_datasets: {source}", "description": f"Queries and documents of {source}."}
    draft.sources.append({"path": source, "ir_datasets": package.__version__})
    if dataset.has_queries():
        spoken = dataset.queries_lang() or language
        for query in _guarded(source, dataset.queries_iter):
            add_query(draft, f"{source}, query {query.query_id}", query.query_id, _query_text(query), spoken)
    written = dataset.docs_lang() or language
    for document in _guarded(source, dataset.docs_iter):
        place = f"{source}, document {document.doc_id}"
        title = getattr(document, "title", None)
        title = title if isinstance(title, str) else ""
        add_passage(
            draft,
            place,
            raw=document.doc_id,
            title=title,
            text=_text(document, title, place),
            url=getattr(document, "url", None),
            collection=source,
            family="ir-datasets",
            language=written,
        )


def _guarded(source: str, iterate: Any) -> Iterator[Any]:
    """What the package yields; whatever it raises (network, disk, broken files) becomes one clear error."""
    try:
        items: Iterable[Any] = iterate()
        iterator = iter(items)
    except Exception as error:
        raise SearchsimError(f"ir_datasets can't read {source}: {error}") from error
    while True:
        try:
            item = next(iterator)
        except StopIteration:
            return
        except Exception as error:
            raise SearchsimError(f"ir_datasets can't read {source}: {error}") from error
        yield item


def _text(document: Any, title: str, place: str) -> str:
    for name in ("body", "text"):
        value = getattr(document, name, None)
        if isinstance(value, str):
            return value
    if not hasattr(document, "default_text"):
        raise UsageError(f"{place}: has no text")
    whole = str(document.default_text())
    return whole.removeprefix(title).strip() if title else whole


def _query_text(query: Any) -> str:
    if hasattr(query, "default_text"):
        return str(query.default_text())
    return str(getattr(query, "text", None) or getattr(query, "title", ""))
