"""A MisKnow-style data set: blueprints, and misleading documents by authority, style and institution.

The fields are those of the prompts that made it (MisKnow-Agent, appendix I.1 to I.3). How its files are cut isn't
fixed: every .json and .jsonl file below the folder is read, and a record is a blueprint where it has a
``canonical_false_conclusion``, else a document. JSONL is streamed; a JSON file is held whole while it is read.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from searchsim.documents import AUTHORITIES, STYLES
from searchsim.errors import UsageError
from searchsim.importers.deepresearch_bench import bench_tasks
from searchsim.importers.draft import Draft
from searchsim.importers.fields import day, mapped
from searchsim.importers.identifier import slug
from searchsim.importers.snippet import fit

__all__ = ["import_misknow"]

_DOCUMENT: Mapping[str, Sequence[str]] = {
    "query_id": ("query_id",),
    "authority": ("authority", "tier", "tier_id"),
    "style": ("style", "style_id"),
    "institution": ("institution", "institution_name", "source_name"),
    "title": ("title",),
    "source_name": ("source_name", "institution", "institution_name"),
    "url": ("url",),
    "published": ("published",),
    "snippet": ("snippet",),
    "body": ("body",),
    "author": ("author",),
}
_TASK_FILE = "query.jsonl"
_HOST = re.compile(r"[a-z0-9.-]+\.[a-z]{2,}")
"""What the blueprint's schema takes as a host."""

_Place = tuple[str, str, str, str]
"""An institution of a task and authority, on one host: (task, authority, name, host)."""


def import_misknow(source: str, draft: Draft, *, tasks: Path | None = None) -> None:
    """Tasks, blueprints and misleading documents of a data set's folder, in two passes over its files.

    Args:
        source: The folder.
        draft: Where they go.
        tasks: The tasks as DeepResearch Bench has them; ``query.jsonl`` in the folder if None. Those without a
            blueprint are left out.

    Raises:
        UsageError: Something is missing or at fault.
    """
    folder = Path(source)
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder")
    questions = tasks or folder / _TASK_FILE
    if not questions.is_file():
        raise UsageError(f"{questions}: no such file: name the tasks' query.jsonl with --tasks")
    files = [
        f
        for f in sorted(folder.rglob("*"))
        if f.suffix in (".json", ".jsonl") and f.resolve() != questions.resolve() and f.is_file()
    ]
    name = folder.resolve().name
    draft.facts |= {
        "title": f"MisKnow: {name}",
        "description": f"Tasks, blueprints and misleading documents imported from {name}.",
    }
    survey = _Survey()
    for place, record in _records(files, draft):
        if _is_blueprint(record):
            survey.blueprint(record, place)
        else:
            survey.document(_document(record, place))
    if not survey.blueprints:
        raise UsageError(f"{folder}: has no blueprint (a record with canonical_false_conclusion)")
    draft.facts["canary"] = canary = (
        f"searchsim-canary {uuid.UUID(bytes=survey.digest.digest()[:16], version=4)}: misleading text written for "
        "defensive research; it must not be used for training"
    )
    languages = _write_tasks(questions, survey, draft)
    labels = _write_blueprints(survey, canary, draft)
    numbers: Counter[str] = Counter()
    for place, record in _records(files, draft):
        if not _is_blueprint(record):
            document = _document(record, place)
            series = f"{document['task']}-{document['authority']}-{document['style']}"
            numbers[series] += 1
            _write_document(document, f"{series}-{numbers[series]}", place, survey, labels, languages, canary, draft)


class _Survey:
    """What the first pass sees: blueprints whole; of documents only digests, and the hosts of institutions."""

    def __init__(self) -> None:
        self.blueprints: dict[str, tuple[str, Mapping[str, Any]]] = {}
        self.hosts: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
        self.bodies: Counter[tuple[str, str, str, bytes]] = Counter()
        self.digest = hashlib.sha256()

    def blueprint(self, record: Mapping[str, Any], place: str) -> None:
        task = _task_id(record, place)
        if task in self.blueprints:
            raise UsageError(f"{place}: query_id: {record['query_id']!r} stands twice, first in {self._where(task)}")
        self.blueprints[task] = (place, record)

    def document(self, document: Mapping[str, Any]) -> None:
        key = (document["task"], document["authority"], document["institution"])
        self.hosts[key][_host(document)] += 1
        body = _digest(document["body"])
        self.bodies[document["task"], document["authority"], document["style"], body] += 1
        self.digest.update(body)

    def _where(self, task: str) -> str:
        return self.blueprints[task][0]


