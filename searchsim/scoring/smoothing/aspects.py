"""Step 3: the aspects of a claim: proposed for each document, then merged into one order of two levels.

A document's proposals are made from what both readers found in it: where that is nothing, it has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from searchsim import tokens
from searchsim.scoring.smoothing.answers import Answer, Answers
from searchsim.scoring.smoothing.claims import Claim
from searchsim.scoring.smoothing.evidence import Evidence
from searchsim.scoring.smoothing.prompts import STEPS, Prompt, fenced

__all__ = ["Aspect", "Proposal", "merge", "proposal_prompt"]


@dataclass(frozen=True, slots=True)
class Proposal:
    """An aspect that one document named.

    Attributes:
        document: The document's id.
        name: Two to eight words.
        description: A sentence.
        keywords: Words for it.
    """

    document: str
    name: str
    description: str
    keywords: tuple[str, ...]


@dataclass(slots=True)
class Aspect:
    """A dimension of a claim that evidence can fall on either side of.

    Attributes:
        id: ``A1``, or ``A1.1`` for a sub-aspect.
        parent: The id of the aspect above it; None for none.
        name, description, keywords: See `Proposal`.
        proposals: The proposals that went into it.
        unmerged: True where the merging model left it out, so that it stands as it was proposed.
    """

    id: str
    parent: str | None
    name: str
    description: str
    keywords: list[str]
    proposals: list[Proposal] = field(default_factory=list)
    unmerged: bool = False

    @property
    def documents(self) -> list[str]:
        """The ids of the documents that proposed it, in their order."""
        return list(dict.fromkeys(p.document for p in self.proposals))


def proposal_prompt(claim: Claim, title: str, items: Sequence[Evidence]) -> Prompt:
    """What is asked of a document's passages."""
    passages = "\n".join(f"- {e.quote}\n  (said to be about: {e.label})" for e in items)
    named = f" ({' '.join(title.split())[:200]})" if title.strip() else ""
    return Prompt(
        STEPS["proposals"],
        (f"The claim:\n{fenced(claim.brief)}\n", f"The document's passages{named}:\n", fenced(passages)),
    )


async def merge(
    claim: Claim, proposals: Sequence[Proposal], answers: Answers, budget: int
) -> tuple[list[Aspect], Answer | None]:
    """The aspects of a claim, an aspect before its sub-aspects.

    A single proposal needs no merging. More than go into one question are merged in groups, and the outcomes then.

    Args:
        claim: The claim.
        proposals: All that were proposed.
        answers: Who is asked.
        budget: Most tokens of aspects in one question.

    Returns:
        The aspects; and the answer that couldn't be used, or wasn't asked yet, where there is one: there are no aspects
        then.
    """
    if len(proposals) == 1:
        only = proposals[0]
        return [Aspect("A1", None, only.name, only.description, list(only.keywords), [only])], None
    given = [Aspect("", None, p.name, p.description, list(p.keywords), [p]) for p in proposals]
    while given:
        groups = _groups(given, budget)
        merged: list[Aspect] = []
        for group in groups:
            answer = await answers.answer(_merge_prompt(claim, group), partial(_wrong, count=len(group)))
            if answer.value is None:
                return [], answer
            merged += _ordered(answer.value, group)
        if len(groups) == 1 or len(merged) >= len(given):
            return _named(merged), None
        given = merged
    return [], None


def _merge_prompt(claim: Claim, given: Sequence[Aspect]) -> Prompt:
    listed = "\n".join(f"p{number}. {_line(a)}" for number, a in enumerate(given, start=1))
    return Prompt(STEPS["merge"], (f"The claim:\n{fenced(claim.brief)}\n", "The aspects:\n", fenced(listed)))


def _line(aspect: Aspect) -> str:
    return " ".join(f"{aspect.name}: {aspect.description} ({', '.join(aspect.keywords)})".split())


def _groups(given: Sequence[Aspect], budget: int) -> list[list[Aspect]]:
    groups: list[list[Aspect]] = [[]]
    room = budget
    for aspect in given:
        size = tokens.count(_line(aspect))[0] + 4
        # Two at least, else a group would merge nothing.
        if size > room and len(groups[-1]) > 1:
            groups.append([])
            room = budget
        groups[-1].append(aspect)
        room -= size
    return groups


def _wrong(value: Mapping[str, Any], *, count: int) -> str:
    known = {f"p{n}" for n in range(1, count + 1)}
    nodes = [node for top in value["aspects"] for node in (top, *top["subaspects"])]
    if stray := [id_ for node in nodes for id_ in node["from"] if id_ not in known]:
        return f"from: {stray[0]!r} is none of the given ids (p1 to p{count})"
    for top in value["aspects"]:
        if not top["from"] and not any(sub["from"] for sub in top["subaspects"]):
            return f"aspect {top['name'][:80]!r} comes from none of the given ones"
    return ""


def _ordered(value: Mapping[str, Any], given: Sequence[Aspect]) -> list[Aspect]:
    """The aspects of an answer with their provenance; sub-aspects name their parent by its number in the answer."""
    made: list[Aspect] = []
    left = dict(enumerate(given, start=1))
    for number, top in enumerate(value["aspects"], start=1):
        for parent, node in [(None, top), *((str(number), sub) for sub in top["subaspects"])]:
            sources = [int(id_[1:]) for id_ in node["from"]]
            for source in sources:
                left.pop(source, None)
            proposals = list(dict.fromkeys(p for s in sources for p in given[s - 1].proposals))
            made.append(Aspect("", parent, node["name"], node["description"], node["keywords"], proposals))
    # What the model left out isn't lost.
    made += [Aspect("", None, a.name, a.description, a.keywords, a.proposals, unmerged=True) for a in left.values()]
    return made


def _named(aspects: Sequence[Aspect]) -> list[Aspect]:
    """Aspects with ids, those above with all that their sub-aspects come from."""
    top: Aspect | None = None
    tops = below = 0
    for aspect in aspects:
        if aspect.parent is None or top is None:
            tops, below = tops + 1, 0
            aspect.id, aspect.parent, top = f"A{tops}", None, aspect
        else:
            below += 1
            aspect.id, aspect.parent = f"{top.id}.{below}", top.id
            top.proposals = list(dict.fromkeys([*top.proposals, *aspect.proposals]))
    return list(aspects)
