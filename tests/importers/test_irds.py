"""The real ir_datasets package, on data sets made of local files."""

from __future__ import annotations

import sys
import uuid
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from searchsim.corpus import Corpus
from searchsim.errors import MissingComponentError, SearchsimError, UsageError
from searchsim.importers import run_import
from tests.importers.files import faults, left_in, manifest

ir_datasets: Any = pytest.importorskip("ir_datasets")


class Page(NamedTuple):
    doc_id: str
    url: str
    title: str
    body: str

    def default_text(self) -> str:
        return f"{self.title} {self.body}"


class Titled(NamedTuple):
    doc_id: str
    title: str
    abstract: str

    def default_text(self) -> str:
        return f"{self.title} {self.abstract}"


class Picture(NamedTuple):
    doc_id: str
    image: str


class Topic(NamedTuple):
    query_id: str
    title: str
    narrative: str


def registered(docs: Any = None, queries: Any = None) -> str:
    name = f"local/{uuid.uuid4().hex}"
    ir_datasets.registry.register(name, ir_datasets.Dataset(docs, queries))
    return name


def docs(path: Path, rows: list[tuple[str, ...]], cls: Any = None, **kwargs: Any) -> Any:
    path.write_text("".join("\t".join(r) + "\n" for r in rows), "utf-8")
    return ir_datasets.formats.TsvDocs(
        ir_datasets.util.LocalDownload(path), doc_cls=cls or ir_datasets.formats.GenericDoc, **kwargs
    )


def queries(path: Path, rows: list[tuple[str, ...]], cls: Any = None, **kwargs: Any) -> Any:
    path.write_text("".join("\t".join(r) + "\n" for r in rows), "utf-8")
    return ir_datasets.formats.TsvQueries(
        ir_datasets.util.LocalDownload(path), query_cls=cls or ir_datasets.formats.GenericQuery, **kwargs
    )


def test_a_data_set(tmp_path: Path) -> None:
    name = registered(
        docs(tmp_path / "d.tsv", [("D1", "The first text."), ("D 2", "第二篇文章。")]),
        queries(tmp_path / "q.tsv", [("1", "What first?"), ("2", "什么？")], lang="zh"),
    )
    made = run_import("ir-datasets", name, tmp_path / "out", language="en")
    assert (made.tasks, made.documents) == (2, 2)
    assert faults(tmp_path / "out") == []
    corpus = Corpus(tmp_path / "out")
    assert [(t.id, t.question, t.language) for t in corpus.tasks.values()] == [
        ("1", "What first?", "zh"),
        ("2", "什么？", "zh"),
    ]
    first, second = corpus.documents()
    assert (first.id, first.title, first.body, first.language) == ("D1", "The first text.", "The first text.", "en")
    host = f"https://{name.replace('/', '-')}.ir-datasets.invalid"
    assert (first.url, second.url) == (f"{host}/doc/D1", f"{host}/doc/D%202")
    told = manifest(tmp_path / "out")
    assert told["sources"] == [{"path": name, "ir_datasets": ir_datasets.__version__}]
    assert told["notes"] == {"ids_changed": 1, "titles_made": 2, "urls_made": 2}


def test_documents_with_fields(tmp_path: Path) -> None:
    name = registered(
        docs(tmp_path / "d.tsv", [("1", "https://a.example/1", "Title", "The body.")], Page),
        queries(tmp_path / "q.tsv", [("1", "A topic", "Long.")], Topic),
    )
    run_import("ir-datasets", name, tmp_path / "out")
    corpus = Corpus(tmp_path / "out")
    (page,) = corpus.documents()
    assert (page.url, page.title, page.body) == ("https://a.example/1", "Title", "The body.")
    assert corpus.tasks["1"].question == "A topic"


def test_the_title_is_not_repeated_in_the_text(tmp_path: Path) -> None:
    name = registered(docs(tmp_path / "d.tsv", [("1", "Title", "The abstract.")], Titled))
    made = run_import("ir-datasets", name, tmp_path / "out")
    assert made.tasks == 0
    assert [d.body for d in Corpus(tmp_path / "out").documents()] == ["The abstract."]


def test_faults(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(UsageError, match="ir_datasets knows no 'local/absent'"):
        run_import("ir-datasets", "local/absent", out)
    with pytest.raises(UsageError, match="has no documents"):
        run_import("ir-datasets", registered(queries=queries(tmp_path / "q.tsv", [("1", "x")])), out)
    with pytest.raises(UsageError, match="document 1: has no text"):
        run_import("ir-datasets", registered(docs(tmp_path / "p.tsv", [("1", "png")], Picture)), out)
    with pytest.raises(SearchsimError, match=r"ir_datasets can't read local/.*expected 4 fields, got 2"):
        run_import("ir-datasets", registered(docs(tmp_path / "b.tsv", [("1", "short")], Page)), out)
    with pytest.raises(UsageError, match="document 1: id: '1' stands twice"):
        run_import("ir-datasets", registered(docs(tmp_path / "t.tsv", [("1", "a"), ("1", "b")])), out)
    gone = registered(docs(tmp_path / "gone.tsv", [("1", "a")]))
    (tmp_path / "gone.tsv").unlink()
    with pytest.raises(SearchsimError, match="can't read"):
        run_import("ir-datasets", gone, out)
    assert not any(n.startswith((".", "out")) for n in left_in(tmp_path))


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(MissingComponentError, match=r"searchsim\[corpora\]"):
        run_import("ir-datasets", "vaswani", tmp_path / "out")
    assert left_in(tmp_path) == set()
