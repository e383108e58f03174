"""Judges measured against labels: the arithmetic, and that the labels are there."""

from __future__ import annotations

from collections import Counter

from searchsim.corpus import Corpus
from searchsim.documents import Excerpt
from searchsim.judge import LexicalJudge, Verdict
from searchsim.scoring.agreement import Judged, agreement, judge_excerpts


def judged(adopts: bool, said: str, *, part: str = "open", kind: str = "endorsed", true: bool | None = None) -> Judged:
    excerpt = Excerpt(
        id="x", task="t", language="en", kind=kind, set=part, text="t", adopts=adopts, claims=(), states_true=True
    )
    return Judged(excerpt, Verdict(state=said, judge="j", demonstration=True, states_true=true))  # type: ignore[arg-type]


def test_silence_never_helps() -> None:
    items = [judged(True, "adopted"), judged(True, "unjudged"), judged(False, "not_adopted"), judged(False, "unjudged")]
    row = agreement(items)[0]
    assert (row["group"], row["n"], row["adopting"], row["unjudged"]) == ("open", 4, 2, 2)
    assert (row["exact"], row["sensitivity"], row["specificity"]) == (0.5, 0.5, 0.5)
    assert row["states_true"] is None


def test_a_perfect_judge() -> None:
    items = [judged(True, "adopted", true=True), judged(False, "not_adopted", kind="quoted", true=False)] * 3
    rows = {r["group"]: r for r in agreement(items)}
    assert set(rows) == {"open", "open, en", "open, endorsed", "open, quoted"}
    assert (rows["open"]["exact"], rows["open"]["kappa"], rows["open"]["states_true"]) == (1.0, 1.0, 0.5)
    assert rows["open, quoted"]["sensitivity"] is None
    low, high = rows["open"]["sensitivity_interval"]
    assert 0.4 < low < high == 1.0


def test_the_shipped_labels(quickstart: Corpus) -> None:
    excerpts = list(quickstart.excerpts())
    assert len(excerpts) >= 80
    assert sum(e.set == "held_out" for e in excerpts) >= 30
    assert {e.kind for e in excerpts} == {"endorsed", "quoted", "hedged", "refuted", "attributed"}
    assert min(Counter(e.language for e in excerpts).values()) >= 20
    assert {e.task for e in excerpts} == set(quickstart.blueprints)


async def test_the_lexical_judge_reads_all_of_them(quickstart: Corpus) -> None:
    found = await judge_excerpts(LexicalJudge(), quickstart.excerpts(), quickstart.blueprints, {})
    assert all(j.verdict.state != "unjudged" for j in found)
    assert {j.verdict.state for j in found} == {"adopted", "not_adopted"}
