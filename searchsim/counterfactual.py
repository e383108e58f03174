"""Counterfactual runs: the control recorded once, treated runs that share its prefix.

See `searchsim.replay` for how answers are kept. A treated run's stage may need to know the control's last list, which
is told from the control's steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import orjson

from searchsim.errors import UsageError
from searchsim.injection import Factors, Level
from searchsim.replay import Answers, Branch, Lane, Mode, Names, Replay, Steps
from searchsim.world import World

__all__ = ["CONTROL", "Recording", "control_condition", "needs_control"]

CONTROL = "control"
"""What a control's branch is called."""


@dataclass(slots=True)
class Recording:
    """Where the answers of one lane are kept, and what a run takes of them.

    Attributes:
        answers: The store.
        lane: Whose answers.
        mode: What the run takes.
        of: The key of the world that the control was made in; None takes the last that was recorded.
    """

    answers: Answers
    lane: Lane
    mode: Mode
    of: str | None = None
    _control: Branch | None = field(default=None, init=False)

    def control(self) -> Branch | None:
        """The lane's control, where one has been recorded to its end."""
        if self._control is None:
            self._control = self.answers.find(self.lane, CONTROL, self.of)
        return self._control

    def last_list(self) -> int | None:
        """The number of the control's last list."""
        control = self.control()
        return len(control.steps.lists) if control else None

    def control_world(self) -> str | None:
        """The key of the world that the control was made in."""
        control = self.control()
        return str(control.facts["world"]) if control else None

    def open(self, world: World, names: Names) -> Replay:
        """The replay of a run in a world.

        Args:
            world: The world.
            names: What the run is called by.

        Raises:
            UsageError: There is no control to be counterfactual to, or nothing to replay.
        """
        name = condition_name(world)
        sources: list[Branch] = []
        branch = None
        if self.mode is Mode.COUNTERFACTUAL:
            control = self.control()
            if control is None:
                raise UsageError(f"no control of task {self.lane.task} is recorded for this agent and model")
            sources = [control]
        elif self.mode is Mode.REPLAY:
            mine = self.answers.find(self.lane, name)
            if mine is None:
                raise UsageError(f"no run of task {self.lane.task} under this condition is recorded: record one first")
            # What a treated run shares with its control is kept with the control alone.
            sources = [b for b in (mine, self.control()) if b is not None]
        if self.mode in (Mode.RECORD, Mode.COUNTERFACTUAL):
            branch = self.answers.begin(self.lane, name, {"world": world.key})
        return Replay(self.mode, names=names, answers=self.answers, lane=self.lane, branch=branch, sources=sources)

    def differs(self, done: Steps) -> list[str]:
        """Why a run isn't the counterfactual that it should be: see `Steps.differs`."""
        control = self.control()
        if self.mode is not Mode.COUNTERFACTUAL or control is None:
            return []
        return done.differs(control.steps)

    def close(self, replay: Replay, done: Steps) -> None:
        """Note that a run has ended and was valid."""
        if replay.branch is not None:
            self.answers.end(replay.branch, done)


def condition_name(world: World) -> str:
    """What a world's branch is called: ``control``, or its condition and pool."""
    if not world.plan.documents:
        return CONTROL
    told = {"condition": world.condition, "documents": world.plan.documents, "last_list": world.plan.last_list}
    return orjson.dumps(told, option=orjson.OPT_SORT_KEYS).decode()


def needs_control(factors: Factors, condition: Mapping[str, Level]) -> bool:
    """Whether a condition can't be run without knowing what its control did."""
    return any(r.factor.needs.get(condition[name]) == "last_list" for name, r in factors.items())


def control_condition(factors: Factors, condition: Mapping[str, Level]) -> dict[str, Level]:
    """The condition of a treated run's control: nothing is injected, whatever else is as it is."""
    found = dict(condition)
    for name, registered in factors.items():
        if registered.factor.needs.get(condition[name]) == "last_list":
            found[name] = registered.factor.default
    return {**found, "budget": 0}
