"""Where worlds and their traces are kept: a small protocol, and SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import orjson

from searchsim.errors import UsageError
from searchsim.trace import Event

__all__ = ["SqliteStore", "Store"]


class Store(Protocol):
    """Keeps worlds and events. A world's record is JSON; what it holds is `searchsim.world`'s affair."""

    def add(self, key: str, record: dict[str, Any]) -> bool:
        """Keep a new world; False where the key is taken."""
        ...

    def worlds(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """All kept worlds, oldest first."""
        ...

    def remove(self, key: str) -> None:
        """Forget a world and its events."""
        ...

    def append(self, key: str, event: Event) -> None:
        """Add an event to a world's trace; it is kept when this returns."""
        ...

    def events(self, key: str) -> Iterator[Event]:
        """A world's events, oldest first."""
        ...

    def close(self) -> None:
        """Let go of the store."""
        ...


class SqliteStore:
    """Worlds and traces in one SQLite file, or in memory.

    WAL, and no transaction that reads before it writes: several processes may write to one file without failing or
    losing anything.
    """

    def __init__(self, path: Path | None = None) -> None:
        """Open a store, and make it where it doesn't exist.

        Args:
            path: The file; None keeps everything in memory until the process ends.

        Raises:
            UsageError: The file can't be used.
        """
        try:
            self._db = sqlite3.connect(
                str(path) if path else ":memory:", timeout=30, isolation_level=None, check_same_thread=False
            )
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.executescript(
                """
                CREATE TABLE IF NOT EXISTS world (key TEXT PRIMARY KEY, record BLOB NOT NULL);
                CREATE TABLE IF NOT EXISTS event (
                    key TEXT NOT NULL, id INTEGER NOT NULL, event BLOB NOT NULL, PRIMARY KEY (key, id)
                ) WITHOUT ROWID;
                """
            )
        except (sqlite3.Error, OSError) as error:
            if hasattr(self, "_db"):
                self._db.close()
            raise UsageError(f"the store {path} can't be used ({error}): name another file with --store") from error

    def add(self, key: str, record: dict[str, Any]) -> bool:
        """See `Store.add`."""
        done = self._db.execute("INSERT INTO world VALUES (?, ?) ON CONFLICT DO NOTHING", (key, orjson.dumps(record)))
        return done.rowcount == 1

    def worlds(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """See `Store.worlds`."""
        for key, record in self._db.execute("SELECT key, record FROM world ORDER BY rowid").fetchall():
            yield key, orjson.loads(record)

    def remove(self, key: str) -> None:
        """See `Store.remove`."""
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute("DELETE FROM world WHERE key = ?", (key,))
        self._db.execute("DELETE FROM event WHERE key = ?", (key,))
        self._db.execute("COMMIT")

    def append(self, key: str, event: Event) -> None:
        """See `Store.append`."""
        self._db.execute(
            "INSERT INTO event SELECT ?1, coalesce(max(id), 0) + 1, ?2 FROM event WHERE key = ?1",
            (key, orjson.dumps(event)),
        )

    def events(self, key: str) -> Iterator[Event]:
        """See `Store.events`."""
        rows = self._db.execute("SELECT event FROM event WHERE key = ? ORDER BY id", (key,)).fetchall()
        for (event,) in rows:
            yield orjson.loads(event)

    def close(self) -> None:
        """See `Store.close`."""
        self._db.close()
