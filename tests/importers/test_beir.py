"""A BEIR folder becomes tasks and documents; what they lack is made up and counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from searchsim.corpus import Corpus
from searchsim.errors import UsageError
from searchsim.importers import run_import
from tests.importers.files import faults, left_in, manifest, read_lines, write_lines

QUERIES = [
    {"_id": "PLAIN-1", "text": "Does a stone bridge need mortar?"},
    {"_id": "2", "text": "石桥需要灰浆吗？", "metadata": {}},
]
DOCUMENTS: list[dict[str, Any]] = [
    {"_id": "MED-1", "title": "A title", "text": "A text.", "metadata": {"url": "https://a.example/1"}},
    {"_id": "a b/ü", "title": "", "text": "Words without a title " * 20},
    {"_id": "3", "title": "标题而已", "text": ""},
    {"_id": "4", "title": "", "text": "  "},
    {"_id": "5", "title": "Twice", "text": "Same address.", "metadata": {"url": "https://a.example/1"}},
    {"_id": "6", "title": "Bad", "text": "No address.", "metadata": {"url": "n/a"}},
]


def folder(path: Path, queries: list[Any] = QUERIES, documents: list[Any] = DOCUMENTS) -> Path:
    write_lines(path / "queries.jsonl", queries)
    write_lines(path / "corpus.jsonl", documents)
    (path / "qrels").mkdir()
    (path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nPLAIN-1\tMED-1\t1\n")
    return path


def test_a_folder(tmp_path: Path) -> None:
    source = folder(tmp_path / "SciFact")
    made = run_import("beir", str(source), tmp_path / "out")
    assert (made.tasks, made.documents, made.misleading) == (2, 5, 0)
    assert faults(tmp_path / "out") == []
    assert left_in(tmp_path / "out") == {"corpus.yaml", "tasks.jsonl", "documents.jsonl", "manifest.json"}
    corpus = Corpus(tmp_path / "out")
    assert [(t.id, t.question, t.language) for t in corpus.tasks.values()] == [
        ("PLAIN-1", "Does a stone bridge need mortar?", "en"), ("2", "石桥需要灰浆吗？", "en"),
    ]  # fmt: skip
    one, two, three, five, six = corpus.documents()
    assert (one.id, one.url, one.title, one.body) == ("MED-1", "https://a.example/1", "A title", "A text.")
    assert two.url == "https://scifact.beir.invalid/doc/a%20b%2F%C3%BC"
    assert two.title == "Words without a title Words without a title Words without a title Words ..."
    assert (three.title, three.body) == ("标题而已", "标题而已")
    assert five.url == "https://scifact.beir.invalid/doc/5"
    assert six.url == "https://scifact.beir.invalid/doc/6"
    told = manifest(tmp_path / "out")
    assert told["notes"] == {"empty_left_out": 1, "ids_changed": 1, "texts_made": 1, "titles_made": 1, "urls_made": 4}
    assert [Path(s["path"]).name for s in told["sources"]] == ["queries.jsonl", "corpus.jsonl"]


def test_twice_the_same(tmp_path: Path) -> None:
    source = folder(tmp_path / "scifact")
    for name in ("one", "two"):
        run_import("beir", str(source), tmp_path / name, language="zh")
    assert (tmp_path / "one" / "documents.jsonl").read_bytes() == (tmp_path / "two" / "documents.jsonl").read_bytes()
    assert {r["language"] for r in read_lines(tmp_path / "one" / "documents.jsonl")} == {"zh"}


@pytest.mark.parametrize(
    ("queries", "documents", "expected"),
    [
        ([{"_id": "1"}], DOCUMENTS, "queries.jsonl:1: text: missing; BEIR's lines have"),
        ([*QUERIES, QUERIES[0]], DOCUMENTS, "queries.jsonl:3: id: 'PLAIN-1' stands twice"),
        (QUERIES, [*DOCUMENTS, {"title": "x", "text": "y"}], "corpus.jsonl:7: _id: missing"),
        (QUERIES, [*DOCUMENTS, "x"], "corpus.jsonl:7: _id: missing"),
        (QUERIES, [*DOCUMENTS, {"_id": "x", "text": ["y"]}], "corpus.jsonl:7: text: \"['y']\" is no text"),
        (QUERIES, [*DOCUMENTS, DOCUMENTS[0]], "corpus.jsonl:7: id: 'MED-1' stands twice"),
    ],
)
def test_faults(tmp_path: Path, queries: list[Any], documents: list[Any], expected: str) -> None:
    source = folder(tmp_path / "scifact", queries, documents)
    with pytest.raises(UsageError) as caught:
        run_import("beir", str(source), tmp_path / "out")
    assert str(caught.value).startswith(f"{source}/{expected}"), caught.value
    assert left_in(tmp_path) == {"scifact"}


def test_folders_that_are_none(tmp_path: Path) -> None:
    write_lines(tmp_path / "half" / "corpus.jsonl", DOCUMENTS)
    for name, missing in (("absent", "corpus.jsonl"), ("half", "queries.jsonl")):
        with pytest.raises(UsageError, match=f"no BEIR folder: it has no {missing}"):
            run_import("beir", str(tmp_path / name), tmp_path / "out")
