"""Faults are found and named; nothing at fault is loaded."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from searchsim import corpus as corpora
from searchsim.corpus import Corpus, check, republish
from searchsim.documents import Document, document_from, misleading_from, schema, to_record
from searchsim.errors import CorpusError, UsageError


@pytest.fixture
def copy(quickstart: Corpus, tmp_path: Path) -> Path:
    """A copy of the quickstart corpus, to be spoilt."""
    target = tmp_path / "copy"
    shutil.copytree(quickstart.path, target)
    return target


def edit(file: Path, line: int, **changes: Any) -> None:
    """Change fields of one line (from 1); None takes a field away."""
    lines = file.read_text("utf-8").splitlines()
    record = json.loads(lines[line - 1])
    for name, value in changes.items():
        if value is None:
            record.pop(name)
        else:
            record[name] = value
    lines[line - 1] = json.dumps(record, ensure_ascii=False)
    file.write_text("\n".join(lines) + "\n", "utf-8")


def faults(path: Path) -> list[str]:
    return [str(f) for f in check(path)]


def test_the_shipped_corpus_has_none(quickstart: Corpus) -> None:
    assert faults(quickstart.path) == []


@pytest.mark.parametrize(
    ("file", "line", "changes", "expected"),
    [
        ("tasks.jsonl", 2, {"question": None}, "tasks.jsonl:2: question: 'question' is a required property"),
        ("tasks.jsonl", 3, {"id": "roman-harbour-concrete"}, "tasks.jsonl:3: id: 'roman-harbour-concrete' stands twice"),
        ("documents.jsonl", 5, {"kind": "tweet"}, "documents.jsonl:5: kind: 'tweet' is not one of"),
        ("documents.jsonl", 5, {"published": "2024-13-01"}, "documents.jsonl:5: published: '2024-13-01' is not a 'date'"),
        ("documents.jsonl", 5, {"url": "http://[bad/x"}, "documents.jsonl:5: url: 'http://[bad/x' does not match"),
        ("documents.jsonl", 5, {"url": "http://a.org:99999/x"}, "documents.jsonl:5: url: 'http://a.org:99999/x' can't be"),
        ("documents.jsonl", 5, {"published": "2027-01-01"}, "documents.jsonl:5: published: 2027-01-01 lies after"),
        ("documents.jsonl", 5, {"url": "nowhere"}, "documents.jsonl:5: url: 'nowhere' does not match"),
        ("documents.jsonl", 5, {"colour": "red"}, "documents.jsonl:5: colour: Additional properties"),
        ("documents.jsonl", 5, {"snippet": "short"}, "documents.jsonl:5: snippet: has 5 characters"),
        ("documents.jsonl", 5, {"body": 7}, "documents.jsonl:5: body: 7 is not of type 'string'"),
        ("blueprints.jsonl", 1, {"true_documents": ["absent"]}, "blueprints.jsonl:1: true_documents.0: no organic"),
        ("blueprints.jsonl", 1, {"task": "absent"}, "blueprints.jsonl:1: task: no task 'absent'"),
        ("texts.jsonl", 1, {"canary": "none"}, "texts.jsonl:1: canary: 'none' does not match"),
        ("texts.jsonl", 1, {"canary": "searchsim-canary x"}, "texts.jsonl:1: canary: differs from corpus.yaml's"),
        ("misleading.jsonl", 4, {"institution": "Nobody"}, "misleading.jsonl:4: institution: 'Nobody' is none of"),
        ("misleading.jsonl", 4, {"url": "https://nobody.org/x"}, "misleading.jsonl:4: url: isn't on"),
        ("misleading.jsonl", 4, {"body": "Another."}, "misleading.jsonl:4: body: differs from text"),
        ("misleading.jsonl", 4, {"text": "absent"}, "misleading.jsonl:4: text: no text 'absent'"),
        ("excerpts.jsonl", 1, {"claims": ["c9"], "adopts": True}, "excerpts.jsonl:1: claims.0: no false claim 'c9'"),
        ("excerpts.jsonl", 1, {"claims": ["c1"], "adopts": False}, "excerpts.jsonl:1: claims: are there though adopts is"),
        ("misleading.jsonl", 4, {"canary": None}, "misleading.jsonl:4: canary: 'canary' is a required property"),
    ],
)  # fmt: skip
def test_a_fault_names_file_line_and_field(
    copy: Path, file: str, line: int, changes: dict[str, Any], expected: str
) -> None:
    edit(copy / file, line, **changes)
    found = faults(copy)
    assert any(f.startswith(expected) for f in found), found


def test_bodies_shared_without_a_mark(copy: Path) -> None:
    line = next(
        n for n, r in enumerate((copy / "misleading.jsonl").read_text().splitlines(), 1) if '"shared_body":true' in r
    )
    edit(copy / "misleading.jsonl", line + 1, shared_body=None)
    assert any("shared_body: the body stands in another document" in f for f in faults(copy))


def test_lines_that_are_no_json(copy: Path) -> None:
    with (copy / "documents.jsonl").open("a") as out:
        out.write("{broken\n")
    assert faults(copy)[0].startswith("documents.jsonl:169: not a JSON value")
    with pytest.raises(CorpusError, match=r"copy/documents.jsonl:169"):
        list(Corpus(copy).documents())


def test_bytes_that_are_no_text(copy: Path) -> None:
    with (copy / "tasks.jsonl").open("ab") as out:
        out.write(b'{"id": "x", "question": "\xff\xfe", "language": "en"}\n')
    assert faults(copy)[0].startswith("tasks.jsonl:7: not a JSON value")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name: [", "not YAML"),
        ("name: x", "'description' is a required property"),
        ("name: x\ndescription: d\ntoday: soon", "today: 'soon'"),
        ("- a list", "isn't an object"),
        ("", "isn't an object"),
    ],
)
def test_a_corpus_yaml_at_fault(copy: Path, text: str, expected: str) -> None:
    (copy / "corpus.yaml").write_text(text)
    assert any(expected in f for f in faults(copy)), faults(copy)
    with pytest.raises(CorpusError):
        Corpus(copy)


def test_one_cause_is_one_fault(copy: Path) -> None:
    edit(copy / "misleading.jsonl", 4, canary="")
    assert len(faults(copy)) == 1
    edit(copy / "misleading.jsonl", 4, canary=Corpus(copy).canary)
    (copy / "blueprints.jsonl").unlink()
    assert len(faults(copy)) == 6, "a line a task, not a document"


def test_files_that_are_none_of_a_corpus(copy: Path) -> None:
    (copy / "document.jsonl").touch()
    assert faults(copy)[0].startswith("document.jsonl: no file of a corpus")


def test_a_corpus_with_misleading_text_needs_a_canary(copy: Path) -> None:
    facts = yaml.safe_load((copy / "corpus.yaml").read_text("utf-8"))
    del facts["canary"]
    (copy / "corpus.yaml").write_text(yaml.safe_dump(facts))
    assert faults(copy)[0].startswith("corpus.yaml: canary: missing")
    with pytest.raises(CorpusError, match="canary"):
        republish(Corpus(copy))


def test_a_corpus_that_cannot_be_loaded_hides_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "corpora" / "broken").mkdir(parents=True)
    (tmp_path / "corpora" / "broken" / "corpus.yaml").write_text("name: [")
    (tmp_path / "searchsim.yaml").touch()
    monkeypatch.setenv("SEARCHSIM_HOME", str(tmp_path))
    told = {c["name"]: c for c in corpora.installed()}
    assert "not YAML" in told["broken"]["error"]
    assert told["quickstart"]["tasks"] == 6


def test_folders_that_are_no_corpus(tmp_path: Path) -> None:
    assert "no such folder" in faults(tmp_path / "absent")[0]
    assert "missing" in faults(tmp_path)[0]
    with pytest.raises(UsageError, match="there are: quickstart"):
        corpora.load("absent")


def test_records_go_there_and_back(quickstart: Corpus) -> None:
    for document in quickstart.documents():
        assert document_from(to_record(document)) == document
    for pool in quickstart.misleading.values():
        for misleading in pool:
            assert misleading_from(to_record(misleading)) == misleading


def test_the_misleading_documents_are_what_the_texts_give(quickstart: Corpus, copy: Path) -> None:
    (copy / "misleading.jsonl").unlink()
    assert republish(Corpus(copy)) == 360
    assert (copy / "misleading.jsonl").read_bytes() == (quickstart.path / "misleading.jsonl").read_bytes()


def test_texts_that_do_not_fit_the_institutions(copy: Path) -> None:
    lines = (copy / "texts.jsonl").read_text().splitlines()
    before = (copy / "misleading.jsonl").read_bytes()
    (copy / "texts.jsonl").write_text("\n".join(lines[1:]) + "\n")
    with pytest.raises(CorpusError, match="4 texts for 5 institutions"):
        republish(Corpus(copy))
    assert (copy / "misleading.jsonl").read_bytes() == before, "nothing is lost"


def test_a_corpus_says_what_it_holds() -> None:
    (entry,) = [c for c in corpora.installed() if c["name"] == "quickstart"]
    assert (entry["tasks"], entry["documents"], entry["misleading"]) == (6, 168, 360)
    assert entry["languages"] == ["en", "zh"]


def test_schemas_describe_the_records() -> None:
    described = set(schema("document")["properties"])
    assert described == set(Document.__dataclass_fields__)


def test_the_manifest_of_the_quickstart_names_its_canary(quickstart: Corpus) -> None:
    facts = yaml.safe_load((quickstart.path / "corpus.yaml").read_text("utf-8"))
    for name in ("misleading.jsonl", "texts.jsonl", "blueprints.jsonl"):
        for line in (quickstart.path / name).read_text("utf-8").splitlines():
            assert facts["canary"] in line
    assert "searchsim-canary" not in (quickstart.path / "documents.jsonl").read_text("utf-8")
