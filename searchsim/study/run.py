"""The runs of a study, as Inspect tasks: a task for each agent and model, a sample for each planned run."""

from __future__ import annotations

import asyncio
import importlib.metadata
import logging
import secrets
import sys
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from searchsim import __version__, agent
from searchsim.agent import Adapter
from searchsim.agent.run import RESULTS
from searchsim.counterfactual import CONTROL, Recording, needs_control
from searchsim.engine.opening import EngineChoice, open_embedded, open_engine
from searchsim.errors import AgentError, SearchsimError, UsageError
from searchsim.judge import Judge
from searchsim.judge.verdict import unjudged
from searchsim.records import Record, brief, check, seen, state
from searchsim.replay import Answers, Lane, Mode
from searchsim.server.app import running
from searchsim.server.context import Context
from searchsim.store import SqliteStore
from searchsim.study.contract import AgentSpec, Contract, ModelSpec
from searchsim.study.handshakes import shake_hands
from searchsim.study.ledger import SCORER, Attempts, Ledger, RunLog, RunWaitsError
from searchsim.study.matrix import Plan, PlannedRun
from searchsim.study.models import Models, settings_hash
from searchsim.study.upstream import InspectUpstream
from searchsim.world import World, Worlds

if TYPE_CHECKING:
    from inspect_ai import Task
    from inspect_ai.model import Model
    from inspect_ai.scorer import Score

__all__ = ["Progress", "run"]


@dataclass(slots=True)
class Progress:
    """How far a study is.

    Attributes:
        planned: Runs in all.
        done: Runs that have a record.
        cost: US dollars so far, attempts that were repeated among them; None where a price is missing.
    """

    planned: int
    done: int
    cost: float | None


def run(
    contract: Contract,
    plan: Plan,
    ledger: Ledger,
    *,
    engine: EngineChoice | None = None,
    tell: Callable[[Progress, Record | None], object] = lambda progress, record: None,
) -> RunLog:
    """Make the planned runs that have no record yet.

    Args:
        contract: The contract.
        plan: Its runs.
        ledger: The study's folder.
        engine: Where the engine of the contract is to be found (an Elasticsearch's address, recordings).
        tell: Called once at the start, with None, and after each run.

    Returns:
        What there is of the study now.

    Raises:
        UsageError: Another process works in the folder, or a model can't be opened.
        AgentError: An agent's environment can't be made.
    """
    log = ledger.log()
    missing = set(ledger.open_runs(plan, log))
    study = _Study(contract, plan, ledger.attempts(), engine or EngineChoice(contract.engine), tell)
    tell(study.begin(log.records), None)
    if not missing:
        return log
    with Models() as models:
        study.prepare(models)
        try:
            if contract.handshake:
                shake_hands(contract, plan, ledger, models, study.adapters)
            ledger.reopen(missing)
            _evaluate(study.tasks(models), ledger.folder, contract.parallel)
        finally:
            study.close()
    return ledger.log()


def _evaluate(tasks: list[Task], folder: Path, parallel: int) -> None:
    from inspect_ai import eval_set
    from inspect_ai._util.error import PrerequisiteError

    # Each attempt to put something on the console would tear the progress bar.
    logging.getLogger("inspect_ai").setLevel(logging.ERROR)
    try:
        # Its closing line speaks of tasks, and not of runs.
        with redirect_stdout(StringIO()):
            _, logs = eval_set(
                tasks,
                log_dir=str(folder),
                display="none",
                log_level="error",
                score_display=False,
                max_tasks=1,
                max_samples=parallel,
                # A sample that fails is a failed run of the study, and no reason to stop.
                fail_on_error=False,
                retry_attempts=0,
                retry_immediate=False,
                # What was begun and killed stays to be looked at.
                retry_cleanup=False,
                # Each sample is on disk when it is done.
                log_buffer=1,
                ctl_server=False,
            )
    except PrerequisiteError as error:
        raise UsageError(f"Inspect can't take the study up: {' '.join(str(error.message).split())}") from error
    if not logs or any(log.status == "cancelled" for log in logs):
        # Inspect takes an interrupt for the end of its own work; here it ends the command.
        raise KeyboardInterrupt


