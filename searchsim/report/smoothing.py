"""A scored report as one page: each claim with its score, its evidence by aspect, and the documents behind it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from searchsim import __version__
from searchsim.report import numbers
from searchsim.report.annotated import blocks
from searchsim.scoring.smoothing.prompts import PATTERNS, RUBRIC, STEPS, VERSION
from searchsim.server.render import template

__all__ = ["render"]

_FEW = 150
"""So many quotes are shown at once; of more, an aspect's are shown when it is opened."""

_PRINTED = 600
"""So many quotes are printed whether they are shown or not: some 60 pages."""

_TITLE = 72
"""Most characters of a document's title beside each quote."""

_SIDES = {"support": "Supporting", "skeptic": "Countervailing"}


def render(record: Mapping[str, Any], canary: str = "", *, injected: Collection[str] = (), back: str = "") -> str:
    """A scored report as HTML. It needs nothing else: no network, no script.

    Args:
        record: See `searchsim.scoring.smoothing.record.record`.
        canary: The corpus's, where the documents are of one.
        injected: Addresses (`searchsim.urls.cited_url`) of documents that were injected, to be marked.
        back: Where the page that this one belongs to has the report, as a relative URL.
    """
    quotes = Counter((e["document"], e["stance"]) for c in record["claims"] for e in c["evidence"])
    documents = {d["id"]: _document(d, record, quotes, frozenset(injected)) for d in record["documents"]}
    claims = [_claim(c, documents) for c in record["claims"]]
    rubric = _rubric(record)
    return template(
        "smoothing.html",
        canary=canary,
        version=__version__,
        back=back,
        record=record,
        numbers=numbers,
        claims=claims,
        by_score=sorted(claims, key=lambda c: -(c["score"] or 0)),
        documents=list(documents.values()),
        blocks=blocks(record["report"]["text"], record["report"]["body"], record["claims"], record["documents"]),
        rubric=rubric,
        labels={score: text.partition(":")[0] for score, text in rubric.items()},
        patterns=PATTERNS if rubric else {},
        scores=_scores(record["summary"], rubric),
        missing=_missing(record),
        steps=[(name, record["usage"]["steps"][name]) for name in STEPS],
        open=quotes.total() <= _FEW,
        printed=quotes.total() <= _PRINTED,
    )


def _rubric(record: Mapping[str, Any]) -> Mapping[int, str]:
    """What the scores mean; empty where the record is of a version that this program doesn't have."""
    return RUBRIC if record["identity"]["version"] == VERSION else {}


def _scores(summary: Mapping[str, Any], rubric: Mapping[int, str]) -> list[dict[str, Any]]:
    return [
        {"score": int(bin_), "means": rubric.get(int(bin_), ""), "claims": count, "share": summary["shares"][bin_]}
        for bin_, count in summary["bins"].items()
    ]


def _document(
    document: Mapping[str, Any],
    record: Mapping[str, Any],
    quotes: Mapping[tuple[str, str], int],
    injected: frozenset[str],
) -> dict[str, Any]:
    id_ = document["id"]
    title = document["title"] or document["url"] or "untitled"
    return {
        **document,
        "name": title,
        "short": title if len(title) <= _TITLE else title[: _TITLE - 1].rstrip() + "…",
        "injected": not injected.isdisjoint(document["addresses"]),
        "support": quotes.get((id_, "support"), 0),
        "skeptic": quotes.get((id_, "skeptic"), 0),
        "claims": [c["id"] for c in record["claims"] if id_ in c["cites"]],
    }


