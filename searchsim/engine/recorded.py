"""The recorded engine: organic results of a live Serper, asked once, kept in a folder, replayed for ever.

That is how published experiments got their organic results. The organic order stays as recorded; pool documents are
placed by their score on title and snippet, with the recorded list's own statistics, since a live engine tells none.
One JSON file a request; a folder that somebody else recorded replays without a key.
"""

from __future__ import annotations

import calendar
import hashlib
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Literal

import aiohttp
import orjson

from searchsim.corpus import Corpus
from searchsim.documents import Document
from searchsim.engine import FIELDS, Hit, Statistics
from searchsim.errors import EngineError, UsageError
from searchsim.query import Query
from searchsim.relevance import weigh
from searchsim.text import tokens
from searchsim.urls import canonical_url

__all__ = ["MODES", "RecordedEngine", "RecordedSettings", "request_name"]

Mode = Literal["once", "replay", "refresh"]
MODES: tuple[Mode, ...] = ("once", "replay", "refresh")
_UPSTREAM = "https://google.serper.dev"
_SCORED: Mapping[str, float] = {"title": FIELDS["title"], "snippet": FIELDS["body"]}
_TIMEOUT = aiohttp.ClientTimeout(total=60, sock_connect=10)


@dataclass(frozen=True, slots=True)
class RecordedSettings:
    """Where recordings are, and whether more may be made.

    Attributes:
        folder: The folder of recordings.
        mode: ``replay`` asks nobody, and a miss is an error; ``once`` asks for what isn't there; ``refresh`` asks for
            everything again, once in the engine's life.
        upstream: The live API's address.
        key: Its key: sent, never written down.
        pages: Whether the pages of recorded results are recorded too, through the API's scraper.
        scraper: The scraper's address.
        language, country: Sent as ``hl`` and ``gl``, where given.
    """

    folder: Path
    mode: Mode = "replay"
    upstream: str = _UPSTREAM
    key: str | None = field(default=None, repr=False)
    pages: bool = False
    scraper: str = "https://scrape.serper.dev"
    language: str = ""
    country: str = ""

    @classmethod
    def from_environment(cls, corpus: Corpus, **given: Any) -> RecordedSettings:
        """Settings as given, else of the environment (docs/commands.md lists its variables).

        Raises:
            UsageError: The mode isn't one, or asking is wanted and there is no key.
        """
        mode = given.get("mode") or os.environ.get("SEARCHSIM_RECORDED_MODE") or "replay"
        if mode not in MODES:
            raise UsageError(f"no mode {mode!r} of the recorded engine; modes: {', '.join(MODES)}")
        key = given.get("key") or os.environ.get("SEARCHSIM_SERPER_KEY")
        if mode != "replay" and not key:
            raise UsageError(f"mode {mode} asks the live API: set SEARCHSIM_SERPER_KEY, or replay what is recorded")
        folder = given.get("folder") or os.environ.get("SEARCHSIM_RECORDINGS") or corpus.path / "recordings"
        environment = {
            "upstream": "SEARCHSIM_SERPER_URL",
            "scraper": "SEARCHSIM_SERPER_SCRAPE_URL",
            "language": "SEARCHSIM_RECORDED_HL",
            "country": "SEARCHSIM_RECORDED_GL",
        }
        more = {n: given.get(n) or os.environ.get(e) for n, e in environment.items()}
        return cls(
            Path(folder),
            mode,
            key=key,
            pages=bool(given.get("pages") or os.environ.get("SEARCHSIM_RECORDED_PAGES")),
            **{n: str(v).rstrip("/") for n, v in more.items() if v},
        )


def request_name(request: Mapping[str, Any]) -> str:
    """A recording's name: readable words, and the hash of the normalised request."""
    digest = hashlib.sha256(orjson.dumps(dict(request), option=orjson.OPT_SORT_KEYS)).hexdigest()[:20]
    words = re.sub(r"[^a-z0-9\u3400-\u9fff]+", "-", str(request.get("q") or request.get("url")).lower()).strip("-")
    return f"{words[:48].rstrip('-') or 'query'}-{digest}.json"


