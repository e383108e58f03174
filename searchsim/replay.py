"""Record and replay of model answers: what makes a treated run the counterfactual of its control.

An answer is kept by its lane (corpus, task, agent, the agent's version, model, repetition), its branch (one run of
that lane), the hash of the normalised request, and the request's occurrence number in the run. The world's key, the
server's address and the run's folder are no part of a request.

A treated run in counterfactual mode gets the control's answer to every request that the control made too, also after a
miss, and the live model's to the rest, which are kept in a branch of its own. Both runs then share everything before
the first injected list.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from enum import Enum
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any
from urllib.parse import quote

import orjson

from searchsim.errors import UsageError
from searchsim.trace import Event

__all__ = ["Answers", "Asked", "Branch", "Lane", "Mode", "Names", "Recorded", "Replay", "Request", "Steps", "steps"]


class Mode(Enum):
    """Where a world's model answers come from."""

    LIVE = "live"
    RECORD = "record"
    COUNTERFACTUAL = "counterfactual"
    REPLAY = "replay"


@dataclass(frozen=True, slots=True)
class Lane:
    """Whose answers they are: runs of one lane differ in nothing but their condition."""

    corpus: str
    task: str
    agent: str
    agent_version: str
    model: str
    repetition: int = 1

    @property
    def id(self) -> str:
        """The lane as a store's key."""
        return orjson.dumps(asdict(self), option=orjson.OPT_SORT_KEYS).decode()


@dataclass(frozen=True, slots=True)
class Asked:
    """A request for a model's answer, or for embeddings, as a trace tells of it.

    Attributes:
        request: Its hash and occurrence number.
        kind: ``model`` or ``embedding``.
        origin: ``live`` or ``replayed``.
        lists: How many lists the world had served when it came.
        exposed: Whether anything injected was among them, or an injected page.
    """

    request: str
    kind: str = "model"
    origin: str = "live"
    lists: int = 0
    exposed: bool = False


@dataclass(frozen=True, slots=True)
class Steps:
    """What a run did, as far as another run can be held against it.

    Attributes:
        lists: (endpoint, query, tbs) of each list, in the order of their numbers.
        asked: The requests to models, in order; one that was made again since its stream broke off stands once.
        injected: The number of the first list that served an injected document; None for none.
    """

    lists: tuple[tuple[str, str, str], ...] = ()
    asked: tuple[Asked, ...] = ()
    injected: int | None = None

    @property
    def before(self) -> tuple[Asked, ...]:
        """The requests that came before anything injected was served."""
        return tuple(a for a in self.asked if not a.exposed)

    def record(self) -> dict[str, Any]:
        """The steps as JSON; whether they were exposed is no matter of a control."""
        return {"lists": [list(x) for x in self.lists], "asked": [[a.request, a.lists] for a in self.asked]}

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Steps:
        """Steps from their JSON."""
        return cls(
            tuple((e, q, t) for e, q, t in record["lists"]), tuple(Asked(r, lists=n) for r, n in record["asked"])
        )

    def differs(self, control: Steps) -> list[str]:
        """Where the part before the first injected list isn't the control's; empty where it is.

        The lists up to the injected one must be the control's, and so must the requests that came before it, whatever
        their order (an agent may ask side by side). A run that was served nothing injected is compared whole.

        Args:
            control: The steps of the control.
        """
        found = []
        pairs = islice(zip_longest(self.lists, control.lists), self.injected)
        for number, both in enumerate(pairs, start=1):
            if both[0] != both[1]:
                told = [f"it made no list {number}" if x is None else repr(x[1][:80]) for x in both]
                found.append(f"list {number} isn't the control's: {told[0]}, the control: {told[1]}")
        new = [n for n, a in enumerate(self.asked, start=1) if not a.exposed and a.origin != "replayed"]
        if new:
            several = ", ".join(str(n) for n in new[:5]) + (" …" if len(new) > 5 else "")
            found.append(f"model calls {several} weren't the control's, and nothing injected had been served by then")
            return found
        wanted = [a.request for a in control.asked if self.injected is None or a.lists < self.injected]
        if left := Counter(wanted) - Counter(a.request for a in self.before):
            found.append(f"{left.total()} of the {len(wanted)} model calls that the control made by then weren't made")
        return found


