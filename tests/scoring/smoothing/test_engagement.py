"""Which cited links were opened, of runs and of any report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from searchsim import records, trace
from searchsim.cli.score import score_app
from searchsim.documents import faults_in
from searchsim.errors import UsageError
from searchsim.records import Record
from searchsim.reproduce.synthetic import synthetic_record
from searchsim.scoring.smoothing.engagement import Engagement, Links, engagement, of_report, of_run, read_trace, table
from searchsim.study.matrix import PlannedRun

REPORT = """# On bridges

They hold [1], as [others](https://arxiv.org/pdf/2401.00001v2) say too [2].

## References

[1] A survey. https://www.example.org/survey/?utm_source=agent
[2] A proof. doi:10.1234/ABC.5
[3] A book that has no address.
"""


def page(url: str, **more: Any) -> dict[str, Any]:
    return {"event": "page", "url": url, **more}


def run(
    task: str,
    report: str,
    fetches: list[tuple[str, str | None]],
    *,
    citations: dict[str, str | None] | None = None,
    agent: str = "planner",
    status: str = "valid",
) -> Record:
    planned = PlannedRun(
        run=f"{agent}/m/default/{task}/1",
        agent=agent,
        model="m",
        task=task,
        language="en",
        label="default",
        condition={"budget": 3},
        control=False,
        repetition=1,
    )
    record = synthetic_record(planned, adopted=False, status=status)
    record["report"] = report
    record["fetches"] = [
        {
            "at": "now",
            "url": url,
            "canonical": url,
            "document": document,
            "found": document is not None,
            "injected": False,
        }
        for url, document in fetches
    ]
    record["citations"] = [
        {"url": url, "canonical": url, "document": document, "injected": False, "by": "url"}
        for url, document in (citations or {}).items()
    ]
    assert records.check(record) == []
    return record


def test_a_report_by_hand() -> None:
    pages = [
        page("https://example.org/survey#methods"),
        page("https://arxiv.org/abs/2401.00001"),
        page("https://doi.org/10.1234/abc.5", found=False),
        page("https://elsewhere.example/"),
    ]
    found = of_report("bridges.md", REPORT, pages)
    assert found.cited == {"example.org/survey", "arxiv.org/abs/2401.00001", "doi.org/10.1234/abc.5"}
    assert found.opened == {"example.org/survey", "arxiv.org/abs/2401.00001"}
    assert engagement([found]).record() == {"cited": 3, "opened": 2, "share": pytest.approx(2 / 3)}


def test_a_citation_with_two_addresses_is_one_link() -> None:
    report = "So it is [1].\n\n## References\n\n[1] A. https://example.org/a doi:10.1234/a\n"
    for opened in ("https://example.org/a", "https://doi.org/10.1234/a"):
        found = of_report("r", report, [page(opened)])
        assert (len(found.cited), found.opened) == (1, found.cited)


def test_nothing_cited_is_no_share() -> None:
    found = engagement([of_report("r", "Nothing is cited here [1].", [page("https://a.example/")])])
    assert found == Engagement(0, 0)
    assert found.share is None


def test_a_run_opens_by_url_or_by_document() -> None:
    report = "See https://a.example/1, https://b.example/2, https://c.example/3 and https://d.example/4 too."
    record = run(
        "t",
        report,
        [("https://www.a.example/1/", "d1"), ("https://mirror.example/2", "d2"), ("https://c.example/3", None)],
        citations={"https://a.example/1": "d1", "https://b.example/2": "d2", "https://c.example/3": None},
    )
    found = of_run(record)
    assert (found.report, found.system, found.dataset) == ("planner/m/default/t/1", "planner/m/default", "synthetic")
    assert len(found.cited) == 4
    # What wasn't found gave no text.
    assert found.opened == {"a.example/1", "b.example/2"}


def test_each_link_counts_once_a_dataset() -> None:
    links = [
        Links(report="1", system="x", dataset="d", cited=frozenset("ab"), opened=frozenset()),
        Links(report="2", system="x", dataset="d", cited=frozenset("bc"), opened=frozenset("b")),
        Links(report="3", system="x", dataset="d", cited=frozenset(), opened=frozenset()),
        Links(report="1", system="x", dataset="e", cited=frozenset("a"), opened=frozenset("a")),
        Links(report="1", system="y", dataset="d", cited=frozenset("a"), opened=frozenset()),
    ]
    found = table(links)
    cells = {(c.pop("dataset"), c.pop("system")): c for c in found["cells"]}
    assert cells == {
        ("d", "x"): {"reports": 3, "citing": 2, "opening": 1, "cited": 3, "opened": 1, "share": pytest.approx(1 / 3)},
        ("e", "x"): {"reports": 1, "citing": 1, "opening": 1, "cited": 1, "opened": 1, "share": 1.0},
        ("d", "y"): {"reports": 1, "citing": 1, "opening": 0, "cited": 1, "opened": 0, "share": 0.0},
    }
    assert [r["share"] for r in found["reports"]] == [0, 0.5, None, 1, 0]


def cites(name: str, text: str, *opened: str) -> Links:
    report = f"So it is [1].\n\n## References\n\n[1] A. {text}\n"
    return of_report(name, report, [page(url) for url in opened])


def test_links_that_share_an_address_are_one_link() -> None:
    """Reports name one paper by its DOI, by its preprint, or by both."""
    doi, preprint = "https://doi.org/10.1234/x", "https://arxiv.org/abs/2401.00001"
    both, one, other = cites("a", f"{doi} {preprint}"), cites("b", preprint, preprint), cites("c", doi)
    assert engagement([both, one]) == engagement([one, both]) == Engagement(1, 1)
    assert engagement([both, one, other]) == Engagement(1, 1)
    assert engagement([one, other]) == Engagement(1, 2), "nobody says that they are one"
    assert [r["cited"] for r in table([both, one, other])["reports"]] == [1, 1, 1]
    chain = cites("d", f"{doi} https://a.example/")
    assert engagement([both, one, chain, cites("e", "https://a.example/")]) == Engagement(1, 1)


LINK = st.frozensets(st.sampled_from("abcdef"))


@given(st.lists(st.tuples(LINK, LINK), max_size=6))
def test_engagement_is_a_share(pairs: list[tuple[frozenset[str], frozenset[str]]]) -> None:
    links = [Links(report=str(i), cited=c, opened=o) for i, (c, o) in enumerate(pairs)]
    found = engagement(links)
    assert 0 <= found.opened <= found.cited <= 6
    assert (found.share is None) == (found.cited == 0)
    # A report told twice says nothing new, and the order of reports nothing at all.
    assert engagement([*links, *links]) == engagement(links[::-1]) == found


def test_a_worlds_own_events_are_a_trace() -> None:
    event = trace.page(dialect="page", url="https://a.example/", document="d1", injected=False)
    assert faults_in("trace", event) == []
    assert faults_in("trace", trace.refused(host="a.example", url="https://a.example/")) == []


def written(path: Path, *lines: Any) -> Path:
    path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    return path


def test_a_trace_of_several_reports(tmp_path: Path) -> None:
    events = (
        {"event": "search", "query": "q"},
        page("https://a.example/", report="a.md"),
        page("https://b.example/", report="b.md"),
        page("https://c.example/", report="c.md"),
    )
    found = read_trace(written(tmp_path / "t.jsonl", *events), ["a.md", "b.md"])
    assert {name: [e["url"] for e in pages] for name, pages in found.items()} == {
        "a.md": ["https://a.example/"],
        "b.md": ["https://b.example/"],
    }


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"event": "page"}, "t.jsonl:1: url"),
        ({"url": "https://a.example/"}, "t.jsonl:1: event"),
        ({"event": "page", "url": "https://a.example/", "found": "yes"}, "t.jsonl:1: found"),
        (["page"], "t.jsonl:1: "),
        ({"event": "page", "url": "https://a.example/"}, "t.jsonl:1: with several reports"),
    ],
)
def test_a_trace_that_isnt_sound(tmp_path: Path, line: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_trace(written(tmp_path / "t.jsonl", line), ["a.md", "b.md"])


def test_a_trace_that_isnt_json_or_isnt_there(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with pytest.raises(UsageError, match="no such file"):
        read_trace(path, ["a.md"])
    path.write_text('\n{"event": "search"}\n{event: page}\n')
    with pytest.raises(UsageError, match=r"t\.jsonl:3: not a JSON value"):
        read_trace(path, ["a.md"])


def asked(*arguments: object) -> Any:
    result = CliRunner().invoke(score_app, ["engagement", *map(str, arguments), "--json"])
    assert result.exit_code == 0, result.output
    return orjson.loads(result.stdout)


def test_the_command_on_runs(tmp_path: Path) -> None:
    runs = tmp_path / "runs.jsonl"
    opened, unopened = run("a", "https://a.example/", [("https://a.example/", "d")]), run("b", "https://b.example/", [])
    broken = run("c", "https://c.example/", [], status="invalid")
    records.write(runs, [opened, unopened, broken])
    found = asked(runs)
    assert [(c["dataset"], c["system"], c["reports"], c["cited"], c["opened"]) for c in found["cells"]] == [
        ("synthetic", "planner/m/default", 2, 2, 1)
    ]
    assert found["left_out"] == 1
    shown = CliRunner().invoke(score_app, ["engagement", str(runs)]).stdout
    assert "50.0 %" in shown
    assert "1 runs that aren't valid are left out" in shown


def test_the_command_on_reports(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(REPORT)
    (tmp_path / "b.md").write_text("See https://example.org/survey and https://b.example/.")
    events = (page("https://b.example/", report="b.md"), page("https://example.org/survey", report="a.md"))
    trace_file = written(tmp_path / "t.jsonl", *events)
    found = asked(tmp_path / "a.md", tmp_path / "b.md", "--trace", trace_file)
    assert [(r["report"], r["cited"], r["opened"]) for r in found["reports"]] == [("a.md", 3, 1), ("b.md", 2, 1)]
    assert [(c["cited"], c["opened"]) for c in found["cells"]] == [(4, 2)]
    arguments = ["engagement", str(tmp_path / "a.md"), str(tmp_path / "b.md"), "--trace", str(trace_file)]
    shown = CliRunner().invoke(score_app, arguments).stdout
    assert "all, each link once" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.md"], "give --trace FILE"),
        (["runs.jsonl", "--trace", "t.jsonl"], "need no --trace"),
        (["runs.jsonl", "a.md"], "run records stand alone"),
        (["a.md", "a.md", "--trace", "t.jsonl"], "two reports are called a.md"),
        (["missing.md", "--trace", "t.jsonl"], "no report that can be read"),
    ],
)
def test_what_the_command_cant_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.md").write_text(REPORT)
    written(Path("t.jsonl"), page("https://a.example/"))
    result = CliRunner().invoke(score_app, ["engagement", *arguments])
    assert isinstance(result.exception, UsageError)
    assert message in str(result.exception)
