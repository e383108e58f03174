"""The view of a scored report, and the scores in a study's report."""

from __future__ import annotations

import asyncio
import copy
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner

from searchsim import report
from searchsim.cli.study import study_app
from searchsim.corpus import load
from searchsim.errors import UsageError
from searchsim.records import Record
from searchsim.report.annotated import blocks
from searchsim.report.smoothing import render
from searchsim.scoring.smoothing.prompts import PATTERNS, RUBRIC
from searchsim.study.ledger import Ledger, RunLog
from searchsim.study.matrix import Plan
from searchsim.urls import cited_url
from tests.report.html import Node, parse
from tests.report.made import CANARY, SCRIPT, Study, study
from tests.report.scored import LEFT_OUT, QUESTION, TEXT, TOWELS, scored_report
from tests.scoring.smoothing.scored_reports import smoothing_record
from tests.scoring.smoothing.scripted import REPORT, ScriptedReader, write_documents
from tests.scripted import ScriptedModel


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return scored_report(tmp_path_factory.mktemp("scored") / "pages")


@pytest.fixture(scope="module")
def text(record: dict[str, Any]) -> str:
    return render(record, CANARY, injected=[LEFT_OUT])


@pytest.fixture(scope="module")
def page(text: str) -> Node:
    return parse(text)[0]


def folded(text: str) -> str:
    return " ".join(text.split())


def without(node: Node, *classes: str) -> str:
    """A node's text but for elements of some classes."""
    parts = []
    for part in node.parts:
        if isinstance(part, str):
            parts.append(part)
        elif not any(part.has({"class_": c}) for c in classes):
            parts.append(without(part, *classes))
    return "".join(parts)


