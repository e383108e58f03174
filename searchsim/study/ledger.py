"""What a study's folder holds, and what state it is in.

    contract.yaml    the contract, as it is in force
    plan.json        the planned runs, written before the first of them
    attempts.jsonl   a line when an attempt starts, and one when it ends; appended, never changed
    verdicts.jsonl   verdicts given afterwards; appended, never changed
    worlds.sqlite    the worlds of all attempts, with their traces
    *.eval           Inspect's logs: each run's transcript, record and first verdict (``inspect view`` opens them)

Records are read from Inspect's logs, so that a record is never without its transcript. An attempt that had ended before
its process was killed, and that the logs lack, is taken up again with the record that its last line holds.
"""

from __future__ import annotations

import fcntl
import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

import orjson
import yaml

from searchsim.documents import Document, faults_in, misleading_from
from searchsim.errors import SearchsimError, UsageError
from searchsim.judge import Judge, Verdict
from searchsim.records import Record, seen, state
from searchsim.store import SqliteStore
from searchsim.study.contract import Contract, parse
from searchsim.study.matrix import Plan

__all__ = ["SCORER", "Attempts", "Ledger", "RunLog", "RunWaitsError"]


SCORER = "fcar"
"""Inspect's name of the scorer, whose score holds the record."""


class RunWaitsError(SearchsimError):
    """A run wasn't begun, and stays one that isn't run."""


class Attempts:
    """The attempts of a study, from its file; and the file, to append to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lines: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for line in _lines(path):
            self._lines[line["run"]].append(line)

    def of(self, run: str) -> list[dict[str, Any]]:
        """A run's attempts as its record tells them; one that never ended is interrupted."""
        found: dict[int, dict[str, Any]] = {}
        for line in self._lines[run]:
            if line["event"] == "start":
                found[line["attempt"]] = {
                    "attempt": line["attempt"],
                    "world": line["world"],
                    "started": line["at"],
                    "seconds": None,
                    "state": "interrupted",
                    "reasons": [],
                }
            else:
                kept = {k: line[k] for k in ("seconds", "state", "reasons")}
                found[line["attempt"]].update(kept)
        return list(found.values())

    def ended(self, run: str) -> Record | None:
        """The record of the run's last attempt, where that one ended."""
        last = self._lines[run][-1] if self._lines[run] else None
        return last["record"] if last and last["event"] == "end" else None

    def repeated(self, run: str) -> list[Record]:
        """The records of attempts that another one followed."""
        return [line["record"] for line in self._lines[run] if line["event"] == "end"][:-1]

    def start(self, run: str, attempt: int, world: str) -> None:
        """Note that an attempt starts."""
        self._add({"event": "start", "run": run, "attempt": attempt, "world": world, "at": _now()})

    def end(self, run: str, attempt: int, seconds: float | None, record: Record) -> None:
        """Note that an attempt ended, with the record that it would give the run."""
        end = {"seconds": seconds, "state": record["status"], "reasons": record["reasons"], "record": record}
        self._add({"event": "end", "run": run, "attempt": attempt, "at": _now(), **end})

    def _add(self, line: dict[str, Any]) -> None:
        _append(self.path, line)
        self._lines[line["run"]].append(line)


class RunLog:
    """What Inspect's logs hold of a study: for each run its record, or the error that it ended in."""

    def __init__(self, folder: Path) -> None:
        self.records: dict[str, Record] = {}
        self.failures: dict[str, str] = {}
        if not any(folder.glob("*.eval")):
            return
        from inspect_ai.log import list_eval_logs, read_eval_log

        # Oldest first: where a run stands in several logs (Inspect carries finished samples on), the newest counts.
        for info in sorted(list_eval_logs(str(folder)), key=lambda i: i.name):
            try:
                log = read_eval_log(info)
            except (OSError, ValueError, EOFError) as error:
                raise UsageError(f"{Path(info.name).name} can't be read as Inspect's log: {error}") from error
            for sample in log.samples or []:
                run = str(sample.id)
                score = (sample.scores or {}).get(SCORER)
                record = (score.metadata or {}).get("record") if score else None
                if sample.invalidation is not None:
                    continue
                if isinstance(record, dict) and sample.error is None:
                    self.records[run] = record
                    self.failures.pop(run, None)
                elif sample.error is not None and run not in self.records and log.status == "success":
                    # In a log that was broken off, what was under way is no failure.
                    self.failures[run] = " ".join(sample.error.message.split())[:500]
        # What wasn't begun is none either.
        self.failures = {k: v for k, v in self.failures.items() if not v.startswith(RunWaitsError.__name__)}


