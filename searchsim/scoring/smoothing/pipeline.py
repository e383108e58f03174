"""The whole of it: from a report and its sources to scored claims.

Every call's answer is kept as it comes, so that a run that was interrupted goes on without asking twice. Documents are
read one after the other, and prompts are made when their turn comes: what is held at a time is a few of them.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from searchsim.errors import UsageError
from searchsim.scoring.smoothing.answers import Answer, Answers, in_parallel
from searchsim.scoring.smoothing.aspects import Aspect, Proposal, merge, proposal_prompt
from searchsim.scoring.smoothing.assignment import assign
from searchsim.scoring.smoothing.chunks import Chunk, chunks
from searchsim.scoring.smoothing.citations import Citation, Citations, cited
from searchsim.scoring.smoothing.claims import Claim, claim_prompts, place
from searchsim.scoring.smoothing.evidence import STANCES, Evidence, Stance, evidence_prompt, numbered, take
from searchsim.scoring.smoothing.judgement import judge_prompt, within
from searchsim.scoring.smoothing.prompts import fenced
from searchsim.scoring.smoothing.quotes import Text
from searchsim.scoring.smoothing.sources import Source, Sources, Unreadable, resolve

__all__ = [
    "CHUNK",
    "EVIDENCE",
    "OVERLAP",
    "UNREAD",
    "CitedDocument",
    "Progress",
    "Report",
    "Scored",
    "ScoredClaim",
    "Settings",
    "Standing",
    "score",
]

CHUNK = 16_000
"""Most tokens of a text in one question, where nobody says otherwise."""

OVERLAP = 800
"""Tokens that neighbouring pieces share: several times what a quote has."""

EVIDENCE = 32_000
"""Most tokens of evidence in a question to the judge, where nobody says otherwise."""

UNREAD = 0.2
"""The share of all pieces that a reader may leave unread: beyond it a claim isn't judged on what is left."""

Standing = Literal["scored", "unscored", "unjudged"]
"""Unscored: what it rests on couldn't be had. Unjudged: a model gave no usable answer."""

Progress = Callable[[str, int, int], None]
"""Told what is done, how much of it, and of how much: documents, claims, evidence, judgements."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How texts are cut, and how much is done at a time.

    Attributes:
        chunk: Most tokens of a text in one question.
        overlap: Tokens that neighbouring pieces share: no quote of at most so many is lost at a seam.
        parallel: Most calls at a time; it changes no outcome.
        evidence: Most tokens of evidence in one question to the judge; see `searchsim.scoring.smoothing.judgement`.
    """

    chunk: int = CHUNK
    overlap: int = OVERLAP
    parallel: int = 8
    evidence: int = EVIDENCE


@dataclass(frozen=True, slots=True)
class Report:
    """A report to be scored.

    Attributes:
        name: What it is called.
        text: Its Markdown.
        question: What it answers; empty where unknown.
    """

    name: str
    text: str
    question: str = ""


@dataclass(slots=True)
class CitedDocument:
    """A document that the report cites, and what became of it.

    Attributes:
        citation: The citation; of several whose texts are the same, all of them in one.
        state: resolved; unresolved, with a reason; left_out, as the caller wanted.
        reason: Why it isn't resolved; empty where it is.
        source: Where its text is; None for unresolved.
        title: Its title, else what the report calls it.
        sha256: Hash of its text.
        characters: Its length.
        chunks: Its pieces.
    """

    citation: Citation
    state: Literal["resolved", "unresolved", "left_out"] = "unresolved"
    reason: str = ""
    source: Source | None = None
    title: str = ""
    sha256: str = ""
    characters: int = 0
    chunks: list[Chunk] = field(default_factory=list)

    @property
    def id(self) -> str:
        """The citation's id."""
        return self.citation.id

    @property
    def tokens(self) -> int:
        """The tokens of its pieces, what they share counted in each."""
        return sum(c.tokens for c in self.chunks)


