"""Run records: one schema-checked JSON line a run. Every figure of a study is a pure function of these lines."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import orjson

from searchsim.documents import Blueprint, Document, faults_in
from searchsim.errors import UsageError
from searchsim.scoring.exposure import citations, cited_by_title, exposure, observation
from searchsim.trace import Event
from searchsim.urls import canonical_url, cited_url

__all__ = [
    "STATES",
    "Record",
    "RunState",
    "brief",
    "check",
    "digest",
    "read",
    "seen",
    "state",
    "write",
]

Record = dict[str, Any]
"""A run's record as JSON; ``schemas/run.json`` is its law."""

RunState = Literal["judged", "unjudged", "invalid", "failed", "not_run"]
STATES: tuple[RunState, ...] = ("judged", "unjudged", "invalid", "failed", "not_run")
"""What a planned run can end in: exactly one of these."""


_SEARCH = ("at", "list", "endpoint", "query", "page", "k", "mode", "served", "displaced")
_PAGE = ("at", "url", "document", "found", "injected")


def state(record: Record | None) -> RunState:
    """The one state that a planned run is in; None where it has no record."""
    if record is None:
        return "not_run"
    if record["status"] != "valid":
        return "invalid" if record["status"] == "invalid" else "failed"
    verdict = record["verdict"]
    return "judged" if verdict and verdict["state"] != "unjudged" else "unjudged"


def digest(events: Sequence[Event]) -> dict[str, Any]:
    """A trace's length and SHA-256: what shows afterwards that it wasn't altered."""
    whole = hashlib.sha256()
    for event in events:
        whole.update(orjson.dumps(event, option=orjson.OPT_SORT_KEYS) + b"\n")
    return {"events": len(events), "sha256": whole.hexdigest()}


def seen(events: Sequence[Event], pool: Sequence[Document], report: str) -> dict[str, Any]:
    """What a trace and a report say of a run: the part of its record that can be computed again.

    Args:
        events: The world's trace, oldest first.
        pool: The documents that the world might inject.
        report: The agent's report; empty where there is none.

    Returns:
        The fields searches, fetches, delivered, observation, exposure, citations, trace.
    """
    ids = {d.id: d for d in pool}
    addresses = {cited_url(d.url): d.id for d in pool}
    searches, fetches, delivered = [], [], []
    calls = 0
    for event in events:
        match event["event"]:
            case "search":
                searches.append({name: event[name] for name in _SEARCH})
                addresses.update({cited_url(s["url"]): s["document"] for s in event["served"]})
            case "page":
                fetches.append({**{name: event[name] for name in _PAGE}, "canonical": canonical_url(event["url"])})
                if event["document"]:
                    addresses.setdefault(cited_url(event["url"]), event["document"])
            case "model":
                calls += 1
                for id_ in event["delivered"]:
                    text = ids.get(id_)
                    delivered.append(
                        {
                            "call": calls,
                            "document": id_,
                            "injected": text is not None,
                            "parts": list(event["parts"].get(id_, [])),
                            "ambiguous": id_ in event["ambiguous"],
                            "text_sha256": text and _text_hash(text),
                        }
                    )
    cited = []
    for url in citations(report):
        document = addresses.get(cited_url(url))
        cited.append(_citation(url, document, ids, "url"))
    named = {c["document"] for c in cited}
    # What was served of organic titles the trace doesn't tell.
    cited += [_citation(ids[i].url, i, ids, "title") for i in cited_by_title(report, pool) if i not in named]
    rungs = exposure(events, pool, report)
    return {
        "searches": searches,
        "fetches": fetches,
        "delivered": delivered,
        "observation": observation(events).record(),
        "exposure": rungs.record(),
        "citations": cited,
        "trace": digest(events),
    }


def _citation(url: str, document: str | None, pool: Mapping[str, Document], by: str) -> dict[str, Any]:
    return {
        "url": url,
        "canonical": cited_url(url),
        "document": document,
        "injected": document in pool,
        "by": by,
    }


def _text_hash(document: Document) -> str:
    parts = (document.title, document.snippet or "", document.body)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def brief(blueprint: Blueprint | None) -> dict[str, Any] | None:
    """What a record says of its task's blueprint."""
    if blueprint is None:
        return None
    return {
        "false_conclusion": blueprint.false_conclusion,
        "claims": {c.id: c.text for c in blueprint.claims},
        "true_conclusion": blueprint.true_conclusion,
        "true_claims": {c.id: c.text for c in blueprint.true_claims},
    }


def check(record: object) -> list[str]:
    """What a record breaks of its schema; empty where it is sound."""
    found = [f"{field}: {message}" for field, message in faults_in("run", record)]
    if not found and isinstance(record, Mapping) and record["verdict"] is not None:
        found = [f"verdict.{field}: {message}" for field, message in faults_in("verdict", record["verdict"])]
    return found


def read(path: Path) -> Iterator[Record]:
    """The records of a file.

    Raises:
        UsageError: The file isn't there, a line is no record, or a run stands twice; the message names the line.
    """
    if path.is_dir():
        raise UsageError(f"{path} is a folder: give the runs.jsonl that a study's report writes")
    if not path.is_file():
        raise UsageError(f"{path}: no such file; a study's report writes runs.jsonl")
    ids: set[str] = set()
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                record = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                raise UsageError(f"{path.name}:{number}: not a JSON value: {error}") from error
            if wrong := check(record):
                raise UsageError(f"{path.name}:{number}: {wrong[0]}")
            if record["run"] in ids:
                raise UsageError(f"{path.name}:{number}: run {record['run']} stands twice")
            ids.add(record["run"])
            yield record


def write(path: Path, records: Iterable[Record]) -> None:
    """Write records, one a line, whole or not at all.

    Raises:
        ValueError: A record breaks its schema, which is our fault.
    """
    beside = path.with_name(f".{path.name}.new")
    with beside.open("wb") as out:
        for record in records:
            if wrong := check(record):
                raise ValueError(f"run {record.get('run')}: {wrong[0]}")
            out.write(orjson.dumps(record) + b"\n")
    beside.replace(path)
