"""Answers that were paid for: kept in one SQLite file as they come, so that an interrupted run goes on where it was."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

import orjson

from searchsim.errors import UsageError
from searchsim.judge.model import Reply

__all__ = ["Cache", "key"]


def key(step: str, model: str, messages: Sequence[Mapping[str, str]]) -> str:
    """What an answer is kept under: a hash of the step's version, the model's identity and all that it was sent."""
    return hashlib.sha256(orjson.dumps([step, model, [dict(m) for m in messages]])).hexdigest()


class Cache:
    """Answers by `key`.

    What is kept is the model's text as it came, unusable ones among them: an answer is asked for once.
    """

    def __init__(self, path: Path | None = None) -> None:
        """Open a cache, and make it where it doesn't exist.

        Args:
            path: The file; None keeps answers in memory.

        Raises:
            UsageError: The file can't be used.
        """
        try:
            if path:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(str(path) if path else ":memory:", timeout=30, isolation_level=None)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS answer "
                "(key TEXT PRIMARY KEY, step TEXT NOT NULL, text TEXT NOT NULL, usage BLOB NOT NULL) WITHOUT ROWID"
            )
        except (sqlite3.Error, OSError) as error:
            if hasattr(self, "_db"):
                self._db.close()
            raise UsageError(f"the cache {path} can't be used ({error}): name another file with --cache") from error

    def get(self, key: str) -> Reply | None:
        """A kept answer with its usage."""
        row = self._db.execute("SELECT text, usage FROM answer WHERE key = ?", (key,)).fetchone()
        return (row[0], orjson.loads(row[1])) if row else None

    def put(self, key: str, step: str, reply: Reply) -> Reply:
        """Keep an answer; it is kept when this returns.

        Returns:
            The answer that is kept: where another process was faster, its one, so that both go on with the same.
        """
        text, usage = reply
        # A lone half of a character can't be kept, and means nothing.
        sound = text.encode("utf-8", "replace").decode()
        row = (key, step, sound, orjson.dumps(dict(usage)))
        self._db.execute("INSERT INTO answer VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", row)
        return self.get(key) or (sound, usage)

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()
