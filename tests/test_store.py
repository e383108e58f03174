from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

from searchsim.errors import UsageError
from searchsim.store import SqliteStore


def test_worlds_and_events_come_back_in_order(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s.sqlite")
    assert store.add("a", {"n": 1})
    assert not store.add("a", {"n": 2})
    assert store.add("b", {"n": 3})
    for n in range(5):
        store.append("a", {"event": "search", "n": n})
    store.close()
    again = SqliteStore(tmp_path / "s.sqlite")
    assert list(again.worlds()) == [("a", {"n": 1}), ("b", {"n": 3})]
    assert [e["n"] for e in again.events("a")] == list(range(5))
    again.remove("a")
    assert list(again.events("a")) == []
    assert [k for k, _ in again.worlds()] == ["b"]
    again.close()


def _write(path: str, name: str, count: int) -> None:
    store = SqliteStore(Path(path))
    for n in range(count):
        store.append("shared", {"event": name, "n": n})
    store.close()


def test_four_processes_on_one_file_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    SqliteStore(path).close()
    spawn = multiprocessing.get_context("spawn")
    started = [spawn.Process(target=_write, args=(str(path), f"p{n}", 200)) for n in range(4)]
    for process in started:
        process.start()
    for process in started:
        process.join(timeout=120)
        assert process.exitcode == 0
    store = SqliteStore(path)
    events = list(store.events("shared"))
    store.close()
    for n in range(4):
        assert [e["n"] for e in events if e["event"] == f"p{n}"] == list(range(200))


def test_a_file_that_is_no_store_is_named(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.sqlite"
    wrong.write_bytes(b"not a database at all" * 100)
    with pytest.raises(UsageError, match="--store"):
        SqliteStore(wrong)
    assert wrong.read_bytes().startswith(b"not a database")