def steps(events: Iterable[Event]) -> Steps:
    """The steps that a world's trace tells of."""
    lists: dict[int, tuple[str, str, str]] = {}
    asked: dict[str, Asked] = {}
    injected: int | None = None
    for event in events:
        if event["event"] == "search":
            lists.setdefault(event["list"], (event["endpoint"], event["query"], event["tbs"]))
            if any(s["injected"] for s in event["served"]):
                injected = min(event["list"], injected or event["list"])
        elif event["event"] in ("model", "embedding"):
            request = f"{event['request']}#{event['occurrence']}"
            asked[request] = Asked(request, event["event"], event["origin"], event["lists"], event["exposed"])
    return Steps(tuple(lists[n] for n in sorted(lists)), tuple(asked.values()), injected)


@dataclass(frozen=True, slots=True)
class Branch:
    """One run's answers.

    Attributes:
        id: Drawn.
        steps: What the run did; known when it has ended.
        facts: What its maker kept with it, e.g. the world's key.
    """

    id: str
    steps: Steps = field(default_factory=Steps)
    facts: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recorded answer.

    Attributes:
        answer: The whole of it.
        chunks: As it was streamed; None where it wasn't.
    """

    answer: dict[str, Any]
    chunks: list[dict[str, Any]] | None = None


class Answers:
    """The store of answers: one SQLite file, which several processes may use at once."""

    def __init__(self, path: Path) -> None:
        """Open the store, or make it.

        Args:
            path: The file.

        Raises:
            UsageError: It can't be used.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, isolation_level=None, timeout=60)
            # Changing the mode doesn't wait for another process that does so; whoever comes first has done it.
            with suppress(sqlite3.OperationalError):
                self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.executescript(
                """
                CREATE TABLE IF NOT EXISTS branch (
                    id TEXT PRIMARY KEY, lane TEXT NOT NULL, condition TEXT NOT NULL, facts BLOB NOT NULL,
                    ended INTEGER, steps BLOB
                );
                CREATE INDEX IF NOT EXISTS branch_lane ON branch (lane, condition, ended);
                CREATE TABLE IF NOT EXISTS answer (
                    branch TEXT NOT NULL, kind TEXT NOT NULL, hash TEXT NOT NULL, occurrence INTEGER NOT NULL,
                    request BLOB NOT NULL, answer BLOB NOT NULL, chunks BLOB,
                    PRIMARY KEY (branch, kind, hash, occurrence)
                );
                """
            )
        except (sqlite3.Error, OSError) as error:
            with suppress(AttributeError):
                self._db.close()
            raise UsageError(f"the answers' file {path} can't be used ({error}): name another one") from error

    def begin(self, lane: Lane, condition: str, facts: Mapping[str, Any] | None = None) -> Branch:
        """A new branch.

        Args:
            lane: Whose.
            condition: ``control``, or the name of the treated run's condition.
            facts: Kept with it.
        """
        branch = Branch(secrets.token_hex(8), facts=dict(facts or {}))
        self._db.execute(
            "INSERT INTO branch VALUES (?, ?, ?, ?, NULL, NULL)",
            (branch.id, lane.id, condition, orjson.dumps(branch.facts)),
        )
        return branch

    def end(self, branch: Branch, done: Steps) -> None:
        """Note that a branch's run has ended and was valid: from now on others may be held against it.

        Args:
            branch: The branch.
            done: What its run did.
        """
        self._db.execute(
            "UPDATE branch SET ended = 1 + (SELECT coalesce(max(ended), 0) FROM branch), steps = ? WHERE id = ?",
            (orjson.dumps(done.record()), branch.id),
        )

    def find(self, lane: Lane, condition: str, world: str | None = None) -> Branch | None:
        """The branch of a condition that ended last.

        Args:
            lane: Whose.
            condition: See `begin`.
            world: Only the branch that was made in the world of this key.
        """
        rows = self._db.execute(
            "SELECT id, steps, facts FROM branch WHERE lane = ? AND condition = ? AND ended IS NOT NULL "
            "ORDER BY ended DESC",
            (lane.id, condition),
        ).fetchall()
        for id_, done, facts in rows:
            known = orjson.loads(facts)
            if world in (None, known.get("world")):
                return Branch(id_, Steps.of(orjson.loads(done)), known)
        return None

    def get(self, branch: Branch, request: Request) -> Recorded | None:
        """The recorded answer to a request."""
        row = self._db.execute(
            "SELECT answer, chunks FROM answer WHERE branch = ? AND kind = ? AND hash = ? AND occurrence = ?",
            (branch.id, request.kind, request.hash, request.occurrence),
        ).fetchone()
        return row and Recorded(orjson.loads(row[0]), row[1] and orjson.loads(row[1]))

    def put(self, branch: Branch, request: Request, recorded: Recorded) -> None:
        """Keep an answer; it is on disk when this returns. One that is there gives way to it."""
        chunks = None if recorded.chunks is None else orjson.dumps(recorded.chunks)
        self._db.execute(
            "INSERT OR REPLACE INTO answer VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                branch.id,
                request.kind,
                request.hash,
                request.occurrence,
                request.text,
                orjson.dumps(recorded.answer),
                chunks,
            ),
        )

    def requests(self, branch: Branch, kind: str) -> list[Any]:
        """The normalised requests of a branch, oldest first."""
        rows = self._db.execute(
            "SELECT request FROM answer WHERE branch = ? AND kind = ? ORDER BY rowid", (branch.id, kind)
        )
        return [orjson.loads(request) for (request,) in rows.fetchall()]

    def close(self) -> None:
        """Close the file."""
        self._db.close()


