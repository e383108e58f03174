"""A world: the evidence environment of one run.

Organic corpus + pool + rules, under a key. A world knows its condition, what it plans to serve, and the lists it has
served so far; everything it serves is in its trace before the answer leaves.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from searchsim import injection, trace
from searchsim.corpus import Corpus
from searchsim.documents import Document, MisleadingDocument, faults_in, misleading_from, to_record
from searchsim.engine import SearchEngine
from searchsim.errors import ConditionError, KeyInUseError, UnknownWorldError, UsageError
from searchsim.faults import FaultPlan, Met, PlannedFaultError, counted, planned
from searchsim.injection import Admission, Composition, Factors, Item, Level, ListContext, Mode
from searchsim.query import Query, parse
from searchsim.relevance import PoolDocument, score_pool
from searchsim.store import Store
from searchsim.trace import Event
from searchsim.urls import canonical_url

__all__ = ["Answer", "Plan", "World", "Worlds", "parse_settings"]

_log = logging.getLogger(__name__)
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~-]{0,127}")
_FIRST_PAGES = 100
_MOST_RESULTS = 100
_KINDS = {"news": "news", "scholar": "paper"}
"""The kind of document that a vertical finds alone."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a world may serve, and by which rules: fixed when it is made.

    Attributes:
        documents: Ids of the pool's documents, in the pool's order.
        factors: Hash of each factor's source.
        corpus: The corpus's name.
        corpus_sha256: Its hash.
        last_list: The number of the last list, where the maker of the world knows it.
        faults: Planned faults, as they were asked for.
        latency: Planned latency, as it was asked for; None for none.
        serper: Settings of the Serper dialect, which knows what they mean.
        results: How many results a page of a list has at most, whatever the client asks for, as an account's cap;
            None for no cap.
    """

    documents: tuple[str, ...]
    factors: Mapping[str, str]
    corpus: str
    corpus_sha256: str
    last_list: int | None = None
    faults: Sequence[Mapping[str, Any]] = ()
    latency: object | None = None
    serper: Mapping[str, Any] = field(default_factory=dict)
    results: int | None = None

    def record(self) -> dict[str, Any]:
        """The plan as JSON."""
        return {
            "documents": list(self.documents),
            "factors": dict(self.factors),
            "corpus": self.corpus,
            "corpus_sha256": self.corpus_sha256,
            "last_list": self.last_list,
            "faults": [dict(f) for f in self.faults],
            "latency": self.latency,
            "serper": dict(self.serper),
            "results": self.results,
        }


@dataclass(frozen=True, slots=True)
class Answer:
    """One page of a list.

    Attributes:
        number: The list's number in its world.
        items: The results of this page.
        mode: How the list took pool documents.
        composition: The first page's composition; None on later pages.
        query: What was asked for.
    """

    number: int
    items: tuple[Item, ...]
    mode: Mode
    composition: Composition | None
    query: Query


@dataclass(slots=True)
class _List:
    number: int
    how: Admission | None = None
    pages: dict[int, Composition] = field(default_factory=dict)


class World:
    """One world.

    Attributes:
        key: What names it: the API key that its agent sends.
        task: The task's id.
        condition: A level for every factor.
        plan: See `Plan`.
        factors: The rules it was made by.
        pool: The documents it may inject, in order.
        faults: What its requests meet, as planned.
        requests: How many requests for a list it has counted: see `searchsim.faults`.
        exposed: Whether anything injected has been served.
    """

    def __init__(
        self,
        key: str,
        task: str,
        condition: Mapping[str, Level],
        plan: Plan,
        pool: Sequence[MisleadingDocument],
        factors: Factors,
    ) -> None:
        self.key = key
        self.task = task
        self.condition = dict(condition)
        self.plan = plan
        self.factors = factors
        self.pool = tuple(PoolDocument.of(d) for d in pool)
        self.faults = FaultPlan.parse(plan.faults, plan.latency, seed=task)
        self.requests = 0
        self.exposed = False
        self._sealed = False
        self._lists: dict[tuple[str, Query], _List] = {}
        self._urls = {canonical_url(d.url): d for d in pool}

    def recall(self, endpoint: str, query: Query, number: int) -> None:
        """Take up a list that the world served before, under the number it had."""
        self._lists.setdefault((endpoint, query), _List(number))

    @property
    def lists(self) -> int:
        """How many lists it has served, or is about to."""
        return len(self._lists)

    def seal(self) -> None:
        """Let nothing more into its trace: its run has ended, and what is still under way is no part of it."""
        self._sealed = True

    @property
    def sealed(self) -> bool:
        """Whether its trace is closed."""
        return self._sealed

    def note(self, event: Event) -> None:
        """Take note of an event of its trace."""
        if event["event"] == "search":
            self.exposed |= any(s["injected"] for s in event["served"])
        elif event["event"] == "page":
            self.exposed |= event["injected"]

    def _list(self, endpoint: str, query: Query) -> _List:
        return self._lists.setdefault((endpoint, query), _List(len(self._lists) + 1))

    async def answer(
        self, engine: SearchEngine, endpoint: str, text: str, query: Query, *, k: int, page: int = 1
    ) -> Answer:
        """One page of the list that a query asks for.

        The first page is composed; later pages are the control's, since a pool document enters among the first k
        or not at all.

        Args:
            engine: Knows the organic documents.
            endpoint: The vertical.
            text: The client's text, for factors to see.
            query: What it asks for.
            k: Results a page.
            page: From 1.
        """
        entry = self._list(endpoint, query)
        if entry.how is None:
            entry.how = self.admission(entry.number, endpoint, text)
        how = entry.how
        if page > 1:
            items = await self.later_page(engine, query, k, page)
            return Answer(entry.number, items, how.mode, None, query)
        if k not in entry.pages:
            entry.pages[k] = await self.compose(engine, query, k, how)
        composition = entry.pages[k]
        return Answer(entry.number, composition.items, how.mode, composition, query)

    def admission(self, number: int, endpoint: str, text: str) -> Admission:
        """How the list of a number takes pool documents."""
        return self.factors.admission(ListContext(number, self.plan.last_list, endpoint, text), self.condition)

    async def compose(self, engine: SearchEngine, query: Query, k: int, how: Admission) -> Composition:
        """Compose a first page: a function of its arguments and the world's plan alone."""
        organic = await engine.search(query, k)
        if how.mode is Mode.NO or not self.pool:
            return injection.compose(organic, [], k, how)
        return injection.compose(
            organic,
            await score_pool(self.pool, query, engine),
            k,
            how,
            whole_pool=[p.document for p in self.pool],
            place=partial(self.factors.place, condition=self.condition),
        )

    async def later_page(self, engine: SearchEngine, query: Query, k: int, page: int) -> tuple[Item, ...]:
        """A page from the second on: the control's."""
        first = (page - 1) * k
        hits = (await engine.search(query, min(first + k, _FIRST_PAGES * k)))[first : first + k]
        return tuple(Item(h.document, h.score, False) for h in hits)

    async def page(self, engine: SearchEngine, url: str) -> tuple[Document | None, bool]:
        """The document at a URL, and whether it is one of the pool's."""
        injected = self._urls.get(canonical_url(url))
        if injected is not None:
            return injected, True
        return await engine.document_at(url), False

    def documents(self) -> Iterator[MisleadingDocument]:
        """The pool's documents."""
        return (p.document for p in self.pool)

    def record(self) -> dict[str, Any]:
        """The world as it is shown."""
        return {"key": self.key, "task": self.task, "condition": self.condition, "plan": self.plan.record()}


