from __future__ import annotations

import asyncio
import multiprocessing
import shutil
from pathlib import Path

import pytest

from searchsim import corpus as corpora
from searchsim.corpus import Corpus
from searchsim.engine.opening import EngineChoice, index_folder, open_embedded
from searchsim.errors import CorpusError, UsageError
from searchsim.query import parse


def _open_and_search(path: str, cache: str, barrier: object, results: object) -> None:
    import os

    os.environ["SEARCHSIM_CACHE"] = cache
    barrier.wait()  # type: ignore[attr-defined]
    engine = open_embedded(corpora.Corpus(Path(path)))
    hits = asyncio.run(engine.search(parse("bicycle stability"), 5))
    results.put([h.document.id for h in hits])  # type: ignore[attr-defined]


def test_processes_that_build_one_index_at_once_all_get_it(quickstart: Corpus, tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    barrier, results = spawn.Barrier(3), spawn.Queue()
    started = [
        spawn.Process(target=_open_and_search, args=(str(quickstart.path), str(tmp_path), barrier, results))
        for _ in range(3)
    ]
    for process in started:
        process.start()
    found = [results.get(timeout=120) for _ in started]
    for process in started:
        process.join(timeout=30)
        assert process.exitcode == 0
    assert found[0] == found[1] == found[2] != []
    assert len(list((tmp_path / "indexes").iterdir())) == 1


def test_an_index_is_kept_under_the_hash_of_its_documents(quickstart: Corpus, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(quickstart.path, copy)
    assert index_folder(Corpus(copy)) == index_folder(quickstart)
    (copy / "misleading.jsonl").unlink()
    assert index_folder(Corpus(copy)) == index_folder(quickstart), "misleading documents are no part of an index"
    with (copy / "documents.jsonl").open("a") as out:
        out.write('{"id": "more", "url": "https://more.org/", "title": "More", "body": "More"}\n')
    assert index_folder(Corpus(copy)) != index_folder(quickstart)
    assert index_folder(Corpus(copy)).name not in (index_folder(quickstart).name,)


def test_an_unknown_engine_is_named() -> None:
    with pytest.raises(UsageError, match="engines: tantivy"):
        EngineChoice("sphinx")


def test_documents_with_one_id_are_refused_before_an_index_is_built(tmp_path: Path) -> None:
    (tmp_path / "corpus.yaml").write_text("name: two\ndescription: d\ntoday: 2026-01-01\n")
    (tmp_path / "tasks.jsonl").write_text('{"id": "t", "question": "Why?", "language": "en"}\n')
    line = '{"id": "one", "url": "https://a.org/%d", "title": "T", "body": "B"}\n'
    (tmp_path / "documents.jsonl").write_text(line % 1 + line % 2)
    with pytest.raises(CorpusError, match="stands twice"):
        open_embedded(Corpus(tmp_path))