class _Study:
    """What the samples of a study share."""

    def __init__(
        self,
        contract: Contract,
        plan: Plan,
        attempts: Attempts,
        engine: EngineChoice,
        tell: Callable[[Progress, Record | None], object],
    ) -> None:
        self.contract = contract
        self.plan = plan
        self.attempts = attempts
        self.choice = engine
        self.tell = tell
        self.progress = Progress(len(plan.runs), 0, 0.0)
        self.agents = {a.name: a for a in contract.agents}
        self.specs = {m.name: m for m in contract.models}
        self.adapters: dict[str, tuple[Adapter, Path]] = {}
        self.versions: dict[str, str] = {}
        self.planned = {p.run: p for p in plan.runs}
        self._under_way: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.judge: Judge
        self._worlds: Worlds | None = None
        self._store: SqliteStore
        self._answers: Answers

    def begin(self, records: Mapping[str, Record]) -> Progress:
        """Take stock of what is there."""
        known = [records[p.run] for p in self.plan.runs if p.run in records]
        self.progress.done = len(known)
        for record in known:
            self._count_cost(record)
        return self.progress

    def prepare(self, models: Models) -> None:
        """Everything that can be missing is missed before the first run."""
        self.judge = models.judge(self.contract.judge)
        for spec in self.contract.models:
            models.model(spec)
        self.adapters = {name: agent.prepare(name) for name in self.agents}
        self.versions = {name: self.adapters[name][0].version(of.settings) for name, of in self.agents.items()}
        self._store = SqliteStore(self.attempts.path.with_name("worlds.sqlite"))
        self._answers = Answers(self.attempts.path.with_name("answers.sqlite"))
        if self.choice.name == "tantivy":
            self._worlds = Worlds(self.contract.corpus, open_embedded(self.contract.corpus), self._store, take_up=False)

    def close(self) -> None:
        """Let go of the stores."""
        self._store.close()
        self._answers.close()

    def tasks(self, models: Models) -> list[Task]:
        """The Inspect tasks. They are the same ones whenever the study is taken up again."""
        return [self._task(a, m, models.model(m)) for a in self.contract.agents for m in self.contract.models]

    def _task(self, of: AgentSpec, spec: ModelSpec, model: Model) -> Task:
        from inspect_ai import Task
        from inspect_ai.dataset import MemoryDataset, Sample
        from inspect_ai.log import transcript
        from inspect_ai.model import ModelOutput
        from inspect_ai.scorer import Scorer, Target, scorer
        from inspect_ai.solver import Generate, Solver, TaskState, solver

        planned = {p.run: p for p in self.plan.runs if (p.agent, p.model) == (of.name, spec.name)}
        study = self

        @solver(name="searchsim")
        def research() -> Solver:
            async def solve(state: TaskState, generate: Generate) -> TaskState:
                run = planned[str(state.sample_id)]
                record = await study.carry_out(run, of, spec, model)
                if not any(e.event == "model" for e in transcript().events) and record["usage"]["calls"]["live"]:
                    state.metadata["transcript"] = "in the log that was broken off when the run's process was killed"
                state.metadata["record"] = record
                state.output = ModelOutput.from_content(spec.name, record["report"])
                return state

            return solve

        @scorer(metrics=[], name=SCORER)
        def judged() -> Scorer:
            async def score(state: TaskState, target: Target) -> Score:
                record = await study.judged(state.metadata.pop("record"))
                study.done(record)
                return _score(record)

            return score

        corpus = self.contract.corpus
        samples = [
            Sample(
                id=p.run,
                input=corpus.tasks[p.task].question,
                target=corpus.blueprints[p.task].false_conclusion,
                metadata={
                    "condition": dict(p.condition),
                    "task": p.task,
                    "repetition": p.repetition,
                    "canary": corpus.canary,
                },
            )
            for p in planned.values()
        ]
        return Task(
            name=f"{self.contract.name}-{of.name}-{spec.name}",
            dataset=MemoryDataset(samples, name=self.contract.name),
            solver=research(),
            scorer=judged(),
            model=model,
            metadata={"study": self.contract.name, "contract_sha256": self.contract.sha256, "searchsim": __version__},
        )

    async def carry_out(self, planned: PlannedRun, of: AgentSpec, spec: ModelSpec, model: Model) -> Record:
        """Make a run, as often as the contract says, and give its record, unjudged."""
        # A control is asked for by its own sample and by those that share its answers.
        async with self._under_way[planned.run]:
            kept = self.attempts.ended(planned.run)
            while kept is None or self._again(planned.run, kept):
                limit = self.contract.cost_limit
                if limit is not None and (self.progress.cost or 0) >= limit:
                    raise RunWaitsError(f"the contract's cost limit of {limit} US dollars is reached")
                kept = await self._attempt(planned, of, spec, model)
            return {**kept, "attempts": self.attempts.of(planned.run)}

    async def _recording(self, planned: PlannedRun, of: AgentSpec, spec: ModelSpec, model: Model) -> Recording | None:
        """Where a run's answers come from: the control's are recorded, and a treated run shares them."""
        if not self.contract.counterfactual:
            return None
        corpus = self.contract.corpus
        lane = Lane(
            f"{corpus.name}@{corpus.hash}/{self.contract.engine}",
            planned.task,
            planned.agent,
            self.versions[planned.agent],
            f"{planned.model}@{settings_hash(spec)}",
            planned.repetition,
        )
        if planned.control:
            return Recording(self._answers, lane, Mode.RECORD)
        control = await self.carry_out(self.planned[_control_of(planned)], of, spec, model)
        if control["status"] != "valid":
            raise RunWaitsError(
                f"its control run {control['run']} is {control['status']}, and the contract allows no other attempt"
            )
        recording = Recording(self._answers, lane, Mode.COUNTERFACTUAL, control["world"])
        if recording.control() is None:
            raise RunWaitsError(
                f"the answers of its control run {control['run']} aren't in answers.sqlite any more: put it back, "
                "or begin the study anew in another folder"
            )
        return recording

    def _again(self, run: str, record: Record) -> bool:
        made = sum(a["state"] != "interrupted" for a in self.attempts.of(run))
        return record["status"] in self.contract.rerun_on and made < self.contract.attempts

    async def _attempt(self, planned: PlannedRun, of: AgentSpec, spec: ModelSpec, model: Model) -> Record:
        recording = await self._recording(planned, of, spec, model)
        async with self._opened() as worlds:
            upstream = InspectUpstream(model, spec.name, demonstration=spec.demonstration)
            context = Context(
                worlds,
                upstream,
                temperature=self.contract.temperature,
                seed=self.contract.seed,
                # The agent must not be able to read what is planned for it.
                control_token=secrets.token_hex(16),
            )
            needed = recording is not None and needs_control(worlds.factors, planned.condition)
            last_list = recording.last_list() if recording is not None and needed else None
            world = worlds.create(planned.task, planned.condition, last_list=last_list, results=RESULTS)
            number = len(self.attempts.of(planned.run)) + 1
            self.attempts.start(planned.run, number, world.key)
            loop = asyncio.get_running_loop()
            begun = loop.time()
            made: agent.Run | None = None
            failure = ""
            try:
                async with running(context) as url:
                    made = await agent.run(
                        context,
                        url,
                        *self.adapters[of.name],
                        world,
                        settings=of.settings,
                        timeout=self.contract.seconds,
                        recording=recording,
                    )
            except AgentError as error:
                failure = str(error)
            seconds = round(loop.time() - begun, 1)
            record = self._record(planned, spec, worlds, world, recording, made, failure, seconds)
            self.attempts.end(planned.run, number, seconds, record)
            return record

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Worlds]:
        """The study's worlds. A client of an engine elsewhere belongs to the loop that it was opened in."""
        if self._worlds is not None:
            yield self._worlds
            return
        engine = await open_engine(self.contract.corpus, self.choice)
        try:
            yield Worlds(self.contract.corpus, engine, self._store, take_up=False)
        finally:
            await engine.close()

    def _record(
        self,
        planned: PlannedRun,
        spec: ModelSpec,
        worlds: Worlds,
        world: World,
        recording: Recording | None,
        made: agent.Run | None,
        failure: str,
        seconds: float,
    ) -> Record:
        corpus = self.contract.corpus
        events = list(worlds.events(world.key))
        report = made.report if made else ""
        found = seen(events, list(world.documents()), report)
        # What was answered from the record has cost nothing.
        calls = Counter(e["origin"] for e in events if e["event"] == "model")
        usage = [e["usage"] for e in events if e["event"] == "model" and e["origin"] == "live"]
        prompt = sum(u.get("prompt_tokens", 0) for u in usage)
        completion = sum(u.get("completion_tokens", 0) for u in usage)
        return {
            "record": 1,
            "run": planned.run,
            "study": self.contract.name,
            "contract_sha256": self.contract.sha256,
            "corpus": {"name": corpus.name, "sha256": corpus.hash},
            "task": planned.task,
            "language": planned.language,
            "question": corpus.tasks[planned.task].question,
            "blueprint": brief(corpus.blueprints.get(planned.task)),
            "agent": planned.agent,
            "model": planned.model,
            "repetition": planned.repetition,
            "canary": corpus.canary,
            "condition": dict(world.condition),
            "label": planned.label,
            "control": planned.control,
            "temperature": self.contract.temperature,
            "seed": self.contract.seed,
            "status": "failed" if made is None else "valid" if made.valid else "invalid",
            "reasons": [failure] if made is None else list(made.reasons),
            "demonstration": spec.demonstration,
            "attempts": [],
            "world": world.key,
            "plan": world.plan.record(),
            "report": report,
            "verdict": None,
            "usage": {
                "calls": {"live": calls["live"], "replayed": calls["replayed"]},
                "prompt_tokens": prompt,
                "completion_tokens": completion,
                "cost": spec.cost(prompt, completion),
            },
            "answers": {
                "mode": "live" if recording is None else recording.mode.value,
                "control": recording.of if recording is not None else None,
                "saved": calls["replayed"] / calls.total() if calls else None,
            },
            "seconds": seconds,
            "versions": {**_versions(), **(made.versions if made else {})},
            **found,
        }

    async def judged(self, record: Record) -> Record:
        """A record with its verdict, where it is of a valid run."""
        if record["status"] == "valid":
            blueprint = self.contract.corpus.blueprints.get(record["task"])
            if blueprint is None:
                verdict = unjudged(self.judge, "the task has no blueprint")
            else:
                verdict = await self.judge.judge(record["report"], blueprint, record["question"])
            record = {**record, "verdict": verdict.record()}
        if wrong := check(record):
            # A record that breaks its own schema is our fault; Inspect keeps the error, and the run is failed.
            raise SearchsimError(f"the run's record breaks its schema: {'; '.join(wrong[:3])}")
        return record

    def done(self, record: Record) -> None:
        """Note that a run has its record."""
        self.progress.done += 1
        self._count_cost(record)
        self.tell(self.progress, record)

    def _count_cost(self, record: Record) -> None:
        spec, judge = self.specs.get(record["model"]), self.contract.judge
        # Attempts that were repeated have cost as well.
        used = [r["usage"] for r in (*self.attempts.repeated(record["run"]), record)]
        costs = [spec.cost(u["prompt_tokens"], u["completion_tokens"]) if spec else None for u in used]
        if judge is not None and record["verdict"]:
            usage = record["verdict"]["usage"]
            costs.append(judge.cost(usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)))
        if self.progress.cost is not None and None not in costs:
            self.progress.cost += sum(c for c in costs if c is not None)
        else:
            self.progress.cost = None


def _control_of(planned: PlannedRun) -> str:
    """The id of a run's control."""
    return f"{planned.agent}/{planned.model}/{CONTROL}/{planned.task}/{planned.repetition}"


def _score(record: Record) -> Score:
    """What Inspect shows of a run."""
    from inspect_ai.scorer import Score

    verdict = record["verdict"] or {}
    ended = state(record)
    return Score(
        value=verdict["state"] if ended == "judged" else ended,
        answer=", ".join(verdict.get("claims", [])),
        explanation=verdict.get("reason") or "; ".join(record["reasons"]),
        # Of a process that is killed before a sample is written, Inspect recovers the sample's scores.
        metadata={"record": record},
    )


def _versions() -> dict[str, str]:
    return {
        "searchsim": __version__,
        "inspect-ai": importlib.metadata.version("inspect-ai"),
        "searchsim's python": sys.version.split()[0],
    }