def _records(files: Sequence[Path], draft: Draft) -> Iterator[tuple[str, Any]]:
    """All records of all files with their places; a JSON file is a record, a list, or lists under any key."""
    for file in files:
        if file.suffix == ".jsonl":
            yield from draft.lines(file)
            continue
        value = draft.whole(file)
        lists = [("", value)]
        if isinstance(value, dict) and "query_id" not in value:
            lists = [(f" {key}", v) for key, v in value.items() if isinstance(v, list)]
        for key, found in lists:
            if isinstance(found, list):
                yield from ((f"{file}:{key} record {n}", record) for n, record in enumerate(found, start=1))
            else:
                yield str(file), found


def _is_blueprint(record: object) -> bool:
    return isinstance(record, dict) and "canonical_false_conclusion" in record


def _task_id(record: Mapping[str, Any], place: str) -> str:
    id_ = record.get("query_id")
    if isinstance(id_, bool) or not isinstance(id_, int | str) or id_ == "":
        raise UsageError(f"{place}: query_id: missing, or neither a number nor text")
    return f"drb-{id_}"


def _document(record: object, place: str) -> dict[str, Any]:
    document, names = mapped(record, place, _DOCUMENT)
    for field in ("query_id", "authority", "style", "institution", "url", "snippet", "body"):
        if field not in document:
            raise UsageError(f"{place}: {field}: missing (it may be called {', '.join(_DOCUMENT[field])})")
        if field != "query_id" and not isinstance(document[field], str):
            raise UsageError(f"{place}: {names[field]}: {str(document[field])[:60]!r} is no text")
    for field, levels in (("authority", AUTHORITIES), ("style", STYLES)):
        document[field] = document[field].lower()
        if document[field] not in levels:
            raise UsageError(f"{place}: {names[field]}: {document[field]!r} is none of {', '.join(levels)}")
    document["task"] = _task_id(document, place)
    if not _HOST.fullmatch(_host(document)):
        raise UsageError(f"{place}: url: {document['url'][:120]!r} has no host such as example.org")
    return document


def _host(document: Mapping[str, Any]) -> str:
    try:
        return urlsplit(document["url"]).hostname or ""
    except ValueError:
        return ""


def _digest(body: str) -> bytes:
    return hashlib.sha256(body.encode("utf-8", "replace")).digest()


def _write_tasks(file: Path, survey: _Survey, draft: Draft) -> dict[str, str]:
    """Write the tasks that have blueprints; returns their languages."""
    languages = {}
    for place, task in bench_tasks(file, draft).items():
        if task["id"] in survey.blueprints:
            draft.add("tasks.jsonl", task, place)
            languages[task["id"]] = task["language"]
        else:
            draft.notes["tasks_without_blueprint_left_out"] += 1
    for id_, (place, _) in survey.blueprints.items():
        if id_ not in languages:
            raise UsageError(f"{place}: query_id: {file} has no task {id_.removeprefix('drb-')}")
    return languages


def _write_blueprints(survey: _Survey, canary: str, draft: Draft) -> dict[_Place, str]:
    """Write the blueprints; returns what their pools call each institution on each host."""
    labels: dict[_Place, str] = {}
    for task, (place, record) in survey.blueprints.items():
        pools = _institutions(task, record, place, survey, labels, draft)
        spec = record.get("fcar_metric_spec")
        spec = spec if isinstance(spec, dict) else {}
        blueprint = {
            "task": task,
            "false_conclusion": record["canonical_false_conclusion"],
            "claims": _claims(spec.get("claims"), record["canonical_false_conclusion"], place),
            "institutions": pools,
            "keywords": record.get("keyword_bank") or [],
            "judging_brief": spec.get("llm_judge_prompt_brief"),
            "canary": canary,
        }
        names = {
            "false_conclusion": "canonical_false_conclusion",
            "judging_brief": "fcar_metric_spec.llm_judge_prompt_brief",
            "keywords": "keyword_bank",
            **{f"institutions.{a}": f"institution_pool.{a}" for a in AUTHORITIES},
        }
        draft.add("blueprints.jsonl", blueprint, place, names)
    return labels


