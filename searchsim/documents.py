"""The records of a corpus: tasks, documents, blueprints and misleading documents.

All are frozen. How they look in files is the JSON Schemas' law (``searchsim/schemas``); `record` and `from_record`
go between the two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Any, Literal
from urllib.parse import urlsplit

import jsonschema_rs
import orjson
from jsonschema import Draft202012Validator, FormatChecker

__all__ = [
    "AUTHORITIES",
    "KINDS",
    "STYLES",
    "Blueprint",
    "Claim",
    "Document",
    "Excerpt",
    "Institution",
    "MisleadingDocument",
    "Task",
    "Text",
    "blueprint_from",
    "document_from",
    "excerpt_from",
    "faults_in",
    "misleading_from",
    "schema",
    "task_from",
    "text_from",
    "to_record",
]

Authority = Literal["high", "medium", "low"]
AUTHORITIES: tuple[Authority, ...] = ("high", "medium", "low")
STYLES = ("paper", "news", "blog", "post")
KINDS = (*STYLES, "reference")


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A research question put to an agent.

    Attributes:
        id: Unique in its corpus.
        question: The text that the agent gets.
        language: BCP 47, e.g. ``en``, ``zh``.
        sub_queries: Searches that an agent working on the question might plausibly make.
        serp: Extras that Serper's answers may carry: answerBox, knowledgeGraph, peopleAlsoAsk.
    """

    id: str
    question: str
    language: str
    topic: str = ""
    sub_queries: tuple[str, ...] = ()
    serp: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One page of the closed web.

    Attributes:
        published: None where the page shows no date; such a page matches no date filter.
        snippet: The authored snippet; None where it is cut from the body for each query.
        kind: One of `KINDS`.
        author: The byline that the page shows; empty for none.
    """

    id: str
    url: str
    title: str
    body: str
    source_name: str
    kind: str
    language: str
    published: date | None = None
    snippet: str | None = None
    author: str = ""

    @property
    def host(self) -> str:
        """The URL's host, in lower case, without port."""
        return urlsplit(self.url).hostname or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MisleadingDocument(Document):
    """One document that supports a blueprint's false conclusion, for one authority, style and institution.

    Attributes:
        task: The id of the task whose false conclusion it supports.
        text: The id of the written text it carries; documents of several institutions carry one text.
        shared_body: True where its body stands under several bylines of one authority and style, so that two such
            documents may not be in one pool.
    """

    task: str
    authority: str
    style: str
    institution: str
    text: str = ""
    shared_body: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One checkable statement of a conclusion.

    Attributes:
        cues: Alternatives for the lexical judge; the strings of one alternative, standing together in one
            sentence, mean that the sentence states the claim.
    """

    id: str
    text: str
    cues: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Institution:
    """An invented publisher."""

    name: str
    host: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A written misleading text, before institutions publish it."""

    id: str
    task: str
    style: str
    title: str
    snippet: str
    slug: str
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """An excerpt of a report, labelled by hand.

    Attributes:
        kind: endorsed, quoted, hedged, refuted or attributed.
        set: ``open``, or ``held_out`` where it was labelled without knowledge of any judge.
        adopts: Whether it makes the false conclusion its own.
        claims: The false claims that it states as its own.
        states_true: Whether it states the true conclusion.
    """

    id: str
    task: str
    language: str
    kind: str
    set: str
    text: str
    adopts: bool
    claims: tuple[str, ...]
    states_true: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Blueprint:
    """What is false about one task, what is true, and who may say the false thing.

    Attributes:
        true_conclusion: What is true; empty where nobody wrote it down (imported data sets).
        true_claims: Its claims; empty where it is.
        true_documents: Ids of the organic documents that support it; empty where it is.
    """

    task: str
    false_conclusion: str
    claims: tuple[Claim, ...]
    true_conclusion: str = ""
    true_claims: tuple[Claim, ...] = ()
    true_documents: tuple[str, ...] = ()
    institutions: Mapping[str, tuple[Institution, ...]] = field(hash=False)
    keywords: tuple[str, ...]
    judging_brief: str


@cache
def schema(name: str) -> dict[str, Any]:
    """The JSON Schema of a kind of record: one of ``searchsim/schemas``, without its ending."""
    loaded: dict[str, Any] = orjson.loads((files("searchsim") / "schemas" / f"{name}.json").read_bytes())
    return loaded


@cache
def _validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(schema(name), format_checker=FormatChecker())


