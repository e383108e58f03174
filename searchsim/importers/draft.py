"""A corpus folder in the making: written beside its place, put there whole at the end, or gone without a trace."""

from __future__ import annotations

import hashlib
import shutil
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, BinaryIO

import orjson
import yaml

from searchsim import __version__
from searchsim.corpus import FILES, Checker
from searchsim.documents import faults_in
from searchsim.errors import SearchsimError, UsageError
from searchsim.importers.identifier import safe_id

__all__ = ["Draft", "Imported", "drafting"]

_NO_NAMES: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import made.

    Attributes:
        tasks: Number of tasks.
        documents: Number of organic documents.
        misleading: Number of misleading documents.
        path: The corpus's folder.
    """

    tasks: int
    documents: int
    misleading: int
    path: Path


class Draft:
    """A corpus folder in the making. Records go straight to their files; only ids and addresses are held.

    Attributes:
        facts: What corpus.yaml will say; importers fill in title, description, license, canary.
        notes: What the import changed or left out, counted; it stands in manifest.json.
        sources: What was read: path or name, size in bytes and SHA-256 where it is a file.
    """

    def __init__(self, folder: Path, out: Path, today: date, progress: Callable[[int], None] | None) -> None:
        self.facts: dict[str, str] = {"name": safe_id(out.name), "description": "", "today": today.isoformat()}
        self.notes: Counter[str] = Counter()
        self.sources: list[dict[str, Any]] = []
        self._folder = folder
        self._out = out
        self._checker = Checker({"today": today.isoformat()})
        self._files: dict[str, BinaryIO] = {}
        self._hashes: dict[str, Any] = {}
        self._counts: Counter[str] = Counter()
        self._progress = progress

    def lines(self, path: Path) -> Iterator[tuple[str, Any]]:
        """The records of a JSONL file, one at a time, each with its place (``file:line``).

        Raises:
            UsageError: There is no such file, or a line is no JSON.
        """
        digest = hashlib.sha256()
        try:
            with path.open("rb") as lines:
                for number, line in enumerate(lines, start=1):
                    digest.update(line)
                    if not line.strip():
                        continue
                    try:
                        record = orjson.loads(line)
                    except orjson.JSONDecodeError as error:
                        raise UsageError(f"{path}:{number}: not a JSON value: {error}") from error
                    yield f"{path}:{number}", record
                size = lines.tell()
        except FileNotFoundError as error:
            raise UsageError(f"{path}: no such file") from error
        except (PermissionError, IsADirectoryError) as error:
            raise UsageError(f"{path}: can't be read: {error.strerror}") from error
        self._read(path, size, digest.hexdigest())

    def whole(self, path: Path) -> Any:
        """What stands in a JSON file, which is held whole.

        Raises:
            UsageError: It can't be read, or is no JSON.
        """
        try:
            content = path.read_bytes()
            value = orjson.loads(content)
        except OSError as error:
            raise UsageError(f"{path}: can't be read: {error.strerror}") from error
        except orjson.JSONDecodeError as error:
            raise UsageError(f"{path}: not a JSON value: {error}") from error
        self._read(path, len(content), hashlib.sha256(content).hexdigest())
        return value

    def _read(self, path: Path, size: int, sha256: str) -> None:
        entry = {"path": str(path), "bytes": size, "sha256": sha256}
        if entry not in self.sources:  # a file that is read in two passes is one source
            self.sources.append(entry)

    def add(self, file: str, record: Mapping[str, Any], place: str, names: Mapping[str, str] = _NO_NAMES) -> None:
        """Check a record as ``searchsim corpus check`` does, and write it.

        Args:
            file: One of `searchsim.corpus.FILES`; tasks come before documents, blueprints before misleading ones.
            record: The record, with the schema's names; empty fields are left out.
            place: Where it comes from, for the message.
            names: What the source calls a field, where it has another name for it.

        Raises:
            UsageError: The record is at fault; the message names place and field.
        """
        filled = {k: v for k, v in record.items() if v is not None and v != ""}
        wrong = faults_in(FILES[file], filled) or list(self._checker.take(FILES[file], filled))
        if wrong:
            field, message = wrong[0]
            hint = " (give a later one with --today)" if "the corpus's today" in message else ""
            raise UsageError(f"{place}: {names.get(field, field)}: {message}{hint}")
        self.write(file, filled)

    def takes(self, url: object) -> bool:
        """Whether an address is one, and no page has it yet."""
        if not isinstance(url, str) or faults_in("document", {"id": "x", "url": url, "title": "x", "body": "x"}):
            return False
        # A port that is too large is a fault that only the checker's parser sees.
        return self._checker.takes(url) and not any(Checker({}).take("document", {"id": "x", "url": url}))

    def write(self, file: str, record: Mapping[str, Any]) -> None:
        """Write a record that is known to be right."""
        line = orjson.dumps(record) + b"\n"
        self._open(file).write(line)
        self._hashes[file].update(line)
        self._counts[file] += 1
        if self._progress and file != "tasks.jsonl":
            written = self._written()
            if written % 100 == 0:
                self._progress(written)

    def _written(self) -> int:
        return self._counts["documents.jsonl"] + self._counts["misleading.jsonl"]

    def _open(self, file: str) -> BinaryIO:
        if file not in self._files:
            self._files[file] = (self._folder / file).open("wb", buffering=1 << 20)
            self._hashes[file] = hashlib.sha256()
        return self._files[file]

    def close(self) -> None:
        """Close what is open."""
        for file in self._files.values():
            file.close()

    def finish(self, kind: str, source: str, options: Mapping[str, Any]) -> Imported:
        """Write corpus.yaml and manifest.json, and put the folder in its place."""
        self._open("tasks.jsonl")
        self.close()
        content = yaml.safe_dump(self.facts, sort_keys=False, allow_unicode=True).encode()
        (self._folder / "corpus.yaml").write_bytes(content)
        files = {
            "corpus.yaml": hashlib.sha256(content).hexdigest(),
            **{f: self._hashes[f].hexdigest() for f in FILES if f in self._hashes},
        }
        manifest = {
            "kind": kind,
            "source": source,
            "options": {k: str(v) for k, v in options.items()},
            "date": date.today().isoformat(),
            "searchsim": __version__,
            "counts": {FILES[f]: self._counts[f] for f in FILES if f in self._hashes},
            "notes": {k: n for k, n in sorted(self.notes.items()) if n},
            "sources": self.sources,
            "files": files,
        }
        (self._folder / "manifest.json").write_bytes(orjson.dumps(manifest, option=orjson.OPT_INDENT_2) + b"\n")
        self._folder.replace(self._out)
        if self._progress:
            self._progress(self._written())
        return Imported(
            tasks=self._counts["tasks.jsonl"],
            documents=self._counts["documents.jsonl"],
            misleading=self._counts["misleading.jsonl"],
            path=self._out,
        )


@contextmanager
def drafting(out: Path, today: date, progress: Callable[[int], None] | None) -> Iterator[Draft]:
    """A draft beside `out`. Whatever breaks the block off, nothing of it stays, folders above included.

    Raises:
        UsageError: `out` is filled or no folder can be made there.
        SearchsimError: Writing failed, e.g. on a full disk.
    """
    out = out.resolve()
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out} exists and isn't empty: name another folder with --out")
    missing = [p for p in (out.parent, *out.parent.parents) if not p.exists()]
    folder = out.with_name(f".{out.name}.{uuid.uuid4().hex[:8]}.new")
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise UsageError(f"{out}: can't be made: {error.strerror}: name another folder with --out") from error
    draft = Draft(folder, out, today, progress)
    done = False
    try:
        yield draft
        done = not folder.exists()
    except OSError as error:
        raise SearchsimError(f"{out}: the import broke off, nothing is kept: {error}") from error
    finally:
        draft.close()
        if not done:
            shutil.rmtree(folder, ignore_errors=True)
            for parent in missing:
                parent.rmdir()
