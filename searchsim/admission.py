"""How often a corpus's plausible searches take a misleading document, before any agent has run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from searchsim import injection
from searchsim.corpus import Corpus
from searchsim.documents import Task
from searchsim.engine import SearchEngine
from searchsim.errors import ConditionError
from searchsim.injection import Factors
from searchsim.query import parse
from searchsim.relevance import PoolDocument, score_pool

__all__ = ["Rate", "rates"]


@dataclass(frozen=True, slots=True)
class Rate:
    """One task's lists.

    Attributes:
        task: Its id.
        lists: Number of lists: the question's and the sub-queries'.
        admitted: How many of them take at least one misleading document, by budget; budgets that the task has too
            few documents for are missing.
        never: Sub-queries that take none at any budget.
    """

    task: str
    lists: int
    admitted: dict[int, int] = field(default_factory=dict)
    never: tuple[str, ...] = ()

    def record(self) -> dict[str, Any]:
        """The rate as JSON."""
        return {
            "task": self.task,
            "lists": self.lists,
            "admitted": {str(b): n for b, n in self.admitted.items()},
            "never": list(self.never),
        }


async def rates(corpus: Corpus, engine: SearchEngine, k: int = 10) -> list[Rate]:
    """The admission rates of all tasks that have misleading documents, by budget, other factors at their defaults.

    Args:
        corpus: The corpus.
        engine: Its engine.
        k: The length of the lists.
    """
    factors = injection.load_factors()
    return [
        await _rate(corpus, task, engine, factors, k) for task in corpus.tasks.values() if task.id in corpus.misleading
    ]


async def _rate(corpus: Corpus, task: Task, engine: SearchEngine, factors: Factors, k: int) -> Rate:
    admitted: dict[int, int] = {}
    reached: set[str] = set()
    texts = (task.question, *task.sub_queries)
    for level in factors["budget"].factor.levels:
        budget = int(level)
        if not budget:
            continue
        try:
            pool = factors.select(corpus.misleading[task.id], factors.complete({"budget": budget}))
        except ConditionError:
            continue
        counted = [PoolDocument.of(d) for d in pool]
        taken = [t for t in texts if await _takes(t, counted, engine, corpus, k)]
        admitted[budget] = len(taken)
        reached.update(taken)
    never = tuple(q for q in task.sub_queries if q not in reached)
    return Rate(task.id, len(texts), admitted, never)


async def _takes(text: str, pool: list[PoolDocument], engine: SearchEngine, corpus: Corpus, k: int) -> bool:
    query = parse(text, today=corpus.today)
    organic = await engine.search(query, k)
    how = injection.Admission(injection.Mode.RELEVANCE)
    composition = injection.compose(organic, await score_pool(pool, query, engine), k, how)
    return any(item.injected for item in composition.items)
