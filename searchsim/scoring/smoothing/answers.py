"""Asking models: each answer checked against its step's schema and rules, asked for once more, and kept."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any
from weakref import WeakValueDictionary

from searchsim import tokens
from searchsim.errors import SearchsimError, UpstreamError
from searchsim.jsonl import whole
from searchsim.judge.model import Ask, Reply, read_answer
from searchsim.scoring.smoothing.cache import Cache, key
from searchsim.scoring.smoothing.prompts import AGAIN, STEPS, Prompt

__all__ = ["Answer", "Answers", "Model", "Tally", "in_parallel"]

_IN_A_ROW = 20
"""Failures of a model, one after the other, that end a run: what was answered is kept, and it can be gone on with."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model that is asked.

    Attributes:
        ask: Sends messages to it.
        name: Its name, for the record.
        settings_sha256: Hash of where and how it is asked.
        demonstration: True for a toy.
    """

    ask: Ask
    name: str
    settings_sha256: str = ""
    demonstration: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model answered.

    Attributes:
        value: The answer; None where there is none that can be used.
        fault: Why there is none.
        pending: True where it wasn't asked, since this is a dry run.
    """

    value: Mapping[str, Any] | None
    fault: str = ""
    pending: bool = False


@dataclass(slots=True)
class Tally:
    """What a step took.

    Attributes:
        calls: Answers that it has, kept ones among them.
        live: Those that were asked for in this run.
        again: Those that were asked for a second time, since the first couldn't be used.
        unusable: Questions whose answer couldn't be used twice.
        failed: Questions that the model failed to answer.
        prompt_tokens, completion_tokens: Of all calls, as the model counts them.
        planned: Calls that a dry run would have made.
        planned_tokens: Their prompts' tokens, as tiktoken counts them.
    """

    calls: int = 0
    live: int = 0
    again: int = 0
    unusable: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    planned: int = 0
    planned_tokens: int = 0

    def record(self) -> dict[str, int]:
        """It as JSON, without what only a dry run has."""
        return {name: value for name, value in asdict(self).items() if not name.startswith("planned")}


class Answers:
    """Asks two models: one reads, one judges.

    Attributes:
        reader: The model of all steps but the last.
        judge: The model of the last step.
        tally: What each step took.
    """

    def __init__(
        self,
        reader: Model,
        judge: Model,
        cache: Cache,
        *,
        parallel: int = 8,
        dry: bool = False,
        planned: set[str] | None = None,
    ) -> None:
        """Make it.

        Args:
            reader: See above.
            judge: See above.
            cache: Where answers are kept.
            parallel: Most calls at a time.
            dry: Ask nobody: count what would be asked.
            planned: What dry runs before this one have counted, and what this one does: each question counts once.
        """
        self.reader = reader
        self.judge = judge
        self.dry = dry
        self.tally = {name: Tally() for name in STEPS}
        self._cache = cache
        self._slots = asyncio.Semaphore(parallel)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._planned = set[str]() if planned is None else planned
        self._failures = 0
        self._answered = False

    async def answer(self, prompt: Prompt, check: Callable[[Mapping[str, Any]], str] = lambda value: "") -> Answer:
        """The answer to a prompt.

        Args:
            prompt: What is asked.
            check: Says what is wrong with an answer that keeps to its schema; empty where nothing is.

        Raises:
            UpstreamError: The model never answered, or has failed too often in a row.
        """
        step, tally = prompt.step, self.tally[prompt.step.name]
        messages = prompt.messages()
        fault = ""
        for attempt in range(2):
            try:
                reply = await self._reply(prompt, messages)
            except UpstreamError as failure:
                tally.failed += 1
                self._failures += 1
                if not self._answered or self._failures >= _IN_A_ROW:
                    raise
                return Answer(None, f"the model failed: {failure}")
            if reply is None:
                return Answer(None, "not asked yet", pending=True)
            self._answered, self._failures = True, 0
            text, usage = reply
            tally.calls += 1
            tally.again += attempt
            tally.prompt_tokens += usage.get("prompt_tokens", 0)
            tally.completion_tokens += usage.get("completion_tokens", 0)
            value, fault = read_answer(text, step.kind)
            value = whole(value)
            fault = fault or check(value)
            if not fault:
                return Answer(value)
            again = AGAIN.format(fault=fault)
            messages += [{"role": "assistant", "content": text or "-"}, {"role": "user", "content": again}]
        tally.unusable += 1
        return Answer(None, f"the answer can't be used: {fault}")

    async def _reply(self, prompt: Prompt, messages: list[dict[str, str]]) -> Reply | None:
        """A kept reply, else the model's; None in a dry run."""
        step = prompt.step
        model = self.judge if step.name == "judge" else self.reader
        name = key(step.sha256, f"{model.name} {model.settings_sha256}", messages)
        # One question asked in two places at a time is asked once.
        lock = self._locks.setdefault(name, asyncio.Lock())
        async with lock:
            if kept := self._cache.get(name):
                return kept
            if self.dry:
                if name not in self._planned:
                    self._planned.add(name)
                    self.tally[step.name].planned += 1
                    self.tally[step.name].planned_tokens += sum(map(_count, (step.system, *prompt.parts)))
                return None
            async with self._slots:
                reply = await model.ask(messages)
            self.tally[step.name].live += 1
            return self._cache.put(name, step.name, reply)

    def usage(self) -> dict[str, Any]:
        """What was asked, by step and in sum."""
        whole: Counter[str] = Counter()
        for tally in self.tally.values():
            whole.update(tally.record())
        steps = {name: tally.record() for name, tally in self.tally.items()}
        return {**{name: whole[name] for name in Tally().record()}, "steps": steps}


async def in_parallel(jobs: Iterator[Awaitable[None]], limit: int) -> None:
    """Do jobs, a number of them at a time; each is made when its turn comes.

    Raises:
        SearchsimError: The first that a job raised.
    """

    async def work() -> None:
        for job in jobs:
            await job

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(limit):
                group.create_task(work())
    except* SearchsimError as errors:
        first: BaseException = errors
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        raise first from None


@lru_cache(maxsize=256)
def _count(text: str) -> int:
    return tokens.count(text)[0]
