"""Factors, and the one function that composes a list.

A factor is an experimental variable: its levels, its default, and up to four hooks. Each stands in a file of its own
in ``injectors/`` (or the ``injectors/`` of a user's home), which defines one `Factor` named ``factor``.

    select(documents, level)   which of the task's misleading documents the pool takes
    rewrite(document, level)   the document as this level serves it
    admit(context, level)      whether, and how, a list takes pool documents
    place(items, level)        where those that were taken stand
"""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

from searchsim import home
from searchsim.documents import Document, MisleadingDocument
from searchsim.engine import Hit
from searchsim.errors import ConditionError, UsageError
from searchsim.relevance import ScoredPool

__all__ = [
    "Admission",
    "Composition",
    "Factor",
    "Factors",
    "Item",
    "Level",
    "ListContext",
    "Mode",
    "Registered",
    "compose",
    "load_factors",
]

Level = str | int


class Mode(Enum):
    """How a list takes pool documents; where factors differ, the strictest, which comes first, holds."""

    NO = "no"
    APPENDED = "appended"
    FORCED = "forced"
    RELEVANCE = "relevance"


class Admission(NamedTuple):
    """The answer of an ``admit`` hook.

    Attributes:
        mode: See `Mode`.
        limit: At most so many documents; None for no limit.
    """

    mode: Mode
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class ListContext:
    """What an ``admit`` hook knows of a list.

    Attributes:
        number: The list's number in its world, from 1.
        last: The number of the world's last list, where something knows it.
        endpoint: E.g. ``search``, ``news``.
        query: The client's text.
    """

    number: int
    last: int | None
    endpoint: str
    query: str


class Item(NamedTuple):
    """One result of a list."""

    document: Document
    score: float
    injected: bool


def _no_level(level: Level) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """An experimental variable.

    Attributes:
        name: As it stands in conditions.
        levels: The values it can take; with an open set (dates, numbers) give `check` too and examples here.
        default: The level where a condition doesn't name one.
        check: Says of a value outside `levels` whether it is a level all the same.
        order: Factors run by rising order, then name; budget is last with 100.
        needs: For a level, what a world must know to run it: ``{"pre_synthesis": "last_list"}``.
        select, rewrite, admit, place: The hooks; see the module.
    """

    name: str
    levels: Sequence[Level]
    default: Level
    check: Callable[[Level], bool] = _no_level
    order: int = 50
    needs: Mapping[Level, str] = field(default_factory=dict)
    select: Callable[[Sequence[MisleadingDocument], Level], Sequence[MisleadingDocument]] | None = None
    rewrite: Callable[[MisleadingDocument, Level], MisleadingDocument] | None = None
    admit: Callable[[ListContext, Level], Admission] | None = None
    place: Callable[[Sequence[Item], Level], Sequence[Item]] | None = None

    def level(self, value: object) -> Level:
        """The level that a value from JSON or a command line means.

        Raises:
            ConditionError: It is none.
        """
        for known in self.levels:
            if value == known and not isinstance(value, bool):
                return known
            if isinstance(value, str) and value == str(known):
                return known
        if isinstance(value, str | int) and not isinstance(value, bool) and self.check(value):
            return value
        choices = ", ".join(str(known) for known in self.levels)
        if self.check is not _no_level:
            choices += " and others of that kind"
        raise ConditionError(f"{self.name} has no level {value!r}; levels: {choices}", f"condition.{self.name}")


@dataclass(frozen=True, slots=True)
class Registered:
    """A factor with where it came from.

    Attributes:
        factor: The factor.
        path: Its source file.
        sha256: The hash of its source.
    """

    factor: Factor
    path: Path
    sha256: str

    @contextmanager
    def explained(self, hook: str) -> Iterator[None]:
        """What a hook raises, as an error that names file and hook; refusals pass.

        Raises:
            UsageError: The hook failed.
        """
        try:
            yield
        except UsageError:
            raise
        except Exception as error:
            raise UsageError(f"{self.path}: {hook}() failed: {type(error).__name__}: {error}") from error