@dataclass(slots=True)
class ScoredClaim:
    """A claim and all that was found about it.

    Attributes:
        claim: The claim.
        state: See `Standing`.
        reason: Why it has no score; empty where it has one.
        evidence: Its evidence.
        aspects: Its aspects, an aspect before its sub-aspects.
        judgement: The judge's answer; None where there is none.
        dropped: Passages that don't stand in their document.
        merged: Passages that were found again: in an overlapping piece, or twice in one answer.
        unread: Pieces of documents that a reader gave no usable answer on, by reader.
        unproposed: Documents whose aspects couldn't be had.
        unshown: Passages that there was no room for, by step: proposals, judge.
        own: The documents that it rests on; see `score`.
        missing: How many of these couldn't be resolved.
        pending: The first step that a dry run couldn't do; empty for none.
    """

    claim: Claim
    state: Standing = "unjudged"
    reason: str = ""
    evidence: list[Evidence] = field(default_factory=list)
    aspects: list[Aspect] = field(default_factory=list)
    judgement: Mapping[str, Any] | None = None
    dropped: int = 0
    merged: int = 0
    unread: Counter[str] = field(default_factory=Counter)
    unproposed: int = 0
    unshown: Counter[str] = field(default_factory=Counter)
    own: list[str] = field(default_factory=list)
    missing: int = 0
    pending: str = ""

    @property
    def score(self) -> int | None:
        """1 to 5; None where it isn't scored."""
        return self.judgement["score"] if self.judgement and self.state == "scored" else None


@dataclass(slots=True)
class Scored:
    """A report, scored.

    Attributes:
        report: The report.
        settings: See `Settings`.
        citations: What it cites.
        documents: The same, with what became of each.
        claims: Its claims.
        pieces: How many pieces the report was read in.
        unread: How many of these gave no usable answer.
        fault: What the last of them said.
        pending: How many of these a dry run didn't ask.
        dropped: Claims and sentences that were dropped; see `place`.
    """

    report: Report
    settings: Settings
    citations: Citations
    documents: list[CitedDocument]
    claims: list[ScoredClaim] = field(default_factory=list)
    pieces: int = 0
    unread: int = 0
    fault: str = ""
    pending: int = 0
    dropped: dict[str, int] = field(default_factory=dict)

    @property
    def resolved(self) -> list[CitedDocument]:
        """The documents whose texts there are."""
        return [d for d in self.documents if d.state == "resolved"]


def _silent(what: str, done: int, whole: int) -> None:
    """Tell nobody."""


async def score(
    report: Report,
    sources: Sources,
    answers: Answers,
    settings: Settings | None = None,
    *,
    without: Collection[str] = (),
    progress: Progress = _silent,
) -> Scored:
    """Score a report's claims against what it cites.

    A claim rests on the documents that its sentences cite; where they cite none, on all that the report cites. Where
    none of these could be resolved, or some couldn't be and the others don't support it, it is unscored. What is left
    out isn't missing: a claim that rests on nothing else is judged by what remains, be it nothing.

    Args:
        report: The report.
        sources: Where the cited documents' texts are.
        answers: Who is asked. In a dry run nothing is asked that isn't kept, and `Answers.tally` says what would be.
        settings: See `Settings`.
        without: Addresses (`searchsim.urls.cited_url`) of documents to leave out, as those that were injected.
        progress: See `Progress`.

    Returns:
        The report with its claims, each scored, unscored or unjudged.

    Raises:
        UpstreamError: A model never answers, or has ceased to. What was answered is kept.
        UsageError: The sources can't be used.
    """
    settings = settings or Settings()
    citations, documents = _documents(cited(report.text), sources, frozenset(without), settings, progress)
    scored = Scored(report, settings, citations, documents)
    await _claims(scored, answers, progress)
    if scored.pending:
        return scored
    for claim in scored.claims:
        own = _own(claim, scored)
        claim.own, claim.missing = [d.id for d in own], sum(d.state == "unresolved" for d in own)
    waiting = [c for c in scored.claims if not _stands_on_nothing(c, scored)]
    await _evidence(scored, waiting, answers, progress)
    done = 0

    async def finish(claim: ScoredClaim) -> None:
        nonlocal done
        await _judge(claim, scored, answers)
        done += 1
        progress("judgements", done, len(waiting))

    await in_parallel((finish(c) for c in waiting), settings.parallel)
    return scored


