"""Files of JSON objects, one a line or one alone: checked against a schema as they are read, appended to kill-safe."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from searchsim.documents import faults_in
from searchsim.errors import UsageError

__all__ = ["append", "mend", "read_lines", "read_objects"]


def read_lines(path: Path, kind: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The lines of a file with their numbers; empty ones are passed over.

    Args:
        path: The file.
        kind: The name of the schema that each line keeps.

    Raises:
        UsageError: The file isn't there, or a line isn't sound; the message names the line.
    """
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
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
    return record


def append(path: Path, line: Mapping[str, Any]) -> None:
    """Add a line; it is on disk when this returns. What a kill left of a line before is taken away."""
    with path.open("ab+") as out:
        _mend(out)
        out.write(orjson.dumps(line) + b"\n")
        out.flush()
        os.fsync(out.fileno())


def mend(path: Path) -> None:
    """Take away what a kill left of the last line of a file that is there."""
    if path.is_file():
        with path.open("rb+") as file:
            _mend(file)


def _mend(file: BinaryIO) -> None:
    end = file.seek(0, os.SEEK_END)
    if not end:
        return
    file.seek(end - 1)
    if file.read(1) != b"\n":
        file.seek(0)
        file.truncate(file.read().rfind(b"\n") + 1)
    file.seek(0, os.SEEK_END)
