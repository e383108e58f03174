"""Files for the importers to read, and what came of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from searchsim.corpus import check


def write_lines(path: Path, records: Iterable[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as out:
        for record in records:
            out.write(json.dumps(record, ensure_ascii=False) + "\n")
    return path


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def manifest(corpus: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((corpus / "manifest.json").read_text("utf-8"))
    return read


def faults(corpus: Path) -> list[str]:
    return [str(f) for f in check(corpus)]


def left_in(folder: Path) -> set[str]:
    return {p.name for p in folder.iterdir()}
