"""The record of a scored report: all that a view or a table of it needs; ``schemas/smoothing.json`` is its law."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from typing import Any

import orjson

from searchsim import __version__
from searchsim.documents import faults_in
from searchsim.scoring.smoothing.answers import Answers
from searchsim.scoring.smoothing.aspects import Aspect
from searchsim.scoring.smoothing.evidence import STANCES, Evidence
from searchsim.scoring.smoothing.pipeline import CitedDocument, Scored, ScoredClaim, Settings
from searchsim.scoring.smoothing.prompts import STEPS, VERSION
from searchsim.scoring.smoothing.results import distribution
from searchsim.scoring.smoothing.scores import ClaimScore, ReportScores

__all__ = ["identity", "record", "report_scores"]


def identity(answers: Answers, settings: Settings) -> dict[str, Any]:
    """The instrument that gave a score: scores of different ones aren't comparable, and ``sha256`` tells them apart."""
    told = {
        "version": VERSION,
        "model": answers.reader.name,
        "settings_sha256": answers.reader.settings_sha256,
        "judge": answers.judge.name,
        "judge_settings_sha256": answers.judge.settings_sha256,
        "prompts": {name: step.sha256 for name, step in STEPS.items()},
        "chunk": settings.chunk,
        "overlap": settings.overlap,
        "evidence": settings.evidence,
    }
    return {**told, "sha256": hashlib.sha256(orjson.dumps(told, option=orjson.OPT_SORT_KEYS)).hexdigest()}


def record(scored: Scored, answers: Answers) -> dict[str, Any]:
    """The record of a scored report.

    Raises:
        ValueError: It breaks its schema, which is our fault.
    """
    made = {
        "record": 1,
        "report": _report(scored),
        "question": scored.report.question,
        "identity": identity(answers, scored.settings),
        "demonstration": _demonstration(answers),
        "documents": [_document(d) for d in scored.documents],
        "claims": [_claim(c) for c in scored.claims],
        "counts": _counts(scored),
        "summary": distribution(
            (c.score for c in scored.claims), unjudged=sum(c.state == "unjudged" for c in scored.claims)
        ),
        "faults": [scored.fault] if scored.fault else [],
        "usage": answers.usage(),
        "versions": {"searchsim": __version__},
    }
    if wrong := faults_in("smoothing", made):
        field, message = wrong[0]
        raise ValueError(f"a record breaks its schema: {field}: {message}")
    return made


def report_scores(record: Mapping[str, Any], system: str, dataset: str = "") -> ReportScores:
    """What results are computed from, of a record.

    Args:
        record: The record.
        system: Who wrote the report.
        dataset: What its question belongs to.
    """
    return ReportScores(
        report=record["report"]["name"],
        system=system,
        dataset=dataset,
        claims=tuple(
            ClaimScore(score=c["score"], words=len(c["text"].split()), unjudged=c["state"] == "unjudged")
            for c in record["claims"]
        ),
        documents=len(record["documents"]),
        words=record["report"]["words"],
    )


def _demonstration(answers: Answers) -> list[str]:
    """Why this is no result; empty where it may be one."""
    toys = dict.fromkeys(m.name for m in (answers.reader, answers.judge) if m.demonstration)
    return [f"model {name} is a toy or a stand-in" for name in toys]


def _report(scored: Scored) -> dict[str, Any]:
    text = scored.report.text
    return {
        "name": scored.report.name,
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
        "words": len(text[: scored.citations.body].split()),
        "body": scored.citations.body,
        "text": text,
    }


def _document(document: CitedDocument) -> dict[str, Any]:
    citation = document.citation
    return {
        "id": document.id,
        "kind": citation.kind,
        "state": document.state,
        "reason": document.reason,
        "url": citation.urls[0] if citation.urls else None,
        "addresses": list(citation.addresses),
        "title": document.title,
        "labels": list(citation.labels),
        "marks": [list(m) for m in citation.marks],
        "source": document.source.name if document.source else None,
        "sha256": document.sha256 or None,
        "characters": document.characters,
        "tokens": document.tokens,
        "chunks": len(document.chunks),
    }


def _claim(claim: ScoredClaim) -> dict[str, Any]:
    own = claim.claim
    return {
        "id": own.id,
        "text": own.text,
        "places": [list(p) for p in own.places],
        "direction": own.direction,
        "confidence": own.confidence,
        "scope": own.scope,
        "qualifications": list(own.qualifications),
        "cites": list(own.cites),
        "state": claim.state,
        "reason": claim.reason,
        "score": claim.score,
        "judgement": dict(claim.judgement) if claim.judgement else None,
        "aspects": [_aspect(a) for a in claim.aspects],
        "evidence": [_item(e) for e in claim.evidence],
        "counts": {
            **{stance: sum(e.stance == stance for e in claim.evidence) for stance in STANCES},
            "of_no_aspect": sum(e.assigned and e.aspect is None for e in claim.evidence),
            "unassigned": sum(not e.assigned for e in claim.evidence),
            "not_in_document": claim.dropped,
            "repeated": claim.merged,
            "unread": {stance: claim.unread[stance] for stance in STANCES},
            "unproposed": claim.unproposed,
            "unshown": {step: claim.unshown[step] for step in ("proposals", "judge")},
            "own": {"documents": len(claim.own), "missing": claim.missing},
            "unmerged": sum(a.unmerged for a in claim.aspects),
        },
    }


def _aspect(aspect: Aspect) -> dict[str, Any]:
    return {
        "id": aspect.id,
        "parent": aspect.parent,
        "name": aspect.name,
        "description": aspect.description,
        "keywords": list(aspect.keywords),
        "documents": aspect.documents,
        "proposals": [{"document": p.document, "name": p.name} for p in aspect.proposals],
        "unmerged": aspect.unmerged,
    }


def _item(item: Evidence) -> dict[str, Any]:
    return {
        "id": item.id,
        "stance": item.stance,
        "kind": item.kind,
        "document": item.document,
        "start": item.start,
        "end": item.end,
        "quote": item.quote,
        "label": item.label,
        "note": item.note,
        "strength": item.strength,
        "aspect": item.aspect,
        "assigned": item.assigned,
    }


def _counts(scored: Scored) -> dict[str, Any]:
    states = Counter(d.state for d in scored.documents)
    claims = Counter(c.state for c in scored.claims)
    return {
        "documents": {
            "cited": len(scored.documents),
            **{s: states[s] for s in ("resolved", "unresolved", "left_out")},
            "in_no_text": sum(not d.citation.marks for d in scored.documents),
        },
        "claims": {
            **{s: claims[s] for s in ("scored", "unscored", "unjudged")},
            "not_in_report": scored.dropped.get("not_in_report", 0),
            "sentences_dropped": scored.dropped.get("sentences_dropped", 0),
            "repeated": scored.dropped.get("repeated", 0),
        },
        "report": {"pieces": scored.pieces, "unread": scored.unread},
        "evidence": {
            **{stance: sum(e.stance == stance for c in scored.claims for e in c.evidence) for stance in STANCES},
            "not_in_document": sum(c.dropped for c in scored.claims),
            "repeated": sum(c.merged for c in scored.claims),
            "unread": sum(c.unread.total() for c in scored.claims),
            "unassigned": sum(not e.assigned for c in scored.claims if c.state == "scored" for e in c.evidence),
        },
    }