class RecordedEngine:
    """Replays recordings, and makes those that its mode lets it make."""

    name = "recorded"
    fields = _SCORED

    def __init__(self, corpus: Corpus, settings: RecordedSettings) -> None:
        """Use a folder of recordings.

        Args:
            corpus: Its ``today`` is what relative dates count back from where a recording has no day of its own.
            settings: See `RecordedSettings`.

        Raises:
            UsageError: There is no such folder to replay from, or none can be made.
        """
        if settings.mode == "replay" and not settings.folder.is_dir():
            raise UsageError(f"no recordings in {settings.folder}: record some with --recorded-mode once")
        try:
            for part in ("searches", "pages") if settings.mode != "replay" else ():
                (settings.folder / part).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{settings.folder} can't be made: {error.strerror}") from error
        self._settings = settings
        self._today = corpus.today
        self._asked: dict[str, list[Document]] = {}
        self._lists: dict[Query, list[Document]] = {}
        self._documents: dict[str, Document] = {}
        self._session: aiohttp.ClientSession | None = None
        self._load_documents()

    def _load_documents(self) -> None:
        for file in sorted((self._settings.folder / "searches").glob("*.json")):
            for document in self._rows(_read(file)):
                self._documents.setdefault(document.id, document)

    async def search(self, query: Query, k: int) -> list[Hit]:
        """See `SearchEngine.search`; the organic order is the recorded one, its scores falling along it.

        Raises:
            EngineError: Nothing is recorded for the query and the mode asks nobody, or the live API failed.
        """
        if k <= 0 or not query.text.strip():
            return []
        whole = await self._list(query, k)
        self._lists.setdefault(query, whole)
        rows = whole[:k]
        told = await self.statistics(query)
        scores = sorted((_score(query, told, d) for d in rows), reverse=True)
        return [Hit(document, score) for document, score in zip(rows, scores, strict=True)]

    async def statistics(self, query: Query) -> Statistics:
        """See `SearchEngine.statistics`: those of the query's recorded list, the first that was asked for."""
        return _statistics(query, self._lists.get(query, []))

    async def document(self, id_: str) -> Document | None:
        """See `SearchEngine.document`."""
        document = self._documents.get(id_)
        return await self._with_page(document) if document else None

    async def document_at(self, url: str) -> Document | None:
        """See `SearchEngine.document_at`; the body is the recorded page's, empty where none is recorded."""
        return await self.document(_id(url))

    async def close(self) -> None:
        """See `SearchEngine.close`."""
        if self._session is not None:
            await self._session.close()

    # --- recordings ---------------------------------------------------------------------------------------------

    def _request(self, query: Query, k: int) -> dict[str, Any]:
        """A query as it is asked and hashed: text with white space folded, and only what differs from the default."""
        request: dict[str, Any] = {"endpoint": "news" if query.kinds == ("news",) else "search"}
        request["q"] = " ".join(query.text.split())
        request["num"] = max(10, -(-k // 10) * 10)
        if query.tbs:
            request["tbs"] = query.tbs
        if self._settings.language:
            request["hl"] = self._settings.language
        if self._settings.country:
            request["gl"] = self._settings.country
        return request

    async def _list(self, query: Query, k: int) -> list[Document]:
        request = self._request(query, k)
        name = request_name(request)
        if name in self._asked:
            return self._asked[name]
        file = self._settings.folder / "searches" / name
        if file.is_file() and self._settings.mode != "refresh":
            rows = self._rows(_read(file))
        elif self._settings.mode == "replay":
            raise EngineError(f"nothing is recorded for {request['q']!r} ({name}): record it with --recorded-mode once")
        else:
            sent = {n: v for n, v in request.items() if n != "endpoint"}
            answer = await self._ask(f"{self._settings.upstream}/{request['endpoint']}", sent)
            recorded = {"request": request, "recorded": date.today().isoformat(), "answer": answer}
            rows = self._rows(recorded)
            _write(file, recorded)
        for document in rows:
            self._documents.setdefault(document.id, document)
        self._asked[name] = rows
        return rows

    async def _with_page(self, document: Document) -> Document:
        name = request_name({"url": canonical_url(document.url)})
        file = self._settings.folder / "pages" / name
        if file.is_file():
            page = _read(file)["answer"]
        elif self._settings.pages and self._settings.mode != "replay":
            page = await self._ask(self._settings.scraper, {"url": document.url, "includeMarkdown": True})
            _write(file, {"request": {"url": document.url}, "recorded": date.today().isoformat(), "answer": page})
        else:
            return document
        body = page.get("markdown") or page.get("text") or ""
        return replace(document, body=str(body))

    async def _ask(self, url: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=_TIMEOUT)
        headers = {"X-API-KEY": self._settings.key or "", "Content-Type": "application/json"}
        try:
            async with self._session.post(url, data=orjson.dumps(dict(fields)), headers=headers) as response:
                raw = await response.read()
                status = response.status
        except (aiohttp.ClientError, TimeoutError) as error:
            raise EngineError(f"the live API can't be reached: {type(error).__name__}: {error}") from error
        try:
            answer = orjson.loads(raw)
        except orjson.JSONDecodeError as error:
            raise EngineError(f"the live API answered {status} without JSON") from error
        if status >= 400 or not isinstance(answer, dict):
            message = answer.get("message") if isinstance(answer, dict) else ""
            raise EngineError(f"the live API answered {status}: {message}")
        return answer

    def _rows(self, recorded: Mapping[str, Any]) -> list[Document]:
        """The documents of a recording, in its order; rows without title or link, and repeated links, are left out."""
        endpoint = recorded["request"].get("endpoint", "search")
        rows = recorded["answer"].get("news" if endpoint == "news" else "organic")
        day = date.fromisoformat(recorded["recorded"]) if "recorded" in recorded else self._today
        language = str(recorded["request"].get("hl") or "")
        found: dict[str, Document] = {}
        for row in rows if isinstance(rows, list) else []:
            if isinstance(row, dict) and row.get("title") and row.get("link"):
                document = _document(row, endpoint, day, language)
                found.setdefault(document.id, document)
        return list(found.values())


def _id(url: str) -> str:
    return f"web-{hashlib.sha256(canonical_url(url).encode()).hexdigest()[:20]}"


def _document(row: Mapping[str, Any], endpoint: str, day: date, language: str) -> Document:
    link = str(row["link"])
    return Document(
        id=_id(link),
        url=link,
        title=str(row["title"]),
        body="",
        source_name=str(row.get("source") or ""),
        kind="news" if endpoint == "news" else "reference",
        language=language or ("zh" if re.search(r"[\u3400-\u9fff]", str(row["title"])) else "en"),
        published=_day(str(row.get("date") or ""), day),
        snippet=" ".join(str(row.get("snippet") or "").split()) or None,
    )


_MONTHS = {m: n for n, m in enumerate(calendar.month_abbr) if m}
_UNITS = {"minute": 0, "hour": 0, "day": 1, "week": 7, "month": 30, "year": 365}


def _day(shown: str, recorded: date) -> date | None:
    """The day that a result shows: "May 10, 2026", "5 days ago", "2024年4月23日", "5天前"; None where it isn't one."""
    text = shown.strip().lower()
    try:
        if m := re.fullmatch(r"([a-z]{3})[a-z]*\.? (\d{1,2}), (\d{4})", text):
            return date(int(m[3]), _MONTHS[m[1].title()], int(m[2]))
        if m := re.fullmatch(r"(\d{1,2}) ([a-z]{3})[a-z]*\.? (\d{4})", text):
            return date(int(m[3]), _MONTHS[m[2].title()], int(m[1]))
        if m := re.fullmatch(r"(\d{4})年(\d{1,2})月(\d{1,2})日", text):
            return date(int(m[1]), int(m[2]), int(m[3]))
        if m := re.fullmatch(r"(\d{4})-(\d{2})-(\d{2})", text):
            return date(int(m[1]), int(m[2]), int(m[3]))
        if m := re.fullmatch(r"(\d+|an?) (minute|hour|day|week|month|year)s? ago", text):
            count = int(m[1]) if m[1].isdigit() else 1
            return recorded - timedelta(days=count * _UNITS[m[2]])
        if m := re.fullmatch(r"(\d+) ?(分钟|小时|天|周|个月|年)前", text):
            units = {"分钟": 0, "小时": 0, "天": 1, "周": 7, "个月": 30, "年": 365}
            return recorded - timedelta(days=int(m[1]) * units[m[2]])
    except (ValueError, KeyError, OverflowError):
        return None
    return None


def _score(query: Query, told: Statistics, document: Document) -> float:
    streams = {name: tokens(getattr(document, name) or "") for name in _SCORED}
    return weigh(streams, {name: Counter(stream) for name, stream in streams.items()}, query, told, _SCORED)


def _statistics(query: Query, rows: Sequence[Document]) -> Statistics:
    words = set(query.words)
    count = max(len(rows), 1)
    lengths: dict[str, float] = {}
    frequency: dict[tuple[str, str], int] = {}
    for name in _SCORED:
        streams = [tokens(getattr(d, name) or "") for d in rows]
        lengths[name] = sum(map(len, streams)) / count or 1.0
        sets = [set(s) for s in streams]
        frequency.update({(name, w): sum(w in s for s in sets) for w in words})
    return Statistics(dict.fromkeys(_SCORED, count), lengths, frequency)


def _read(file: Path) -> dict[str, Any]:
    try:
        recorded = orjson.loads(file.read_bytes())
        if not isinstance(recorded["request"], dict) or not isinstance(recorded["answer"], dict):
            raise TypeError("request and answer must be objects")
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise EngineError(f"{file} is no recording ({error}): delete it, and record it again") from error
    result: dict[str, Any] = recorded
    return result


def _write(file: Path, recorded: Mapping[str, Any]) -> None:
    """Write a recording whole or not at all."""
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    beside.write_bytes(orjson.dumps(dict(recorded), option=orjson.OPT_INDENT_2))
    beside.replace(file)
