"""A scripted stand-in for the models of SmoothScore's steps. It is no model: it says what its script says."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from searchsim.judge.model import Reply
from searchsim.scoring.smoothing.answers import Answers, Model
from searchsim.scoring.smoothing.cache import Cache
from searchsim.scoring.smoothing.prompts import STEPS

__all__ = ["REPORT", "ScriptedReader", "scripted_answers", "write_documents"]

REPORT = """\
# Do wet towels keep bread fresh?

Background: bread goes stale as its starch sets [1].

**Wrapping bread in a wet towel keeps it fresh for a week** [1][2]. That holds for every kind of loaf.

Freezing is probably better for sliced bread, at least in dry kitchens [3].

## References

[1] Loaves and towels. https://bread.example/towels
[2] A week of crusts. https://bread.example/crusts?utm_source=x
[3] Freezing slices. https://bread.example/freezing
"""

DOCUMENTS = {
    "https://bread.example/towels": "Towels help. In our kitchen a wet towel kept rye bread fresh for six days. "
    "White bread went mouldy on the third day under the same towel.",
    "https://bread.example/crusts": "We looked at crusts. A crust stays soft under a damp cloth for about a week. "
    "Only sourdough was tested.",
    "https://bread.example/freezing": "Sliced bread that was frozen tasted fresh after a month. "
    "A humid kitchen makes no difference to frozen slices.",
}

CLAIMS = [
    {
        "claim": "Wrapping bread in a wet towel keeps it fresh for a week, for every kind of loaf.",
        "sentences": [
            "Wrapping bread in a wet towel keeps it fresh for a week.",
            "That holds for every kind of loaf.",
        ],
        "direction": "for wet towels",
        "confidence": "stated as a fact",
        "scope": "every kind of loaf",
        "qualifications": [],
    },
    {
        "claim": "Freezing is probably better for sliced bread, at least in dry kitchens.",
        "sentences": ["Freezing is probably better for sliced bread, at least in dry kitchens [3]."],
        "direction": "for freezing",
        "confidence": "probably",
        "scope": "sliced bread",
        "qualifications": ["at least in dry kitchens"],
    },
]

SUPPORT = ("In our kitchen a wet towel kept rye bread fresh for six days.", "A crust stays soft under a damp cloth")
SKEPTIC = (
    "White bread went mouldy on the third day",
    "Only sourdough was tested.",
    "frozen tasted fresh after a month",
)


class ScriptedReader:
    """Answers each step from its prompt.

    Attributes:
        claims, support, skeptic: What it finds: claims; quotes, wherever they stand in the text that it is shown.
        change: Changes an answer: gets the step, the answer and the prompt; what it returns is said.
        calls: How often each step was asked.
        prompts: What it was asked, by step.
    """

    def __init__(self) -> None:
        self.claims: Sequence[Mapping[str, Any]] = CLAIMS
        self.support: Sequence[str] = SUPPORT
        self.skeptic: Sequence[str] = SKEPTIC
        self.change: Callable[[str, Any, str], Any] = lambda step, answer, prompt: answer
        self.calls: Counter[str] = Counter()
        self.prompts: dict[str, list[str]] = {name: [] for name in STEPS}

    async def ask(self, messages: Sequence[Mapping[str, str]]) -> Reply:
        return self.say(messages), {"prompt_tokens": 100, "completion_tokens": 10}

    def serve(self, body: dict[str, Any]) -> str:
        """The same, as `tests.scripted.ScriptedModel.say`."""
        return self.say(body["messages"])

    def say(self, messages: Sequence[Mapping[str, str]]) -> str:
        step = next(name for name, s in STEPS.items() if s.system == messages[0]["content"])
        prompt = messages[1]["content"]
        self.calls[step] += 1
        self.prompts[step].append(prompt)
        answer = self.change(step, getattr(self, f"_{step}")(prompt), prompt)
        return answer if isinstance(answer, str) else json.dumps(answer)

    def _claims(self, prompt: str) -> Any:
        return {"claims": list(self.claims)}

    def _support(self, prompt: str) -> Any:
        return self._found(prompt, self.support, "supports")

    def _skeptic(self, prompt: str) -> Any:
        return self._found(prompt, self.skeptic, "limits")

    def _found(self, prompt: str, quotes: Sequence[str], kind: str) -> Any:
        text = parts(prompt)[-1]
        found = [
            {"quote": q, "kind": kind, "aspect": "how long", "note": f"It {kind}.", "strength": "strong"}
            for q in quotes
            if q in text
        ]
        return {"evidence": found}

    def _proposals(self, prompt: str) -> Any:
        return {
            "aspects": [{"name": "How long it stays fresh", "description": "Days until stale.", "keywords": ["days"]}]
        }

    def _merge(self, prompt: str) -> Any:
        ids = re.findall(r"^(p\d+)\.", parts(prompt)[-1], re.MULTILINE)
        told = {"description": "Days.", "keywords": ["days"]}
        sub = {"name": "By kind of bread", **told, "from": ids[1:]}
        return {"aspects": [{"name": "How long", **told, "from": ids[:1], "subaspects": [sub]}]}

    def _assignment(self, prompt: str) -> Any:
        passages = re.findall(r"^(\d+)\. (.*)$", parts(prompt)[-1], re.MULTILINE)
        told = [{"passage": int(n), "aspect": "A1" if "month" not in text else None} for n, text in passages]
        return {"assignments": told}

    def _judge(self, prompt: str) -> Any:
        return {
            "role": "a recommendation",
            "takeaway": "Wet towels keep bread fresh.",
            "objections": "White bread went mouldy.",
            "resolution": "Some breads stay fresh for days.",
            "repair": "Say which breads.",
            "patterns": ["scope_expansion"],
            "score": 4 if "towel" in parts(prompt)[1] else 1,
        }


def parts(prompt: str) -> list[str]:
    """The fenced parts of a prompt."""
    return [m[2] for m in re.finditer(r"^(={10,})\n(.*?)\n\1$", prompt, re.MULTILINE | re.DOTALL)]


def scripted_answers(reader: ScriptedReader, cache: Cache, **options: Any) -> Answers:
    """Who answers in a test."""
    model = Model(reader.ask, "scripted", "", demonstration=True)
    return Answers(model, model, cache, **options)


def write_documents(folder: Path, documents: Mapping[str, str] = DOCUMENTS) -> Path:
    """A folder of files with an index."""
    folder.mkdir(exist_ok=True)
    index = {}
    for number, (url, text) in enumerate(documents.items()):
        (folder / f"{number}.txt").write_text(text, "utf-8")
        index[url] = f"{number}.txt"
    (folder / "index.json").write_text(json.dumps(index), "utf-8")
    return folder
