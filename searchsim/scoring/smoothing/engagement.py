"""Document engagement: which of the links that a report cites were opened while it was written.

Opened is a page whose text was fetched, by whatever call: a page, a reader's or an extracting API. A search result that
stood in a list wasn't opened. Links are compared in one spelling, and each counts once a dataset, however many reports
cite it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from searchsim.errors import UsageError
from searchsim.jsonl import read_lines
from searchsim.records import Record
from searchsim.scoring.smoothing.citations import cited
from searchsim.trace import Event
from searchsim.urls import cited_url

__all__ = ["Engagement", "Links", "engagement", "of_report", "of_run", "read_trace", "table"]


@dataclass(frozen=True, slots=True)
class Engagement:
    """How many links were opened.

    Attributes:
        opened: Of those cited.
        cited: How many there are.
    """

    opened: int
    cited: int

    @property
    def share(self) -> float | None:
        """The fraction that was opened; None where nothing is cited."""
        return self.opened / self.cited if self.cited else None

    def record(self) -> dict[str, Any]:
        """The engagement as JSON."""
        return {"cited": self.cited, "opened": self.opened, "share": self.share}


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """A report's links, each named by its first address, in one spelling.

    Attributes:
        report: Its name.
        system: Who wrote it.
        dataset: What its question belongs to.
        cited: The links that it cites.
        opened: Those of them that were opened for it.
        addresses: All addresses of those that have several: links of two reports that share one are one link.
    """

    report: str
    system: str = ""
    dataset: str = ""
    cited: frozenset[str]
    opened: frozenset[str]
    addresses: frozenset[tuple[str, ...]] = frozenset()


def engagement(links: Iterable[Links]) -> Engagement:
    """The engagement of reports together: each link once, opened where a report that cites it had it opened."""
    from scipy.cluster.hierarchy import DisjointSet

    given = list(links)
    every = frozenset[str]().union(*(one.cited for one in given))
    opened = frozenset[str]().union(*(one.opened & one.cited for one in given))
    several = frozenset[tuple[str, ...]]().union(*(one.addresses for one in given))
    same = DisjointSet(every.union(*several))
    for first, *more in several:
        for other in more:
            same.merge(first, other)
    return Engagement(len({same[link] for link in opened}), len({same[link] for link in every}))


def of_run(record: Record) -> Links:
    """The links of a run.

    A link was also opened where its document was, under another URL.

    Args:
        record: The run's record; its agent, model and label are the system, its corpus the dataset.
    """
    found = [f for f in record["fetches"] if f["found"]]
    documents = {f["document"] for f in found if f["document"]}
    addresses = {cited_url(c["url"]) for c in record["citations"] if c["document"] in documents}
    return _links(
        record["report"],
        addresses.union(cited_url(f["url"]) for f in found),
        report=record["run"],
        system=f"{record['agent']}/{record['model']}/{record['label']}",
        dataset=record["corpus"]["name"],
    )


def of_report(name: str, text: str, pages: Iterable[Event]) -> Links:
    """The links of any report.

    Args:
        name: The report's.
        text: The report, in Markdown.
        pages: The page events of its trace, as of `read_trace`.
    """
    return _links(text, {cited_url(p["url"]) for p in pages if p.get("found", True)}, report=name)


def _links(text: str, opened: Set[str], *, report: str, system: str = "", dataset: str = "") -> Links:
    """A citation is one link, also where it gives several addresses; the first of them names it."""
    documents = [d.addresses for d in cited(text).documents if d.addresses]
    return Links(
        report=report,
        system=system,
        dataset=dataset,
        cited=frozenset(addresses[0] for addresses in documents),
        opened=frozenset(addresses[0] for addresses in documents if not opened.isdisjoint(addresses)),
        addresses=frozenset(tuple(addresses) for addresses in documents if len(addresses) > 1),
    )


def read_trace(path: Path, reports: Sequence[str]) -> dict[str, list[Event]]:
    """The page events of a trace, by report.

    Args:
        path: A file of events, one a line: a world's own, or any whose lines keep ``schemas/trace.json``.
        reports: The reports' names.

    Raises:
        UsageError: The file isn't there, a line isn't sound, or it can't be told which report a page was fetched for.
    """
    pages: dict[str, list[Event]] = {name: [] for name in reports}
    for number, event in read_lines(path, "trace"):
        if event["event"] != "page":
            continue
        name = event.get("report", reports[0] if len(reports) == 1 else None)
        if name is None:
            raise UsageError(f"{path.name}:{number}: with several reports each page names its own, as report")
        # A trace may be of more reports than are asked for.
        if name in pages:
            pages[name].append(event)
    return pages


def table(links: Sequence[Links]) -> dict[str, Any]:
    """The engagement of reports, each and together.

    Returns:
        JSON with reports (for each report, system, dataset, cited, opened, share) and cells (for each dataset and
        system the same over all its reports, each link once; reports, their number; citing, how many cite anything;
        opening, how many opened a link that they cite).
    """
    cells: dict[tuple[str, str], list[Links]] = {}
    for one in links:
        cells.setdefault((one.dataset, one.system), []).append(one)
    return {
        "reports": [
            {"report": one.report, "system": one.system, "dataset": one.dataset, **engagement([one]).record()}
            for one in links
        ],
        "cells": [
            {"dataset": dataset, "system": system, **_cell(inside)} for (dataset, system), inside in cells.items()
        ],
    }


def _cell(links: Sequence[Links]) -> Mapping[str, Any]:
    return {
        "reports": len(links),
        "citing": sum(bool(one.cited) for one in links),
        "opening": sum(bool(one.opened & one.cited) for one in links),
        **engagement(links).record(),
    }
