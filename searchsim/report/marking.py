"""A report with some of its sentences marked."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup, escape

__all__ = ["marked"]


def marked(report: str, evidence: Iterable[str]) -> Markup:
    """A report as HTML text with some of its sentences marked.

    Args:
        report: Its text; whatever stands in it, it stays text.
        evidence: The sentences as they stand in it, which may overlap; each is marked wherever it stands.
    """
    spans: list[tuple[int, int]] = []
    for sentence in {s for s in evidence if s}:
        start = report.find(sentence)
        while start >= 0:
            spans.append((start, start + len(sentence)))
            start = report.find(sentence, start + len(sentence))
    html, end = Markup(), 0
    for start, stop in _merged(spans):
        html += escape(report[end:start]) + Markup("<mark>{}</mark>").format(report[start:stop])
        end = stop
    return html + escape(report[end:])


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans in order, those that overlap as one: marks can't."""
    found: list[tuple[int, int]] = []
    for start, stop in sorted(spans):
        if found and start < found[-1][1]:
            found[-1] = (found[-1][0], max(stop, found[-1][1]))
        else:
            found.append((start, stop))
    return found
