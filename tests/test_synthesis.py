"""Synthetic corpora are the same for the same seed, Zipfian, searchable and streamed."""

from __future__ import annotations

import math
import re
import statistics
import tracemalloc
from collections import Counter
from pathlib import Path

import pytest

from searchsim.corpus import Corpus
from searchsim.engine.opening import open_embedded
from searchsim.errors import UsageError
from searchsim.importers import Imported
from searchsim.query import parse
from searchsim.synthesis import TODAY, synthesize
from tests.importers.files import faults, left_in, manifest


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two thousand documents."""
    out = tmp_path_factory.mktemp("synthesis") / "made"
    assert synthesize(out, 2000) == Imported(tasks=20, documents=2000, misleading=0, path=out)
    return out


def test_it_is_a_corpus_without_faults(made: Path) -> None:
    assert faults(made) == []
    corpus = Corpus(made)
    assert corpus.today == TODAY
    assert Counter(t.language for t in corpus.tasks.values()) == {"en": 10, "zh": 10}
    documents = list(corpus.documents())
    assert Counter(d.language for d in documents) == {"en": 1000, "zh": 1000}
    assert {d.kind for d in documents} == {"paper", "news", "blog", "post", "reference"}
    assert all(d.host.endswith(".example") for d in documents)
    assert 20 < len({d.host for d in documents}) <= 80
    assert 0.9 < sum(d.published is not None for d in documents) / 2000 < 1
    assert manifest(made)["counts"] == {"task": 20, "document": 2000}
    assert manifest(made)["options"] == {"documents": "2000", "seed": "0", "languages": "en,zh", "tasks": "20"}


def test_lengths_and_frequencies_are_those_of_language(made: Path) -> None:
    bodies = [d.body for d in Corpus(made).documents() if d.language == "en"]
    words = [re.findall(r"\w+", b.lower()) for b in bodies]
    lengths = sorted(map(len, words))
    assert 320 < statistics.median(lengths) < 380
    assert 0.5 < statistics.stdev([math.log(n) for n in lengths]) < 0.7
    counts = [n for _, n in Counter(w for ws in words for w in ws).most_common(1000)]
    ranks = [math.log(r) for r in range(1, 1001)]
    slope = statistics.linear_regression(ranks, [math.log(n) for n in counts]).slope
    assert -1.15 < slope < -0.95


def test_the_same_seed_gives_the_same_files(made: Path, tmp_path: Path) -> None:
    synthesize(tmp_path / "made", 2000)
    synthesize(tmp_path / "other", 2000, seed=1)
    for name in ("tasks.jsonl", "documents.jsonl"):
        assert (tmp_path / "made" / name).read_bytes() == (made / name).read_bytes()
        assert (tmp_path / "other" / name).read_bytes() != (made / name).read_bytes()
    synthesize(tmp_path / "tasks", 2000, tasks=3)
    assert (tmp_path / "tasks" / "documents.jsonl").read_bytes() == (made / "documents.jsonl").read_bytes()


async def test_questions_find_documents(made: Path) -> None:
    corpus = Corpus(made)
    engine = open_embedded(corpus)
    for task in corpus.tasks.values():
        hits = await engine.search(parse(task.question), 10)
        assert {h.document.language for h in hits} == {task.language}, task.question
    await engine.close()


def test_other_languages(tmp_path: Path) -> None:
    synthesize(tmp_path / "out", 6, languages=("de", "ru", "ja"), tasks=3)
    assert faults(tmp_path / "out") == []
    assert {d.language for d in Corpus(tmp_path / "out").documents()} == {"de", "ru", "ja"}


def test_documents_are_streamed(tmp_path: Path) -> None:
    synthesize(tmp_path / "warm", 1)
    seen: list[int] = []
    peaks = []
    for count in (500, 2000):
        tracemalloc.start()
        synthesize(tmp_path / str(count), count, progress=seen.append)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert seen[-1] == 2000
    assert peaks[1] < peaks[0] * 1.2, "four times the documents in the same memory"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"documents": 0}, "documents is 0: it must be at least 1"),
        ({"documents": 1, "tasks": 0}, "tasks is 0"),
        ({"documents": 1, "seed": -1}, "seed is -1"),
        ({"documents": 1, "languages": ()}, "languages are none"),
        ({"documents": 1, "languages": ("en", "en")}, "each once"),
        ({"documents": 1, "languages": ("xx",)}, "Faker has no language 'xx'"),
        ({"documents": 1, "languages": ("en_GB",)}, "language: 'en_GB' does not match"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, options: dict[str, object], expected: str) -> None:
    with pytest.raises(UsageError, match=expected):
        synthesize(tmp_path / "out", **options)  # type: ignore[arg-type]
    assert left_in(tmp_path) == set()


def test_a_filled_folder_is_left_alone(made: Path) -> None:
    with pytest.raises(UsageError, match="isn't empty"):
        synthesize(made, 1)