@dataclass(frozen=True, slots=True)
class Request:
    """A normalised request.

    Attributes:
        kind: ``chat``, ``completions`` or ``embeddings``.
        text: The request in one canonical form.
        hash: SHA-256 of it.
        occurrence: How often the run has made it, this time counted.
    """

    kind: str
    text: bytes
    hash: str
    occurrence: int = 1


_NO_PART = frozenset({"stream", "stream_options", "user", "metadata", "store", "prompt_cache_key", "safety_identifier"})
"""What of a request can't change its answer's text."""

_MARK = "\u27e6searchsim:{}\u27e7"
"""What stands for a name; nothing else has brackets of this kind around this word."""


class Names:
    """What a run is called by, and what else of a run means nothing: its key, its server, its folder.

    They are taken out of requests, so that two runs of one lane ask the same, and out of recorded answers, so that a
    replayed one speaks of the run that it is given to.
    """

    def __init__(self, key: str, url: str = "", folder: str = "", patterns: Sequence[str] = ()) -> None:
        """Take a run's names.

        Args:
            key: The world's key.
            url: The server's base URL.
            folder: The name of the run's folder.
            patterns: Regular expressions of the adapter's own, for requests.
        """
        host = url.split("://", 1)[-1]
        named = {"key": key, "server": host, "quoted server": quote(host, safe=""), "folder": folder}
        # The longest first: one may stand in another.
        self._marks = [(n, _MARK.format(what)) for what, n in sorted(named.items(), key=lambda x: -len(x[1])) if n]
        self._patterns = [re.compile(p) for p in patterns]

    def hide(self, text: str) -> str:
        """The text with marks in the names' places."""
        for name, mark in self._marks:
            text = text.replace(name, mark)
        return text

    def show(self, text: str) -> str:
        """The text with this run's names in the marks' places."""
        for name, mark in self._marks:
            text = text.replace(mark, name)
        return text

    def request(self, text: str) -> str:
        """The text as a part of a request."""
        text = self.hide(text)
        for pattern in self._patterns:
            text = pattern.sub(_MARK.format("normalised"), text)
        return text


