"""Field names are mapped, every line is held to the schema, faults name file, line and the source's field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from searchsim.corpus import Corpus
from searchsim.errors import UsageError
from searchsim.importers import run_import
from tests.importers.files import faults, left_in, manifest, read_lines, write_lines

PAGE = {"id": "a", "url": "https://a.example/1", "title": "One", "body": "First body."}


@pytest.mark.parametrize("id_", ["id", "_id", "docid"])
@pytest.mark.parametrize("url", ["url", "link"])
@pytest.mark.parametrize("body", ["body", "text", "contents", "content"])
def test_names_of_fields(tmp_path: Path, id_: str, url: str, body: str) -> None:
    record = {id_: 7, url: "https://a.example/1", "title": "One", body: "First.", "score": 0.3, "tags": ["x"]}
    run_import("jsonl", str(write_lines(tmp_path / "pages.jsonl", [record])), tmp_path / "out")
    assert read_lines(tmp_path / "out" / "documents.jsonl") == [
        {"id": "7", "url": "https://a.example/1", "title": "One", "body": "First."}
    ]


def test_the_other_fields(tmp_path: Path) -> None:
    records = [
        PAGE | {"date": "2024-03-01T10:00:00Z", "source": "A Source", "kind": "news", "lang": "en", "author": "A. Uthor"},
        {"id": "乙", "id_": "x", "docid": "b", "_id": "", "link": "https://b.example/文", "title": "二", "text": "正文。"}
        | {"id": "", "published": "2024-03-02", "source_name": "来源", "language": "zh"},
        PAGE | {"id": "c", "url": "https://c.example", "published": None, "date": ""},
    ]  # fmt: skip
    tasks = write_lines(
        tmp_path / "t.jsonl", [{"_id": 1, "query": "为什么？", "lang": "zh"}, {"id": "q2", "prompt": "Why?"}]
    )
    run_import("jsonl", str(write_lines(tmp_path / "pages.jsonl", records)), tmp_path / "out", tasks=tasks)
    assert faults(tmp_path / "out") == []
    corpus = Corpus(tmp_path / "out")
    first, second, third = corpus.documents()
    assert (str(first.published), first.source_name, first.kind, first.author) == (
        "2024-03-01",
        "A Source",
        "news",
        "A. Uthor",
    )
    assert (second.id, second.title, second.source_name, second.language) == ("b", "二", "来源", "zh")
    assert third.published is None
    assert [(t.id, t.question, t.language) for t in corpus.tasks.values()] == [
        ("1", "为什么？", "zh"),
        ("q2", "Why?", "en"),
    ]


def test_a_language_for_those_that_name_none(tmp_path: Path) -> None:
    pages = write_lines(tmp_path / "pages.jsonl", [PAGE, PAGE | {"id": "b", "url": "https://b.example", "lang": "en"}])
    tasks = write_lines(tmp_path / "t.jsonl", [{"id": 1, "text": "为什么？"}])
    run_import("jsonl", str(pages), tmp_path / "out", tasks=tasks, language="zh")
    assert [r["language"] for r in read_lines(tmp_path / "out" / "documents.jsonl")] == ["zh", "en"]
    assert Corpus(tmp_path / "out").tasks["1"].language == "zh"


def test_snippets_get_the_lengths_of_live_ones(tmp_path: Path) -> None:
    pages = [
        PAGE | {"snippet": "A sentence of the snippet. " * 9},
        PAGE | {"id": "b", "url": "https://b.example", "snippet": "Short.", "body": "A longer body. " * 20},
    ]
    tasks = write_lines(tmp_path / "t.jsonl", [{"id": 1, "text": "Why?"}])
    run_import("jsonl", str(write_lines(tmp_path / "p.jsonl", pages)), tmp_path / "out", tasks=tasks)
    assert faults(tmp_path / "out") == []
    assert manifest(tmp_path / "out")["notes"] == {"snippets_lengthened": 1, "snippets_shortened": 1}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("{broken", ":2: not a JSON value"),
        ("[1]", ":2: not an object with fields such as id, url"),
        ({**PAGE, "id": "has a space", "url": "https://b.example"}, ":2: id: 'has a space' does not match"),
        ({**PAGE, "url": "https://b.example"}, ":2: id: 'a' stands twice"),
        ({**PAGE, "id": "b"}, ":2: url: https://a.example/1 stands twice"),
        ({"id": "b", "title": "T", "body": "B"}, ":2: url: 'url' is a required property"),
        ({"_id": "b", "link": "nowhere", "title": "T", "text": "B"}, ":2: link: 'nowhere' does not match"),
        ({"_id": "b", "link": "http://b.org:99999/", "title": "T", "text": "B"}, ":2: link: 'http://b.org:99999/' can't be"),
        ({"id": "b", "url": "https://b.example", "title": "T", "contents": 7}, ":2: contents: 7 is not of type 'string'"),
        ({"id": "b", "url": "https://b.example", "title": "", "text": "B"}, ":2: title: 'title' is a required property"),
        ({**PAGE, "id": "b", "url": "https://b.example", "date": "May 2024"}, ":2: date: 'May 2024' "),
        ({**PAGE, "id": "b", "url": "https://b.example", "date": 2024}, ":2: date: 2024 is not of type 'string'"),
        ({**PAGE, "id": "b", "url": "https://b.example", "date": "2999-01-01"}, ":2: date: 2999-01-01 lies after"),
        ({**PAGE, "id": "b", "url": "https://b.example", "kind": "tweet"}, ":2: kind: 'tweet' is not one of"),
        ({**PAGE, "id": "b", "url": "https://b.example", "lang": "English"}, ":2: lang: 'English' does not match"),
    ],
)  # fmt: skip
def test_faults(tmp_path: Path, line: Any, expected: str) -> None:
    source = write_lines(tmp_path / "pages.jsonl", [PAGE])
    with source.open("a") as out:
        out.write(line) if isinstance(line, str) else write_lines(tmp_path / "more", [line])
        if not isinstance(line, str):
            out.write((tmp_path / "more").read_text())
            (tmp_path / "more").unlink()
    with pytest.raises(UsageError) as caught:
        run_import("jsonl", str(source), tmp_path / "out")
    assert str(caught.value).startswith(f"{source}{expected}"), caught.value
    assert left_in(tmp_path) == {"pages.jsonl"}


def test_a_later_today_lets_later_pages_in(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "pages.jsonl", [{**PAGE, "date": "2999-01-01"}])
    with pytest.raises(UsageError, match="give a later one with --today"):
        run_import("jsonl", str(source), tmp_path / "out")


def test_faults_of_files(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "bytes.jsonl").write_bytes(b'{"id": "\xff\xfe"}\n')
    pages = write_lines(tmp_path / "pages.jsonl", [PAGE])
    before = left_in(tmp_path)
    for name, expected in (
        ("absent.jsonl", "no such file"),
        ("empty.jsonl", "has no documents"),
        ("bytes.jsonl", ":1: not a"),
    ):
        with pytest.raises(UsageError, match=expected):
            run_import("jsonl", str(tmp_path / name), tmp_path / "out")
    with pytest.raises(UsageError, match="can't be read"):
        run_import("jsonl", str(tmp_path), tmp_path / "out")
    with pytest.raises(UsageError, match=r"tasks\.jsonl: no such file"):
        run_import("jsonl", str(pages), tmp_path / "out", tasks=tmp_path / "tasks.jsonl")
    tasks = write_lines(tmp_path / "t.jsonl", [{"id": "q", "query": ["Why?"]}])
    with pytest.raises(UsageError, match=r"t.jsonl:1: query: \['Why\?'\] is not of type"):
        run_import("jsonl", str(pages), tmp_path / "out", tasks=tasks)
    assert left_in(tmp_path) == before | {"t.jsonl"}
