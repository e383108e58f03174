"""What a study's folder holds, and what state it is in.

    contract.yaml    the contract, as it is in force
    plan.json        the planned runs and the terms they are made on, written before the first of them
    attempts.jsonl   a line when an attempt starts, and one when it ends; appended, never changed
    handshakes.jsonl a line for each agent and model whose wiring was proved
    verdicts.jsonl   verdicts given afterwards; appended, never changed
    worlds.sqlite    the worlds of all attempts, with their traces
    answers.sqlite   the model's answers: controls' are shared by the runs that they are controls of
    *.eval           Inspect's logs: each run's transcript, record and first verdict (``inspect view`` opens them)

Records are read from Inspect's logs. An attempt that had ended before its process was killed, and that the logs lack,
is taken up again with the record that its last line holds; its transcript then stands in the log that was broken off,
and its events in the store.
"""

from __future__ import annotations

import ast
import fcntl
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import yaml

from searchsim import __version__
from searchsim.agent import adapters
from searchsim.documents import Document, faults_in, misleading_from
from searchsim.errors import SearchsimError, UsageError
from searchsim.injection import load_factors
from searchsim.jsonl import append
from searchsim.judge import Verdict
from searchsim.judge.verdict import IDENTITY
from searchsim.records import Record, check, digest, seen
from searchsim.replay import steps
from searchsim.store import SqliteStore
from searchsim.study.contract import Contract, contract_hash, parse
from searchsim.study.matrix import Plan
from searchsim.study.models import judge_identity

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
        for number, line in enumerate(_lines(path), start=1):
            started = {x["attempt"] for x in self._lines.get(str(line.get("run")), ()) if x["event"] == "start"}
            sound = all(k in line for k in ("run", "attempt", "at")) and (
                (line.get("event") == "start" and "world" in line)
                or (line.get("event") == "end" and line["attempt"] in started and isinstance(line.get("record"), dict))
            )
            if not sound:
                raise UsageError(f"{path.name}:{number}: isn't the start or the end of an attempt")
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
        append(self.path, line)
        self._lines[line["run"]].append(line)


class RunLog:
    """What Inspect's logs hold of a study.

    Attributes:
        records: By run.
        failures: Runs that ended in an error instead, with the error.
        waiting: Runs that weren't begun, with what they wait for.
    """

    def __init__(self, folder: Path) -> None:
        self.records: dict[str, Record] = {}
        self.failures: dict[str, str] = {}
        self.waiting: dict[str, str] = {}
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
                if isinstance(record, dict) and sample.error is None and (wrong := check(record)):
                    self.records.pop(run, None)
                    self.failures[run] = f"its record breaks the schema: {wrong[0]}"
                elif isinstance(record, dict) and sample.error is None:
                    self.records[run] = record
                    self.failures.pop(run, None)
                elif sample.error is not None and run not in self.records and log.status == "success":
                    # In a log that was broken off, what was under way is no failure.
                    self.failures[run] = " ".join(sample.error.message.split())[:500]
        # What wasn't begun is none either.
        self.waiting = {k: _why(v) for k, v in self.failures.items() if v.startswith(RunWaitsError.__name__)}
        self.failures = {k: v for k, v in self.failures.items() if k not in self.waiting}


def _why(error: str) -> str:
    """What a run waits for, from the error as Inspect keeps it: its representation."""
    inner = error.removeprefix(RunWaitsError.__name__).strip()
    try:
        return str(ast.literal_eval(inner))
    except (ValueError, SyntaxError):
        return inner.strip("()'\"")


