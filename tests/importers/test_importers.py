"""What all imports have in common: a folder whole or none, a manifest, clear refusals, records streamed."""

from __future__ import annotations

import hashlib
import json
import tracemalloc
from datetime import date
from pathlib import Path

import pytest

from searchsim import __version__
from searchsim.errors import SearchsimError, UsageError
from searchsim.importers import IMPORTERS, Imported, run_import
from tests.importers.files import faults, left_in, manifest, write_lines
from tests.test_docs import quoted, rows

PAGE = {"id": "a", "url": "https://a.example/1", "title": "One", "body": "First body."}
OTHER = {"id": "b", "url": "https://a.example/2", "title": "Two", "body": "Second body."}
QUESTION = {"id": "q", "question": "What first?", "language": "en"}


def test_kinds() -> None:
    assert list(IMPORTERS) == ["jsonl", "beir", "ir-datasets", "misknow", "deepresearch-bench"]
    assert IMPORTERS["jsonl"].options == ("tasks", "language")
    assert IMPORTERS["deepresearch-bench"].options == ()


def test_the_docs_name_kinds_and_options() -> None:
    told = {quoted(r[0])[0]: quoted(r[2]) for r in rows("corpora.md", "kind")}
    assert told == {name: [f"--{o}" for o in importer.options] for name, importer in IMPORTERS.items()}


def test_unknown_kinds_and_options_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match="'csv'; what can be imported: jsonl, beir, ir-datasets, misknow, deepresearch"
    ):
        run_import("csv", "x", tmp_path / "out")
    with pytest.raises(UsageError, match="importing beir takes --language, not --tasks"):
        run_import("beir", "x", tmp_path / "out", tasks=Path("t"))
    with pytest.raises(UsageError, match="takes no option of its own, not --language"):
        run_import("deepresearch-bench", "x", tmp_path / "out", language="zh")
    assert left_in(tmp_path) == set()


def test_the_manifest_tells_what_was_read_and_written(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "pages.jsonl", [PAGE, OTHER])
    tasks = write_lines(tmp_path / "tasks.jsonl", [QUESTION])
    out = tmp_path / "new" / "corpus"
    seen: list[int] = []
    made = run_import("jsonl", str(source), out, seen.append, tasks=tasks, language=None, today=date(2026, 2, 3))
    assert made == Imported(tasks=1, documents=2, misleading=0, path=out)
    assert seen[-1] == 2
    assert faults(out) == []
    told = manifest(out)
    assert (told["kind"], told["source"], told["searchsim"]) == ("jsonl", str(source), __version__)
    assert told["date"] == date.today().isoformat()
    assert told["options"] == {"tasks": str(tasks)}
    assert told["counts"] == {"task": 1, "document": 2}
    assert {s["path"]: s["sha256"] for s in told["sources"]} == {
        str(p): hashlib.sha256(p.read_bytes()).hexdigest() for p in (source, tasks)
    }
    assert {s["path"]: s["bytes"] for s in told["sources"]} == {str(p): p.stat().st_size for p in (source, tasks)}
    assert told["files"] == {
        p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in out.iterdir() if p.name != "manifest.json"
    }
    assert set(told["files"]) == {"corpus.yaml", "tasks.jsonl", "documents.jsonl"}
    assert "today: '2026-02-03'" in (out / "corpus.yaml").read_text()
    assert (out.stat().st_mode & 0o777) == (out.parent.stat().st_mode & 0o777), "no private folder"


def test_a_filled_folder_is_left_alone(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "pages.jsonl", [PAGE])
    out = tmp_path / "out"
    out.mkdir()
    run_import("jsonl", str(source), out)
    before = (out / "documents.jsonl").read_bytes()
    with pytest.raises(UsageError, match="out exists and isn't empty: name another folder with --out"):
        run_import("jsonl", str(write_lines(tmp_path / "other.jsonl", [OTHER])), out)
    assert (out / "documents.jsonl").read_bytes() == before
    with pytest.raises(UsageError, match="--out"):
        run_import("jsonl", str(source), source)
    with pytest.raises(UsageError, match="can't be made"):
        run_import("jsonl", str(source), source / "below")


def test_a_fault_at_the_end_leaves_nothing(tmp_path: Path) -> None:
    lines = [{**PAGE, "id": f"d{n}", "url": f"https://a.example/{n}"} for n in range(500)]
    source = write_lines(tmp_path / "pages.jsonl", [*lines, {"id": "last"}])
    with pytest.raises(UsageError, match=r"pages\.jsonl:501: "):
        run_import("jsonl", str(source), tmp_path / "deep" / "er" / "out")
    assert left_in(tmp_path) == {"pages.jsonl"}


def test_whatever_breaks_off_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write_lines(
        tmp_path / "pages.jsonl", [{**PAGE, "id": f"d{n}", "url": f"https://a.example/{n}"} for n in range(300)]
    )

    def interrupt(count: int) -> None:
        raise KeyboardInterrupt

    def full(count: int) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(KeyboardInterrupt):
        run_import("jsonl", str(source), tmp_path / "out", interrupt)
    with pytest.raises(SearchsimError, match=r"nothing is kept: .*No space left"):
        run_import("jsonl", str(source), tmp_path / "out", full)
    assert left_in(tmp_path) == {"pages.jsonl"}


def test_names_of_folders_become_names_of_corpora(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "pages.jsonl", [PAGE])
    tasks = write_lines(tmp_path / "tasks.jsonl", [QUESTION])
    run_import("jsonl", str(source), tmp_path / "我的 corpus", tasks=tasks)
    assert faults(tmp_path / "我的 corpus") == []


def test_documents_are_streamed(tmp_path: Path) -> None:
    source = tmp_path / "large.jsonl"
    body = "word " * 4000
    with source.open("w") as out:
        for n in range(3000):
            out.write(json.dumps({**PAGE, "id": f"d{n}", "url": f"https://a.example/{n}", "body": body}) + "\n")
    folder = tmp_path / "beir"
    folder.mkdir()
    with (folder / "corpus.jsonl").open("w") as out:
        for n in range(3000):
            out.write(json.dumps({"_id": str(n), "title": "T", "text": body}) + "\n")
    write_lines(folder / "queries.jsonl", [{"_id": "1", "text": "Why?"}])
    size = source.stat().st_size
    assert size > 50_000_000
    for kind, path in (("jsonl", source), ("beir", folder)):
        tracemalloc.start()
        made = run_import(kind, str(path), tmp_path / f"out-{kind}")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert made.documents == 3000
        assert peak < size / 8, kind


def test_ids_and_addresses_alone_are_held(tmp_path: Path) -> None:
    """Four times the text with as many documents takes no more memory."""
    peaks = []
    for size in (1_000, 4_000):
        source = tmp_path / f"{size}.jsonl"
        with source.open("w") as out:
            for n in range(1000):
                out.write(
                    json.dumps({**PAGE, "id": f"d{n}", "url": f"https://a.example/{n}", "body": "文 " * size}) + "\n"
                )
        tracemalloc.start()
        run_import("jsonl", str(source), tmp_path / f"out-{size}")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] * 1.5


def test_an_empty_folder_by_link(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "pages.jsonl", [PAGE])
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert run_import("jsonl", str(source), tmp_path / "link").path == tmp_path / "real"
    assert (tmp_path / "link" / "documents.jsonl").is_file()
