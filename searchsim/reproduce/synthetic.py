"""Run records made up to given outcomes, in the same form as real ones: they test arithmetic, never a claim."""

from __future__ import annotations

from searchsim.records import Record, digest
from searchsim.scoring.exposure import Observation
from searchsim.study.matrix import PlannedRun

__all__ = ["synthetic_record"]

_WHEN = "2026-01-01T00:00:00.000+00:00"
_NOBODY = "synthetic"


def synthetic_record(
    planned: PlannedRun,
    *,
    adopted: bool | None,
    served: bool = False,
    delivered: bool = False,
    states_true: bool | None = False,
    status: str = "valid",
    reasons: tuple[str, ...] = (),
    contract_sha256: str = "0" * 64,
) -> Record:
    """A record that says so and so happened.

    Args:
        planned: The run.
        adopted: What the verdict says; None for unjudged.
        served: Whether a misleading document was served.
        delivered: Whether it came into a prompt.
        states_true: What the verdict says of the true conclusion.
        status: valid, invalid or failed.
        reasons: Why it isn't valid.
        contract_sha256: Its study's contract.
    """
    document = f"{planned.task}-high-paper-1"
    found = [document] if served else []
    state = "unjudged" if adopted is None else "adopted" if adopted else "not_adopted"
    verdict: dict[str, object] = {
        "state": state,
        "stance": None if adopted is None else "adopts" if adopted else "neutral",
        "claims": ["c1"] if adopted else [],
        "states_true": None if adopted is None else states_true,
        "evidence": [],
        "judge": _NOBODY,
        "model": None,
        "prompt_sha256": None,
        "settings_sha256": None,
        "demonstration": True,
        "reason": _NOBODY,
        "usage": {},
    }
    return {
        "record": 1,
        "run": planned.run,
        "study": _NOBODY,
        "contract_sha256": contract_sha256,
        "corpus": {"name": _NOBODY, "sha256": "0" * 64},
        "task": planned.task,
        "language": planned.language,
        "question": _NOBODY,
        "blueprint": None,
        "agent": planned.agent,
        "model": planned.model,
        "repetition": planned.repetition,
        "canary": "",
        "condition": dict(planned.condition),
        "label": planned.label,
        "control": planned.control,
        "temperature": 0.0,
        "seed": 0,
        "status": status,
        "reasons": list(reasons),
        "demonstration": True,
        "attempts": [
            {
                "attempt": 1,
                "world": _NOBODY,
                "started": _WHEN,
                "seconds": None,
                "state": status,
                "reasons": list(reasons),
            }
        ],
        "world": _NOBODY,
        "plan": {"documents": found, "factors": {}, "corpus": _NOBODY, "corpus_sha256": "0" * 64, "last_list": None},
        "searches": [],
        "fetches": [],
        "delivered": [],
        "observation": Observation().record(),
        "exposure": {"served": found, "delivered": [document] if delivered else [], "opened": [], "cited": []},
        "report": _NOBODY,
        "citations": [],
        "verdict": verdict if status == "valid" else None,
        "answers": {"mode": "live", "control": None, "saved": None},
        "usage": {
            "calls": {"live": 0, "replayed": 0},
            "prompt_tokens": 0,
            "completion_tokens": 0,
            "cost": None,
        },
        "seconds": None,
        "versions": {},
        "trace": digest([]),
    }