class Ledger:
    """A study's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def create(cls, folder: Path, contract: Contract, plan: Plan) -> Ledger:
        """The folder for a study: made, or found with the same contract in it.

        Raises:
            UsageError: Another contract's study is there.
        """
        ledger = cls(folder)
        file = folder / "plan.json"
        if file.exists():
            if ledger.plan().contract_sha256 != contract.sha256:
                raise UsageError(
                    f"{folder} holds a study by another contract (hash {ledger.plan().contract_sha256[:12]}…, not "
                    f"{contract.sha256[:12]}…): name another --log-dir, or the contract that was begun"
                )
            # Its limits may be others now.
            _write(folder / "contract.yaml", _yaml(contract))
            return ledger
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.glob("*.eval")):
            raise UsageError(f"{folder} holds Inspect's logs of something else: name another --log-dir")
        _write(folder / "contract.yaml", _yaml(contract))
        # The plan is last: a folder with a plan is whole.
        _write(file, orjson.dumps(plan.record(), option=orjson.OPT_INDENT_2))
        return ledger

    def contract(self) -> dict[str, Any]:
        """The contract's data.

        Raises:
            UsageError: It isn't there.
        """
        try:
            return dict(yaml.safe_load((self.folder / "contract.yaml").read_text("utf-8")))
        except (OSError, yaml.YAMLError, TypeError, ValueError) as error:
            raise UsageError(f"{self.folder} holds no study: no contract.yaml in it that can be read") from error

    def parsed(self) -> Contract:
        """The contract, checked again; its corpus has to be at hand.

        Raises:
            ContractError: The contract doesn't fit what is there, e.g. its corpus has changed.
        """
        return parse(self.contract(), "contract.yaml")

    def plan(self) -> Plan:
        """The planned runs.

        Raises:
            UsageError: There is no plan.
        """
        try:
            return Plan.of(orjson.loads((self.folder / "plan.json").read_bytes()))
        except (OSError, orjson.JSONDecodeError, KeyError, TypeError) as error:
            raise UsageError(f"{self.folder} holds no study: no plan.json in it that can be read") from error

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Be the only process that works in the folder; the lock ends with the process, however it ends.

        Raises:
            UsageError: Another one does.
        """
        with (self.folder / ".lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise UsageError(f"another process works in {self.folder}: wait for it, or stop it") from error
            yield

    def attempts(self) -> Attempts:
        """The attempts so far."""
        return Attempts(self.folder / "attempts.jsonl")

    def store(self) -> SqliteStore:
        """The worlds' store."""
        return SqliteStore(self.folder / "worlds.sqlite")

    def log(self) -> RunLog:
        """What Inspect's logs hold."""
        return RunLog(self.folder)

    def reopen(self, runs: Collection[str]) -> None:
        """Have Inspect take up runs again that ended without a record: an error of ours, or a limit of the cost.

        Inspect counts a sample that ended in an error as done; one that was declared invalid it makes again.
        """
        if not any(self.folder.glob("*.eval")):
            return
        from inspect_ai.log import ProvenanceData, invalidate_samples, list_eval_logs, read_eval_log, write_eval_log

        newest = {}
        for info in sorted(list_eval_logs(str(self.folder)), key=lambda i: i.name):
            newest[info.task_id] = info
        for info in newest.values():
            log = read_eval_log(info)
            if log.status != "success":
                continue
            again = [s.uuid for s in log.samples or [] if s.uuid and str(s.id) in runs and s.error is not None]
            if again:
                reason = ProvenanceData(author="searchsim", reason="ended without a record")
                write_eval_log(invalidate_samples(log, again, reason), info.name)

    def append_verdict(self, run: str, verdict: Verdict) -> None:
        """Keep a verdict that was given afterwards."""
        _append(self.folder / "verdicts.jsonl", {"run": run, "at": _now(), "verdict": verdict.record()})

    def verdicts(self) -> list[dict[str, Any]]:
        """All verdicts given afterwards, oldest first: run, at, verdict.

        Raises:
            UsageError: A line is none.
        """
        found = []
        for number, line in enumerate(_lines(self.folder / "verdicts.jsonl"), start=1):
            wrong = faults_in("verdict", line.get("verdict"))
            if wrong or "run" not in line:
                raise UsageError(f"verdicts.jsonl:{number}: {wrong[0] if wrong else 'names no run'}")
            found.append(line)
        return found

    def judged_by(self, records: Iterable[Record], judge: Judge) -> list[Record]:
        """Records with the verdicts of one judge: the same name, model and prompt.

        Of several, the first that isn't unjudged is in force: judging again can give a verdict where there was none,
        and never another one.
        """
        mine: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for line in self.verdicts():
            mine[line["run"]].append(line["verdict"])
        found = []
        for record in records:
            given = [record["verdict"], *mine[record["run"]]] if record["status"] == "valid" else []
            given = [v for v in given if v and _same(v, judge)]
            chosen = next((v for v in given if v["state"] != "unjudged"), given[0] if given else None)
            found.append({**record, "verdict": chosen})
        return found

    def verified(self, records: Iterable[Record]) -> list[Record]:
        """Records held against the kept traces: one that doesn't agree with its trace is invalid, and says so."""
        path = self.folder / "worlds.sqlite"
        if not path.is_file():
            return list(records)
        found = []
        with closing(SqliteStore(path)) as store:
            worlds = dict(store.worlds())
            for record in records:
                wrong = _differs(record, store, worlds.get(record["world"]))
                if wrong and record["status"] != "failed":
                    reasons = [*record["reasons"], wrong]
                    record = {**record, "status": "invalid", "reasons": reasons, "verdict": None}
                found.append(record)
        return found

    def measured(self, records: Sequence[Record]) -> dict[tuple[str, str], dict[str, float]]:
        """Calls and tokens of a run on average, by agent and model."""
        groups: dict[tuple[str, str], list[Record]] = defaultdict(list)
        for record in records:
            if record["status"] == "valid":
                groups[(record["agent"], record["model"])].append(record)
        return {
            key: {
                "calls": sum(r["usage"]["calls"]["live"] for r in found) / len(found),
                "input_tokens": sum(r["usage"]["prompt_tokens"] for r in found) / len(found),
                "output_tokens": sum(r["usage"]["completion_tokens"] for r in found) / len(found),
            }
            for key, found in groups.items()
        }

    def open_runs(self, plan: Plan, log: RunLog) -> list[str]:
        """Planned runs that have no record yet."""
        return [p.run for p in plan.runs if state(log.records.get(p.run)) == "not_run"]


def _yaml(contract: Contract) -> bytes:
    return yaml.safe_dump(dict(contract.data), sort_keys=False, allow_unicode=True, width=120).encode()


def _same(verdict: Mapping[str, Any], judge: Judge) -> bool:
    mine = (judge.name, judge.model, judge.prompt_sha256)
    return (verdict["judge"], verdict["model"], verdict["prompt_sha256"]) == mine


def _differs(record: Record, store: SqliteStore, world: Mapping[str, Any] | None) -> str:
    """How a record disagrees with its trace; empty where it doesn't."""
    if not record["world"]:
        return ""
    if world is None:
        return "its trace isn't in the study's store any more"
    again = seen(list(store.events(record["world"])), _pool(world), record["report"])
    if again["trace"] != record["trace"]:
        return "its trace was changed after the run"
    for name, value in again.items():
        if orjson.dumps(value, option=orjson.OPT_SORT_KEYS) != orjson.dumps(record[name], option=orjson.OPT_SORT_KEYS):
            return f"its record's {name} aren't what its trace says"
    return ""


def _pool(world: Mapping[str, Any]) -> list[Document]:
    return [misleading_from(d) for d in world["pool"]]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _append(path: Path, line: Mapping[str, Any]) -> None:
    """Add a line; it is on disk when this returns. What a kill left of a line before is taken away."""
    with path.open("ab+") as out:
        end = out.seek(0, os.SEEK_END)
        if end and not _ends_a_line(out, end):
            out.seek(0)
            out.truncate(out.read().rfind(b"\n") + 1)
        out.write(orjson.dumps(line) + b"\n")
        out.flush()
        os.fsync(out.fileno())


def _ends_a_line(file: BinaryIO, end: int) -> bool:
    file.seek(end - 1)
    return file.read(1) == b"\n"


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a file. A last one that was cut off by a kill never happened."""
    if not path.is_file():
        return
    content = path.read_bytes()
    for number, line in enumerate(content.split(b"\n"), start=1):
        if not line:
            continue
        try:
            yield orjson.loads(line)
        except orjson.JSONDecodeError as error:
            if not content.endswith(b"\n") and number == content.count(b"\n") + 1:
                return
            raise UsageError(f"{path.name}:{number}: not a JSON value: {error}") from error


def _write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    beside = path.with_name(f".{path.name}.new")
    beside.write_bytes(content)
    beside.replace(path)