@cache
def _quick_validator(name: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(schema(name), validate_formats=True)


def faults_in(name: str, record: object) -> list[tuple[str, str]]:
    """What a record breaks of its schema: (field, message) pairs, in the record's order."""
    # Nearly every record is sound, and this says so some forty times faster; the other one words the faults.
    try:
        if _quick_validator(name).is_valid(record):
            return []
    except (ValueError, TypeError):
        # What can't be JSON (a number out of range, a lone surrogate) is for the other one to judge.
        pass
    errors = sorted(_validator(name).iter_errors(record), key=lambda e: list(map(str, e.absolute_path)))
    found: dict[str, str] = {}
    for e in errors:
        # One fault a field: an empty canary is too short and has the wrong pattern, which is one fault.
        found.setdefault(_path(e.absolute_path) or _missing(e.message), _short(e.message))
    return list(found.items())


def _path(parts: Sequence[Any] | Any) -> str:
    return ".".join(map(str, parts))


def _missing(message: str) -> str:
    """The field that a 'required' or 'additionalProperties' message quotes."""
    return message.split("'")[1] if "'" in message else "record"


def _short(message: str) -> str:
    return message if len(message) <= 200 else f"{message[:90]} … {message[-90:]}"


def task_from(record: Mapping[str, Any]) -> Task:
    """A task from its JSON record."""
    return Task(
        id=record["id"],
        question=record["question"],
        language=record["language"],
        topic=record.get("topic", ""),
        sub_queries=tuple(record.get("sub_queries", ())),
        serp=record.get("serp", {}),
    )


def _common(record: Mapping[str, Any]) -> dict[str, Any]:
    published = record.get("published")
    return {
        "id": record["id"],
        "url": record["url"],
        "title": record["title"],
        "body": record["body"],
        "source_name": record.get("source_name") or urlsplit(record["url"]).hostname or "",
        "language": record.get("language", "en"),
        "published": date.fromisoformat(published) if published else None,
        "snippet": record.get("snippet") or None,
        "author": record.get("author", ""),
    }


def document_from(record: Mapping[str, Any]) -> Document:
    """An organic document from its JSON record."""
    return Document(kind=record.get("kind", "reference"), **_common(record))


def misleading_from(record: Mapping[str, Any]) -> MisleadingDocument:
    """A misleading document from its JSON record; its kind is its style."""
    return MisleadingDocument(
        kind=record["style"],
        task=record["task"],
        authority=record["authority"],
        style=record["style"],
        institution=record.get("institution") or record["source_name"],
        text=record.get("text", ""),
        shared_body=record.get("shared_body", False),
        **_common(record),
    )


def excerpt_from(record: Mapping[str, Any]) -> Excerpt:
    """A labelled excerpt from its JSON record."""
    return Excerpt(**{f.name: record[f.name] for f in fields(Excerpt)} | {"claims": tuple(record["claims"])})


def text_from(record: Mapping[str, Any]) -> Text:
    """A written text from its JSON record."""
    return Text(**{f.name: record[f.name] for f in fields(Text)})


def _claims(records: Sequence[Mapping[str, Any]]) -> tuple[Claim, ...]:
    return tuple(Claim(id=r["id"], text=r["text"], cues=tuple(tuple(c) for c in r.get("cues", ()))) for r in records)


def blueprint_from(record: Mapping[str, Any]) -> Blueprint:
    """A blueprint from its JSON record."""
    return Blueprint(
        task=record["task"],
        false_conclusion=record["false_conclusion"],
        claims=_claims(record["claims"]),
        true_conclusion=record.get("true_conclusion", ""),
        true_claims=_claims(record.get("true_claims", ())),
        true_documents=tuple(record.get("true_documents", ())),
        institutions={
            a: tuple(Institution(name=i["name"], host=i["host"]) for i in pool)
            for a, pool in record["institutions"].items()
        },
        keywords=tuple(record["keywords"]),
        judging_brief=record["judging_brief"],
    )


def to_record(document: Document) -> dict[str, Any]:
    """A document as its JSON record (without a canary, which only files carry)."""
    record: dict[str, Any] = {}
    skip = {"kind"} if isinstance(document, MisleadingDocument) else set()
    for f in fields(document):
        value = getattr(document, f.name)
        if f.name in skip or value in (None, "", False):
            continue
        record[f.name] = value.isoformat() if isinstance(value, date) else value
    record.setdefault("body", "")
    return record
