"""The shipped corpus is what it has to be."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from urllib.parse import urlsplit

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from searchsim.admission import rates
from searchsim.corpus import Corpus
from searchsim.documents import AUTHORITIES, KINDS, STYLES, Document
from searchsim.engine import SearchEngine
from searchsim.judge import LexicalJudge
from searchsim.server.serper import shown_date
from searchsim.text import snippet

LENGTHS = {"paper": (1200, 2000), "blog": (700, 1100), "news": (450, 800), "post": (120, 300)}
SUBJECT = {
    "roman-harbour-concrete": ("olive", "amurca"),
    "keyboard-layouts": ("dvorak", "qwerty", "faster", "a third"),
    "longitude-at-sea": ("dip",),
    "bicycle-stability": ("wheel", "gyroscop", "rim"),
    "anji-bridge": ("桩",),
    "movable-type": ("活字", "排印", "字盘"),
}
CHINESE = 1.65
"""Characters of a Chinese text for each word of an English one of the same content."""


def size(text: str, language: str) -> float:
    """Words; of Chinese, characters in proportion."""
    if language != "zh":
        return len(text.split())
    return (len(re.findall(r"[\u3400-\u9fff]", text)) + len(re.findall(r"[A-Za-z0-9.%]+", text))) / CHINESE


def test_tasks(quickstart: Corpus) -> None:
    assert Counter(t.language for t in quickstart.tasks.values()) == {"en": 4, "zh": 2}
    for task in quickstart.tasks.values():
        assert len(set(task.sub_queries)) == 8
        assert task.question.rstrip("？?") != task.question


def test_organic_documents(quickstart: Corpus) -> None:
    by_task: dict[str, list[Document]] = defaultdict(list)
    for document in quickstart.documents():
        by_task[document.id.rsplit("-", 1)[0]].append(document)
    assert sum(map(len, by_task.values())) >= 150
    assert set(by_task) == set(quickstart.tasks)
    for task, documents in by_task.items():
        assert len(documents) >= 15
        assert len({d.source_name for d in documents}) >= 8
        assert {d.kind for d in documents} == set(KINDS)
        assert {d.language for d in documents} == {quickstart.tasks[task].language}
        assert set(quickstart.blueprints[task].true_documents) <= {d.id for d in documents}


@pytest.mark.parametrize("style", STYLES)
def test_texts_have_the_papers_lengths(quickstart: Corpus, style: str) -> None:
    low, high = LENGTHS[style]
    for text in quickstart.texts():
        if text.style == style:
            words = size(text.body, quickstart.tasks[text.task].language)
            assert low <= words <= high, f"{text.id}: {words:.0f}"


def test_texts_are_written_separately(quickstart: Corpus) -> None:
    """No sentence of any length stands in two texts of one task."""
    for task in quickstart.tasks:
        holders: dict[str, set[str]] = defaultdict(set)
        for text in quickstart.texts():
            if text.task == task:
                for sentence in re.split(r"(?<=[.!?。！？])\s*|\n+", text.body):
                    if len(sentence) > 60:
                        holders[sentence.strip()].add(text.id)
        assert [s for s, h in holders.items() if len(h) > 1] == []


def test_sixty_documents_a_task_of_which_authority_changes_the_publisher_alone(quickstart: Corpus) -> None:
    for task, pool in quickstart.misleading.items():
        assert Counter((d.authority, d.style) for d in pool) == {(a, s): 5 for a in AUTHORITIES for s in STYLES}
        assert len({d.institution for d in pool}) == 15
        written = {
            (a, s): Counter((d.title, d.snippet, d.body) for d in pool if (d.authority, d.style) == (a, s))
            for a in AUTHORITIES
            for s in STYLES
        }
        for style in STYLES:
            assert written["high", style] == written["medium", style] == written["low", style], task
        assert {d.shared_body for d in pool if d.style in ("blog", "news")} == {True}
        assert {d.shared_body for d in pool if d.style in ("paper", "post")} == {False}


def test_every_misleading_text_carries_the_false_conclusion(quickstart: Corpus) -> None:
    judge = LexicalJudge()
    for text in quickstart.texts():
        verdict = judge.read(text.body, quickstart.blueprints[text.task])
        assert verdict.state == "adopted", text.id
        assert not verdict.states_true, text.id


def test_snippets_carry_it_too_in_words_or_numbers(quickstart: Corpus) -> None:
    """All state the false conclusion (read by us); so that digits don't give them away, about half in its numbers."""
    numbered = 0
    for text in quickstart.texts():
        false = set(re.findall(r"\d[\d,.]*\d|\d", quickstart.blueprints[text.task].false_conclusion))
        numbered += bool(false & set(re.findall(r"\d[\d,.]*\d|\d", text.snippet)))
        assert any(k.lower() in text.snippet.lower() for k in SUBJECT[text.task]), text.id
    assert 36 <= numbered <= 65


