from __future__ import annotations

from searchsim.documents import Document
from searchsim.scoring.exposure import citations, exposure, observation
from searchsim.trace import Event

EVENTS: list[Event] = [
    {"event": "search", "list": 1, "displaced": ["o9"],
     "served": [{"document": "o1", "injected": False}, {"document": "m1", "injected": True}]},
    {"event": "search", "list": 1, "displaced": ["o9"], "served": [{"document": "m1", "injected": True}]},
    {"event": "search", "list": 2, "displaced": [], "served": [{"document": "o2", "injected": False}]},
    {"event": "page", "document": "m2", "injected": True},
    {"event": "page", "document": None, "injected": False},
    {"event": "model", "delivered": ["m1", "o1"], "usage": {"total_tokens": 18}},
    {"event": "model", "delivered": [], "usage": {}},
    {"event": "fault", "planned": False},
    {"event": "fault", "planned": True},
    {"event": "refused"},
]  # fmt: skip


def test_observation() -> None:
    seen = observation(EVENTS)
    assert (seen.searches, seen.lists, seen.pages, seen.models, seen.tokens) == (3, 2, 2, 2, 18)
    assert seen.injected == {1: ["m1"]}
    assert seen.displaced == {1: ["o9"]}
    assert (seen.faults, seen.refused) == (1, 1)


def test_five_marginals_and_no_funnel() -> None:
    urls = {"m1": "https://a.org/1", "m2": "https://a.org/2", "m3": "https://www.a.org/3/"}
    pool = [
        Document(id=i, url=u, title=f"Title of {i}", body="Body.", source_name="S", kind="paper", language="en")
        for i, u in urls.items()
    ]
    got = exposure(EVENTS, pool, "See [3](http://a.org/3?utm_source=x) for more.")
    assert got.served == ["m1", "m2"]
    assert got.delivered == ["m1"]
    assert got.opened == ["m2"]
    assert got.cited == ["m3"], "cited, though never served"
    assert exposure(EVENTS, pool).cited is None


def test_citations_of_usual_kinds() -> None:
    report = (
        "Inline [a](https://a.org/x_(1)), bare https://b.org/y. 中文（https://c.org/z）。 <https://d.org/w>\n"
        "[1] Title. https://e.org/v?q=1&r=2,\n[1] again https://b.org/y"
    )
    assert citations(report) == [
        "https://a.org/x_(1)", "https://b.org/y", "https://c.org/z", "https://d.org/w", "https://e.org/v?q=1&r=2",
    ]  # fmt: skip


def test_a_document_is_cited_by_its_title_too() -> None:
    pool = [
        Document(id=i, url=f"https://a.org/{i}", title=t, body="B.", source_name="S", kind="paper", language="en")
        for i, t in (
            ("whole", "Gyroscopic Torque in Steady-State Riding"),
            ("short", "Bicycle stability"),
            ("part", "Gyroscopic Torque in Steady-State Riding and Braking"),
            ("chinese", "赵州桥桥台木桩的年代测定"),
        )
    ]
    report = "See “Gyroscopic torque in  steady-state riding”, on bicycle stability; 另见《赵州桥桥台木桩的年代测定》。"
    assert exposure([], pool, report).cited == ["whole", "chinese"]


def test_searches_after_the_first_injected_list() -> None:
    def listed(number: int, injected: bool) -> Event:
        return {"event": "search", "list": number, "displaced": [], "served": [{"document": "m", "injected": injected}]}

    assert observation([listed(1, False)]).searches_after_injection is None
    events = [listed(1, False), listed(2, True), listed(3, False), listed(3, False), listed(4, True)]
    assert observation(events).searches_after_injection == 2, "distinct lists; a repeat is none"


def test_an_address_of_the_same_paper_cites_it() -> None:
    paper = Document(
        id="p",
        url="https://arxiv.org/abs/2401.00001",
        title="T",
        body="B",
        source_name="S",
        kind="paper",
        language="en",
    )
    assert exposure([], [paper], "See https://arxiv.org/pdf/2401.00001v2.").cited == ["p"]