def _claim(claim: Mapping[str, Any], documents: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    by_aspect: dict[str | None, list[Mapping[str, Any]]] = {}
    unassigned = []
    for item in claim["evidence"]:
        found = {**item, "document": documents[item["document"]]}
        if item["assigned"]:
            by_aspect.setdefault(item["aspect"], []).append(found)
        else:
            unassigned.append(found)
    tree = [_node(a, claim["aspects"], by_aspect, documents) for a in claim["aspects"] if a["parent"] is None]
    for name, items in (
        ("Of no aspect", by_aspect.get(None, [])),
        ("Not assigned: no usable answer said to which aspect", unassigned),
    ):
        if items:
            tree.append({"aspect": None, "name": name, "sides": _sides(items), "counts": _counts(items), "below": []})
    return {
        **claim,
        "documents": [documents[d] for d in claim["cites"]],
        "tree": tree,
        "losses": _losses(claim["counts"]),
    }


def _node(
    aspect: Mapping[str, Any],
    aspects: Sequence[Mapping[str, Any]],
    by_aspect: Mapping[str | None, Sequence[Mapping[str, Any]]],
    documents: Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    """An aspect with its own evidence, and those below it; counts are of them all."""
    own = by_aspect.get(aspect["id"], [])
    below = [_node(a, aspects, by_aspect, documents) for a in aspects if a["parent"] == aspect["id"]]
    counts = _counts(own)
    for node in below:
        counts += node["counts"]
    return {
        "aspect": aspect,
        "name": aspect["name"],
        "proposals": [{"document": documents[p["document"]], "name": p["name"]} for p in aspect["proposals"]],
        "sides": _sides(own) if own else [],
        "counts": counts,
        "below": below,
    }


def _sides(items: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, list[Mapping[str, Any]]]]:
    return [(stance, name, [i for i in items if i["stance"] == stance]) for stance, name in _SIDES.items()]


def _counts(items: Sequence[Mapping[str, Any]]) -> Counter[str]:
    return Counter(i["stance"] for i in items)


def _losses(counts: Mapping[str, Any]) -> list[str]:
    """What was lost on the way to a claim's evidence, as phrases; empty where nothing was."""
    unread, own, unshown = counts["unread"], counts["own"], counts["unshown"]["judge"]
    told = (
        (own["missing"], "document that it rests on missing", "documents that it rests on missing"),
        (counts["not_in_document"], "quote dropped: not in its document", "quotes dropped: not in their document"),
        (counts["repeated"], "quote seen twice and counted once", "quotes seen twice and counted once"),
        (unread["support"], "piece of a document unread for support", "pieces of documents unread for support"),
        (unread["skeptic"], "piece of a document unread for objections", "pieces of documents unread for objections"),
        (
            unshown,
            "quote left out for want of room before the judge",
            "quotes left out for want of room before the judge",
        ),
        (counts["unassigned"], "quote not assigned", "quotes not assigned"),
        (counts["unproposed"], "document whose aspects couldn’t be had", "documents whose aspects couldn’t be had"),
        (counts["unmerged"], "aspect left unmerged", "aspects left unmerged"),
    )
    return [numbers.plural(count, one, several) for count, one, several in told if count]


def _missing(record: Mapping[str, Any]) -> list[tuple[str, list[tuple[int, str]]]]:
    """What couldn't be had and what was dropped, all of it counted, also where it is none."""
    counts, claims = record["counts"], record["claims"]
    documents, stated, report, evidence = (counts[k] for k in ("documents", "claims", "report", "evidence"))
    return [
        (
            "Documents",
            [
                (documents["unresolved"], "cited, but no text of theirs could be had"),
                (documents["left_out"], "left out on purpose"),
                (documents["in_no_text"], "in the list of references alone, cited nowhere in the text"),
            ],
        ),
        (
            "Claims",
            [
                (stated["unscored"], "unscored: what they rest on couldn’t be had"),
                (stated["unjudged"], "unjudged: a model gave no usable answer"),
                (stated["not_in_report"], "dropped: none of their sentences stands in the report"),
                (stated["sentences_dropped"], "sentences dropped of other claims: they don’t stand in the report"),
                (stated["repeated"], "found twice and counted once"),
                (report["unread"], f"pieces of the report, of {report['pieces']}, whose claims couldn’t be had"),
            ],
        ),
        (
            "Quotes",
            [
                (evidence["not_in_document"], "dropped: they don’t stand in their document, word for word"),
                (evidence["repeated"], "seen in two overlapping pieces and counted once"),
                (evidence["unread"], "times that a piece of a document was read for a claim without a usable answer"),
                (evidence["unassigned"], "not assigned: no usable answer said to which aspect"),
            ],
        ),
        (
            "Aspects",
            [
                (sum(c["counts"]["unproposed"] for c in claims), "times that a document’s aspects couldn’t be had"),
                (sum(c["counts"]["unmerged"] for c in claims), "stand as they were proposed: merging left them out"),
            ],
        ),
    ]
