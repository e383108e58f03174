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
        setattr(time, name, _of_seconds(getattr(time, name), stopped))
    real_asctime, real_strftime, localtime = time.asctime, time.strftime, time.localtime

    def asctime(t: Any = None) -> str:
        return real_asctime(localtime() if t is None else t)

    def strftime(form: str, t: Any = None) -> str:
        return real_strftime(form, localtime() if t is None else t)

    time.asctime = asctime
    time.strftime = strftime


def _of_seconds(real: Any, stopped: float) -> Any:
    def told(seconds: Any = None) -> Any:
        return real(stopped if seconds is None else seconds)

    told.__name__ = real.__name__
    return told


def _put(kind: type, **methods: Any) -> None:
    """Give a type written in C other methods; its dictionary can be had, but not through itself."""
    (names,) = gc.get_referents(vars(kind))
    names.update(methods)
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))