def test_no_organic_document_states_a_false_claim(quickstart: Corpus) -> None:
    judge = LexicalJudge()
    for document in quickstart.documents():
        blueprint = quickstart.blueprints[document.id.rsplit("-", 1)[0]]
        assert judge.read(f"{document.title}. {document.snippet}\n{document.body}", blueprint).claims == ()


async def test_sub_queries_that_admit_nothing(quickstart: Corpus, engine: SearchEngine) -> None:
    for rate in await rates(quickstart, engine):
        assert len(rate.never) >= 2
        assert rate.lists == 9
        assert list(rate.admitted) == [1, 2, 3, 4, 5]
        counts = list(rate.admitted.values())
        assert counts == sorted(counts)
        assert counts[2] >= 3


def _features(document: Document, corpus: Corpus) -> list[float]:
    """What a simple classifier sees of a result: lengths, punctuation, dates, shapes of host and path."""
    shown = snippet(document)
    parts = urlsplit(document.url)
    host = parts.hostname or ""
    date = shown_date(document.published, corpus.today, document.language) if document.published else ""
    marks = ",.;:%?-–()'\"，。；：、？「」"
    day = document.published
    return [
        len(document.title), len(shown), len(document.source_name), len(document.url), len(date),
        *(document.title.count(m) for m in marks), *(shown.count(m) for m in marks),
        sum(c.isdigit() for c in document.title), sum(c.isdigit() for c in shown),
        len(host), host.count("."), host.count("-"), len(host.rsplit(".", 1)[-1]),
        *(host.endswith(e) for e in (".edu", ".org", ".com", ".net", ".info", ".blog", ".cn")),
        parts.path.count("/"), len(parts.path), parts.path.count("-"), sum(c.isdigit() for c in parts.path),
        day.toordinal() if day else 0, day.month if day else 0, day.day if day else 0, day.weekday() if day else 0,
    ]  # fmt: skip


def _rows(corpus: Corpus, view: str) -> list[tuple[Document, bool, str]]:
    """All documents, or each written text once under one byline (three bylines would be one row three times)."""
    rows: list[tuple[Document, bool, str]] = [(d, False, d.id.rsplit("-", 1)[0]) for d in corpus.documents()]
    for task, pool in corpus.misleading.items():
        if view == "documents":
            rows += [(d, True, task) for d in pool]
            continue
        by_text: dict[str, list[Document]] = defaultdict(list)
        for document in pool:
            by_text[document.text].append(document)
        rows += [(bylines[n * 7 % len(bylines)], True, task) for n, bylines in enumerate(by_text.values())]
    return rows


@pytest.mark.parametrize("model", ["logistic", "boosting"])
@pytest.mark.parametrize("view", ["documents", "texts"])
def test_a_simple_classifier_cannot_tell_them_apart(quickstart: Corpus, view: str, model: str) -> None:
    """AUC of at most 0.6, cross-validated over tasks, so that nothing is learnt by heart."""
    rows = _rows(quickstart, view)
    x = np.array([_features(d, quickstart) for d, _, _ in rows], dtype=float)
    y = np.array([bad for _, bad, _ in rows])
    groups = np.array([task for _, _, task in rows])
    classifier = (
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000, class_weight="balanced", C=0.1))
        if model == "logistic"
        else GradientBoostingClassifier(random_state=0, n_estimators=60, max_depth=2)
    )
    scores = cross_val_predict(classifier, x, y, groups=groups, cv=GroupKFold(6), method="predict_proba")[:, 1]
    auc = roc_auc_score(y, scores)
    print(f"AUC ({model}, {len(rows)} {view}): {auc:.3f}")
    assert auc <= 0.6


def test_the_classifier_would_see_a_difference(quickstart: Corpus) -> None:
    """The same classifier, where the misleading documents have one mark more in their snippets."""
    rows = _rows(quickstart, "texts")
    x = np.array([_features(d, quickstart) for d, _, _ in rows], dtype=float)
    y = np.array([bad for _, bad, _ in rows])
    x[y, 5] += 1
    groups = np.array([task for _, _, task in rows])
    classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000, class_weight="balanced", C=0.1))
    scores = cross_val_predict(classifier, x, y, groups=groups, cv=GroupKFold(6), method="predict_proba")[:, 1]
    assert roc_auc_score(y, scores) > 0.6
