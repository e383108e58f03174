"""The full texts of what reports cite: from a corpus, a folder of recordings, or files.

A folder of files tells which address each file has by an index (``index.json``, ``index.jsonl`` or ``index.csv``), by
front matter (``url: …`` between two lines of three dashes), or by the file's name, which is the address with whatever a
file's name can't hold replaced (``arxiv.org_abs_2301.12345.txt``, ``2301.12345.md``, ``https%3A%2F%2Fa.org%2Fx.txt``).
"""

from __future__ import annotations

import csv
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote

import orjson
import yaml

from searchsim import corpus as corpora
from searchsim.corpus import Corpus
from searchsim.errors import UsageError
from searchsim.scoring.smoothing.citations import Citation
from searchsim.urls import cited_url

__all__ = [
    "CorpusSources",
    "FileSources",
    "RecordedSources",
    "Source",
    "Sources",
    "Unreadable",
    "open_sources",
    "resolve",
]


class Unreadable(Exception):  # noqa: N818 - what a document is, not what went wrong here
    """A document is there, and its text can't be had; the message says why."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a document's text is.

    Attributes:
        name: What it is called there: a document's id, a file's name.
        title: Its title; empty where unknown.
        read: Gives its text. Raises `Unreadable`.
    """

    name: str
    title: str
    read: Callable[[], str]


class Sources(Protocol):
    """Finds texts by address."""

    def find(self, addresses: Collection[str]) -> Mapping[str, Source]:
        """The sources that there are of some addresses, by address.

        Args:
            addresses: As `searchsim.urls.cited_url` writes them.

        Raises:
            UsageError: The index or a line of it can't be used.
        """
        ...


class CorpusSources:
    """A corpus, its misleading documents among them: what worlds serve."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    @property
    def canary(self) -> str:
        """The corpus's."""
        return self._corpus.canary

    def find(self, addresses: Collection[str]) -> Mapping[str, Source]:
        """See `Sources.find`."""
        wanted = frozenset(addresses)
        found: dict[str, Source] = {}
        for document in chain(self._corpus.documents(), *self._corpus.misleading.values()):
            if (address := cited_url(document.url)) in wanted:
                found.setdefault(address, Source(document.id, document.title, partial(str, document.body)))
        return found


class RecordedSources:
    """The pages that the recorded engine keeps."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, addresses: Collection[str]) -> Mapping[str, Source]:
        """See `Sources.find`."""
        found: dict[str, Source] = {}
        for file in sorted((self._folder / "pages").glob("*.json")):
            # A recording is read again when its text is wanted: they may be many, and long.
            recorded = _json(file)
            try:
                address = cited_url(recorded["request"]["url"])
                title = str((recorded["answer"].get("metadata") or {}).get("title") or "")
            except (KeyError, TypeError, AttributeError) as error:
                raise UsageError(f"{file} is no recorded page: it needs request.url and answer") from error
            if address in addresses:
                found.setdefault(address, Source(_name(file), title, partial(_recorded_text, file)))
        return found


class FileSources:
    """Files of a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, addresses: Collection[str]) -> Mapping[str, Source]:
        """See `Sources.find`. The index comes before front matter, and that before names."""
        wanted = frozenset(addresses)
        found: dict[str, Source] = {}
        for address, source in chain(self._indexed(), self._front()):
            if address in wanted:
                found.setdefault(address, source)
        names: dict[str, set[Path]] = {}
        for file in self._files():
            for name in _said(file):
                names.setdefault(name, set()).add(file)
        meant = Counter(name for address in wanted for name in _names(address))
        for address in sorted(wanted - set(found)):
            files = {f for name in _names(address) if meant[name] == 1 for f in names.get(name, ())}
            # A name that may be two addresses, or two files that may be one, would be a guess.
            if len(files) == 1:
                found[address] = _file(files.pop())
        return found

    def _files(self) -> Iterator[Path]:
        for file in sorted(self._folder.rglob("*")):
            inside = file.relative_to(self._folder)
            if file.is_file() and not inside.name.startswith(".") and str(inside) not in _INDEXES:
                yield file

    def _indexed(self) -> Iterator[tuple[str, Source]]:
        for name in _INDEXES:
            if (index := self._folder / name).is_file():
                for row in _rows(index):
                    yield from self._row(row, index)

    def _row(self, row: Mapping[str, Any], index: Path) -> Iterator[tuple[str, Source]]:
        url, file, title = row.get("url"), row.get("file"), str(row.get("title") or "")
        text = row.get("text") or row.get("body")
        if not isinstance(url, str) or not (isinstance(file, str) or isinstance(text, str)):
            raise UsageError(f"{index.name}: each entry needs url, and file or text: {str(row)[:120]}")
        source = _file(self._folder / file, title) if isinstance(file, str) and file else None
        yield cited_url(url), source or Source(url, title, partial(str, text))

    def _front(self) -> Iterator[tuple[str, Source]]:
        for file in self._files():
            if file.suffix.lower() in _TEXT:
                try:
                    with file.open("rb") as stream:
                        head = stream.read(_HEAD).decode("utf-8", "replace")
                except OSError:
                    continue  # Whoever finds it by its name is told.
                facts, _ = _front_matter(head)
                if isinstance(url := facts.get("url"), str):
                    yield cited_url(url), _file(file, str(facts.get("title") or ""))


