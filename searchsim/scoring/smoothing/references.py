"""Addresses and references in Markdown: links, URLs, DOIs, and the entries of lists of references."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from searchsim.scoring import exposure
from searchsim.urls import cited_url

__all__ = [
    "LINK",
    "NAMED",
    "URL",
    "Entry",
    "References",
    "addresses",
    "blanked",
    "headed",
    "plain",
    "target",
    "trimmed",
    "unescaped",
    "unheaded",
]

Entry = tuple[str, str, int]
"""An entry of a list: number (empty for none), text, place."""


@dataclass(frozen=True, slots=True)
class References:
    """A list of references.

    Attributes:
        head: Where its heading begins, or it does itself.
        start: Where it begins.
        end: Where it ends.
        entries: Its entries, in order.
    """

    head: int
    start: int
    end: int
    entries: list[Entry]


LINK = re.compile(
    r"(?P<image>!?)\[(?P<text>(?:[^\[\]\\]|\\.|\[[^\[\]]{0,500}\]){0,2000})\]"
    r"\(\s*(?:<(?P<angled>[^<>\n]{0,4000})>|(?P<url>(?:[^\s()\\]|\\.|\((?:[^\s()\\]|\\.)*\)){0,4000}))"
    r"(?:\s+(?:\"[^\"]{0,500}\"|'[^']{0,500}'|\([^)]{0,500}\)))?\s*\)",
    re.DOTALL,
)
"""A link or an image: groups image, text, and angled or url."""

URL = re.compile(r"https?://[^\s<>\"'\]|）】，。；、》」]+", re.IGNORECASE)
"""A URL, with whatever closes the sentence around it; see `trimmed`."""

NAMED = re.compile(
    r"(?<![\w/.])(?:(?P<arxiv>arxiv:\s?(?P<id>\d{4}\.\d{4,5}|[a-z-]+(?:\.[a-z]{2})?/\d{7})(?:v\d+)?)"
    r"|(?P<doi>doi:?\s?10\.\d{4,9}/[^\s\"<>\]]+))",
    re.IGNORECASE,
)
"""A paper by its DOI or arXiv number."""

_SHY = re.compile(
    r"(?<![\w/.@-])(?P<doi>10\.\d{4,9}/[^\s\"<>\]]+)|(?<![\w/.@-])(?P<www>www\.[^\s<>\"\])]+)", re.IGNORECASE
)
"""What is an address where references stand, and may be anything elsewhere."""


_HEADING = re.compile(
    r"^[ \t]{0,3}(?:(?P<level>#{1,6})[ \t]+(?P<plain>.+?)[ \t#]*"
    r"|(?P<strong>\*\*|__)(?P<bold>[^*_\n]+)(?P=strong):?[ \t]*"
    r"|<h[1-6]\b[^>\n]*>(?P<html>[^\n]+?)</h[1-6]>[ \t]*"
    r"|(?P<bare>[^\n|]{2,40}?):?[ \t]*)$",
    re.MULTILINE | re.IGNORECASE,
)
_SOURCES = re.compile(
    r"(?:(?:appendix|annex)(?: [a-z]| \d+)?[ –-]*|\d+|[ivx]+)?[\s.:、]*(?:"
    r"(?:list of |key |cited |all |main |selected |web |annotated |full )*"
    r"(?:references?|citations?|sources?|works cited|bibliography|literature cited|endnotes|footnotes)"
    r"(?:(?: and | ?[&/] ?| )(?:cited|used|consulted|selected|list|links|urls|notes|citations|references|sources"
    r"|(?:further|additional) reading))*"
    r"|quellen(?:verzeichnis|angaben|nachweise?)?|literatur(?:verzeichnis|angaben|nachweise?)?|referenzen"
    r"|références(?: bibliographiques)?|bibliographie|referencias(?: bibliográficas)?|bibliografía|fuentes"
    r"|referências(?: bibliográficas)?|bibliografia|fontes|riferimenti(?: bibliografici)?|fonti|bronnen"
    r"|литература|источники|список (?:литературы|источников)|참고 ?문헌|출처|出典"
    r"|参考(?:文献|资料|来源|链接)|引用(?:文献|来源|资料)?|资料来源|信息来源|来源"
    r"|參考(?:文獻|資料)|引用文獻|資料來源|参考資料)",
    re.IGNORECASE,
)
_ENTRY = re.compile(
    r"^[ \t]{0,8}(?:[-*+•][ \t]+)?(?:<a [^>]*>(?:</a>)?[ \t]*)?"
    r"(?:(?:\*\*)?(?:\\?\[\\?\^?(?P<square>\d{1,3})\\?\^?\\?\]|【(?P<wide>\d{1,3})】|\((?P<round>\d{1,3})\)|\^(?P<caret>\d{1,3})\^?"
    r"|<sup>\[?(?P<sup>\d{1,3})\]?</sup>|(?P<plain>\d{1,3})(?:\\?[.)]|、|:))(?:\*\*)?[:.)]?[ \t]*(?=\S)|(?P<bullet>))"
)
_ROW = re.compile(r"^[ \t]*\|[ \t]*\[?(?P<label>\d{1,3})\]?\.?[ \t]*\|")


def headed(text: str) -> Iterator[References]:
    """The lists of references under headings that say so, each up to the next heading or to what is no entry of it."""
    for (head, start, sources), (end, _, _) in pairwise([*_headings(text), (len(text), len(text), False)]):
        if not sources:
            continue
        listed = [(label, entry, start + place) for label, entry, place in _entries(text[start:end])]
        real = [bool(label or addresses(entry)) for label, entry, _ in listed]
        if not any(real):
            continue
        last = len(real) - real[::-1].index(True)
        # What follows a numbered list's last entry is text again, unless there is the like between its entries.
        if last < len(listed) and all(real[real.index(True) : last]) and any(label for label, _, _ in listed):
            yield References(head, start, listed[last][2], listed[:last])
        else:
            yield References(head, start, end, listed)


def unheaded(text: str) -> Iterator[References]:
    """What may be lists under other headings or none, the last one first: numbered entries, most with addresses."""
    found: list[References] = []
    for (head, start, _), (end, _, _) in pairwise([(0, 0, False), *_headings(text), (len(text), len(text), False)]):
        run: list[Entry] = []
        for label, entry, place in [*_entries(text[start:end]), ("", "", end - start)]:
            if run and label != str(int(run[-1][0]) + 1):
                if 2 * sum(bool(addresses(e)) for _, e, _ in run) >= max(len(run), 4):
                    begin = text.rfind("\n", 0, run[0][2]) + 1
                    top = begin if text[start:begin].strip() else head
                    found.append(References(top, begin, run[-1][2] + len(run[-1][1]), run))
                run = []
            if label:
                run.append((label, entry, start + place))
    yield from reversed(found)


def _headings(text: str) -> list[tuple[int, int, bool]]:
    """Where headings begin and end, and whether they say that references follow."""
    found = []
    for match in _HEADING.finditer(text):
        dressed = match["plain"] or match["bold"] or match["html"] or match["bare"]
        # Whatever emphasis, brackets and pictures it is dressed with.
        title = unicodedata.normalize("NFC", re.sub(r"<[^>]{1,200}>|_", "", dressed))
        title = " ".join(re.sub(r"[^\w\s.:/&、–-]", "", title).split()).rstrip(": ")
        sources = bool(_SOURCES.fullmatch(title))
        # A line without any dress is a heading only where it says so.
        if sources or not match["bare"]:
            found.append((match.start(), match.end(), sources))
    return found


def _entries(section: str) -> Iterator[Entry]:
    """The entries of a list; their places are in it."""
    lines: list[str] = []
    label, place, at = "", 0, 0
    started = blank = False
    for line in section.splitlines(keepends=True):
        row = _ROW.match(line)
        entry = _ENTRY.match(line)
        number = (row and row["label"]) or (entry and next((g for g in entry.groups() if g), "")) or ""
        indented = re.match(r"[ \t]{2,}", line)
        # A bullet under a number belongs to it.
        bullet = re.match(r"[ \t]{0,3}[-*+•|][ \t]", line) and not (label and indented)
        new = bool(number) or bullet or (blank and line.strip() and not indented)
        if line.strip() and (new or not started):
            if started:
                yield label, "".join(lines), place
            head = row.end() if row else entry.end() if entry and number else 0
            label, lines, place, started = number, [line[head:]], at + head, True
        else:
            lines.append(line)
        blank = not line.strip()
        at += len(line)
    if started:
        yield label, "".join(lines), place


def addresses(text: str) -> dict[str, str]:
    """The addresses in an entry, in order and each once, with their links' texts."""
    listed: list[tuple[int, str, str]] = []

    def take(match: re.Match[str]) -> str:
        if not match["image"] and (url := target(match)):
            listed.append((match.start(), url, plain(match["text"])))
            return blanked(match[0])
        return match["text"].rjust(match.end("text") - match.start()).ljust(match.end() - match.start())

    rest = LINK.sub(take, text)
    for pattern in (URL, NAMED, _SHY):
        for match in pattern.finditer(rest):
            listed += [(match.start(), url, "") for url, _ in trimmed(match)]
        rest = pattern.sub(lambda m: blanked(m[0]), rest)
    # A site's name beside an address in it says who speaks: entries that share it are different documents.
    named = [one for one in listed if not re.fullmatch(r"https://www\.[^/]+", one[1])] or listed
    found: dict[str, tuple[str, str]] = {}
    for _, url, title in sorted(named):
        found.setdefault(cited_url(url), (url, title))
    return dict(found.values())


