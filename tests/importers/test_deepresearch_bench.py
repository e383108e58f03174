"""The bench's tasks are imported, and nothing of a file at fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from searchsim.corpus import Corpus
from searchsim.errors import UsageError
from searchsim.importers import run_import
from tests.importers.files import faults, write_lines

BENCH = Path(__file__).parents[3] / "shared" / "data" / "deepresearch-bench" / "query.jsonl"


def test_the_bench_is_imported(tmp_path: Path) -> None:
    rows = [
        {"id": 1, "topic": "Art", "language": "zh", "prompt": "为什么？"},
        {"id": 2, "topic": "Art", "language": "en", "prompt": "Why?"},
    ]
    source = write_lines(tmp_path / "query.jsonl", rows)
    out = tmp_path / "bench"
    assert run_import("deepresearch-bench", str(source), out).tasks == 2
    assert faults(out) == []
    corpus = Corpus(out)
    assert corpus.tasks["drb-1"].question == "为什么？"
    assert list(corpus.documents()) == []
    with pytest.raises(UsageError, match="isn't empty"):
        run_import("deepresearch-bench", str(source), out)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("{", ":1: not a JSON value"), ("[1]", ":1: id: missing"), ('{"id": 1, "prompt": "x"}', ":1: language: missing"),
     ("", "has no tasks"), ('{"id":1,"language":"en","prompt":"x"}\n{"id":1,"language":"en","prompt":"y"}', ":2: id: 1 stands twice"),
     ('{"id":1,"language":"English","prompt":"x"}', ":1: language: 'English' does not match")],
)  # fmt: skip
def test_a_bench_at_fault_leaves_nothing(tmp_path: Path, text: str, expected: str) -> None:
    source = tmp_path / "query.jsonl"
    source.write_text(text)
    with pytest.raises(UsageError) as caught:
        run_import("deepresearch-bench", str(source), tmp_path / "out")
    assert expected in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_the_benchs_own_file_where_it_lies(tmp_path: Path) -> None:
    if not BENCH.is_file():
        # The published file isn't ours to ship; without it the test above has shown the format.
        return
    assert run_import("deepresearch-bench", str(BENCH), tmp_path / "out").tasks == 100
    assert {t.language for t in Corpus(tmp_path / "out").tasks.values()} == {"en", "zh"}