class Worlds:
    """All worlds of one server: makes them, finds them, keeps their traces.

    Attributes:
        corpus: The corpus they are worlds of.
        engine: Knows its organic documents.
        factors: All factors, as they were when the server started.
        only: A world that any key, or none, names (``serve --task``, ``searchsim run``).
    """

    def __init__(self, corpus: Corpus, engine: SearchEngine, store: Store, *, take_up: bool = True) -> None:
        """Take the store's worlds up again.

        Args:
            corpus: See above.
            engine: See above.
            store: Where they are kept.
            take_up: False where none of the kept worlds will be asked for any more.

        Raises:
            CorpusError: The corpus's misleading documents have faults.
            UsageError: A factor can't be used.
        """
        _ = corpus.misleading
        self.corpus = corpus
        self.engine = engine
        self.only: World | None = None
        self.factors = injection.load_factors()
        self._store = store
        self._worlds: dict[str, World] = {}
        for key, record in store.worlds() if take_up else ():
            self._restore(key, record)

    def _restore(self, key: str, record: Mapping[str, Any]) -> None:
        """Take a kept world up again, with the lists of its trace."""
        plan = Plan(**{**record["plan"], "documents": tuple(record["plan"]["documents"])})
        if plan.corpus_sha256 != self.corpus.hash or dict(plan.factors) != self.factors.sources:
            # Serving it by other rules than it was planned by would be worse than not serving it.
            _log.warning("world %s was made with another corpus or other factors and isn't served", key)
            return
        pool = [misleading_from(d) for d in record["pool"]]
        world = World(key, record["task"], record["condition"], plan, pool, self.factors)
        events = list(self._store.events(key))
        for event in events:
            world.note(event)
            if event["event"] == "search":
                world.recall(event["endpoint"], self.query(event), event["list"])
        world.requests = counted(events)
        self._worlds[key] = world

    def create(
        self,
        task: str,
        condition: Mapping[str, object] | None = None,
        *,
        key: str | None = None,
        documents: Sequence[str | Mapping[str, Any]] | None = None,
        last_list: int | None = None,
        faults: Sequence[Mapping[str, Any]] | None = None,
        latency: object | None = None,
        serper: Mapping[str, Any] | None = None,
        results: int | None = None,
    ) -> World:
        """Make a world.

        Args:
            task: A task's id.
            condition: Levels of factors; the others have their defaults.
            key: Its key; None draws one that nobody can guess.
            documents: The pool, as ids or whole records, instead of what the factors would select of the task's.
                It is only cut to the budget, which is its size where the condition names none.
            last_list: The number of the last list, for stages that need it.
            faults: Planned faults, and
            latency: planned latency: see `searchsim.faults.FaultPlan.parse`.
            serper: Settings of the Serper dialect: see `searchsim.server.serper.settings`.
            results: How many results a page of a list has at most.

        Raises:
            ConditionError: The request can't be honoured; its `field` names the part.
            KeyInUseError: A world has this key.
        """
        if task not in self.corpus.tasks:
            some = ", ".join(list(self.corpus.tasks)[:12])
            raise ConditionError(f"no task {task!r} in corpus {self.corpus.name}; tasks: {some}", "task")
        if key is not None and not _KEY.fullmatch(key):
            raise ConditionError("a key has 1 to 128 letters, digits, or . _ ~ -, a letter or digit first", "key")
        if last_list is not None and (isinstance(last_list, bool) or last_list < 1):
            raise ConditionError("last_list is the number of a list, from 1", "last_list")
        if results is not None and (isinstance(results, bool) or not 1 <= results <= _MOST_RESULTS):
            raise ConditionError(f"results is a number from 1 to {_MOST_RESULTS}", "results")
        meets = FaultPlan.parse(faults, latency, seed=task)
        asked = dict(condition or {})
        given = None if documents is None else self._given(task, documents)
        budget = self.factors["budget"].factor if "budget" in self.factors else None
        if given is not None and budget and "budget" not in asked:
            most = max(int(level) for level in budget.levels)
            if len(given) > most:
                raise ConditionError(f"a pool has at most {most} documents", "documents")
            asked["budget"] = len(given)
        levels = self.factors.complete(asked)
        for name, registered in self.factors.items():
            need = registered.factor.needs.get(levels[name])
            if need == "last_list" and last_list is None:
                raise ConditionError(
                    f"{name} {levels[name]} must know which list is the world's last: give last_list "
                    "(the number of lists that the task's control run made)",
                    f"condition.{name}",
                )
        if given is None:
            pool = self.factors.select(self.corpus.misleading.get(task, ()), levels)
        elif budget and budget.select:
            pool = list(budget.select(given, levels["budget"]))
        else:
            pool = given
        pool = self.factors.rewrite(pool, levels)
        plan = Plan(
            tuple(d.id for d in pool),
            self.factors.sources,
            self.corpus.name,
            self.corpus.hash,
            last_list,
            [f.record() for f in meets.faults],
            meets.latency.record() if meets.latency else None,
            dict(serper or {}),
            results,
        )
        world = World(key or _drawn_key(), task, levels, plan, pool, self.factors)
        record = {**world.record(), "pool": [to_record(d) for d in pool], "canary": self.corpus.canary}
        if not self._store.add(world.key, record):
            kept = "" if world.key in self._worlds else " in the store, made with another corpus or other factors"
            raise KeyInUseError(f"a world with the key {world.key!r} exists{kept}: end it first, or choose another key")
        self._worlds[world.key] = world
        return world

    async def create_given(
        self, task: str, condition: Mapping[str, object] | None, documents: Sequence[Any], **more: Any
    ) -> World:
        """`create` with a pool of the caller's own, none of which may pass for an organic document.

        Raises:
            ConditionError: See `create`; also where an organic document has the id or the URL of one.
            KeyInUseError: See `create`.
        """
        for number, given in enumerate(documents):
            if isinstance(given, Mapping):
                for name, find in (("id", self.engine.document), ("url", self.engine.document_at)):
                    value = given.get(name)
                    if isinstance(value, str) and await find(value) is not None:
                        raise ConditionError(
                            f"an organic document has the {name} {value!r}", f"documents.{number}.{name}"
                        )
        return self.create(task, condition, documents=documents, **more)

    def _given(self, task: str, documents: Sequence[str | Mapping[str, Any]]) -> list[MisleadingDocument]:
        known = {d.id: d for pool in self.corpus.misleading.values() for d in pool}
        found: list[MisleadingDocument] = []
        for number, given in enumerate(documents):
            where = f"documents.{number}"
            if isinstance(given, str):
                if given not in known:
                    raise ConditionError(f"no misleading document {given!r} in corpus {self.corpus.name}", where)
                found.append(known[given])
                continue
            if not isinstance(given, Mapping):
                raise ConditionError("a document is an id or an object", where)
            record = {
                "id": f"given-{number + 1}",
                "task": task,
                "authority": "high",
                "style": "paper",
                "language": self.corpus.task(task).language,
                "institution": given.get("source_name", ""),
                "canary": "searchsim-canary",
                **given,
            }
            if record["task"] != task:
                raise ConditionError(f"is of another task, {record['task']!r}", f"{where}.task")
            if wrong := faults_in("misleading", record):
                raise ConditionError(wrong[0][1], f"{where}.{wrong[0][0]}")
            found.append(misleading_from(record))
        for values in ([d.id for d in found], [canonical_url(d.url) for d in found]):
            if len(set(values)) < len(values):
                raise ConditionError("a document, or the URL of one, stands twice", "documents")
        return found

    def get(self, key: str) -> World:
        """A world by key.

        Raises:
            UnknownWorldError: There is none.
        """
        if key in self._worlds:
            return self._worlds[key]
        raise UnknownWorldError(f"no world has the key {key!r}")

    def find(self, key: str | None) -> World | None:
        """The world that a request's key names: the server's only world whatever the key, where it has one."""
        if key is not None and key in self._worlds:
            return self._worlds[key]
        return self.only

    def all(self) -> Iterable[World]:
        """All worlds, oldest first."""
        return self._worlds.values()

    def end(self, key: str) -> None:
        """End a world and forget its trace, also one that is kept and not served.

        Raises:
            UnknownWorldError: There is none.
        """
        if key not in self._worlds and not any(kept == key for kept, _ in self._store.worlds()):
            raise UnknownWorldError(f"no world has the key {key!r}")
        world = self._worlds.pop(key, None)
        if world is not None and self.only is world:
            self.only = None
        self._store.remove(key)

    def query(self, event: Mapping[str, Any]) -> Query:
        """The query of a search event."""
        return self.parse(event["endpoint"], event["query"], event["tbs"])

    def parse(self, endpoint: str, text: str, tbs: str = "") -> Query:
        """What a client's text asks for at an endpoint: ``news`` finds news alone, ``scholar`` papers."""
        query = parse(text, tbs=tbs, today=self.corpus.today)
        return query.of_kinds(_KINDS[endpoint]) if endpoint in _KINDS else query

    async def meet(self, world: World, dialect: str, count: int = 1) -> Met:
        """Count a request's searches, and fail where one of them meets a fault that spoils the whole request.

        Args:
            world: Whose request.
            dialect: The API that was spoken.
            count: How many lists it asks for.

        Returns:
            The faults that are left for the dialect to show, and how long its answer is to be held back.

        Raises:
            PlannedFaultError: The request fails, which is on record by then.
        """
        first = world.requests + 1
        drawn = []
        for number in range(first, first + count):
            world.requests = number
            fault = world.faults.draw(number, dialect)
            if fault is not None and fault.does.spoils == "request":
                self.append(world, planned(fault, range(first, number + 1), dialect))
                await asyncio.sleep(world.faults.wait(first) + fault.does.hangs)
                raise PlannedFaultError(fault)
            drawn.append((number, fault))
        return Met(tuple(drawn), world.faults.wait(first) if count else 0.0)

    async def search(
        self,
        world: World,
        *,
        dialect: str,
        endpoint: str,
        text: str,
        tbs: str = "",
        k: int = 10,
        page: int = 1,
        met: Met | None = None,
    ) -> Answer:
        """Answer a search and put it on record.

        Args:
            world: Whose search.
            dialect: The API that was spoken.
            endpoint: The vertical.
            text: The client's text.
            tbs: Its time filter.
            k: Results a page, as the client asks; the world's own cap holds before it.
            page: From 1.
            met: What the request met, where the dialect has called `meet` itself, and holds its answer back itself.

        Raises:
            PlannedFaultError: The request fails as planned.
        """
        # Before anything is waited for, so that lists have numbers in the order of their requests.
        own = await self.meet(world, dialect) if met is None else None
        k = min(k, world.plan.results or k)
        query = self.parse(endpoint, text, tbs)
        answer = await world.answer(self.engine, endpoint, text, query, k=k, page=page)
        self.append(
            world,
            trace.search(
                dialect=dialect,
                endpoint=endpoint,
                query=text,
                tbs=tbs,
                page=page,
                k=k,
                number=answer.number,
                mode=answer.mode.value,
                items=answer.items,
                displaced=answer.composition.displaced if answer.composition else (),
                cut=answer.composition.cut if answer.composition else (),
            ),
        )
        if own is not None:
            await own.hold()
        return answer

    async def page(self, world: World | None, url: str, *, dialect: str, record: bool = True) -> Document | None:
        """Find a page and put it on record; without a world only organic documents exist.

        Args:
            world: Whose.
            url: The page's.
            dialect: Who asks.
            record: False where the page's text isn't delivered (HEAD).
        """
        if world is None:
            return await self.engine.document_at(url)
        document, injected = await world.page(self.engine, url)
        if not record:
            return document
        self.append(
            world,
            trace.page(dialect=dialect, url=url, document=document.id if document else None, injected=injected),
        )
        return document

    def append(self, world: World, event: Event) -> None:
        """Add to a world's trace; what comes after its end belongs to no world and is dropped."""
        if self._worlds.get(world.key) is world and not world.sealed:
            self._store.append(world.key, event)
            world.note(event)

    def events(self, key: str) -> Iterator[Event]:
        """A world's trace, oldest first."""
        return self._store.events(key)

    def close(self) -> None:
        """Close the store."""
        self._store.close()


def _drawn_key() -> str:
    """A key that nobody can guess and no command line takes for an option."""
    return secrets.token_hex(20)


def parse_settings(pairs: Sequence[str]) -> dict[str, object]:
    """The condition that ``--set FACTOR=LEVEL`` options give.

    Raises:
        UsageError: One isn't of that form.
    """
    condition: dict[str, object] = {}
    for pair in pairs:
        name, sign, level = pair.partition("=")
        if not sign or not name or not level:
            raise UsageError(f"--set {pair}: write FACTOR=LEVEL, e.g. --set budget=3")
        condition[name.strip()] = level.strip()
    return condition