def target(link: re.Match[str]) -> str:
    """The URL that a link leads to; empty where it leads elsewhere."""
    href = unescaped(link["angled"] if link["angled"] is not None else link["url"])
    return href if re.fullmatch(r"(?i)https?://\S+", href) else ""


def trimmed(match: re.Match[str]) -> list[tuple[str, int]]:
    """The URL of a match, without what closes the sentence around it, and how many characters of the text it takes."""
    named = match.groupdict()
    if named.get("arxiv"):
        return [(f"https://arxiv.org/abs/{named['id']}", len(match[0]))]
    shown = match[0]
    if named.get("doi") or named.get("www"):
        bare = re.sub(r"(?i)^doi:?\s?", "", shown)
        prefix = "https://doi.org/" if named.get("doi") else "https://"
        urls = exposure.citations(prefix + bare)
        return [(unescaped(urls[0]), len(shown) - len(bare) + len(urls[0]) - len(prefix))] if urls else []
    urls = exposure.citations(shown)
    return [(unescaped(urls[0]), len(urls[0]))] if urls else []


def unescaped(url: str) -> str:
    """A URL without Markdown's backslashes and HTML's entities."""
    return html.unescape(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", url)).strip()


def plain(text: str) -> str:
    """Text without Markdown's dress and addresses."""
    bare = LINK.sub(lambda m: "" if m["image"] else m["text"], text)
    bare = re.sub(r"\\([!-/:-@\[-`{-~])|[*_`|]|<[^>]{1,200}>", r"\1", bare)
    return " ".join(re.sub(r"\[\s*\]|\(\s*\)", "", URL.sub("", bare)).split()).strip(" .,;:-–")


def blanked(text: str) -> str:
    """As many characters that say nothing; lines stay lines."""
    return re.sub(r"[^\n]", " ", text)
