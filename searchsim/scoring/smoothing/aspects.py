"""Step 3: the aspects of a claim: proposed for each document, then merged into one order of two levels.

A document's proposals are made from what both readers found in it: where that is nothing, it has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from searchsim import tokens
from searchsim.scoring.smoothing.answers import Answer, Answers
from searchsim.scoring.smoothing.claims import Claim
from searchsim.scoring.smoothing.evidence import Evidence, titled
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
    return Prompt(
        STEPS["proposals"],
        (f"The claim:\n{fenced(claim.brief)}\n", f"{titled(title)}The document's passages:\n", fenced(passages)),
    )


@dataclass(slots=True)
class _Tree:
    """An aspect, whose proposals are also those of the ones below it, and these."""

    top: Aspect
    below: list[Aspect] = field(default_factory=list)


async def merge(
    claim: Claim, proposals: Sequence[Proposal], answers: Answers, budget: int
) -> tuple[list[Aspect], Answer | None]:
    """The aspects of a claim, an aspect before its sub-aspects.

    A single proposal needs no merging. More than go into one question are merged in groups, and the outcomes then: an
    aspect that came out of one brings its sub-aspects with it.

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
    given = [_Tree(Aspect("", None, p.name, p.description, list(p.keywords), [p])) for p in proposals]
    while given:
        groups = _groups(given, budget)
        merged: list[_Tree] = []
        for group in groups:
            answer = await answers.answer(_merge_prompt(claim, group), partial(_wrong, count=len(group)))
            if answer.value is None:
                return [], answer
            merged += _recombined(answer.value, group)
        if len(groups) == 1 or len(merged) >= len(given):
            return _named(merged), None
        given = merged
    return [], None


def _merge_prompt(claim: Claim, given: Sequence[_Tree]) -> Prompt:
    listed = "\n".join(f"p{number}. {_line(tree)}" for number, tree in enumerate(given, start=1))
    return Prompt(STEPS["merge"], (f"The claim:\n{fenced(claim.brief)}\n", "The aspects:\n", fenced(listed)))


def _line(tree: _Tree) -> str:
    top = tree.top
    below = f"; its sub-aspects: {'; '.join(a.name for a in tree.below)}" if tree.below else ""
    return " ".join(f"{top.name}: {top.description} ({', '.join(top.keywords)}){below}".split())


def _groups(given: Sequence[_Tree], budget: int) -> list[list[_Tree]]:
    groups: list[list[_Tree]] = [[]]
    room = budget
    for tree in given:
        size = tokens.count(_line(tree))[0] + 4
        # Two at least, else a group would merge nothing.
        if size > room and len(groups[-1]) > 1:
            groups.append([])
            room = budget
        groups[-1].append(tree)
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


def _recombined(value: Mapping[str, Any], given: Sequence[_Tree]) -> list[_Tree]:
    """The aspects of an answer, with their provenance and with what stood below the given ones."""
    made: list[_Tree] = []
    left = dict(enumerate(given, start=1))

    def take(node: Mapping[str, Any], below: list[Aspect]) -> Aspect:
        """An aspect of the answer; what stood below its sources goes to the end of a list, as there are two levels."""
        sources = [int(id_[1:]) for id_ in node["from"]]
        below += [sub for n in sources if (tree := left.pop(n, None)) for sub in tree.below]
        proposals = _union(given[n - 1].top for n in sources)
        return Aspect("", None, node["name"], node["description"], node["keywords"], proposals)

    for told in value["aspects"]:
        carried: list[Aspect] = []
        tree = _Tree(take(told, carried))
        tree.below += [take(sub, carried) for sub in told["subaspects"]]
        for sub in carried:
            _join(tree.below, sub)
        tree.top.proposals = _union([tree.top, *tree.below])
        made.append(tree)
    # What the model left out isn't lost.
    for tree in left.values():
        tree.top.unmerged = True
        made.append(tree)
    return made


def _join(aspects: list[Aspect], more: Aspect) -> None:
    """Add an aspect; one that has its name already takes it in."""
    same = next((a for a in aspects if _folded(a.name) == _folded(more.name)), None)
    if same is None:
        aspects.append(more)
    else:
        same.keywords = list(dict.fromkeys([*same.keywords, *more.keywords]))
        same.proposals = _union([same, more])


def _folded(name: str) -> str:
    return " ".join(name.split()).casefold()


def _union(aspects: Iterable[Aspect]) -> list[Proposal]:
    return list(dict.fromkeys(p for a in aspects for p in a.proposals))


def _named(trees: Iterable[_Tree]) -> list[Aspect]:
    """Aspects with ids, each before those below it."""
    made: list[Aspect] = []
    for number, tree in enumerate(trees, start=1):
        tree.top.id = f"A{number}"
        for place, sub in enumerate(tree.below, start=1):
            sub.id, sub.parent = f"{tree.top.id}.{place}", tree.top.id
        made += [tree.top, *tree.below]
    return made