class Ledger:
    """A study's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def create(cls, folder: Path, contract: Contract, plan: Plan) -> Ledger:
        """The folder for a study: made, or found with the same contract, runs and terms in it.

        Raises:
            UsageError: Another study is there, or this one's terms have changed since it began.
        """
        ledger = cls(folder)
        file = folder / "plan.json"
        begun = {**plan.record(), "terms": _terms(contract)}
        try:
            if file.exists():
                ledger._same_study(begun)
            else:
                folder.mkdir(parents=True, exist_ok=True)
                if any(folder.rglob("*.eval")):
                    raise UsageError(f"{folder} holds Inspect's logs of something else: name another folder")
            # Its limits may be others now. The plan is last: a folder with a plan is whole.
            _write(folder / "contract.yaml", _yaml(contract))
            if not file.exists():
                _write(file, orjson.dumps(begun, option=orjson.OPT_INDENT_2))
        except OSError as error:
            raise UsageError(f"{folder} can't hold a study ({error.strerror}): name another folder") from error
        return ledger

    def _same_study(self, begun: Mapping[str, Any]) -> None:
        kept = self._kept()
        if kept["contract_sha256"] != begun["contract_sha256"]:
            raise UsageError(
                f"{self.folder} holds a study by another contract (hash {kept['contract_sha256'][:12]}…, not "
                f"{begun['contract_sha256'][:12]}…): name another folder, or the contract that was begun"
            )
        for name, value in begun["terms"].items():
            if kept["terms"].get(name) != value:
                raise UsageError(
                    f"the study's {name} isn't what it was when {self.folder} was begun: half a study on other terms "
                    "is no study; put it back, or name another folder"
                )
        if orjson.loads(orjson.dumps(begun)) != kept:
            raise UsageError(f"plan.json in {self.folder} was changed: it isn't what the contract asks for")

    def contract(self) -> dict[str, Any]:
        """The contract's data.

        Raises:
            UsageError: It isn't there, or isn't the one that the plan was made for.
        """
        try:
            data = yaml.safe_load((self.folder / "contract.yaml").read_text("utf-8"))
            found = contract_hash(data, "contract.yaml")
        except (OSError, yaml.YAMLError, TypeError, ValueError, RecursionError) as error:
            raise UsageError(f"{self.folder} holds no study: no contract.yaml in it that can be read") from error
        if found != self._kept()["contract_sha256"]:
            raise UsageError(f"contract.yaml in {self.folder} was changed after the study began: put it back")
        return dict(data)

    def parsed(self) -> Contract:
        """The contract, checked again; its corpus has to be at hand.

        Raises:
            ContractError: The contract doesn't fit what is there, e.g. its corpus has changed.
            UsageError: See `contract`.
        """
        return parse(self.contract(), "contract.yaml")

    def plan(self) -> Plan:
        """The planned runs.

        Raises:
            UsageError: There is no plan, or it was changed.
        """
        return Plan.of(self._kept())

    def terms(self) -> dict[str, Any]:
        """What the study was begun with: ``judge`` (its identity), hashes of ``factors`` and ``agents``, ``canary``.

        Raises:
            UsageError: See `plan`.
        """
        return dict(self._kept()["terms"])

    def _kept(self) -> dict[str, Any]:
        try:
            kept: dict[str, Any] = orjson.loads((self.folder / "plan.json").read_bytes())
            plan = Plan.of(kept)
            if plan.record()["sha256"] != kept["sha256"]:
                raise UsageError(f"plan.json in {self.folder} was changed after the study began: put it back")
            if not isinstance(kept["terms"], dict):
                raise TypeError("terms")
        except (OSError, orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"{self.folder} holds no study: no plan.json in it that can be read") from error
        return kept

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
        reason = ProvenanceData(author="searchsim", reason="ended without a record")
        for info in newest.values():
            log = read_eval_log(info)
            samples = log.samples or []
            again = [s.uuid for s in samples if s.uuid and str(s.id) in runs]
            # A sample that was taken out of a log is missed as well.
            gone = set(runs) & {str(i) for i in log.eval.dataset.sample_ids or []} - {str(s.id) for s in samples}
            if log.status == "success" and (again or gone):
                log = invalidate_samples(log, again, reason)
                log.invalidated = True
                write_eval_log(log, info.name)

    def append_handshake(self, line: Mapping[str, Any]) -> None:
        """Keep a handshake that succeeded."""
        append(self.folder / "handshakes.jsonl", {**line, "at": _now()})

    def handshakes(self) -> list[dict[str, Any]]:
        """All handshakes: agent, version, model, task, nonce, searches, calls, at."""
        return list(_lines(self.folder / "handshakes.jsonl"))

    def append_verdict(self, record: Record, verdict: Verdict) -> None:
        """Keep a verdict that was given afterwards."""
        line = {"run": record["run"], "at": _now(), "verdict": verdict.record(), "canary": record["canary"]}
        append(self.folder / "verdicts.jsonl", line)

    def verdicts(self) -> list[dict[str, Any]]:
        """All verdicts given afterwards, oldest first: run, at, verdict.

        Raises:
            UsageError: A line is none.
        """
        found = []
        for number, line in enumerate(_lines(self.folder / "verdicts.jsonl"), start=1):
            wrong = faults_in("verdict", line.get("verdict"))
            if wrong or not isinstance(line.get("run"), str):
                raise UsageError(f"verdicts.jsonl:{number}: {': '.join(wrong[0]) if wrong else 'names no run'}")
            found.append(line)
        return found

    def judged_by(self, records: Iterable[Record], judge: Mapping[str, str | None]) -> list[Record]:
        """Records with the verdicts of one judge, by its identity.

        Of several, the first that isn't unjudged is in force: judging again can give a verdict where there was none,
        and never another one.
        """
        mine: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for line in self.verdicts():
            mine[line["run"]].append(line["verdict"])
        found = []
        for record in records:
            given = [record["verdict"], *mine[record["run"]]] if record["status"] == "valid" else []
            given = [v for v in given if v and all(v[k] == judge[k] for k in IDENTITY)]
            chosen = next((v for v in given if v["state"] != "unjudged"), given[0] if given else None)
            found.append({**record, "verdict": chosen})
        return found

    def judges(self, records: Iterable[Record]) -> list[dict[str, str | None]]:
        """The identities of all judges that gave verdicts, oldest first."""
        given = [r["verdict"] for r in records if r["verdict"]] + [line["verdict"] for line in self.verdicts()]
        found = {tuple(v[k] for k in IDENTITY): None for v in given}
        return [dict(zip(IDENTITY, values, strict=True)) for values in found]

    def verified(self, records: Iterable[Record]) -> list[Record]:
        """Records held against the kept traces: one that doesn't agree with its trace is invalid, and says so."""
        path = self.folder / "worlds.sqlite"
        found = []
        # Where the store is gone, no trace is there, and none must be made by looking.
        with closing(SqliteStore(path if path.is_file() else None)) as store:
            worlds = dict(store.worlds())
            for record in records:
                wrong = _differs(record, store, worlds)
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
        return [p.run for p in plan.runs if p.run not in log.records]


