"""What a Markdown report cites, in all the usual ways: numbers with a list of references, links, footnotes, bare URLs.

A document is cited where its address, or a mark that leads to its entry in a list, stands anywhere in the report; an
entry of the list that no mark leads to is cited too. A reference without an address, and a mark without a reference,
are citations that lead to no document: they are kept, so that they can be counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from searchsim.scoring.smoothing.quotes import Span
from searchsim.scoring.smoothing.references import (
    LINK,
    NAMED,
    URL,
    Section,
    addresses,
    blanked,
    entries,
    plain,
    sections,
    target,
    trimmed,
    unescaped,
)
from searchsim.urls import cited_url

__all__ = ["Citation", "Citations", "cited", "strip_marks"]

Kind = Literal["reference", "link", "footnote", "dangling"]


@dataclass(slots=True)
class Citation:
    """A document that a report cites.

    Attributes:
        id: ``d1``, ``d2`` … in the order in which the report first cites them.
        kind: Where it comes from: an entry of a list of references, a link or URL in the text, a footnote; dangling for
            a mark without an entry.
        urls: Its addresses as written, the first one first; an entry may have several of one text (a DOI and a link).
        addresses: The same as `searchsim.urls.cited_url` writes them.
        title: The link's text, or the entry's.
        labels: What marks call it, as ``3``.
        marks: Where the text cites it, in order.
    """

    id: str = ""
    kind: Kind = "link"
    urls: list[str] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)
    title: str = ""
    labels: list[str] = field(default_factory=list)
    marks: list[Span] = field(default_factory=list)

    def take(self, urls: Iterable[str]) -> None:
        """Add addresses that it doesn't have yet."""
        for url in urls:
            if (address := cited_url(url)) not in self.addresses:
                self.urls.append(url)
                self.addresses.append(address)


@dataclass(frozen=True, slots=True)
class Citations:
    """All that a report cites.

    Attributes:
        documents: The documents.
        marks: All marks and addresses in the text, in order: what isn't wording.
        body: Where the report's text ends and its closing list of references begins.
    """

    documents: tuple[Citation, ...]
    marks: tuple[Span, ...]
    body: int

    def within(self, text: str, spans: Iterable[Span]) -> list[str]:
        """The ids of the documents that spans of the text cite, by marks in them or right behind them."""
        found: dict[str, None] = {}
        placed = sorted((mark, d.id) for d in self.documents for mark in d.marks)
        for start, end in spans:
            edge = end
            for (low, high), id_ in placed:
                if low >= edge and not _CLOSING.fullmatch(text, edge, low):
                    break
                if low >= start:
                    found[id_] = None
                    edge = max(edge, high)
        return list(found)


_CLOSING = re.compile(r"[ \t.,;:!?…。，；：！？)\]）」』”\"'*_]*\n?[ \t]*")

_DEFINITION = re.compile(
    r"^ {0,3}\[(?P<label>[^\]\[^\n][^\]\[\n]{0,200})\]:[ \t]*<?(?P<url>\S+?)>?(?P<title>[ \t]+\S.*)?$", re.MULTILINE
)
_FOOTNOTE = re.compile(
    r"^ {0,3}\[\^(?P<label>[^\]\s]{1,100})\]:[ \t]*(?P<text>.*(?:\n(?:[ \t]+\S.*|(?!\s*$|\s*\[\^|#).+))*)", re.MULTILINE
)
_NUMBERS = r"\d{1,3}(?:\s?[,;，、–—-]\s?\d{1,3})*"
_MARK = re.compile(
    rf"(?P<bracket>\[\^?(?:(?:doc(?:ument)?|source|ref(?:erence)?|cit(?:ation)?|来源|文献)s?[ .:#]*)?"
    rf"(?P<numbers>{_NUMBERS})\^?\]"
    rf"|【(?P<wide>{_NUMBERS})(?:[†:][^】\n]{{0,60}})?】)"
    rf"|<sup>\s*\[?(?P<sup>{_NUMBERS})\]?\s*</sup>(?!\w)"
    rf"|(?<=[^\s\d^])\^(?P<caret>{_NUMBERS})\^(?!\w)"
    r"|(?<=[^\W\d])(?P<raised>[⁰¹²³⁴⁵⁶⁷⁸⁹]+(?:[ʼ⁾,˒·‚][⁰¹²³⁴⁵⁶⁷⁸⁹]+)*)(?!\w)",
    re.IGNORECASE,
)
_FOOTNOTE_MARK = re.compile(r"\[\^(?P<label>[^\]\s]{1,100})\](?!:)")
_LABELLED = re.compile(r"\[(?P<text>[^\[\]\n]{0,300})\](?:\s?\[(?P<label>[^\[\]\n]{0,200})\])?(?![(:])")
_BARE_NUMBER = re.compile(
    rf"(?<=[^\W\d]|[)\]”’\"'%*]) (?P<numbers>{_NUMBERS})(?=[.,;:。，；：)]+(?:\s|$)|[ \t]*(?:\n|$))"
)
"""A raised number that lost its raising when the report was made into Markdown."""