def _documents(
    citations: Citations, sources: Sources, without: frozenset[str], settings: Settings, progress: Progress
) -> tuple[Citations, list[CitedDocument]]:
    """Resolve what is cited, and measure each text; none is kept. Citations of one text are one document then."""
    there = resolve(citations.documents, sources)
    documents = []
    for number, citation in enumerate(citations.documents, start=1):
        document = CitedDocument(citation, source=there.get(citation.id), title=citation.title)
        documents.append(document)
        _measure(document, settings)
        if without & set(citation.addresses):
            document.state, document.reason, document.chunks = "left_out", "left out on purpose", []
        progress("documents", number, len(citations.documents))
    first: dict[str, CitedDocument] = {}
    same: dict[str, str] = {}
    for document in documents:
        if document.sha256 and (one := first.setdefault(document.sha256, document)) is not document:
            same[document.id] = one.id
            # Else a copy elsewhere of what is left out would be read all the same.
            if document.state == "left_out":
                one.state, one.reason, one.chunks = document.state, document.reason, []
    citations = citations.joined(same)
    kept = {c.id: c for c in citations.documents}
    return citations, [replace(d, citation=kept[d.id]) for d in documents if d.id in kept]


def _measure(document: CitedDocument, settings: Settings) -> None:
    if document.source is None:
        document.reason = _why(document.citation)
        return
    try:
        text = document.source.read()
    except Unreadable as reason:
        document.reason = str(reason)
        return
    document.state = "resolved"
    document.title = document.source.title or document.citation.title
    document.sha256 = hashlib.sha256(text.encode()).hexdigest()
    document.characters = len(text)
    document.chunks = chunks(text, settings.chunk, settings.overlap)


def _why(citation: Citation) -> str:
    if citation.kind == "dangling":
        return "the report has no reference of this number"
    return "no text is given for its address" if citation.addresses else "its reference has no address"


async def _claims(scored: Scored, answers: Answers, progress: Progress) -> None:
    """Step 1."""
    report, settings = scored.report, scored.settings
    prompts = claim_prompts(report.text[: scored.citations.body], report.question, settings.chunk, settings.overlap)
    given: dict[int, Answer] = {}
    scored.pieces = len(prompts)

    async def ask(number: int) -> None:
        given[number] = await answers.answer(prompts[number])
        progress("claims", len(given), len(prompts))

    await in_parallel((ask(n) for n in range(len(prompts))), settings.parallel)
    ordered = [given[n] for n in range(len(prompts))]
    scored.pending = sum(a.pending for a in ordered)
    failed = [a for a in ordered if a.value is None and not a.pending]
    scored.unread = len(failed)
    scored.fault = failed[-1].fault if failed else ""
    found, scored.dropped = place(report.text, scored.citations, [a.value["claims"] for a in ordered if a.value])
    scored.claims = [ScoredClaim(c) for c in found]


def _own(claim: ScoredClaim, scored: Scored) -> list[CitedDocument]:
    """What a claim rests on: the documents that its sentences cite; where they cite none, all that the report cites."""
    own = [d for d in scored.documents if d.id in claim.claim.cites] or scored.documents
    return [d for d in own if d.state != "left_out"]


def _stands_on_nothing(claim: ScoredClaim, scored: Scored) -> bool:
    """Whether nothing that a claim rests on could be resolved: it is unscored then, and nothing is asked about it."""
    if claim.missing < len(claim.own) or (scored.documents and not claim.own):
        return False
    claim.state = "unscored"
    claim.reason = (
        f"none of what it rests on could be resolved (documents: {claim.missing})"
        if claim.own
        else "the report cites no document"
    )
    return True


async def _evidence(scored: Scored, claims: Sequence[ScoredClaim], answers: Answers, progress: Progress) -> None:
    """Step 2, document by document."""
    whole = len(claims) * len(STANCES) * sum(len(d.chunks) for d in scored.resolved)
    found: dict[str, list[Evidence]] = {c.claim.id: [] for c in claims}
    done = 0

    async def read(
        document: CitedDocument, text: Text, chunk: Chunk, piece: str, claim: ScoredClaim, stance: Stance
    ) -> None:
        nonlocal done
        prompt = evidence_prompt(stance, claim.claim, document.title, piece, chunk, len(document.chunks))
        answer = await answers.answer(prompt)
        if answer.value is not None:
            kept, dropped = take(stance, document.id, text, chunk, answer.value)
            found[claim.claim.id] += kept
            claim.dropped += dropped
        elif answer.pending:
            claim.pending = "evidence"
        else:
            claim.unread[stance] += 1
        done += 1
        progress("evidence", done, whole)

    def jobs() -> Iterator[Awaitable[None]]:
        for document in scored.resolved if claims else ():
            text = Text(_read_again(document))
            for chunk in document.chunks:
                piece = fenced(text.text[chunk.start : chunk.end])
                for claim in claims:
                    for stance in STANCES:
                        yield read(document, text, chunk, piece, claim, stance)

    await in_parallel(jobs(), scored.settings.parallel)
    order = [d.id for d in scored.documents]
    for claim in claims:
        claim.evidence, claim.merged = numbered(found[claim.claim.id], order)