def _leaves(value: object, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {k: _leaves(v, change) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_leaves(v, change) for v in value]
    return value


class Replay:
    """Record and replay for one world.

    Attributes:
        mode: See `Mode`.
        lane: Whose answers.
        branch: Where new answers are kept; None where they aren't.
        sources: Where recorded ones are looked for, in order.
    """

    def __init__(
        self,
        mode: Mode = Mode.LIVE,
        *,
        names: Names,
        answers: Answers | None = None,
        lane: Lane | None = None,
        branch: Branch | None = None,
        sources: Sequence[Branch] = (),
    ) -> None:
        """See the attributes; `names` are the run's."""
        self.mode = mode
        self.lane = lane
        self.branch = branch
        self.sources = tuple(sources)
        self._answers = answers
        self._names = names
        self._taken: dict[tuple[str, str], set[int]] = {}

    def request(self, kind: str, body: Mapping[str, Any]) -> Request:
        """A request in its normalised form, under the next free occurrence number.

        A request that comes to nothing gives its number back with `release`, so that a retry has the same.
        """
        given = {k: v for k, v in body.items() if k not in _NO_PART}
        text = orjson.dumps(_leaves(given, self._names.request), option=orjson.OPT_SORT_KEYS)
        hashed = hashlib.sha256(text).hexdigest()
        taken = self._taken.setdefault((kind, hashed), set())
        occurrence = next(n for n in range(1, len(taken) + 2) if n not in taken)
        taken.add(occurrence)
        return Request(kind, text, hashed, occurrence)

    def release(self, request: Request) -> None:
        """Forget that a request was made."""
        self._taken[(request.kind, request.hash)].discard(request.occurrence)

    def find(self, request: Request) -> Recorded | None:
        """The recorded answer to a request, where this mode takes one."""
        if self._answers is not None and self.mode in (Mode.COUNTERFACTUAL, Mode.REPLAY):
            for branch in self.sources:
                if (recorded := self._answers.get(branch, request)) is not None:
                    return Recorded(*(_leaves(x, self._names.show) for x in (recorded.answer, recorded.chunks)))
        return None

    def keep(self, request: Request, recorded: Recorded) -> None:
        """Keep a live answer, where this mode does."""
        if self._answers is not None and self.branch is not None:
            answer = _leaves(recorded.answer, self._names.hide)
            # A name may be cut in two by chunks: they are made anew of the whole answer then.
            chunks = recorded.chunks if answer == recorded.answer else None
            self._answers.put(self.branch, request, Recorded(answer, chunks))

    def missing(self, request: Request) -> str:
        """What a replay without the request's answer is told: where it differs from the nearest recorded request."""
        if self._answers is None:
            return "nothing is recorded"
        now = orjson.loads(request.text)
        near = [r for branch in self.sources for r in self._answers.requests(branch, request.kind)]
        if not near:
            return f"no {request.kind} request is recorded"
        if now in near:
            return f"the request is recorded fewer than {request.occurrence} times"
        best = max(near, key=lambda r: _shared(orjson.dumps(r, option=orjson.OPT_SORT_KEYS), request.text))
        where, recorded, this = _difference(best, now)
        return f"it differs from the nearest recorded request at {where}: recorded {recorded}, now {this}"


def _shared(one: bytes, other: bytes) -> int:
    """The length of what two texts begin with and end with together."""
    return _prefix(one, other) + _prefix(one[::-1], other[::-1])


def _prefix(one: Sequence[Any], other: Sequence[Any]) -> int:
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _difference(recorded: Any, now: Any, where: str = "") -> tuple[str, str, str]:
    """The first place where two JSON values differ, and what stands there in each."""
    if isinstance(recorded, dict) and isinstance(now, dict):
        for name in sorted(recorded.keys() | now.keys()):
            if recorded.get(name) != now.get(name) or (name in recorded) != (name in now):
                return _difference(recorded.get(name), now.get(name), f"{where}.{name}".lstrip("."))
    if isinstance(recorded, list) and isinstance(now, list):
        at = _prefix(recorded, now)
        if at < min(len(recorded), len(now)):
            return _difference(recorded[at], now[at], f"{where}[{at}]")
        return f"{where}[{at}]", _shown(recorded[at:]), _shown(now[at:])
    if isinstance(recorded, str) and isinstance(now, str):
        at = _prefix(recorded, now)
        begin = max(at - 20, 0)
        return f"{where}, character {at}", _shown(recorded[begin : at + 60]), _shown(now[begin : at + 60])
    return where or "its root", _shown(recorded), _shown(now)


def _shown(value: object) -> str:
    text = repr(value) if isinstance(value, str) else orjson.dumps(value).decode()
    return text if len(text) <= 120 else f"{text[:117]}…"
