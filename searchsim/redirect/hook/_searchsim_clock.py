"""Stop the clock that programs print: `datetime.now`, `date.today`, `time.strftime` and their kind give one moment.

Agents write the date, or the second, into their prompts; with a clock that runs no two runs ask the same. `time.time`
and the clocks that measure run on, so that timeouts and caches work. The methods are put into the types themselves: a
subclass in their place would not be the type that other libraries compare with.

Standard library alone, CPython 3.8 to 3.13.
"""

from __future__ import annotations

import ctypes
import datetime
import gc
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["install"]


def install(moment: str) -> None:
    """Stop the clock.

    Args:
        moment: ISO 8601, taken as UTC.
    """
    utc = datetime.timezone.utc  # noqa: UP017 - 3.8 has no other name for it
    stopped = datetime.datetime.fromisoformat(moment).replace(tzinfo=utc).timestamp()

    def now(cls: Any, tz: Any = None) -> Any:
        return cls.fromtimestamp(stopped, tz)

    def utcnow(cls: Any) -> Any:
        return cls.fromtimestamp(stopped, utc).replace(tzinfo=None)

    def today(cls: Any) -> Any:
        return cls.fromtimestamp(stopped)

    _put(datetime.datetime, now=classmethod(now), utcnow=classmethod(utcnow), today=classmethod(today))
    _put(datetime.date, today=classmethod(today))

    for name in ("localtime", "gmtime", "ctime"):
        setattr(time, name, _Stopped(getattr(time, name), 0, stopped))
    here = time.localtime()
    time.asctime = _Stopped(time.asctime, 0, here)
    time.strftime = _Stopped(time.strftime, 1, here)


class _Stopped:
    """A function of `time` that takes the stopped moment where the running one is left out.

    No function: `logging` keeps one in a class, where a function would become a method.
    """

    def __init__(self, real: Any, place: int, moment: Any) -> None:
        self._real = real
        self._place = place
        self._moment = moment
        self.__name__ = real.__name__
        self.__doc__ = real.__doc__

    def __call__(self, *given: Any) -> Any:
        if len(given) == self._place or (len(given) == self._place + 1 and given[-1] is None):
            given = (*given[: self._place], self._moment)
        return self._real(*given)


def _put(kind: type, **methods: Any) -> None:
    """Give a type written in C other methods; its dictionary can be had, but not through itself."""
    (names,) = gc.get_referents(vars(kind))
    names.update(methods)
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))