def _yaml(contract: Contract) -> bytes:
    return yaml.safe_dump(dict(contract.data), sort_keys=False, allow_unicode=True, width=120).encode()


def _terms(contract: Contract) -> dict[str, Any]:
    """What must stay as it is while a study goes on, beside its contract."""
    scripts = adapters()
    return {
        "judge": judge_identity(contract.judge),
        "factors": load_factors().sources,
        "agents": {a.name: scripts[a.name].version(a.settings) for a in contract.agents},
        "canary": contract.corpus.canary,
    }


def _differs(record: Record, store: SqliteStore, worlds: Mapping[str, Mapping[str, Any]]) -> str:
    """How a record disagrees with its trace, or with its control's; empty where it doesn't."""
    world, control = worlds.get(record["world"]), record["answers"]["control"]
    if world is None:
        return "its trace isn't in the study's store any more"
    events = list(store.events(record["world"]))
    if digest(events) != record["trace"]:
        return "its trace was changed after the run"
    if record["versions"].get("searchsim") != __version__:
        # Another version may sum up a trace in another way, which is no sign of tampering.
        return ""
    for name, value in seen(events, _pool(world), record["report"]).items():
        if orjson.dumps(value, option=orjson.OPT_SORT_KEYS) != orjson.dumps(record[name], option=orjson.OPT_SORT_KEYS):
            return f"its record's {name} aren't what its trace says"
    if control is not None and record["status"] == "valid":
        if control not in worlds:
            return "its control's trace isn't in the study's store any more"
        return "; ".join(steps(events).differs(steps(store.events(control))))
    return ""


def _pool(world: Mapping[str, Any]) -> list[Document]:
    return [misleading_from(d) for d in world["pool"]]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a file. A last one that was cut off by a kill never happened."""
    if not path.is_file():
        return
    content = path.read_bytes()
    for number, line in enumerate(content.split(b"\n"), start=1):
        if not line:
            continue
        try:
            found = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            if not content.endswith(b"\n") and number == content.count(b"\n") + 1:
                return
            raise UsageError(f"{path.name}:{number}: not a JSON value: {error}") from error
        if not isinstance(found, dict):
            raise UsageError(f"{path.name}:{number}: isn't an object")
        yield found


def _write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    beside = path.with_name(f".{path.name}.new")
    beside.write_bytes(content)
    beside.replace(path)
