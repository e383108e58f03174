"""Settings of this dialect, per world: which plan the key has, and which extras its answers carry.

The extras are off by default: clients such as langchain's read an answer box and then nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from searchsim.documents import Task
from searchsim.errors import ConditionError
from searchsim.server.serper.wire import RefusedError

__all__ = ["FEATURES", "SerperSettings"]

FEATURES = ("answerBox", "knowledgeGraph", "peopleAlsoAsk", "relatedSearches")
"""The extras; a task's ``serp`` has the data of the first three, its other sub-queries are the last."""

_MOST_RELATED = 8
_SMALLEST_PAID = 10


@dataclass(frozen=True, slots=True)
class SerperSettings:
    """Settings of a world.

    Attributes:
        plan: ``paid``, or ``free``, which refuses what a free account may not ask.
        features: Which of `FEATURES` answers carry.
    """

    plan: str = "paid"
    features: tuple[str, ...] = ()

    @classmethod
    def parse(cls, given: object) -> SerperSettings:
        """The settings that a world's request asks for; None for the defaults.

        Raises:
            ConditionError: They can't be had; its `field` names the part.
        """
        if given is None:
            return cls()
        if not isinstance(given, Mapping):
            raise ConditionError('must be an object, e.g. {"plan": "free"}', "serper")
        for name in given:
            if name not in ("plan", "features"):
                raise ConditionError(f"no field named {name!r}; fields: plan, features", f"serper.{name}")
        plan = given.get("plan") or "paid"
        if plan not in ("free", "paid"):
            raise ConditionError("one of: free, paid", "serper.plan")
        features = given.get("features") or []
        if not isinstance(features, list | tuple):
            raise ConditionError(f"an array of: {', '.join(FEATURES)}", "serper.features")
        for number, name in enumerate(features):
            if name not in FEATURES:
                raise ConditionError(f"one of: {', '.join(FEATURES)}", f"serper.features.{number}")
        return cls(plan, tuple(dict.fromkeys(features)))

    def check(self, task: Task) -> None:
        """Refuse extras that a task has no data for.

        Raises:
            ConditionError: It has none.
        """
        for number, name in enumerate(self.features):
            if name != "relatedSearches" and name not in task.serp:
                raise ConditionError(
                    f"task {task.id} has no data for {name}: its line in tasks.jsonl has none in serp",
                    f"serper.features.{number}",
                )

    def record(self) -> dict[str, Any]:
        """The settings as JSON."""
        return {"plan": self.plan, "features": list(self.features)}

    @property
    def account(self) -> tuple[int, int]:
        """The credits that a new account has, and its requests a second."""
        return (2500, 5) if self.plan == "free" else (50_000, 50)

    def allow(self, text: str, num: int) -> None:
        """Refuse what the plan doesn't cover: quoted phrases, ``site:`` with ``filetype:``, more than ten results.

        Raises:
            RefusedError: It doesn't.
        """
        if self.plan != "free":
            return
        both = re.search(r"(?<!\w)site:\S", text, re.IGNORECASE) and re.search(
            r"(?<!\w)(?:filetype|ext):\S", text, re.IGNORECASE
        )
        if both or num > _SMALLEST_PAID or re.search(r"[\"“”][^\"“”]*\S[^\"“”]*[\"“”]", text):
            raise RefusedError(400, "Query pattern not allowed for free accounts.", coded=False)

    def related(self, task: Task, text: str) -> list[dict[str, str]]:
        """The related searches of a query: the others that an agent on the task might make."""
        asked = " ".join(text.split()).casefold()
        others = [q for q in task.sub_queries if " ".join(q.split()).casefold() != asked]
        return [{"query": q} for q in others[:_MOST_RELATED]]