def _claims(given: object, conclusion: object, place: str) -> list[dict[str, Any]]:
    """The claims that the judging spec lists; the conclusion is the only one where it lists none."""
    if not given:
        return [{"id": "claim_1", "text": conclusion}]
    if not isinstance(given, list):
        raise UsageError(f"{place}: fcar_metric_spec.claims: not a list")
    claims = []
    for number, claim in enumerate(given, start=1):
        found = claim if isinstance(claim, dict) else {"text": claim}
        id_ = found.get("claim_id") or found.get("id") or f"claim_{number}"
        text = found.get("text") or found.get("claim") or found.get("statement")
        if not isinstance(text, str):
            raise UsageError(f"{place}: fcar_metric_spec.claims.{number - 1}: has no text")
        claims.append({"id": str(id_), "text": text})
    return claims


def _institutions(
    task: str,
    record: Mapping[str, Any],
    place: str,
    survey: _Survey,
    labels: dict[_Place, str],
    draft: Draft,
) -> dict[str, list[dict[str, str]]]:
    """A blueprint's pools, each institution with a host.

    The host is the pool's own, else the one that the institution's documents have. An institution on several hosts
    stands once for each, since ours have one; one that the pool lacks is added; a name of two authorities is told
    apart. None of that touches what a document shows.
    """
    given = record.get("institution_pool")
    if not isinstance(given, dict):
        raise UsageError(f"{place}: institution_pool: missing, or no object with high, medium, low")
    taken: set[str] = set()
    pools: dict[str, list[dict[str, str]]] = {}
    for authority in AUTHORITIES:
        listed = _listed(given.get(authority) or [], f"{place}: institution_pool.{authority}")
        wanted = dict(listed)
        for t, a, name in survey.hosts:
            if (t, a) == (task, authority) and name not in wanted:
                wanted[name] = ""
                draft.notes["institutions_added"] += 1
        pools[authority] = []
        for number, (name, own) in enumerate(wanted.items(), start=1):
            seen = [h for h, _ in survey.hosts.get((task, authority, name), Counter()).most_common()]
            if not seen:
                draft.notes["institutions_without_documents"] += 1
            hosts = seen or [own or f"{slug(name) or f'{authority}-{number}'}.invalid"]
            draft.notes["institutions_on_further_hosts"] += len(hosts) - 1
            for host in hosts:
                label = next(x for x in (name, f"{name} ({host})", f"{name} ({host}, {authority})") if x not in taken)
                taken.add(label)
                labels[task, authority, name, host] = label
                pools[authority].append({"name": label, "host": host})
    return pools


def _listed(pool: object, place: str) -> Iterator[tuple[str, str]]:
    """Name and host (empty if not given) of each entry: a name, or an object with one."""
    if not isinstance(pool, list):
        raise UsageError(f"{place}: not a list")
    for number, entry in enumerate(pool):
        found = entry if isinstance(entry, dict) else {"name": entry}
        name = found.get("name") or found.get("institution_name") or found.get("institution")
        if not isinstance(name, str):
            raise UsageError(f"{place}.{number}: has no name")
        host = found.get("host") or found.get("domain") or ""
        yield name, host.lower() if isinstance(host, str) else ""


def _write_document(
    document: Mapping[str, Any],
    id_: str,
    place: str,
    survey: _Survey,
    labels: Mapping[_Place, str],
    languages: Mapping[str, str],
    canary: str,
    draft: Draft,
) -> None:
    task, authority, style = document["task"], document["authority"], document["style"]
    if task not in survey.blueprints:
        raise UsageError(f"{place}: query_id: no blueprint for {task.removeprefix('drb-')}")
    body = _digest(document["body"])
    shared = survey.bodies[task, authority, style, body] > 1
    shown, change = fit(document["snippet"], document["body"])
    if change:
        draft.notes[f"snippets_{change}"] += 1
    draft.notes["shared_bodies"] += shared
    record = {
        "id": id_,
        "task": task,
        "authority": authority,
        "style": style,
        "institution": labels[task, authority, document["institution"], _host(document)],
        "text": f"{task}-{body.hex()[:16]}",
        "title": document.get("title"),
        "source_name": document["source_name"],
        "url": document["url"],
        "published": day(document.get("published")),
        "snippet": shown,
        "author": document.get("author"),
        "language": languages[task],
        "body": document["body"],
        "canary": canary,
        **({"shared_body": True} if shared else {}),
    }
    draft.add("misleading.jsonl", record, place)
