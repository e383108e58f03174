"""Results as each vertical shows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

from searchsim.documents import Document
from searchsim.text import snippet

__all__ = ["ROWS", "shown_date"]

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def shown_date(published: date, today: date, language: str) -> str:
    """A date as results show it: days ago within a week, else the day, in the reader's language."""
    chinese = language.lower().startswith("zh")
    days = (today - published).days
    if 0 < days <= 7:
        return f"{days}天前" if chinese else f"{days} day{'s' if days > 1 else ''} ago"
    if chinese:
        return f"{published.year}年{published.month}月{published.day}日"
    return f"{_MONTHS[published.month - 1]} {published.day}, {published.year}"


def _result(document: Document, words: tuple[str, ...], today: date, language: str) -> dict[str, Any]:
    row = {"title": document.title, "link": document.url, "snippet": snippet(document, words)}
    if document.published:
        row["date"] = shown_date(document.published, today, language or document.language)
    return row


def _organic(position: int, document: Document, words: tuple[str, ...], today: date, language: str) -> dict[str, Any]:
    return {**_result(document, words, today, language), "position": position}


def _news(position: int, document: Document, words: tuple[str, ...], today: date, language: str) -> dict[str, Any]:
    row = _result(document, words, today, language)
    return {**row, "source": document.source_name, "position": position}


def _scholar(position: int, document: Document, words: tuple[str, ...], today: date, language: str) -> dict[str, Any]:
    """A paper. How often it was cited nobody knows, and where it stands the API doesn't say."""
    year = document.published.year if document.published else None
    venue = ", ".join(str(part) for part in (document.source_name, year) if part)
    row: dict[str, Any] = {
        "title": document.title,
        "link": document.url,
        "publicationInfo": " - ".join(part for part in (document.author, venue) if part),
        "snippet": snippet(document, words),
    }
    return {**row, "year": year} if year else row


Row = Callable[[int, Document, tuple[str, ...], date, str], dict[str, Any]]

ROWS: Mapping[str, Row] = {"search": _organic, "news": _news, "scholar": _scholar}
"""A result of each vertical that has any, from its position, the document, the query's words, today, and the reader's
language (empty for the document's own)."""
