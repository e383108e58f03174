"""Planned faults: how a world's searches fail, and how long they take, as its maker asked.

Requests are counted per world, over all dialects: those that ask for a list, repeats and retries too, each query of a
batch for itself. What is drawn for a request follows from the world's task and the request's number alone, so that
runs of one task meet the same faults at the same places, and a server that was started again goes on where it was.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Literal, NamedTuple

from searchsim import trace
from searchsim.errors import ConditionError
from searchsim.trace import Event

__all__ = [
    "DIALECTS",
    "KINDS",
    "NO_CREDITS",
    "Fault",
    "FaultPlan",
    "Kind",
    "Latency",
    "Met",
    "PlannedFaultError",
    "counted",
    "planned",
]

DIALECTS = ("serper", "tavily", "exa", "brave", "bing", "searxng", "jina", "mcp")
"""What a fault may be confined to: the dialects that serve lists."""


class Kind(NamedTuple):
    """What a kind of fault does.

    Attributes:
        status: The HTTP status of the answer.
        message: What the answer says, or what is wrong with it.
        spoils: The whole request; the list in its answer; or rows of that list, which is served all the same. Only
            in the last case is there a list to number and to put on record.
        dialect: The only dialect that has it; empty for any.
        hangs: Seconds that pass before the answer.
    """

    status: int
    message: str
    spoils: Literal["request", "list", "rows"] = "request"
    dialect: str = ""
    hangs: float = 0.0


KINDS: Mapping[str, Kind] = {
    "429": Kind(429, "Too many requests"),
    "500": Kind(500, "Internal Server Error"),
    "403": Kind(403, "Unauthorized."),
    "no_credits": Kind(400, "Not enough credits"),
    # Longer than any client waits; the live scraper has been seen to take a minute before it failed.
    "timeout": Kind(504, "Gateway Timeout", hangs=60.0),
    "truncated_json": Kind(200, "the answer breaks off in its first result", dialect="serper"),
    "no_organic": Kind(200, "the answer has no list", "list", "serper"),
    "organic_null": Kind(200, "the list is null", "list", "serper"),
    "organic_object": Kind(200, "the list is an object", "list", "serper"),
    "missing_snippet": Kind(200, "every other result has no snippet, the first among them", "rows", "serper"),
}
NO_CREDITS = {"tavily": 432, "exa": 402, "jina": 402, "sjina": 402, "bing": 403, "brave": 429}
"""What other APIs answer where an account has nothing left; Serper says 400."""

_MOST_FAULTS = 100
_MOST_NUMBERS = 1000
_HIGHEST = 1_000_000
_LONGEST_WAIT = 60.0

# The live service's latencies, in seconds: of a log-normal distribution, the median is exp(mu) and the 95th
# percentile exp(mu + 1.645 sigma).
_LIVE_P50, _LIVE_P95 = 0.640, 1.35
_MU = math.log(_LIVE_P50)
_SIGMA = math.log(_LIVE_P95 / _LIVE_P50) / 1.6448536269514722
_LIVE_MOST = 10.0


@dataclass(frozen=True, slots=True)
class Fault:
    """One planned fault.

    Attributes:
        kind: One of `KINDS`.
        on: The numbers of the requests that meet it; empty where it has a share.
        share: The probability that a request meets it; None where it has numbers.
        dialect: The only dialect whose requests meet it; empty for any that can.
    """

    kind: str
    on: tuple[int, ...] = ()
    share: float | None = None
    dialect: str = ""

    @property
    def does(self) -> Kind:
        """What it does."""
        return KINDS[self.kind]

    def meets(self, number: int, dialect: str, seed: str) -> bool:
        """Whether a request meets it.

        Args:
            number: The request's number.
            dialect: The request's dialect.
            seed: What the draw follows from beside the number.
        """
        if dialect != (self.dialect or self.does.dialect or dialect):
            return False
        if self.share is None:
            return number in self.on
        return Random(f"{seed}:{number}").random() < self.share

    def record(self) -> dict[str, Any]:
        """The fault as JSON, as it was asked for."""
        when: dict[str, Any] = {"on": list(self.on)} if self.share is None else {"share": self.share}
        return {"kind": self.kind, **when, **({"dialect": self.dialect} if self.dialect else {})}


@dataclass(frozen=True, slots=True)
class Latency:
    """How long a request takes.

    Attributes:
        constant: Seconds; None draws from the live service's distribution.
    """

    constant: float | None = None

    def seconds(self, number: int, seed: str) -> float:
        """How long the request of a number takes, at most ten seconds where it is drawn."""
        if self.constant is not None:
            return self.constant
        return min(Random(f"{seed}:latency:{number}").lognormvariate(_MU, _SIGMA), _LIVE_MOST)

    def record(self) -> object:
        """The latency as JSON, as it was asked for."""
        return "live" if self.constant is None else {"constant": self.constant}


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """The faults and the latency of a world.

    Attributes:
        faults: The first of them that a request meets is the one that it gets.
        latency: None for none.
        seed: What draws follow from.
    """

    faults: tuple[Fault, ...] = ()
    latency: Latency | None = None
    seed: str = ""

    @classmethod
    def parse(cls, faults: object, latency: object, seed: str) -> FaultPlan:
        """The plan that a world's request asks for.

        Args:
            faults: An array of ``{"kind", "on" or "share", "dialect"}``; None for none.
            latency: ``{"constant": SECONDS}`` or ``"live"``; None for none.
            seed: What draws follow from: the task.

        Raises:
            ConditionError: It isn't of that form; its `field` names the part.
        """
        if faults is not None and not isinstance(faults, list | tuple):
            raise ConditionError('must be an array, e.g. [{"kind": "429", "on": [1]}]', "faults")
        given = list(faults or ())
        if len(given) > _MOST_FAULTS:
            raise ConditionError(f"at most {_MOST_FAULTS} faults", "faults")
        return cls(tuple(_fault(one, f"faults.{n}") for n, one in enumerate(given)), _latency(latency), seed)

    def draw(self, number: int, dialect: str = "serper") -> Fault | None:
        """The fault that a request meets.

        Args:
            number: The request's number in its world, from 1.
            dialect: Its dialect.
        """
        for place, fault in enumerate(self.faults):
            if fault.meets(number, dialect, f"{self.seed}:{place}"):
                return fault
        return None

    def wait(self, number: int) -> float:
        """Seconds that the request of a number takes."""
        return self.latency.seconds(number, self.seed) if self.latency else 0.0


class Met(NamedTuple):
    """What a request's searches meet.

    Attributes:
        faults: For each, its number and its fault: one that spoils a list or its rows, or None.
        wait: Seconds that the answer is held back.
    """

    faults: tuple[tuple[int, Fault | None], ...]
    wait: float

    async def hold(self) -> None:
        """Hold the answer back."""
        if self.wait:
            await asyncio.sleep(self.wait)


class PlannedFaultError(Exception):
    """A request fails as planned, which is on record already.

    No part of the tree in errors.py: nothing went wrong.

    Attributes:
        fault: The fault.
        status: The HTTP status to answer with.
        message: What the answer says.
    """

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self.status = fault.does.status
        self.message = fault.does.message
        super().__init__(self.message)


def planned(fault: Fault, numbers: Sequence[int], dialect: str) -> Event:
    """The event of a planned fault.

    Args:
        fault: The fault.
        numbers: The requests that it spoiled: of a batch those before the one that met it, too, and that one last.
        dialect: Their dialect.
    """
    told = f"request {numbers[0]}" if len(numbers) == 1 else f"requests {numbers[0]}-{numbers[-1]}"
    message = f"{fault.kind}: {fault.does.message}"
    return trace.fault(where=f"{told}, {dialect}", status=fault.does.status, message=message, planned=True)


def counted(events: Iterable[Event]) -> int:
    """How many requests a world has counted, by its trace."""
    number = 0
    for event in events:
        if event["event"] == "search":
            number += 1
        elif event["event"] == "fault" and event["planned"]:
            told = re.match(r"requests? (\d+)(?:-(\d+))?, ", event["where"])
            kind = KINDS.get(event["message"].partition(":")[0])
            # Where rows are spoiled, their list is on record and has been counted.
            if told and kind and kind.spoils != "rows":
                number += int(told[2] or told[1]) - int(told[1]) + 1
    return number


def _fault(given: object, where: str) -> Fault:
    if not isinstance(given, Mapping):
        raise ConditionError('a fault is an object, e.g. {"kind": "429", "on": [1]}', where)
    for name in given:
        if name not in ("kind", "on", "share", "dialect"):
            raise ConditionError(f"no field named {name!r}; fields: kind, on, share, dialect", f"{where}.{name}")
    # A status may be written as a number.
    kind = str(given.get("kind")) if not isinstance(given.get("kind"), bool) else ""
    if kind not in KINDS:
        raise ConditionError(f"one of: {', '.join(KINDS)}", f"{where}.kind")
    if (given.get("on") is None) == (given.get("share") is None):
        raise ConditionError("give either on, the numbers of requests, or share, from 0 to 1", f"{where}.on")
    dialect = given.get("dialect") or ""
    choices = (KINDS[kind].dialect,) if KINDS[kind].dialect else DIALECTS
    if dialect != "" and dialect not in choices:
        raise ConditionError(f"one of: {', '.join(choices)}", f"{where}.dialect")
    if given.get("share") is not None:
        share = given["share"]
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
            raise ConditionError("a number from 0 to 1", f"{where}.share")
        return Fault(kind, (), float(share), dialect)
    return Fault(kind, _numbers(given["on"], f"{where}.on"), None, dialect)


def _numbers(given: object, where: str) -> tuple[int, ...]:
    if not isinstance(given, list | tuple) or not 1 <= len(given) <= _MOST_NUMBERS:
        raise ConditionError(f"an array of 1 to {_MOST_NUMBERS} numbers of requests, counted from 1", where)
    for one in given:
        if isinstance(one, bool) or not isinstance(one, int) or not 1 <= one <= _HIGHEST:
            raise ConditionError(f"requests have whole numbers, from 1 to {_HIGHEST}", where)
    return tuple(sorted(set(given)))


def _latency(given: object) -> Latency | None:
    if given is None:
        return None
    if given == "live":
        return Latency()
    if not isinstance(given, Mapping) or set(given) != {"constant"}:
        raise ConditionError('must be {"constant": SECONDS} or "live"', "latency")
    seconds = given["constant"]
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds <= _LONGEST_WAIT:
        raise ConditionError(f"seconds, from 0 to {_LONGEST_WAIT:g}", "latency.constant")
    return Latency(float(seconds))