_INDEXES = ("index.json", "index.jsonl", "index.csv")
_TEXT = (".txt", ".md", ".markdown", ".text")
_HTML = (".html", ".htm", ".xhtml")
_BLOCKS = ["p", "div", "li", "tr", "td", "th", "br", "h1", "h2", "h3", "h4", "h5", "h6", "section", "blockquote", "pre"]
_HEAD = 16_384
_FRONT = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)


def open_sources(name: str) -> Sources:
    """The sources that a command line names: a folder of files or of recordings, or a corpus by name or path.

    Raises:
        UsageError: There is no such folder or corpus.
        CorpusError: The corpus has faults.
    """
    folder = Path(name)
    if not folder.is_dir() or (folder / "corpus.yaml").is_file():
        try:
            return CorpusSources(corpora.load(name))
        except UsageError as error:
            if folder.exists() and folder.is_dir():
                raise
            raise UsageError(f"{name}: no such folder of documents, and no corpus of this name") from error
    if (folder / "pages").is_dir() and (folder / "searches").is_dir():
        return RecordedSources(folder)
    return FileSources(folder)


def resolve(documents: Iterable[Citation], sources: Sources) -> dict[str, Source]:
    """The source of each cited document that there is one of, by the document's id."""
    listed = list(documents)
    found = sources.find({a for d in listed for a in d.addresses})
    return {d.id: next(found[a] for a in d.addresses if a in found) for d in listed if set(d.addresses) & set(found)}


def _json(file: Path) -> Any:
    try:
        return orjson.loads(file.read_bytes())
    except orjson.JSONDecodeError as error:
        raise UsageError(f"{file}: not a JSON value: {error}") from error


def _recorded_text(file: Path) -> str:
    answer = _json(file)["answer"]
    return _sound(str(answer.get("markdown") or answer.get("text") or ""))


def _rows(index: Path) -> Iterator[Mapping[str, Any]]:
    """The entries of an index, each an object."""
    if index.suffix == ".csv":
        try:
            with index.open(encoding="utf-8-sig", newline="") as lines:
                yield from csv.DictReader(lines)
        except UnicodeDecodeError as error:
            raise UsageError(f"{index.name}: not UTF-8") from error
        except csv.Error as error:
            raise UsageError(f"{index.name}: {error}; long texts go into files of their own") from error
        return
    if index.suffix == ".jsonl":
        with index.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    row = orjson.loads(line) if line.strip() else None
                except orjson.JSONDecodeError as error:
                    raise UsageError(f"{index.name}:{number}: not a JSON value: {error}") from error
                if row is not None:
                    yield _object(row, index)
        return
    whole = _json(index)
    if isinstance(whole, dict):
        whole = [{"url": url, **(to if isinstance(to, dict) else {"file": to})} for url, to in whole.items()]
    if not isinstance(whole, list):
        raise UsageError(f"{index.name}: neither an object of files by URL nor a list of objects with url and file")
    for row in whole:
        yield _object(row, index)


