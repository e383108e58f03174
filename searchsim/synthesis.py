"""Corpora for load tests: as large as you like, the same for the same seed, without meaning.

Words are Faker's and others made of their syllables (of their characters, in Chinese); how often each stands follows
Zipf's law, p(r) ∝ r^-s with s = 1.05 over 50,000 words a language (Zipf 1949; s near 1 as in Baeza-Yates and
Ribeiro-Neto 1999, §6.3). Lengths are log-normal with a median of 350 words. Publishers are Faker's, their hosts are
below ``.example`` (RFC 2606), so that none exists. numpy and Faker may draw otherwise in other versions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from faker import Faker
from numpy.typing import NDArray

from searchsim import __version__
from searchsim.documents import KINDS
from searchsim.errors import UsageError
from searchsim.importers.draft import Draft, Imported, drafting
from searchsim.importers.identifier import slug

__all__ = ["TODAY", "synthesize"]

TODAY = date(2026, 1, 1)
"""The date that worlds of a synthetic corpus take as today: fixed, since the same seed gives the same files."""

_VOCABULARY = 50_000
_EXPONENT = 1.05
_MEDIAN, _SIGMA, _SHORTEST, _LONGEST = 350, 0.6, 20, 5_000
_BATCH = 256
_LOCALES = {"en": "en_US", "zh": "zh_CN"}
_UNSPACED = {"zh", "ja", "th"}
_KIND_WEIGHTS = (0.15, 0.3, 0.25, 0.2, 0.1)
_UNDATED = 0.05
_MIDDLE = (200, 5_000)
"""Ranks of words for titles and questions: frequent enough to be found, too rare to stand everywhere."""

_QUESTIONS = {
    "en": "What is known about {0} and {1}, and how do they bear on {2} {3}?",
    "zh": "关于{0}与{1}有哪些已知的结论，它们对{2}和{3}有何影响？",
}
_SYLLABLE = re.compile(r"[^aeiouy]?[aeiouy]{1,2}(?:[lmnrst](?![aeiouy]))?")


def synthesize(
    out: Path,
    documents: int,
    *,
    seed: int = 0,
    languages: Sequence[str] = ("en", "zh"),
    tasks: int = 20,
    progress: Callable[[int], None] | None = None,
) -> Imported:
    """Make a corpus for load tests; documents are streamed, in the languages by turns.

    Args:
        out: The corpus's folder; it must not exist yet, or be empty.
        documents: How many.
        seed: The same one gives the same files, but for the manifest's date.
        languages: Those that Faker has, e.g. ``en``, ``zh``, ``de``.
        tasks: How many questions; their words are neither the frequent nor the rare ones.
        progress: Called with the number of documents written so far.

    Raises:
        UsageError: A number is too small, Faker lacks a language, or the folder is filled. Nothing is kept.
    """
    for name, number, least in (("documents", documents, 1), ("tasks", tasks, 1), ("seed", seed, 0)):
        if number < least:
            raise UsageError(f"{name} is {number}: it must be at least {least}")
    if not languages or len(set(languages)) < len(languages):
        raise UsageError(f"languages are {', '.join(languages) or 'none'}: give at least one, each once")
    with drafting(out, TODAY, progress) as draft:
        writers = [_Writer.of(language, seed, documents) for language in languages]
        draft.facts |= {
            "title": "Synthetic corpus",
            "description": f"{documents} documents without meaning, for load tests (seed {seed}).",
        }
        draft.sources.append({"path": "synthesis", "searchsim": __version__, "numpy": np.__version__})
        for number in range(tasks):
            writer = writers[number % len(writers)]
            draft.add("tasks.jsonl", writer.task(number), f"task {number}")
        _documents(draft, documents, writers)
        options = {"documents": documents, "seed": seed, "languages": ",".join(languages), "tasks": tasks}
        return draft.finish("synthesis", f"seed {seed}", options)


def _documents(draft: Draft, count: int, writers: Sequence[_Writer]) -> None:
    streams = [w.documents() for w in writers]
    for number in range(count):
        draft.write("documents.jsonl", next(streams[number % len(streams)])(number))


@dataclass(frozen=True, slots=True)
class _Publisher:
    name: str
    host: str


class _Writer:
    """Writes one language. Random numbers are drawn in batches, as uniform ones, which is what makes it fast."""

    def __init__(
        self, language: str, words: Sequence[str], publishers: Sequence[_Publisher], authors: Sequence[str], seed: int
    ) -> None:
        self.language = language
        self._words = np.array(words, dtype=object)
        self._cumulated = _zipf(len(words), _EXPONENT)
        self._publishers = publishers
        self._authors = authors
        self._popularity = _zipf(len(publishers), 1.0)
        self._unspaced = _unspaced(language)
        self._random = _random(seed, language, "documents")
        self._questions = _random(seed, language, "tasks")

    @classmethod
    def of(cls, language: str, seed: int, documents: int) -> _Writer:
        """A writer with a vocabulary, publishers and authors of its own."""
        try:
            faker = Faker(_LOCALES.get(language, language))
        except (AttributeError, ValueError) as error:
            raise UsageError(f"Faker has no language {language!r}; try en, zh, de, fr, es, ru, ja") from error
        faker.seed_instance(f"{seed}/{language}")
        words = _vocabulary(faker, _random(seed, language, "words"), joined=_unspaced(language))
        publishers = []
        for number in range(min(max(documents // 50, 20), 2_000)):
            # The number keeps hosts apart, between languages too.
            host = f"{slug(faker.domain_word()) or 'site'}-{language.lower()}{number}.example"
            publishers.append(_Publisher(faker.company(), host))
        return cls(language, words, publishers, [faker.name() for _ in range(500)], seed)

    def task(self, number: int) -> dict[str, Any]:
        """A question of four words of middling frequency."""
        low, high = _MIDDLE
        words = self._words[self._questions.integers(low, high, 4)].tolist()
        pattern = _QUESTIONS.get(self.language)
        question = pattern.format(*words) if pattern else f"{self._join(words).capitalize()}?"
        return {"id": f"task-{number:04}", "question": question, "language": self.language}

    def documents(self) -> Iterator[Callable[[int], dict[str, Any]]]:
        """Documents without end; each is finished with its number in the corpus."""
        while True:
            lengths = np.exp(np.log(_MEDIAN) + _SIGMA * self._random.standard_normal(_BATCH))
            sizes = np.clip(lengths, _SHORTEST, _LONGEST).astype(np.int64)
            ends = np.cumsum(sizes).tolist()
            ranks = np.searchsorted(self._cumulated, self._random.random(ends[-1]), side="right")
            words = self._words[ranks].tolist()
            low, high = _MIDDLE
            titles = self._words[self._random.integers(low, high, (_BATCH, 8))].tolist()
            sites = np.searchsorted(self._popularity, self._random.random(_BATCH), side="right").tolist()
            kinds = self._random.choice(len(KINDS), _BATCH, p=_KIND_WEIGHTS).tolist()
            # Sentences have 8 to 24 words, and a document no more of them than its words, eight each, would make.
            breaks = self._random.integers(8, 25, (_BATCH, _LONGEST // 8 + 1), dtype=np.int8)
            draws = self._random.random((_BATCH, 4)).tolist()
            start = 0
            for i, end in enumerate(ends):
                body = self._body(words[start:end], breaks[i, : (end - start) // 8 + 1].tolist())
                title = self._title(titles[i], draws[i][0])
                yield self._finish(title, body, KINDS[kinds[i]], self._publishers[sites[i]], draws[i])
                start = end

    def _finish(
        self, title: str, body: str, kind: str, publisher: _Publisher, draws: Sequence[float]
    ) -> Callable[[int], dict[str, Any]]:
        day = TODAY - timedelta(days=1 + int(draws[1] * 1_500))

        def made(number: int) -> dict[str, Any]:
            label = slug(title) or kind
            path = (f"{kind}/{day.year}/{label}-{number}", f"{label}-{number}", f"{kind}/{number}")[number % 3]
            record = {
                "id": f"doc-{number:08}",
                "url": f"https://{publisher.host}/{path}",
                "title": title,
                "source_name": publisher.name,
                "kind": kind,
                "language": self.language,
                "published": day.isoformat(),
                "author": self._authors[int(draws[2] * len(self._authors))],
                "body": body,
            }
            if draws[3] < _UNDATED:
                del record["published"]
            if kind in ("news", "reference"):
                del record["author"]
            return record

        return made

    def _join(self, words: Sequence[str]) -> str:
        return ("" if self._unspaced else " ").join(words)

    def _title(self, words: Sequence[str], draw: float) -> str:
        return _upper(self._join(words[: 4 + int(draw * 5)]))

    def _body(self, words: Sequence[str], lengths: Sequence[int]) -> str:
        """Sentences of the lengths given, five to a paragraph."""
        gap, comma, stop, space = ("", "，", "。", "") if self._unspaced else (" ", ", ", ".", " ")
        pieces = []
        start = 0
        for number, length in enumerate(lengths, start=1):
            end = start + length
            half = start + length // 2
            if length > 14:
                sentence = f"{gap.join(words[start:half])}{comma}{gap.join(words[half:end])}"
            else:
                sentence = gap.join(words[start:end])
            if end >= len(words):
                pieces.append(_upper(sentence).rstrip(comma) + stop)
                break
            pieces.append(_upper(sentence) + stop + ("\n\n" if number % 5 == 0 else space))
            start = end
        return "".join(pieces)


def _unspaced(language: str) -> bool:
    return language.split("-")[0] in _UNSPACED


def _upper(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _random(seed: int, language: str, purpose: str) -> np.random.Generator:
    """A stream of its own for each purpose, so that more tasks don't change the documents."""
    return np.random.Generator(np.random.PCG64([seed, *f"{language}/{purpose}".encode()]))


def _zipf(size: int, exponent: float) -> NDArray[np.float64]:
    """Cumulated probabilities of ranks 1 to `size`, p(r) ∝ r^-exponent."""
    weights = np.arange(1, size + 1, dtype=np.float64) ** -exponent
    cumulated = np.cumsum(weights / weights.sum())
    cumulated[-1] = 1.0
    return cumulated


def _vocabulary(faker: Faker, random: np.random.Generator, *, joined: bool) -> list[str]:
    """Distinct words by rank: Faker's in an order drawn, then such as are made of two to four of their pieces."""
    own = sorted({w.lower() for w in faker.get_words_list() if w.strip() and " " not in w})
    pieces = sorted({p for w in own for p in (w if joined else _SYLLABLE.findall(w) or [w])})
    words = dict.fromkeys(own[i] for i in random.permutation(len(own)))
    longest = 3 if joined else 5
    while len(words) < _VOCABULARY:
        counts = random.integers(2, longest, 20_000).tolist()
        drawn = random.integers(0, len(pieces), (20_000, longest)).tolist()
        for count, row in zip(counts, drawn, strict=True):
            words.setdefault("".join(pieces[i] for i in row[:count]))
    return list(words)[:_VOCABULARY]
