"""What a query asks for: its fields checked, and what of them an answer echoes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from searchsim.server.serper.verticals import VERTICALS, Vertical
from searchsim.server.serper.wire import RefusedError

__all__ = ["Asked", "asked", "engine_of"]

_MOST = 100
_LONGEST_QUERY = 2048
_LONGEST_TBS = 256
_LONGEST_URL = 8192
_ECHO_FIRST = ("q", "gl", "hl", "location", "autocorrect")
_ECHO_LAST = ("type", "num", "page", "tbs", "engine")
_FLAGS = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True, slots=True)
class Asked:
    """A query that can be answered.

    Attributes:
        name: The vertical's name.
        text: The search string; empty where the vertical was asked by something else.
        tbs: The time filter.
        k: Results a page.
        page: From 1.
        language: The language that dates are shown in; empty for each document's own.
        echo: ``searchParameters``.
    """

    name: str
    text: str
    tbs: str
    k: int
    page: int
    language: str
    echo: dict[str, Any]

    @property
    def vertical(self) -> Vertical:
        """The vertical."""
        return VERTICALS[self.name]

    @property
    def credits(self) -> int:
        """What the query costs."""
        return 2 if self.k > 10 else 1


def asked(path: str, fields: object, engine: str = "google") -> Asked:
    """A query from its fields; whatever isn't known is ignored.

    Args:
        path: The vertical whose path was asked for; on ``search`` the field ``type`` names another.
        fields: Of JSON or of a query string, where numbers are strings.
        engine: What the answer calls its engine.

    Raises:
        RefusedError: It can't be answered.
    """
    if not isinstance(fields, dict):
        raise RefusedError(400, "A query must be an object")
    types = [name for name, vertical in VERTICALS.items() if vertical.typed]
    kind = fields.get("type")
    if kind not in (None, "", path) and (not isinstance(kind, str) or kind not in types):
        raise RefusedError(400, f"Unknown type: one of {', '.join(types)}")
    name = kind if path == "search" and kind else path
    vertical = VERTICALS[name]
    text = _text(fields, vertical)
    tbs = _plain(fields, "tbs")
    if len(tbs) > _LONGEST_TBS:
        raise RefusedError(400, f"tbs is too long: at most {_LONGEST_TBS} characters")
    return Asked(
        name=name,
        text=text,
        tbs=tbs,
        k=_whole(fields, "num", 10),
        page=_whole(fields, "page", 1),
        language=_plain(fields, "hl"),
        echo=_echo(fields, name, vertical, engine),
    )


def _text(fields: Mapping[str, Any], vertical: Vertical) -> str:
    """The search string, where the vertical's one field that must be there is, or another in its place."""
    for name in vertical.wants:
        value = fields.get(name)
        number = isinstance(value, int | float) and not isinstance(value, bool) and name != "url"
        if not (number or isinstance(value, str)) or not str(value).strip():
            continue
        longest = _LONGEST_URL if name == "url" else _LONGEST_QUERY
        if len(str(value)) > longest:
            what = "query" if name == "q" else name
            raise RefusedError(400, f"The {what} is too long: at most {longest} characters")
        return str(value) if name == "q" else ""
    what = "url" if vertical.wants == ("url",) else "query"
    raise RefusedError(400, f"Missing {what} parameter")


def _plain(fields: Mapping[str, Any], name: str) -> str:
    """A field as text; empty where it isn't sent, or is no plain value, which may be nested to any depth."""
    value = fields.get(name)
    return str(value) if isinstance(value, str | int | float) else ""


def _whole(fields: Mapping[str, Any], name: str, default: int) -> int:
    """A number from 1, which clients also send as a string."""
    value = fields.get(name)
    if value is None or value == "":
        return default
    digits = "" if isinstance(value, bool) else _plain(fields, name).strip()
    number = int(float(digits)) if re.fullmatch(r"[0-9]{1,6}(?:\.0)?", digits) else 0
    if number < 1:
        raise RefusedError(400, f"Invalid {name}: give a whole number from 1 to {_MOST}")
    return min(number, _MOST)


def engine_of(host: str) -> str:
    """The engine that a host stands for: ``bing.serper.dev`` for Bing; Google where it says nothing."""
    first = host.partition(".")[0]
    return first if first in ("bing", "baidu") else "google"


def _echo(fields: Mapping[str, Any], name: str, vertical: Vertical, engine: str) -> dict[str, Any]:
    """What was sent, in Serper's order, with numbers as numbers, and type and engine always."""
    sent: dict[str, Any] = {**fields, "type": name, "engine": engine}
    for number in ("num", "page"):
        if sent.get(number) not in (None, ""):
            sent[number] = int(float(sent[number]))
    sent["autocorrect"] = _FLAGS.get(_plain(fields, "autocorrect").lower())
    order = (*_ECHO_FIRST, *vertical.echoes, *_ECHO_LAST)
    plain = {n: sent.get(n) for n in order}
    told = {n: v for n, v in plain.items() if isinstance(v, str | int | float) and v != ""}
    if isinstance(told.get("q"), bool):
        del told["q"]
    if name == "images":
        # Its live answers say so at the end where it wasn't asked for.
        told.setdefault("num", 10)
    return told
