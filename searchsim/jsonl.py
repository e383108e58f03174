"""Files of JSON objects, one a line or one alone: checked against a schema as they are read, appended to kill-safe."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from searchsim.documents import faults_in
from searchsim.errors import UsageError

__all__ = ["append", "held", "read_lines", "read_objects", "whole"]

_EXACT = 2.0**53
"""Up to here every whole number is a float of its own."""


def read_lines(path: Path, kind: str, *, begun: bytes = b"") -> Iterator[tuple[int, dict[str, Any]]]:
    """The lines of a file with their numbers; empty ones are passed over.

    Args:
        path: The file.
        kind: The name of the schema that each line keeps.
        begun: What every line begins with: a last one that does, but has no end and is no JSON, is what a kill left of
            it, and passed over. Nothing is passed over where this is empty.

    Raises:
        UsageError: The file isn't there, or a line isn't sound; the message names the line.
    """
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip() or (begun and _torn(line, begun)):
                continue
            yield number, _checked(line, kind, f"{path.name}:{number}")


def read_objects(path: Path, kind: str) -> Iterator[dict[str, Any]]:
    """The objects of a file: the one that a ``.json`` file is, however it is laid out, or one a line.

    Args:
        path: The file.
        kind: The name of the schema that each keeps.

    Raises:
        UsageError: As of `read_lines`.
    """
    if path.suffix != ".json":
        yield from (record for _, record in read_lines(path, kind))
    elif path.is_file():
        yield _checked(path.read_bytes(), kind, path.name)
    else:
        raise UsageError(f"{path}: no such file")


def _checked(text: bytes, kind: str, place: str) -> dict[str, Any]:
    try:
        record: dict[str, Any] = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise UsageError(f"{place}: not a JSON value: {error}") from error
    if wrong := faults_in(kind, record):
        field, message = wrong[0]
        raise UsageError(f"{place}: {field}: {message}")
    found: dict[str, Any] = whole(record)
    return found


def whole(value: Any) -> Any:
    """A JSON value whose whole numbers are integers, also where they were written as 2.0: to a schema both are one."""
    if isinstance(value, dict):
        return {key: whole(inside) for key, inside in value.items()}
    if isinstance(value, list):
        return [whole(inside) for inside in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT else value


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Have a file that lines are added to for oneself. It is made where it isn't there.

    Raises:
        UsageError: It can't be written, or another process has it.
    """
    try:
        file = path.open("ab")
    except OSError as error:
        raise UsageError(f"{path}: it can't be written: {error.strerror}") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise UsageError(f"{path}: another process is writing it: wait for its end") from error
        yield


def append(path: Path, line: Mapping[str, Any]) -> None:
    """Add a line; it is on disk when this returns. What a kill left of a line before is taken away."""
    with path.open("ab+") as out:
        _mend(out)
        out.write(orjson.dumps(line) + b"\n")
        out.flush()
        os.fsync(out.fileno())


def _mend(file: BinaryIO) -> None:
    """Make a file end with the end of a line: a last one that has none is ended where it is whole, else taken away."""
    end = file.seek(0, os.SEEK_END)
    if not end:
        return
    file.seek(end - 1)
    if file.read(1) != b"\n":
        file.seek(0)
        content = file.read()
        start = content.rfind(b"\n") + 1
        if _json(content[start:]):
            file.write(b"\n")
        else:
            file.truncate(start)
    file.seek(0, os.SEEK_END)


def _torn(line: bytes, begun: bytes) -> bool:
    """Whether a line is what a kill left of one that began so."""
    return not line.endswith(b"\n") and (line.startswith(begun) or begun.startswith(line)) and not _json(line)


def _json(text: bytes) -> bool:
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True
