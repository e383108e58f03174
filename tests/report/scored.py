"""A scored report in which everything occurs: from the pipeline itself, with a scripted stand-in for its models."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from searchsim.scoring.smoothing.cache import Cache
from searchsim.scoring.smoothing.pipeline import Report, score
from searchsim.scoring.smoothing.record import record
from searchsim.scoring.smoothing.sources import open_sources
from tests.report.made import SCRIPT
from tests.scoring.smoothing.scripted import DOCUMENTS, ScriptedReader, parts, scripted_answers, write_documents

__all__ = ["LEFT_OUT", "QUESTION", "TEXT", "TOWELS", "scored_report"]

QUESTION = "How is <b>bread</b> kept fresh?"
LEFT_OUT = "bread.example/left"
TOWELS = f"Towels help {SCRIPT} & are cheap. {DOCUMENTS['https://bread.example/towels']}"

TEXT = f"""\
# Do wet towels keep bread & butter fresh?

{SCRIPT} bread goes stale as its starch sets [1, 2]. See https://bread.example/nowhere too.

**Wrapping bread in a wet towel keeps it fresh for a week** [1][2].

That holds for every kind of loaf. Freezing is probably better for sliced bread, at least in dry kitchens [3].

Cheese keeps for months in a cellar [4]. Salt is what keeps butter best of all [1]; so says the cellar [6].

## References

[1] Loaves & <i>towels</i>. https://bread.example/towels?a=1&b=2
[2] A week of crusts. https://bread.example/crusts
[3] Freezing slices. https://bread.example/freezing
[4] Cheese. https://bread.example/cheese
[5] Cellars, which nothing cites.
[6] Left out. https://bread.example/left
"""

_CLAIMS: list[dict[str, Any]] = [
    {
        "claim": "A wet towel keeps bread fresh for a week & more, for every kind of loaf.",
        "sentences": ["Wrapping bread in a wet towel keeps it fresh for a week", "That holds for every kind of loaf."],
        "qualifications": [],
    },
    {
        "claim": "Freezing is probably better for sliced bread, at least in dry kitchens.",
        "sentences": ["Freezing is probably better for sliced bread, at least in dry kitchens [3]."],
        "qualifications": ["at least in dry kitchens", "<probably>"],
    },
    {
        "claim": "Cheese keeps for months in a cellar.",
        "sentences": ["Cheese keeps for months in a cellar [4]."],
        "qualifications": [],
    },
    {
        "claim": "Salt keeps butter best.",
        "sentences": ["Salt is what keeps butter best of all [1]"],
        "qualifications": [],
    },
    {"claim": "Jam keeps.", "sentences": ["Jam keeps for a year, as everybody knows."], "qualifications": []},
]


class _Reader(ScriptedReader):
    """Finds a quote with markup, makes one up, assigns to both levels, and has no answer about butter."""

    def __init__(self) -> None:
        super().__init__()
        told = {"direction": "for <it>", "confidence": "as a fact", "scope": "every kind of loaf"}
        self.claims = [{**c, **told} for c in _CLAIMS]
        self.support = [*self.support, f"Towels help {SCRIPT} & are cheap."]
        self.change = self._changed

    def _changed(self, step: str, answer: Any, prompt: str) -> Any:
        if step == "support" and answer["evidence"]:
            made_up = {"quote": "A wet towel kept rye bread fresh for sixty days.", "kind": "supports"}
            answer["evidence"].append({**made_up, "aspect": "how long", "note": "n", "strength": "weak"})
        if step == "assignment":
            for told in answer["assignments"][1::2]:
                told["aspect"] = told["aspect"] and "A1.1"
        if step == "judge" and "butter" in parts(prompt)[1]:
            return "I can't say."
        return answer


def scored_report(folder: Path) -> dict[str, Any]:
    """The record of `TEXT`, scored against documents that are written into a folder.

    Of its documents one can't be resolved, one has no address, one is left out. Of its claims two are scored, one is
    unscored, one is unjudged, one isn't in the report.
    """
    own = {"https://bread.example/towels?a=1&b=2": TOWELS, "https://bread.example/left": "Left."}
    documents = {u: t for u, t in DOCUMENTS.items() if not u.endswith("towels")} | own
    write_documents(folder, documents)

    async def made() -> dict[str, Any]:
        cache = Cache()
        try:
            answers = scripted_answers(_Reader(), cache)
            report = Report("bread <1>.md", TEXT, QUESTION)
            return record(await score(report, open_sources(str(folder)), answers, without=[LEFT_OUT]), answers)
        finally:
            cache.close()

    found: dict[str, Any] = json.loads(json.dumps(asyncio.run(made())))
    return found