def sound(page: Node, text: str, *leading: str) -> None:
    """Nothing is fetched or run, every link leads somewhere, and a reader finds the way by headings and captions."""
    ids = Counter(str(n.attributes["id"]) for n in page.all() if "id" in n.attributes)
    assert [i for i, count in ids.items() if count > 1] == []
    for node in page.all():
        assert node.tag not in ("script", "link", "iframe", "object", "embed", "img", "base", "form")
        for name, value in node.attributes.items():
            assert not name.startswith("on"), name
            assert name not in ("src", "srcset", "action", "data", "poster")
            assert "url(" not in (value or "").replace("url(#", "")
            if name == "href" and not str(value).startswith(leading or "\0"):
                assert str(value).startswith("#") and str(value)[1:] in ids, value
    for style in page.all("style"):
        assert "url(" not in style.text and "@import" not in style.text
    assert SCRIPT not in text
    assert "http-equiv" not in text
    levels = [int(n.tag[1]) for n in page.all() if re.fullmatch("h[1-6]", n.tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    for number, table in enumerate(page.all("table"), start=1):
        assert table.one("caption").text.startswith(f"Table {number}. ")
        assert all("scope" in th.attributes for th in table.all("th"))
    defined = set(re.findall(r"(--[a-z0-9-]+):", text))
    assert set(re.findall(r"var\((--[a-z0-9-]+)\)", text)) <= defined


def test_a_page_that_needs_nothing_else(page: Node, text: str) -> None:
    sound(page, text)
    assert page.one("html").attributes["lang"] == "en"
    assert parse(text)[1] == [CANARY]
    assert parse(render(smoothing_record("a", "Text.", [3])))[1] == []


def test_the_same_record_gives_the_same_bytes(record: dict[str, Any], text: str) -> None:
    before = copy.deepcopy(record)
    assert render(record, CANARY, injected=[LEFT_OUT]) == text
    assert record == before


def test_what_it_is_and_what_it_comes_to(page: Node) -> None:
    assert page.one("h1").text == "bread <1>.md"
    assert page.one("p", class_="ask").text == QUESTION
    assert page.one("div", id="demonstration").text.endswith("model scripted is a toy or a stand-in")
    assert page.one("div", id="left-out").text.startswith("Not all that it cites: 1 document left out on purpose")
    lead = page.one("p", class_="lead").text
    assert lead.startswith("2.50 on average over 2 scored claims: 50 % at 3 or more, 50 % at 4 or more.")
    assert "1 unscored. 1 unjudged. 7 documents cited, 3 resolved" in lead
    rows = page.one("table", id="table-scores").rows()[1:]
    assert [(r[0], r[1], r[2], r[3]) for r in rows] == [
        (str(score), means, str(n), share)
        for (score, means), n, share in zip(
            RUBRIC.items(), (1, 0, 0, 1, 0), ("50 %", "0 %", "0 %", "50 %", "0 %"), strict=True
        )
    ]
    for name, means in PATTERNS.items():
        assert f"{name.replace('_', ' ')} {means}" in page.one("section", id="scores").text


def test_claims_by_score_with_the_reason_where_there_is_none(page: Node, record: dict[str, Any]) -> None:
    rows = page.one("table", id="table-list").rows()[1:]
    assert [r[0] for r in rows] == ["4", "1", "unscored", "unjudged"]
    for row, id_ in zip(rows, ("c1", "c2", "c3", "c4"), strict=True):
        claim = next(c for c in record["claims"] if c["id"] == id_)
        assert row[1].startswith(f"{id_} {claim['text']}")
        assert claim["reason"] in row[1]
    assert rows[0][1].endswith("needs substantial revision scope expansion3 supporting, 3 countervailing")
    other = copy.deepcopy(record)
    other["claims"].reverse()
    again = parse(render(other))[0].one("table", id="table-list").rows()[1:]
    assert [r[0] for r in again[:2]] == ["4", "1"]


def test_the_reports_text_is_whole_with_its_claims_marked(page: Node, record: dict[str, Any]) -> None:
    blocks_ = list(page.one("section", id="report").all("p", class_="text"))
    assert folded(" ".join(without(b, "ref", "cites") for b in blocks_)) == folded(TEXT)
    marks = [folded(without(m, "ref", "cites")) for b in blocks_ for m in b.all("mark")]
    places = [folded(TEXT[a:b]) for c in record["claims"] for a, b in c["places"]]
    assert sorted(marks) == sorted(places)
    assert [m.attributes["class"] for b in blocks_ for m in b.all("mark")] == ["s4", "s4", "s1", "s0", "s0"]
    refs = [(r.text, r.attributes["href"]) for b in blocks_ for r in b.all("a", class_="ref")]
    assert refs == [
        ("c1: 4", "#c1"), ("c1: 4", "#c1"), ("c2: 1", "#c2"), ("c3: no score", "#c3"), ("c4: no score", "#c4"),
    ]  # fmt: skip
    heads = [b.text for b in blocks_ if b.has({"class_": "head"})]
    assert heads == ["# Do wet towels keep bread & butter fresh?", "## References"]


def test_the_score_is_at_the_side_of_its_claim(page: Node) -> None:
    grid = next(page.one("section", id="report").all("div", class_="annotated"))
    beside = {
        text.text: [li.text for li in after.all("li")]
        for text, after in pairwise(p for p in grid.parts if isinstance(p, Node))
        if after.tag == "ul"
    }
    assert list(beside.values()) == [
        ["4 c1 needs substantial revision scope expansion"],
        ["4 c1 needs substantial revision scope expansion", "1 c2 faithful scope expansion"],
        ["unscored c3", "unjudged c4"],
    ]


def test_citations_lead_to_the_documents(page: Node, record: dict[str, Any]) -> None:
    section = page.one("section", id="report")
    led = {(a.text, str(a.attributes["href"])) for a in section.all("a", class_="cite")}
    assert led == {
        ("[1]", "#d1"), ("[2]", "#d2"), ("https://bread.example/nowhere", "#d3"), ("[3]", "#d4"), ("[4]", "#d5"), ("[6]", "#d6"),
    }  # fmt: skip
    assert [s.text for s in section.all("span", class_="cites")] == ["d1 d2"]
    anchors = {str(n.attributes["id"]) for n in section.all("span") if "id" in n.attributes}
    cited = [d["id"] for d in record["documents"] if d["marks"]]
    assert anchors == {f"at-{id_}" for id_ in (*cited, "c1", "c2", "c3", "c4")}


def test_a_claim_with_all_that_is_said_of_it(page: Node, record: dict[str, Any]) -> None:
    for claim in record["claims"]:
        article = page.one("article", id=claim["id"])
        assert article.one("p", class_="says").text == claim["text"]
        for told in ("direction", "confidence", "scope"):
            assert claim[told] in article.one("dl", class_="facts").text
        assert ("; ".join(claim["qualifications"]) or "none") in article.one("dl", class_="facts").text
        for document in claim["cites"]:
            assert f"#{document}" in {a.attributes["href"] for a in article.one("dl", class_="facts").all("a")}
        assert claim["reason"] in article.text
        judged = list(article.all("dl", class_="judge"))
        assert len(judged) == (claim["judgement"] is not None)
        for text in (
            [claim["judgement"][k] for k in ("takeaway", "objections", "resolution", "repair", "role")]
            if judged
            else ()
        ):
            assert text in [dd.text for dd in judged[0].all("dd")]
    assert page.one("h3", id="c1-title").text == "Claim c1 4 needs substantial revision"
    assert page.one("h3", id="c3-title").text == "Claim c3 unscored"
    assert "Unscored: none of what it rests on" in page.one("article", id="c3").text
    assert "Unjudged: the judge:" in page.one("article", id="c4").text
    assert "2 quotes dropped: not in their document" in page.one("article", id="c1").text


def test_what_was_missing_and_what_was_left_out_is_told_of_a_claim(record: dict[str, Any]) -> None:
    first, *others = record["claims"]
    counts = {**first["counts"], "own": {"documents": 5, "missing": 3}, "unshown": {"proposals": 0, "judge": 1}}
    page = parse(render({**record, "claims": [{**first, "counts": counts}, *others]}))[0]
    text = page.one("article", id="c1").text
    assert "3 documents that it rests on missing" in text
    assert "1 quote left out for want of room before the judge" in text


def test_aspects_are_a_tree_with_the_quotes_facing_each_other(page: Node, record: dict[str, Any]) -> None:
    documents = {d["id"]: d for d in record["documents"]}
    for claim in record["claims"]:
        article = page.one("article", id=claim["id"])
        found: dict[str, tuple[str, str | None]] = {}

        def walk(tree: Node, parent: str | None, into: dict[str, tuple[str, str | None]]) -> None:
            for li in tree.children("li"):
                details = li.children("details")[0]
                title = details.children("summary")[0].text
                name = title.split()[0] if title.startswith("A") else ""
                if name:
                    aspect = next(a for a in claim["aspects"] if a["id"] == name)  # noqa: B023
                    assert aspect["parent"] == parent
                    assert aspect["name"] in title
                    for proposal in aspect["proposals"]:
                        assert f"{proposal['document']} as “{proposal['name']}”" in details.text
                for sides in details.children("div"):
                    both = sides.children("div")
                    assert [b.one("p", class_="name").text.split()[0] for b in both] == ["Supporting", "Countervailing"]
                    for side, stance in zip(both, ("support", "skeptic"), strict=True):
                        assert side.has({"class_": stance})
                        into.update({str(e.attributes["id"]): (stance, name or None) for e in side.all("li")})
                for below in details.children("ul"):
                    walk(below, name, into)

        for tree in article.children("ul"):
            walk(tree, None, found)
        assert found == {f"{claim['id']}-{e['id']}": (e["stance"], e["aspect"]) for e in claim["evidence"]}
        for item in claim["evidence"]:
            quote = article.one("li", id=f"{claim['id']}-{item['id']}")
            assert quote.one("blockquote").text == folded(item["quote"])
            assert str(quote.one("a").attributes["href"]) == f"#{item['document']}"
            for told in (
                item["note"], item["kind"], item["strength"], f"characters {item['start']}–{item['end']}",
                f"read as “{item['label']}”", documents[item["document"]]["title"],
            ):  # fmt: skip
                assert told in quote.text
    assert "Of no aspect 0 supporting, 1 countervailing" in page.one("article", id="c1").text


def test_every_cited_document_with_its_state_and_its_address_as_text(page: Node, record: dict[str, Any]) -> None:
    assert [str(li.attributes["id"]) for li in page.one("ol", class_="docs").all("li")] == [
        f"d{n}" for n in range(1, 8)
    ]
    for document in record["documents"]:
        li = page.one("li", id=document["id"])
        assert li.one("span", class_="st").text == document["state"].replace("_", " ")
        for told in (document["title"], document["url"], document["reason"], document["source"], *document["labels"]):
            assert (told or "") in li.text
        assert {str(a.attributes["href"])[:2] for a in li.all("a")} <= {"#a", "#c"}, "addresses aren't linked"
    assert f"Text from 2.txt: {len(TOWELS)} characters" in page.one("li", id="d1").text
    assert "cited 3 times in the text, beside c1, c4" in page.one("li", id="d1").text
    assert "cited nowhere in the text" in page.one("li", id="d7").text
    marked = [li for li in page.one("ol", class_="docs").all("li") if list(li.all("b", class_="inj"))]
    assert [li.attributes["id"] for li in marked] == ["d6"]


def test_what_is_missing_is_counted_and_shown(page: Node, record: dict[str, Any]) -> None:
    section = page.one("section", id="missing")
    counted = {row[1]: row[0] for row in section.one("table").rows() if len(row) == 2}
    counts = record["counts"]
    for words, count in (
        ("no text of theirs could be had", counts["documents"]["unresolved"]),
        ("left out on purpose", 1),
        ("in the list of references alone", 1),
        ("unscored", 1),
        ("unjudged", 1),
        ("none of their sentences stands in the report", 1),
        ("don’t stand in their document", counts["evidence"]["not_in_document"]),
        ("seen in two overlapping pieces", 0),
        ("pieces of the report, of 1,", 0),
    ):
        assert [n for what, n in counted.items() if words in what] == [str(count)], words
    assert counts["evidence"]["not_in_document"] > 0
    for document in record["documents"]:
        if document["state"] != "resolved":
            assert f"{document['id']} {document['title'] or document['url']}: {document['reason']}" in section.text


def test_the_instrument_and_the_cost(page: Node, record: dict[str, Any]) -> None:
    how = page.one("section", id="how").text
    who = record["identity"]
    for told in (who["version"], who["sha256"], record["report"]["sha256"], "16,000 tokens a piece, 800 shared"):
        assert told in how
    assert f"searchsim {record['versions']['searchsim']}" in how
    rows = {r[0]: r for r in page.one("table", id="table-usage").rows()}
    for step, used in [*record["usage"]["steps"].items(), ("all", record["usage"])]:
        assert rows[step][1] == str(used["calls"])
        assert rows[step][7:9] == [f"{used['prompt_tokens']:,}", f"{used['completion_tokens']:,}"]
    assert who["prompts"]["judge"][:12] in rows["judge"][9]


def test_a_record_of_another_version_has_no_rubric_of_ours(record: dict[str, Any]) -> None:
    other = copy.deepcopy(record)
    other["identity"]["version"] = "smoothing-0"
    text = render(other)
    assert "What the scores of version smoothing-0 mean isn’t known" in text
    assert not any(means in text for means in (*RUBRIC.values(), *PATTERNS.values(), "needs substantial revision"))
    sound(parse(text)[0], text)


def test_a_report_without_claims_and_one_that_cites_nothing() -> None:
    record = smoothing_record("bare", "Text.", [])
    record["counts"]["report"] = {"pieces": 1, "unread": 1}
    record["faults"] = ["the answer can’t be <used>"]
    text = render(record)
    page, _ = parse(text)
    sound(page, text)
    assert "No claim has a score." in page.one("section", id="scores").text
    assert "1 of 1 pieces of the report couldn’t be read" in page.one("section", id="list").text
    assert "The report cites nothing." in page.one("section", id="documents").text
    assert "the answer can’t be <used>" in page.one("section", id="missing").text


def test_a_large_report_is_closed_and_leads_to_its_quotes_all_the_same(record: dict[str, Any]) -> None:
    small = parse(render(record))[0]
    assert all("open" in d.attributes for d in small.one("section", id="claims").all("details"))
    assert small.one("body").has({"class_": "printed"})
    item = record["claims"][0]["evidence"][0]
    proposals = [{"document": "d1", "name": f"name {n}"} for n in range(20)]
    for count, printed in ((200, True), (700, False)):
        large = copy.deepcopy(record)
        large["claims"][0]["evidence"] = [{**item, "id": f"e{n}"} for n in range(1, count)]
        large["claims"][0]["aspects"][0]["proposals"] = proposals
        page, _ = parse(render(large))
        assert not any("open" in d.attributes for d in page.one("section", id="claims").all("details"))
        assert page.one("body").has({"class_": "printed"}) is printed
        assert f"A1 How long {count - 1} supporting, 0 countervailing" in page.one("article", id="c1").text
        assert len(list(page.one("article", id="c1").all("blockquote"))) == count - 1
        assert "Proposed by 3 documents" in [s.text for s in page.one("article", id="c1").all("summary")]


@pytest.mark.parametrize("corpus", [False, True], ids=["a folder", "a corpus"])
async def test_the_command_writes_a_page(
    corpus: bool, scripted_model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    scripted_model.say = ScriptedReader().serve
    monkeypatch.setenv("UPSTREAM_API_KEY", "scripted-key")
    (tmp_path / "bread.md").write_text(REPORT, "utf-8")
    pages = "quickstart" if corpus else str(write_documents(tmp_path / "pages"))
    asked = [
        "score", "smoothing", str(tmp_path / "bread.md"), "--documents", pages, "--cache", str(tmp_path / "kept.sqlite"),
        "--model", "scripted", "--upstream", f"{scripted_model.url}/v1", "--json", "--html",
    ]  # fmt: skip

    async def command(html: Path) -> tuple[int | None, str, str]:
        # A process of its own: its model's connections end with it.
        arguments = [sys.executable, "-m", "searchsim.cli", *asked, str(html)]
        process = await asyncio.create_subprocess_exec(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, err = await process.communicate()
        return process.returncode, out.decode(), err.decode()

    html = tmp_path / "out.html"
    code, out, err = await command(html)
    assert code == 0, err
    made = orjson.loads(out)
    assert html.read_text("utf-8") == render(made, load("quickstart").canary if corpus else "")
    assert [c["state"] for c in made["claims"]] == (["unscored"] * 2 if corpus else ["scored"] * 2)
    if not corpus:
        for wrong in (tmp_path, tmp_path / "absent" / "out.html"):
            code, out, err = await command(wrong)
            assert (code, err) == (2, f"searchsim: --html {wrong}: name a file in a folder that is there\n")


def annotated(
    text: str, claims: list[tuple[int | None, list[list[int]]]], marks: list[list[list[int]]]
) -> Iterator[str]:
    named = [{"id": f"c{n}", "score": s, "places": p} for n, (s, p) in enumerate(claims, start=1)]
    documents = [{"id": f"d{n}", "marks": m} for n, m in enumerate(marks, start=1)]
    body = text.index("|") + 1 if "|" in text else len(text)
    return (str(b.html) for b in blocks(text, body, named, documents))


def ref(name: str, score: object) -> str:
    return f'<a class="ref s{score}" href="#{name}">{name}: {score}</a>'


def test_claims_that_overlap_have_one_mark_with_the_highest_score() -> None:
    assert list(annotated("abcdef", [(2, [[0, 4]]), (5, [[2, 6]])], [])) == [
        f'<span id="at-c1"></span><mark class="s2">ab</mark><span id="at-c2"></span><mark class="s5">cd</mark>'
        f'{ref("c1", 2)}<mark class="s5">ef</mark>{ref("c2", 5)}'
    ]


def test_a_claim_over_several_blocks_has_its_number_in_each() -> None:
    assert list(annotated("ab\n \n\ncd e", [(3, [[1, 8]])], [])) == [
        f'a<span id="at-c1"></span><mark class="s3">b</mark>{ref("c1", 3)}',
        f'<mark class="s3">cd</mark>{ref("c1", 3)} e',
    ]


def test_a_citation_inside_a_claim() -> None:
    assert list(annotated("a [1]<", [(1, [[0, 6]])], [[[2, 5]]])) == [
        '<span id="at-c1"></span><mark class="s1">a <span id="at-d1"></span><a class="cite" href="#d1">[1]</a>&lt;</mark>'
        + ref("c1", 1)
    ]


def test_places_beyond_the_text_and_closing_references() -> None:
    assert list(annotated("ab|\n\nrefs", [(1, [[90, 99]])], [])) == ["ab|", "refs"]
    claims: list[dict[str, Any]] = []
    assert [b.closing for b in blocks("ab|\n\nrefs", 3, claims, [])] == [False, True]
    assert blocks("", 0, claims, []) == []


@pytest.fixture(scope="module")
def made() -> Study:
    return study()


def scores(made: Study) -> Iterator[dict[str, Any]]:
    """Scores of the study's reports, those that cite an injected document twice; and one of another study."""
    for run in made.records[:3]:
        yield smoothing_record(run["run"], run["report"], [1, 2, None])
        if injected := [cited_url(c["url"]) for c in run["citations"] if c["injected"]]:
            yield smoothing_record(run["run"], run["report"], [4, 5], left_out=injected)
    yield smoothing_record("another study's <run>", "Text.", [3])


@pytest.fixture(scope="module")
def folder(made: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    report.write(folder, *made, canary=CANARY, smoothing=scores(made))
    return folder


PAGES = {f"run-{n}.html" for n in (1, 2, 3)} | {f"run-{n}-without-injected.html" for n in (2, 3)}


def test_a_study_with_scores(folder: Path, made: Study) -> None:
    assert {p.name for p in (folder / "smoothing").iterdir()} == PAGES
    figures = orjson.loads((folder / "smoothing.json").read_bytes())
    assert len(figures["runs"]) == len(made.records)
    text = (folder / "index.html").read_text("utf-8")
    page, _ = parse(text)
    sound(page, "", "smoothing/run-")
    section = page.one("section", id="smoothing")
    assert "Not of this study: 1 scored report, the first another study's <run>." in section.text
    assert figures["instrument"]["sha256"] in section.text
    rows = [r for r in section.one("table", id="table-smoothing-runs").rows() if len(r) == 10][1:]
    assert len(rows) == len(made.records)
    assert rows[1] == [
        "tea, 1", "budget=1", "not adopted", "1", "1", "0", "0", "1/1",
        "1.502 claims, 0 % ≥ 3, 1 unscored", "4.502 claims, 100 % ≥ 3",
    ]  # fmt: skip
    assert rows[0][8] == rows[0][9], "a report that cites nothing injected has one score"
    assert rows[3][8:] == ["–", "–"], "what wasn't scored isn't made up"
    group = section.one("table", id="table-smoothing").rows()
    assert [r[:3] for r in group if len(r) == 10][1:3] == [
        ["control", "not adopted", "1"],
        ["budget=1", "not adopted", "1"],
    ]


def test_a_run_leads_to_its_pages_and_they_lead_back(folder: Path) -> None:
    page, _ = parse((folder / "index.html").read_text("utf-8"))
    led = {str(a.attributes["href"]) for a in page.all("a") if str(a.attributes["href"]).startswith("smoothing/")}
    assert led == {f"smoothing/{name}" for name in PAGES}
    run = page.one("details", id="run-2")
    assert "SmoothScore: 1.50, against all that it cites" in run.text
    assert "SmoothScore: 4.50, without the injected documents" in run.text
    assert "Smoothing" not in [h.text for h in page.one("details", id="run-6").all("h4")]
    for name in PAGES:
        number = re.findall(r"\d+", name)[0]
        text = (folder / "smoothing" / name).read_text("utf-8")
        view, comments = parse(text)
        sound(view, text, f"../index.html#run-{number}")
        assert comments == [CANARY]
        assert f"../index.html#run-{number}" in [a.attributes["href"] for a in view.all("a")]
        assert bool(list(view.all("b", class_="inj"))) is (number != "1")
        assert ("left out" in [s.text for s in view.all("span", class_="st")]) is ("without" in name)


def test_without_scores_nothing_changes_and_nothing_is_left(folder: Path, made: Study, tmp_path: Path) -> None:
    plain = report.write(tmp_path / "plain", *made, canary=CANARY).read_bytes()
    assert b"smoothing" not in plain
    assert not (tmp_path / "plain" / "smoothing").exists()
    again = tmp_path / "again"
    report.write(again, *made, canary=CANARY, smoothing=scores(made))
    for file in (p for p in folder.rglob("*") if p.is_file()):
        assert (again / file.relative_to(folder)).read_bytes() == file.read_bytes(), file.name
    report.write(again, *made, canary=CANARY, smoothing=list(scores(made))[:1])
    assert [p.name for p in (again / "smoothing").iterdir()] == ["run-1.html"]
    assert report.write(again, *made, canary=CANARY).read_bytes() == plain
    assert not (again / "smoothing.json").exists() and not list((again / "smoothing").iterdir())


def test_scores_that_cant_be_joined_leave_an_earlier_report_as_it_is(made: Study, tmp_path: Path) -> None:
    before = report.write(tmp_path, *made, canary=CANARY, smoothing=scores(made)).read_bytes()
    wrong = [*list(scores(made))[:1], smoothing_record(made.records[1]["run"], "Another text.", [1])]
    with pytest.raises(UsageError, match="isn't the report of the run's record"):
        report.write(tmp_path, *made, canary=CANARY, smoothing=wrong)
    assert (tmp_path / "index.html").read_bytes() == before
    assert {p.name for p in (tmp_path / "smoothing").iterdir()} == PAGES


class KeptStudy(Ledger):
    """A study's folder, as far as its report needs it."""

    def __init__(self, made: Study, folder: Path) -> None:
        self._made, self._log = made, RunLog(folder)
        self._log.records = {r["run"]: r for r in made.records}
        self._log.failures = made.failures

    def contract(self) -> dict[str, Any]:
        return self._made.contract

    def plan(self) -> Plan:
        return self._made.plan

    def log(self) -> RunLog:
        return self._log

    def terms(self) -> dict[str, Any]:
        return {"judge": {}, "canary": CANARY}

    def verified(self, records: Iterable[Record]) -> list[Record]:
        return list(records)

    def judged_by(self, records: Iterable[Record], judge: Mapping[str, str | None]) -> list[Record]:
        return list(records)


def test_the_command(made: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("searchsim.cli.study.Ledger", lambda directory: KeptStudy(made, tmp_path))
    lines = tmp_path / "scores.jsonl"
    lines.write_bytes(b"".join(orjson.dumps(r) + b"\n" for r in scores(made)))
    out = tmp_path / "report"
    asked = ["report", "anywhere", "--out", str(out), "--smoothing"]
    answered = CliRunner().invoke(study_app, [*asked, str(lines)])
    assert answered.exit_code == 0, answered.output
    assert {p.name for p in (out / "smoothing").iterdir()} == PAGES
    lines.write_bytes(b'{"record": 1}\n')
    for file, message in ((lines, "scores.jsonl:1: "), (tmp_path / "missing.jsonl", "no such file")):
        refused = CliRunner().invoke(study_app, [*asked, str(file)])
        assert isinstance(refused.exception, UsageError)
        assert message in str(refused.exception)
