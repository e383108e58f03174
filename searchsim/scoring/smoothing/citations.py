"""What a Markdown report cites, in all the usual ways: numbers with a list of references, links, footnotes, bare URLs.

A document is cited where its address, or a mark that leads to its entry in a list, stands anywhere in the report; an
entry of the list that no mark leads to is cited too. A reference without an address, and a mark without a reference,
are citations that lead to no document: they are kept, so that they can be counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Literal

from searchsim.scoring.smoothing.quotes import Span
from searchsim.scoring.smoothing.references import (
    LINK,
    NAMED,
    URL,
    Entry,
    References,
    addresses,
    blanked,
    headed,
    plain,
    target,
    trimmed,
    unescaped,
    unheaded,
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

    def joined(self, same: Mapping[str, str]) -> Citations:
        """The same with some documents taken for one, as those whose texts turn out to be.

        Args:
            same: The id of the document that it goes into, by the id of each that goes into another.
        """
        kept = {
            d.id: replace(d, urls=[*d.urls], addresses=[*d.addresses], labels=[*d.labels], marks=[*d.marks])
            for d in self.documents
            if d.id not in same
        }
        for document in self.documents:
            if document.id in same:
                one = kept[same[document.id]]
                one.take(document.urls)
                one.title = one.title or document.title
                one.labels += [label for label in document.labels if label not in one.labels]
                one.marks = sorted({*one.marks, *document.marks})
        return replace(self, documents=tuple(kept.values()))


_CLOSING = re.compile(r"[ \t.,;:!?…。，；：！？)\]）」』”\"'*_]*\n?[ \t]*")

_DEFINITION = re.compile(
    r"^ {0,3}\[(?P<label>[^\]\[^\n][^\]\[\n]{0,200})\]:[ \t]*<?(?P<url>\S+?)>?(?P<title>[ \t]+\S.*)?$", re.MULTILINE
)
_FOOTNOTE = re.compile(
    r"^ {0,3}\[\^(?P<label>[^\]\s]{1,100})\]:[ \t]*(?P<text>.*(?:\n(?:[ \t]+\S.*|(?!\s*$|\s*\[\^|#).+))*)", re.MULTILINE
)
_NUMBERS = r"\d{1,3}(?:\s?[,;，、–—-]\s?\d{1,3})*"
_MARK = re.compile(
    rf"(?P<bracket>\\?\[\\?\^?(?:(?:doc(?:ument)?|source|ref(?:erence)?|cit(?:ation)?|来源|文献)s?[ .:#]*)?"
    rf"(?P<numbers>{_NUMBERS})\\?\^?\\?\]"
    rf"|【(?P<wide>{_NUMBERS})(?:[†:][^】\n]{{0,60}})?】)"
    rf"|<sup>\s*\[?(?P<sup>{_NUMBERS})\]?\s*</sup>(?!\w)"
    rf"|(?<=[^\s\d^])\^(?P<caret>{_NUMBERS})\^(?!\w)"
    r"|(?<=[^\W\d])(?P<raised>[⁰¹²³⁴⁵⁶⁷⁸⁹]+(?:[ʼ⁾,˒·‚][⁰¹²³⁴⁵⁶⁷⁸⁹]+)*)(?!\w)",
    re.IGNORECASE,
)
_FOOTNOTE_MARK = re.compile(r"\[\^(?P<label>[^\]\s]{1,100})(?<!\\)\](?!:)")
_LABELLED = re.compile(r"\[(?P<text>[^\[\]\n]{0,300})\](?:\s?\[(?P<label>[^\[\]\n]{0,200})\])?(?![(:])")
_BARE_NUMBER = re.compile(
    rf"(?<=[^\W\d]|[)\]”’\"'%*]) (?P<numbers>{_NUMBERS})(?=[.,;:。，；：)]+(?:\s|$)|[ \t]*(?:\n|$))"
)
"""A raised number that lost its raising when the report was made into Markdown."""

_CODE = re.compile(
    r"^(?P<fence>`{3,}|~{3,})[^\n]*\n.*?(?:^(?P=fence)[`~]*[ \t]*$|\Z)|<!--.*?-->", re.MULTILINE | re.DOTALL
)
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)([^\n]+?)(?<!`)\1(?!`)")
_NUMBERED = re.compile(r"^[ \t]*(?:[-*+][ \t]+)?\\?\[(?P<label>\d{1,3})\\?\]:?[ \t]+(?P<text>\S.*)$", re.MULTILINE)
"""An entry of a list without a heading."""

_WRAPPING = re.compile(
    r"^(?P<fence>`{3,}|~{3,})[ \t]*(?P<markdown>(?:markdown|md)[ \t]*)?$", re.MULTILINE | re.IGNORECASE
)
_SAYS_NOTHING = re.compile(
    r"^[ \t]*(?:#.*|[-*_=`~ \t]+|</?[a-z][^>\n]*>|(?P<italic>[*_])(?!\s)(?:(?!(?P=italic)).)+(?P=italic)[ \t]*)$",
    re.MULTILINE | re.IGNORECASE,
)
"""Headings, rules, and the remark in italics that a report closes with."""

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
        self._text = _CODE.sub(_blank, _unwrapped(report))
        self._text = _CODE_SPAN.sub(lambda m: m[0] if URL.fullmatch(m[2].strip()) else _blank(m), self._text)
        self._found: list[Citation] = []
        self._at: dict[str, Citation] = {}
        self._more: list[tuple[Citation, list[str]]] = []
        self._labels: dict[str, list[tuple[int, Citation]]] = {}
        self._notes: dict[str, Citation] = {}
        self._order: dict[int, int] = {}
        self._marks: set[Span] = set()
        self._body = len(report)

    def citations(self) -> Citations:
        self._footnotes()
        self._lists()
        self._further_addresses()
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
        lists: list[Span] = []
        for found in headed(self._text):
            self._list(found)
            lists.append((found.head, found.end))
        bare = LINK.sub(lambda m: _blank(m) if target(m) else m[0], self._text)
        marks = [(m.start(), _marked(m)) for m in _MARK.finditer(bare)]
        for found in unheaded(self._text):
            # It is one where marks without a reference lead to half of its entries at least.
            missing = {n for at, ns in marks if not found.start <= at < found.end for n in ns if n not in self._labels}
            if 2 * len(missing & {label for label, _, _ in found.entries}) >= len(found.entries):
                self._list(found)
                lists.append((found.head, found.end))
        for match in list(_NUMBERED.finditer(self._text)):
            if match["label"] not in self._labels and addresses(match["text"]):
                entry = (match["label"], match["text"], match.start("text"))
                self._list(References(match.start(), *match.span(), [entry]))
                lists.append(match.span())
        # A list that the report closes with is no part of what it says.
        for head, end in sorted(lists, reverse=True):
            if re.search(r"\w", _SAYS_NOTHING.sub("", self._text[end : self._body])):
                break
            self._body = head

    def _list(self, found: References) -> None:
        seen: set[str] = set()
        for entry in found.entries:
            self._listed(entry, seen)
        blank = blanked(self._text[found.start : found.end])
        self._text = self._text[: found.start] + blank + self._text[found.end :]

    def _listed(self, listed: Entry, seen: set[str]) -> None:
        label, text, place = listed
        if label and (label not in seen or addresses(text)):
            entry = self._entry(text, place, "reference")
            # The number of an entry that comes a second time in one list leads to the first.
            if label not in seen:
                self._call(entry, label, place)
            seen.add(label)
        elif not label:
            # Without a number it can't be told what belongs to one document: each address is one.
            for url, title in addresses(text).items():
                self._document([url], title or plain(text), place, "reference")

    def _call(self, entry: Citation, label: str, place: int) -> None:
        if label not in entry.labels:
            entry.labels.append(label)
        called = self._labels.setdefault(label.casefold(), [])
        called.append((place, entry))
        called.sort(key=itemgetter(0))

    def _called(self, label: str, place: int) -> Citation | None:
        """What a label at a place leads to: where several lists have it, the next one, which closes its section."""
        called = self._labels.get(label, [])
        return next((entry for at, entry in called if at > place), called[-1][1] if called else None)

    def _entry(self, text: str, place: int, kind: Kind) -> Citation:
        """The document of an entry: that of its first address; further ones are its own where they're nobody else's."""
        first, *more = addresses(text) or [""]
        entry = self._document([first] if first else [], plain(text), place, kind)
        self._more.append((entry, more))
        return entry

    def _further_addresses(self) -> None:
        for entry, urls in self._more:
            entry.take(u for u in urls if self._at.get(cited_url(u), entry) is entry)
            for address in entry.addresses:
                self._at.setdefault(address, entry)

    def _document(self, urls: list[str], title: str, place: int, kind: Kind) -> Citation:
        known = self._at.get(cited_url(urls[0])) if urls else None
        if known is None:
            known = Citation(kind=kind, title=title[:300])
            self._found.append(known)
            self._order[id(known)] = place
        elif not known.title:
            known.title = title[:300]
        known.take(urls)
        for address in known.addresses:
            self._at.setdefault(address, known)
        return known

    def _definitions(self) -> None:
        for match in _DEFINITION.finditer(self._text):
            urls = list(addresses(match["url"]))
            if urls:
                label = match["label"].strip()
                entry = self._document(urls[:1], (match["title"] or "").strip(" \t\"'()"), match.start(), "reference")
                self._call(entry, label, match.start())
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
            entry = self._notes.get(label) or self._called(label, match.start())
            if entry is None:
                entry = self._notes[label] = self._dangling(f"^{match['label']}", match.start())
            self._mark(entry, match.span())
            return _blank(match)

        self._text = _FOOTNOTE_MARK.sub(take, self._text)

    def _number_marks(self) -> None:
        bracketed = False
        numbered = any(label.isdigit() for label in self._labels)
        for match in list(_MARK.finditer(self._text)):
            numbers = _marked(match)
            known = [n for n in numbers if n in self._labels]
            if match["bracket"]:
                # What sticks to a capital or a digit is a gene's P[8] or an index; without a list, so is what sticks
                # to any word.
                glued = re.match(
                    r"[A-Z0-9_]" if numbered else r"[\w)\]]", self._text[max(match.start() - 1, 0) : match.start()]
                )
                # Of several numbers that no list has, or with a nought, it is an interval.
                interval = (len(numbers) > 1 and not known) or ("0" in numbers and "0" not in known)
                if len(numbers) > 200 or interval or (glued and not known):
                    continue
                for number in numbers:
                    entry = self._called(number, match.start())
                    if entry is None:
                        entry = self._dangling(number, match.start())
                        self._call(entry, number, match.start())
                    self._mark(entry, match.span())
                bracketed = True
            elif known and len(known) == len(numbers):
                # Raised numbers are marks only where a list has them: they may be isotopes and powers.
                for number in known:
                    self._mark_called(number, match.span())
                bracketed = True
        if numbered and not bracketed:
            for match in _BARE_NUMBER.finditer(self._text, 0, self._body):
                numbers = _expanded(match["numbers"])
                if all(n in self._labels for n in numbers):
                    for number in numbers:
                        self._mark_called(number, match.span("numbers"))

    def _labelled(self) -> None:
        """Links by label, as [text][label] and [label], to definitions."""
        for match in _LABELLED.finditer(self._text):
            for label in (match["label"], match["text"]):
                if label and not label.isdigit() and (entry := self._called(label.strip().casefold(), match.start())):
                    if label is match["label"]:
                        entry.title = entry.title or plain(match["text"])
                    self._mark(entry, match.span())
                    break

    def _dangling(self, label: str, place: int) -> Citation:
        entry = Citation(kind="dangling", labels=[label])
        self._found.append(entry)
        self._order[id(entry)] = place
        return entry

    def _mark_called(self, label: str, span: Span) -> None:
        if entry := self._called(label, span[0]):
            self._mark(entry, span)

    def _mark(self, entry: Citation, span: Span) -> None:
        entry.marks.append(span)
        self._marks.add(span)


def _unwrapped(report: str) -> str:
    """A report without the fence of code around it that some models put it in."""
    opening = _WRAPPING.search(report)
    if opening is None:
        return report
    fences = list(re.compile(rf"^{opening['fence']}.*$", re.MULTILINE).finditer(report, opening.end()))
    # When all fences within are paired, the last one closes it; a report that was cut off has none.
    closing = fences[-1] if len(fences) % 2 else None
    low, high = opening.end(), closing.start() if closing else len(report)
    around = report[: opening.start()] + (report[closing.end() :] if closing else "")
    mostly, alone = 2 * (high - low) > len(report), len(fences) == 1 and not around.strip()
    if not (mostly if opening["markdown"] else alone):
        return report
    rest = blanked(closing[0]) + report[closing.end() :] if closing else ""
    return report[: opening.start()] + blanked(opening[0]) + report[low:high] + rest


def _marked(mark: re.Match[str]) -> list[str]:
    """The numbers of a match of `_MARK`."""
    return _expanded(mark["numbers"] or mark["wide"] or mark["sup"] or mark["caret"] or mark["raised"])


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