_CODE = re.compile(
    r"^(?P<fence>`{3,}|~{3,})[^\n]*\n.*?(?:^(?P=fence)[`~]*[ \t]*$|\Z)|<!--.*?-->", re.MULTILINE | re.DOTALL
)
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)([^\n]+?)(?<!`)\1(?!`)")
_NUMBERED = re.compile(r"^[ \t]*(?:[-*+][ \t]+)?\[(?P<label>\d{1,3})\]:?[ \t]+(?P<text>\S.*)$", re.MULTILINE)
"""An entry of a list without a heading."""

_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")


def cited(report: str) -> Citations:
    """What a report cites; it never fails, whatever the report holds."""
    return _Reading(report).citations()


def strip_marks(text: str) -> str:
    """A quoted sentence without citation marks and links' addresses, which who quotes may leave out."""
    bare = LINK.sub(lambda m: "" if m["image"] or _is_mark(m["text"]) else m["text"], text)
    return _FOOTNOTE_MARK.sub("", _MARK.sub("", bare))


class _Reading:
    """One pass over a report. What was read is blanked out, so that it isn't read twice and all places stay."""

    def __init__(self, report: str) -> None:
        self._text = _CODE.sub(_blank, report)
        self._text = _CODE_SPAN.sub(lambda m: m[0] if URL.fullmatch(m[2].strip()) else _blank(m), self._text)
        self._found: list[Citation] = []
        self._at: dict[str, Citation] = {}
        self._labels: dict[str, Citation] = {}
        self._notes: dict[str, Citation] = {}
        self._order: dict[int, int] = {}
        self._marks: set[Span] = set()
        self._body = len(report)

    def citations(self) -> Citations:
        self._footnotes()
        self._lists()
        self._definitions()
        self._links()
        self._urls()
        self._footnote_marks()
        self._number_marks()
        self._labelled()
        for document in self._found:
            document.marks = sorted(set(document.marks))
        # By the place where each is first cited; what only a list has comes after these, in the list's order.
        documents = sorted(
            self._found, key=lambda c: (not c.marks, c.marks[0][0] if c.marks else self._order.get(id(c), 0))
        )
        for number, document in enumerate(documents, start=1):
            document.id = f"d{number}"
        return Citations(tuple(documents), tuple(sorted(self._marks)), self._body)

    # --- what stands in lists -----------------------------------------------------------------------------------

    def _footnotes(self) -> None:
        for match in _FOOTNOTE.finditer(self._text):
            entry = self._entry(match["text"], match.start("text"), "footnote")
            entry.labels.append(f"^{match['label']}")
            self._notes.setdefault(match["label"].casefold(), entry)
        self._text = _FOOTNOTE.sub(_blank, self._text)

    def _lists(self) -> None:
        """The entries of lists of references, under a heading that says so or numbered at the start of lines."""
        lists: list[Section] = []
        for section in list(sections(self._text)):
            _, start, end = section
            listed = list(entries(self._text[start:end]))
            if any(label or addresses(text) for label, text, _ in listed):
                for label, text, place in listed:
                    self._listed(label, text, start + place)
                lists.append(section)
                self._text = self._text[:start] + blanked(self._text[start:end]) + self._text[end:]
        for match in list(_NUMBERED.finditer(self._text)):
            if match["label"] not in self._labels and addresses(match["text"]):
                self._listed(match["label"], match["text"], match.start("text"))
                lists.append((match.start(), *match.span()))
                self._text = self._text[: match.start()] + blanked(match[0]) + self._text[match.end() :]
        # A list that the report closes with is no part of what it says.
        for head, _, end in sorted(lists, reverse=True):
            if re.search(r"\w", re.sub(r"(?m)^\s*[-*_=#>].*$", "", self._text[end : self._body])):
                break
            self._body = head

    def _listed(self, label: str, text: str, place: int) -> None:
        if not label and not addresses(text):
            return
        if label:
            entry = self._labels.get(label) or self._entry(text, place, "reference")
            if label not in entry.labels:
                entry.labels.append(label)
            self._labels.setdefault(label, entry)
            return
        # Without a number it can't be told what belongs to one document: each address is one.
        for url, title in addresses(text).items():
            self._document([url], title or plain(text), place, "reference")

    def _entry(self, text: str, place: int, kind: Kind) -> Citation:
        """The document of an entry, whose addresses are all its own."""
        return self._document(list(addresses(text)), plain(text), place, kind)

    def _document(self, urls: list[str], title: str, place: int, kind: Kind) -> Citation:
        known = next((self._at[a] for a in map(cited_url, urls) if a in self._at), None)
        if known is None:
            known = Citation(kind=kind, title=title[:300])
            self._found.append(known)
            self._order[id(known)] = place
        elif not known.title:
            known.title = title[:300]
        known.take(u for u in urls if self._at.get(cited_url(u), known) is known)
        for address in known.addresses:
            self._at.setdefault(address, known)
        return known

    def _definitions(self) -> None:
        for match in _DEFINITION.finditer(self._text):
            urls = list(addresses(match["url"]))
            if urls:
                label = match["label"].strip()
                entry = self._document(urls[:1], (match["title"] or "").strip(" \t\"'()"), match.start(), "reference")
                entry.labels.append(label)
                self._labels.setdefault(label.casefold(), entry)
                self._text = self._text[: match.start()] + blanked(match[0]) + self._text[match.end() :]

    # --- what stands in the text --------------------------------------------------------------------------------

    def _links(self) -> None:
        def take(match: re.Match[str]) -> str:
            if match["image"]:
                return _blank(match)
            if href := target(match):
                self._mark(self._document([href], plain(match["text"]), match.start(), "link"), match.span())
                # Its text is wording that a claim may quote; its address is not.
                self._marks.discard(match.span())
                if _is_mark(match["text"]):
                    self._marks.add(match.span())
                else:
                    self._marks |= {(match.start(), match.start("text")), (match.end("text"), match.end())}
                return _blank(match)
            if (match["url"] or "").startswith("#") and re.fullmatch(r"\W*\d{1,3}\W*", match["text"]):
                number = re.sub(r"\D", "", match["text"])
                return f"[{number}]".ljust(match.end() - match.start())
            return match["text"].rjust(match.end("text") - match.start()).ljust(match.end() - match.start())

        # Twice, since an image may be what a link shows.
        self._text = LINK.sub(lambda m: _blank(m) if m["image"] else m[0], self._text)
        self._text = LINK.sub(take, self._text)

    def _urls(self) -> None:
        for pattern in (URL, NAMED):
            for match in list(pattern.finditer(self._text)):
                for url, width in trimmed(match):
                    span = (match.start(), match.start() + width)
                    self._mark(self._document([url], "", match.start(), "link"), span)
                    self._text = self._text[: span[0]] + " " * width + self._text[span[1] :]

    def _footnote_marks(self) -> None:
        def take(match: re.Match[str]) -> str:
            label = match["label"].casefold()
            entry = self._notes.get(label) or self._labels.get(label)
            if entry is None:
                entry = self._notes[label] = self._dangling(f"^{match['label']}", match.start())
            self._mark(entry, match.span())
            return _blank(match)

        self._text = _FOOTNOTE_MARK.sub(take, self._text)

    def _number_marks(self) -> None:
        bracketed = False
        numbered = any(label.isdigit() for label in self._labels)
        for match in list(_MARK.finditer(self._text)):
            numbers = _expanded(match["numbers"] or match["wide"] or match["sup"] or match["caret"] or match["raised"])
            known = [n for n in numbers if n in self._labels]
            if match["bracket"]:
                # What sticks to a capital or a digit is a gene's P[8] or an index; without a list, so is what sticks
                # to any word.
                glued = re.match(
                    r"[A-Z0-9_]" if numbered else r"[\w)\]]", self._text[max(match.start() - 1, 0) : match.start()]
                )
                if len(numbers) > 200 or (glued and not known):
                    continue
                for number in numbers:
                    entry = self._labels.get(number)
                    if entry is None:
                        entry = self._labels[number] = self._dangling(number, match.start())
                    self._mark(entry, match.span())
                bracketed = True
            elif known and len(known) == len(numbers):
                # Raised numbers are marks only where a list has them: they may be isotopes and powers.
                for number in known:
                    self._mark(self._labels[number], match.span())
                bracketed = True
        if numbered and not bracketed:
            for match in _BARE_NUMBER.finditer(self._text, 0, self._body):
                numbers = _expanded(match["numbers"])
                if all(n in self._labels for n in numbers):
                    for number in numbers:
                        self._mark(self._labels[number], match.span("numbers"))

    def _labelled(self) -> None:
        """Links by label, as [text][label] and [label], to definitions."""
        for match in _LABELLED.finditer(self._text):
            for label in (match["label"], match["text"]):
                if label and not label.isdigit() and (entry := self._labels.get(label.strip().casefold())):
                    if label is match["label"]:
                        entry.title = entry.title or plain(match["text"])
                    self._mark(entry, match.span())
                    break

    def _dangling(self, label: str, place: int) -> Citation:
        entry = Citation(kind="dangling", labels=[label])
        self._found.append(entry)
        self._order[id(entry)] = place
        return entry

    def _mark(self, entry: Citation, span: Span) -> None:
        entry.marks.append(span)
        self._marks.add(span)


def _expanded(numbers: str) -> list[str]:
    """The numbers of a mark, ranges counted out."""
    found: list[str] = []
    for part in re.split(r"[,;，、ʼ⁾˒·‚]", numbers.translate(_RAISED)):
        ends = [int(n) for n in re.findall(r"\d+", part)]
        if len(ends) == 2 and ends[0] < ends[1] <= ends[0] + 200:
            found += [str(n) for n in range(ends[0], ends[1] + 1)]
        else:
            found += [str(n) for n in ends]
    return list(dict.fromkeys(found))


def _is_mark(text: str) -> bool:
    """Whether a link shows nothing but a number or an address."""
    shown = unescaped(text)
    return bool(URL.match(shown) or re.fullmatch(rf"\W*{_NUMBERS}\W*", shown))


def _blank(match: re.Match[str]) -> str:
    return blanked(match[0])