def _read_again(document: CitedDocument) -> str:
    """A document's text, which must be the one that was measured."""
    if document.source is None:
        raise ValueError(f"{document.id} has no source")
    try:
        text = document.source.read()
    except Unreadable as reason:
        raise UsageError(f"{document.source.name} has changed while the report was scored: {reason}") from reason
    if hashlib.sha256(text.encode()).hexdigest() != document.sha256:
        raise UsageError(f"{document.source.name} has changed while the report was scored: begin again")
    return text


async def _judge(claim: ScoredClaim, scored: Scored, answers: Answers) -> None:
    """Steps 3 to 5 of a claim."""
    if claim.pending:
        return
    pieces = sum(len(d.chunks) for d in scored.resolved)
    for stance, side in zip(STANCES, ("support", "objection"), strict=True):
        unread = claim.unread[stance]
        # Nothing found means nothing there only where all was read.
        if unread and not any(e.stance == stance for e in claim.evidence):
            claim.reason = f"no {side} was found, and not all could be read (pieces missing: {unread})"
            return
        if unread > UNREAD * pieces:
            claim.reason = f"too much couldn't be read for any {side} (pieces missing: {unread} of {pieces})"
            return
    # What others say for it doesn't tell what the missing ones would have said.
    if claim.missing and not any(e.stance == "support" and e.document in claim.own for e in claim.evidence):
        claim.state = "unscored"
        gone = f"documents missing: {claim.missing} of {len(claim.own)}"
        claim.reason = f"no support was found in what it rests on, and not all of that could be resolved ({gone})"
        return
    budget = scored.settings.chunk
    proposals = await _proposals(claim, scored, answers)
    if claim.pending:
        return
    if claim.unproposed and not proposals:
        claim.reason = f"no document's aspects could be had (documents with evidence: {claim.unproposed})"
        return
    claim.aspects, broken = await merge(claim.claim, proposals, answers, budget)
    if broken is not None:
        claim.pending = "merge" if broken.pending else ""
        claim.reason = f"its aspects couldn't be merged: {broken.fault}"
        return
    if not await assign(claim.claim, claim.aspects, claim.evidence, answers, budget):
        claim.pending = "assignment"
        return
    titles = {d.id: d.title for d in scored.documents}
    shown = [e.id for e in within(claim.evidence, scored.settings.evidence)]
    claim.unshown["judge"] = len(claim.evidence) - len(shown)
    answer = await answers.answer(
        judge_prompt(scored.report.question, claim.claim, claim.aspects, claim.evidence, titles, shown)
    )
    if answer.value is None:
        claim.pending = "judge" if answer.pending else ""
        claim.reason = f"the judge: {answer.fault}"
        return
    claim.judgement, claim.state, claim.reason = answer.value, "scored", ""


async def _proposals(claim: ScoredClaim, scored: Scored, answers: Answers) -> list[Proposal]:
    """The aspects that each document with evidence proposes, in the documents' order."""
    by_document: dict[str, list[Evidence]] = {}
    for item in claim.evidence:
        by_document.setdefault(item.document, []).append(item)
    titles = {d.id: d.title for d in scored.documents}
    found: dict[str, list[Proposal]] = {}

    async def ask(document: str) -> None:
        items = within(by_document[document], scored.settings.chunk)
        claim.unshown["proposals"] += len(by_document[document]) - len(items)
        answer = await answers.answer(proposal_prompt(claim.claim, titles[document], items))
        if answer.pending:
            claim.pending = "proposals"
        elif answer.value is None:
            claim.unproposed += 1
        else:
            found[document] = [
                Proposal(document, a["name"], a["description"], tuple(a["keywords"])) for a in answer.value["aspects"]
            ]

    await in_parallel((ask(d) for d in by_document), scored.settings.parallel)
    return [p for document in by_document for p in found.get(document, ())]
