"""Load and check corpora.

A corpus is a folder:

    corpus.yaml        name, description, today (the date its worlds take as today)
    tasks.jsonl        research questions
    documents.jsonl    organic documents
    blueprints.jsonl   for a task: what is false, what is true, who may say the false thing
    texts.jsonl        written misleading texts (optional: misleading.jsonl is made from them)
    misleading.jsonl   misleading documents

Only corpus.yaml and tasks.jsonl must be there. ``searchsim/schemas`` holds the law for each line.
"""

from __future__ import annotations

import hashlib
import io
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import orjson
import yaml

from searchsim import home
from searchsim.documents import (
    Blueprint,
    Document,
    Excerpt,
    MisleadingDocument,
    Task,
    Text,
    blueprint_from,
    document_from,
    excerpt_from,
    faults_in,
    misleading_from,
    task_from,
    text_from,
    to_record,
)
from searchsim.errors import CorpusError, UsageError
from searchsim.misknow.publish import publish
from searchsim.text import SNIPPET_LENGTH
from searchsim.urls import canonical_url

__all__ = [
    "FILES",
    "Checker",
    "Corpus",
    "Fault",
    "check",
    "installed",
    "load",
    "republish",
]

_T = TypeVar("_T")

FILES = {
    "tasks.jsonl": "task",
    "documents.jsonl": "document",
    "blueprints.jsonl": "blueprint",
    "texts.jsonl": "text",
    "misleading.jsonl": "misleading",
    "excerpts.jsonl": "excerpt",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong in a corpus: where, and what."""

    file: str
    line: int | None
    field: str
    message: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.field}: {self.message}" if self.field else f"{place}: {self.message}"


def _records(path: Path) -> Iterator[tuple[int, Any, str]]:
    """Line number, record and, where the line is no JSON, what is wrong with it."""
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                yield number, orjson.loads(line), ""
            except orjson.JSONDecodeError as error:
                yield number, None, f"not a JSON value: {error}"


def _load_lines(path: Path, kind: str, make: Callable[[Mapping[str, Any]], _T]) -> Iterator[_T]:
    if not path.is_file():
        return
    for number, record, broken in _records(path):
        wrong = [Fault(path.name, number, "", broken)] if broken else []
        wrong = wrong or [Fault(path.name, number, f, m) for f, m in faults_in(kind, record)]
        if wrong:
            raise CorpusError([f"{path.parent.name}/{f}" for f in wrong])
        yield make(record)


class Corpus:
    """A corpus, loaded. Organic documents are streamed, everything else is held.

    Attributes:
        path: Its folder.
        name: Its name.
        today: The date that its worlds take as today.
        tasks: By id, in the file's order.
        blueprints: By task id.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        facts, wrong = _manifest(path)
        if wrong:
            raise CorpusError([f"{path.name}/{f}" for f in wrong])
        self.name: str = facts["name"]
        self.title: str = facts.get("title", facts["name"])
        self.description: str = facts["description"]
        self.canary: str = facts.get("canary", "")
        self.today = date.fromisoformat(facts["today"])
        self.tasks = {t.id: t for t in _load_lines(path / "tasks.jsonl", "task", task_from)}
        self.blueprints = {b.task: b for b in _load_lines(path / "blueprints.jsonl", "blueprint", blueprint_from)}

    def documents(self) -> Iterator[Document]:
        """All organic documents, from the file.

        Raises:
            CorpusError: A line is at fault.
        """
        yield from _load_lines(self.path / "documents.jsonl", "document", document_from)

    def document_ids(self) -> Iterator[str]:
        """The ids of all organic documents, unchecked."""
        path = self.path / "documents.jsonl"
        for _, record, _ in _records(path) if path.is_file() else ():
            if isinstance(record, dict) and isinstance(record.get("id"), str):
                yield record["id"]

    def texts(self) -> Iterator[Text]:
        """All written misleading texts."""
        yield from _load_lines(self.path / "texts.jsonl", "text", text_from)

    def excerpts(self) -> Iterator[Excerpt]:
        """All excerpts labelled by hand."""
        yield from _load_lines(self.path / "excerpts.jsonl", "excerpt", excerpt_from)

    @cached_property
    def misleading(self) -> Mapping[str, tuple[MisleadingDocument, ...]]:
        """The misleading documents by task, in the order that the task's pools take them.

        The order is drawn from the task and the text (not the publisher), so that pools of different authority
        carry the same texts, and a smaller budget's pool is the start of a larger one's.
        """
        by_task: dict[str, list[MisleadingDocument]] = defaultdict(list)
        for document in _load_lines(self.path / "misleading.jsonl", "misleading", misleading_from):
            by_task[document.task].append(document)
        return {task: tuple(sorted(found, key=_pool_order)) for task, found in by_task.items()}

    def task(self, id_: str) -> Task:
        """A task by id.

        Raises:
            UsageError: There is none; the message lists some.
        """
        if id_ not in self.tasks:
            some = ", ".join(list(self.tasks)[:12]) or "none"
            raise UsageError(f"corpus {self.name} has no task {id_!r}; tasks: {some}")
        return self.tasks[id_]

    @cached_property
    def document_hash(self) -> str:
        """SHA-256 of the organic documents' file: what an index is made of."""
        return _hash([self.path / "documents.jsonl"])

    @cached_property
    def hash(self) -> str:
        """SHA-256 over all files that worlds and verdicts come from: what a run's record names.

        Excerpts measure judges and touch no run.
        """
        return _hash([self.path / "corpus.yaml", *(self.path / name for name in FILES if name != "excerpts.jsonl")])


def _pool_order(document: MisleadingDocument) -> tuple[bytes, bytes]:
    text = f"{document.task}/{document.style}/{document.text or document.id}"
    return hashlib.sha256(text.encode()).digest(), hashlib.sha256(document.id.encode()).digest()


def _hash(paths: Iterable[Path]) -> str:
    whole = hashlib.sha256()
    for path in paths:
        if path.is_file():
            with path.open("rb") as stream:
                whole.update(path.name.encode() + hashlib.file_digest(stream, "sha256").digest())
    return whole.hexdigest()


def _manifest(path: Path) -> tuple[dict[str, Any], list[Fault]]:
    file = path / "corpus.yaml"
    if not path.is_dir():
        return {}, [Fault(str(path), None, "", "no such folder")]
    if not file.is_file():
        return {}, [Fault("corpus.yaml", None, "", "missing: a corpus is a folder with a corpus.yaml")]
    try:
        facts = yaml.safe_load(file.read_text("utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        return {}, [Fault("corpus.yaml", None, "", f"not YAML: {' '.join(str(error).split())}")]
    if not isinstance(facts, dict):
        return {}, [Fault("corpus.yaml", None, "", "isn't an object with name, description and today")]
    if isinstance(facts.get("today"), date):
        facts["today"] = facts["today"].isoformat()
    return facts, [Fault("corpus.yaml", None, f, m) for f, m in faults_in("corpus", facts)]


def load(name: str) -> Corpus:
    """A corpus by name or path.

    Raises:
        UsageError: There is none.
        CorpusError: It has faults.
    """
    return Corpus(home.find("corpora", name))


def installed() -> list[dict[str, Any]]:
    """What corpora there are: name, tasks, documents (organic), misleading, languages, path; or name, path, error."""
    found: list[dict[str, Any]] = []
    for name, path in home.instances("corpora"):
        try:
            corpus = Corpus(path)
        except CorpusError as error:
            found.append({"name": name, "path": str(path), "error": str(error)})
            continue
        found.append(
            {
                "name": name,
                "title": corpus.title,
                "tasks": len(corpus.tasks),
                "documents": _count(path / "documents.jsonl"),
                "misleading": _count(path / "misleading.jsonl"),
                "languages": sorted({t.language for t in corpus.tasks.values()}),
                "path": str(path),
            }
        )
    return found


def _count(path: Path) -> int:
    if not path.is_file():
        return 0
    with path.open("rb") as lines:
        return sum(1 for line in lines if line.strip())


def check(path: Path) -> Iterator[Fault]:
    """All faults of a corpus: each file against its schema, then what the files say of each other."""
    facts, wrong = _manifest(path)
    yield from wrong
    if not path.is_dir():
        return
    if not (path / "tasks.jsonl").is_file():
        yield Fault("tasks.jsonl", None, "", "missing")
    for stray in sorted(path.iterdir()):
        if stray.suffix in (".jsonl", ".yaml", ".yml") and stray.name not in ("corpus.yaml", *FILES):
            yield Fault(stray.name, None, "", f"no file of a corpus; these are: corpus.yaml, {', '.join(FILES)}")
    if not facts.get("canary") and any((path / f).is_file() for f in FILES if FILES[f] not in ("task", "document")):
        yield Fault("corpus.yaml", None, "canary", "missing: a corpus with misleading text needs one")
    checker = Checker(facts)
    for name, kind in FILES.items():
        if not (path / name).is_file():
            continue
        for number, record, broken in _records(path / name):
            if broken:
                yield Fault(name, number, "", broken)
                continue
            found = [Fault(name, number, f, m) for f, m in faults_in(kind, record)]
            yield from found
            if not found:
                yield from (Fault(name, number, f, m) for f, m in checker.take(kind, record))
    yield from checker.leftovers()


class Checker:
    """What the records of a corpus say of each other; they come in the order of `FILES`."""

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self._canary = facts.get("canary", "")
        self._today = facts.get("today", "")
        self._ids: dict[str, set[str]] = defaultdict(set)
        self._urls: set[str] = set()
        self._blueprints: dict[str, Blueprint] = {}
        self._texts: dict[str, bytes] = {}
        self._true: list[tuple[str, str]] = []
        self._bodies: set[tuple[str, str, str, bytes]] = set()

    def take(self, kind: str, record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Faults of one record, seen beside those before it."""
        id_ = record["task"] if kind == "blueprint" else record["id"]
        space = "page" if kind in ("document", "misleading") else kind
        if id_ in self._ids[space]:
            yield "task" if kind == "blueprint" else "id", f"{id_!r} stands twice"
        self._ids[space].add(id_)
        if (published := record.get("published")) and self._today and published > self._today:
            yield "published", f"{published} lies after the corpus's today, {self._today}"
        if "task" in record and self._ids["task"] and record["task"] not in self._ids["task"]:
            yield "task", f"no task {record['task']!r} in tasks.jsonl"
        if "canary" in record and self._canary and record["canary"] != self._canary:
            yield "canary", "differs from corpus.yaml's"
        if "url" in record:
            try:
                urlsplit(record["url"]).port  # noqa: B018 - it is what raises
            except ValueError as error:
                yield "url", f"{record['url']!r} can't be taken apart: {error}"
                return
            url = canonical_url(record["url"])
            if url in self._urls:
                yield "url", f"{record['url']} stands twice"
            self._urls.add(url)
        if snippet := record.get("snippet"):
            low, high = SNIPPET_LENGTH
            if not low <= len(snippet) <= high:
                yield "snippet", f"has {len(snippet)} characters; live ones have {low} to {high}"
        if kind == "blueprint":
            yield from self._blueprint(record)
        elif kind == "text":
            self._texts[record["id"]] = _digest(record["body"])
        elif kind == "misleading":
            yield from self._misleading(record)
        elif kind == "excerpt":
            yield from self._excerpt(record)

    def _blueprint(self, record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        self._blueprints[record["task"]] = blueprint_from(record)
        claims = [c["id"] for c in (*record["claims"], *record.get("true_claims", ()))]
        for twice in sorted({c for c in claims if claims.count(c) > 1}):
            yield "claims", f"claim id {twice!r} stands twice"
        for number, id_ in enumerate(record.get("true_documents", ())):
            if id_ not in self._ids["page"]:
                yield f"true_documents.{number}", f"no organic document {id_!r} in documents.jsonl"
        names = [i["name"] for pool in record["institutions"].values() for i in pool]
        for twice in sorted({n for n in names if names.count(n) > 1}):
            yield "institutions", f"{twice!r} stands twice"

    def _misleading(self, record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        blueprint = self._blueprints.get(record["task"])
        if blueprint is None:
            yield from self._without_blueprint(record["task"])
            return
        pool = {i.name: i.host for i in blueprint.institutions[record["authority"]]}
        name = record["institution"]
        if name not in pool:
            yield "institution", f"{name!r} is none of the blueprint's of {record['authority']} authority"
        elif misleading_from(record).host != pool[name]:
            yield "url", f"isn't on {pool[name]}, the institution's host"
        digest = _digest(record["body"])
        if (text := record.get("text")) is not None:
            if text not in self._texts:
                if self._texts:
                    yield "text", f"no text {text!r} in texts.jsonl"
            elif self._texts[text] != digest:
                yield "body", f"differs from text {text!r} (searchsim misknow publish makes them alike)"
        key = (record["task"], record["authority"], record["style"], digest)
        if key in self._bodies and not record.get("shared_body"):
            yield "shared_body", "the body stands in another document of this authority and style: mark both"
        self._bodies.add(key)

    def _without_blueprint(self, task: str) -> Iterator[tuple[str, str]]:
        # One line for each task, not one for each of its documents.
        if task not in self._ids["without blueprint"]:
            self._ids["without blueprint"].add(task)
            yield "task", f"no blueprint for {task!r} in blueprints.jsonl"

    def _excerpt(self, record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        blueprint = self._blueprints.get(record["task"])
        if blueprint is None:
            yield from self._without_blueprint(record["task"])
            return
        known = {c.id for c in blueprint.claims}
        for number, id_ in enumerate(record["claims"]):
            if id_ not in known:
                yield f"claims.{number}", f"no false claim {id_!r} in the task's blueprint"
        if record["claims"] and not record["adopts"]:
            yield "claims", "are there though adopts is false"

    def takes(self, url: str) -> bool:
        """Whether no page has this address yet."""
        return canonical_url(url) not in self._urls

    def leftovers(self) -> Iterator[Fault]:
        """What only the end shows."""
        if not self._ids["task"]:
            yield Fault("tasks.jsonl", None, "", "has no task")


def _digest(body: str) -> bytes:
    return hashlib.sha256(body.encode()).digest()


def republish(corpus: Corpus) -> int:
    """Write misleading.jsonl anew from texts.jsonl and blueprints.jsonl; returns the number of documents.

    Raises:
        CorpusError: There are no texts, or a style has an unusable number of them.
    """
    if not corpus.canary:
        raise CorpusError([f"{corpus.path.name}/corpus.yaml: canary: missing: misleading documents need one"])
    texts: dict[str, list[Text]] = defaultdict(list)
    for text in corpus.texts():
        texts[text.task].append(text)
    if not texts:
        raise CorpusError([f"{corpus.path.name}/texts.jsonl: missing or empty: there is nothing to publish"])
    out = io.BytesIO()
    count = 0
    for task, written in texts.items():
        if task not in corpus.blueprints:
            raise CorpusError([f"{corpus.path.name}/texts.jsonl: no blueprint for task {task!r}"])
        language = corpus.task(task).language
        try:
            for document in publish(corpus.blueprints[task], written, language, corpus.today):
                out.write(orjson.dumps({**to_record(document), "canary": corpus.canary}) + b"\n")
                count += 1
        except ValueError as error:
            raise CorpusError([f"{corpus.path.name}/texts.jsonl: task {task}: {error}"]) from error
    _write(corpus.path / "misleading.jsonl", out.getvalue())
    return count


def _write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    beside = path.with_name(f".{path.name}.new")
    beside.write_bytes(content)
    beside.replace(path)