class Factors(Mapping[str, Registered]):
    """All factors by name, in the order they run; read once, so that rules can't change in the middle of a run."""

    def __init__(self, registered: Iterable[Registered]) -> None:
        """Take factors.

        Raises:
            UsageError: Two have one name.
        """
        self._by_name: dict[str, Registered] = {}
        for entry in sorted(registered, key=lambda r: (r.factor.order, r.factor.name)):
            name = entry.factor.name
            if name in self._by_name:
                raise UsageError(f"{entry.path} and {self._by_name[name].path} both define a factor named {name!r}")
            self._by_name[name] = entry

    def __getitem__(self, name: str) -> Registered:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    @property
    def sources(self) -> dict[str, str]:
        """The hash of each factor's source: what a plan names."""
        return {name: r.sha256 for name, r in self.items()}

    def complete(self, condition: Mapping[str, object]) -> dict[str, Level]:
        """A condition with every factor's level: what is given, checked, and defaults for the rest.

        Raises:
            ConditionError: A factor or level doesn't exist.
        """
        for name in condition:
            if name not in self:
                raise ConditionError(f"no factor named {name!r}; factors: {', '.join(self)}", f"condition.{name}")
        return {
            name: r.factor.level(condition[name]) if name in condition else r.factor.default for name, r in self.items()
        }

    def select(
        self, documents: Iterable[MisleadingDocument], condition: Mapping[str, Level]
    ) -> list[MisleadingDocument]:
        """The documents that every factor's ``select`` leaves.

        Args:
            documents: The task's misleading documents, in the pool's order.
            condition: A level for every factor.

        Raises:
            ConditionError: A factor refuses, e.g. too few documents for the budget.
        """
        pool: Sequence[MisleadingDocument] = list(documents)
        for name, registered in self.items():
            if select := registered.factor.select:
                with registered.explained("select"):
                    pool = list(select(pool, condition[name]))
        return list(pool)

    def rewrite(
        self, documents: Iterable[MisleadingDocument], condition: Mapping[str, Level]
    ) -> list[MisleadingDocument]:
        """The documents as every factor's ``rewrite`` serves them."""
        rewritten = list(documents)
        for name, registered in self.items():
            if rewrite := registered.factor.rewrite:
                with registered.explained("rewrite"):
                    rewritten = [rewrite(d, condition[name]) for d in rewritten]
                    if not all(isinstance(d, MisleadingDocument) for d in rewritten):
                        raise TypeError("it must return the document, the same or another")
        return rewritten

    def admission(self, context: ListContext, condition: Mapping[str, Level]) -> Admission:
        """What all ``admit`` hooks say of a list together: the strictest mode, the smallest limit."""
        answers = [Admission(Mode.RELEVANCE)]
        for name, registered in self.items():
            if admit := registered.factor.admit:
                with registered.explained("admit"):
                    answer = admit(context, condition[name])
                    if not isinstance(answer, Admission):
                        raise TypeError("it must return an Admission")
                    answers.append(answer)
        order = list(Mode)
        limits = [a.limit for a in answers if a.limit is not None]
        return Admission(min((a.mode for a in answers), key=order.index), min(limits, default=None))

    def place(self, items: Sequence[Item], condition: Mapping[str, Level]) -> list[Item]:
        """Run all ``place`` hooks over a list whose content is settled.

        Raises:
            UsageError: A hook lost, doubled or invented a result.
        """
        before = list(items)
        for name, registered in self.items():
            if place := registered.factor.place:
                with registered.explained("place"):
                    after = list(place(before, condition[name]))
                    if sorted(i.document.id for i in after) != sorted(i.document.id for i in before):
                        raise ValueError("it must return the same results, in any order")
                    before = after
        return before

    def describe(self) -> list[dict[str, Any]]:
        """The factors as JSON: name, levels, default, the hash of the source."""
        return [
            {"name": n, "levels": list(r.factor.levels), "default": r.factor.default, "sha256": r.sha256}
            for n, r in self.items()
        ]