def _object(row: object, index: Path) -> Mapping[str, Any]:
    if not isinstance(row, dict):
        raise UsageError(f"{index.name}: an entry is no object: {str(row)[:120]}")
    return row


def _file(file: Path, title: str = "") -> Source:
    return Source(_name(file), title, partial(_file_text, file))


def _name(file: Path) -> str:
    """A file's name as text, whatever bytes it is made of."""
    return os.fsencode(file.name).decode("utf-8", "replace")


def _file_text(file: Path) -> str:
    """A file's text.

    Raises:
        Unreadable: It isn't there, can't be opened, is no text, or is empty.
    """
    name = _name(file)
    if not os.path.isfile(file):  # noqa: PTH113 - what no file can be called is none, where Path.is_file raises
        raise Unreadable(f"the index names {name[:200]}, which isn't there")
    suffix = file.suffix.lower()
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise Unreadable(f"{name} can't be opened: {error.strerror}") from error
    if suffix == ".pdf" or raw.startswith(b"%PDF"):
        raise Unreadable(f"{name} is a PDF: put its text beside it as .txt")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable(f"{name} isn't UTF-8") from error
    if suffix in _HTML:
        text = _shown(text)
    return _sound(_front_matter(text)[1] if suffix in _TEXT else text)


def _shown(page: str) -> str:
    """What a page of HTML shows."""
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(page, "html.parser")
    for hidden in soup(["script", "style", "template", "noscript", "head"]):
        hidden.decompose()
    for block in soup(_BLOCKS):
        block.append("\n")
    return re.sub(r"[ \t]*\n\s*", "\n", soup.get_text()).strip()


def _sound(text: str) -> str:
    if not text.strip():
        raise Unreadable("its text is empty")
    # A lone half of a character can be sent nowhere.
    return text.replace("\r\n", "\n").encode("utf-8", "replace").decode()


def _front_matter(text: str) -> tuple[dict[str, Any], str]:
    """The facts between three dashes at a file's head, and the text below them."""
    match = _FRONT.match(text)
    if not match:
        return {}, text
    try:
        # All values as text: a date that there isn't is no reason to lose an address.
        facts = yaml.load(match[1], yaml.BaseLoader)  # noqa: S506 - it makes text, lists and mappings only
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError):
        return {}, text
    return (facts, text[match.end() :]) if isinstance(facts, dict) else ({}, text)


def _said(file: Path) -> set[str]:
    """What a file's name may say, as slugs: its ending may be the address's own."""
    ends = (*_TEXT, *_HTML, ".pdf")
    bare = file.name.removesuffix(file.suffix) if file.suffix.lower() in ends else file.name
    return {_slug(unquote(bare)), _slug(unquote(file.name))}


def _slug(text: str) -> str:
    """An address, or what a file's name says of one, with all that a name can't hold written alike."""
    bare = re.sub(r"^(?:https?[^a-z0-9]+)?(?:www\.)?", "", text.lower())
    if m := re.fullmatch(r"(?:arxiv(?:\.org[^a-z0-9]+(?:abs|pdf|html))?[^a-z0-9]*)?(\d{4}\.\d{4,5})(?:v\d+)?", bare):
        bare = f"arxiv.org/abs/{m[1]}"
    elif re.match(r"10\.\d{4,9}[^a-z0-9]", bare):
        bare = f"doi.org/{bare}"
    return re.sub(r"[^a-z0-9\u0080-\U0010ffff]+", "-", bare).strip("-")


def _names(address: str) -> set[str]:
    """What a file of an address may be called, as a slug."""
    return {_slug(address), _slug(unquote(address))}