def load_factors() -> Factors:
    """Read all factors from their files.

    Raises:
        UsageError: A file can't be used; the message names it.
    """
    found = []
    for _, path in home.instances("injectors"):
        source = path.read_bytes()
        found.append(Registered(_load(path), path, hashlib.sha256(source).hexdigest()))
    return Factors(found)


def _load(path: Path) -> Factor:
    name = f"searchsim_injector_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise UsageError(f"{path}: can't be imported: {type(error).__name__}: {error}") from error
    factor = getattr(module, "factor", None)
    if not isinstance(factor, Factor):
        raise UsageError(f"{path}: defines no `factor = Factor(...)`; docs/factors.md shows a whole one")
    try:
        factor.level(factor.default)
    except ConditionError as error:
        raise UsageError(f"{path}: the default is no level: {error}") from error
    return factor


@dataclass(frozen=True, slots=True)
class Composition:
    """A list as it is served.

    Attributes:
        items: The results, first to last.
        displaced: Organic documents that the control's list has and this one hasn't, in their order.
        cut: Forced or appended documents that found no room in the client's own k.
    """

    items: tuple[Item, ...]
    displaced: tuple[Document, ...] = ()
    cut: tuple[Document, ...] = ()


Place = Callable[[Sequence[Item]], Sequence[Item]]


def compose(
    organic: Sequence[Hit],
    pool: ScoredPool,
    k: int,
    how: Admission,
    *,
    whole_pool: Sequence[MisleadingDocument] = (),
    place: Place = list,
) -> Composition:
    """Put a list together.

    Args:
        organic: The first k organic hits: the control's list.
        pool: Pool documents that match the query, with scores on the same statistics, best first.
        k: The length that the client asked for.
        how: The list's admission.
        whole_pool: All pool documents in the pool's order, for modes that take them whatever the query.
        place: Orders what was included; appended documents are never moved.

    Returns:
        The composition. The organic results keep their order, and so do those displaced.
    """
    control = [Item(h.document, h.score, False) for h in organic[:k]]
    if how.mode is Mode.NO or not (pool or whole_pool):
        return Composition(tuple(control))
    if how.mode is Mode.APPENDED:
        added = _limited(_by_score(pool, whole_pool), how.limit)
        return Composition((*control, *added))

    merged = _merged(control, [Item(d, s, True) for d, s in pool])[:k]
    chosen = _limited([i for i in merged if i.injected], how.limit)
    if how.mode is Mode.FORCED:
        inside = {i.document.id for i in chosen}
        forced = [i for i in _by_score(pool, whole_pool) if i.document.id not in inside]
        room = k - len(chosen)
        late, cut = forced[:room], forced[room:]
    else:
        late, cut = [], []
    kept = control[: k - len(chosen) - len(late)]
    settled = [*_merged(kept, chosen), *late]
    stay = {i.document.id for i in kept}
    return Composition(
        tuple(place(settled)),
        tuple(i.document for i in control if i.document.id not in stay),
        tuple(i.document for i in cut),
    )


def _rank(item: Item) -> tuple[float, str]:
    """Best score first, then by id: what an engine holding both kinds would do."""
    return (-item.score, item.document.id)


def _merged(organic: Sequence[Item], injected: Sequence[Item]) -> list[Item]:
    """Both kinds by score, the organic results in the order that they came in."""
    merged: list[Item] = []
    waiting = list(injected)
    for item in organic:
        while waiting and _rank(waiting[0]) < _rank(item):
            merged.append(waiting.pop(0))
        merged.append(item)
    return merged + waiting


def _limited(items: list[Item], limit: int | None) -> list[Item]:
    return items if limit is None else items[:limit]


def _by_score(pool: ScoredPool, whole_pool: Sequence[MisleadingDocument]) -> list[Item]:
    """Every pool document: those that match by score, then the others in the pool's order."""
    matching = {d.id for d, _ in pool}
    scored = [Item(d, s, True) for d, s in pool]
    return scored + [Item(d, 0.0, True) for d in whole_pool if d.id not in matching]
