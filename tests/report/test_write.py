"""The report as a whole: files, page, what is in them."""

from __future__ import annotations

import csv
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import orjson
import pytest

from searchsim import records as run_records
from searchsim import report
from searchsim.report import numbers
from searchsim.scoring.fcar import summarise
from tests.report.html import Node, parse
from tests.report.made import ADOPTS, CANARY, SCRIPT, Study, contract_of, full, plan_of, study

STATES = {"judged": 8, "unjudged": 1, "invalid": 1, "failed": 1, "not_run": 1}


def write(folder: Path, made: Study) -> str:
    return report.write(folder, *made, canary=CANARY).read_text("utf-8")


@pytest.fixture(scope="module")
def made() -> Study:
    return study()


@pytest.fixture(scope="module")
def folder(made: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report") / "new"
    write(folder, made)
    return folder


@pytest.fixture(scope="module")
def text(folder: Path) -> str:
    return (folder / "index.html").read_text("utf-8")


@pytest.fixture(scope="module")
def page(text: str) -> Node:
    return parse(text)[0]


def test_the_files(folder: Path, made: Study) -> None:
    assert {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()} == {
        "index.html",
        "runs.jsonl",
        "cells.csv",
        "comparisons.csv",
        "summary.json",
        *(f"figures/{name}.svg" for name in ("fcar", "budget", "exposure", "outcomes")),
    }
    assert list(run_records.read(folder / "runs.jsonl")) == made.records
    assert orjson.loads((folder / "summary.json").read_bytes()) == made.summary


def test_the_same_input_gives_the_same_bytes(folder: Path, made: Study, tmp_path: Path) -> None:
    # In another order, and in place of another report.
    write(tmp_path, study(empty=True))
    write(tmp_path, made._replace(records=made.records[::-1]))
    for file in (p for p in folder.rglob("*") if p.is_file()):
        assert (tmp_path / file.relative_to(folder)).read_bytes() == file.read_bytes(), file.name


def test_figures_of_an_earlier_report_go(made: Study, tmp_path: Path) -> None:
    (tmp_path / "figures").mkdir()
    for name in ("fcar-2.svg", "budget.svg", "mine.svg", "fcar-mine.svg"):
        (tmp_path / "figures" / name).write_text("old")
    write(tmp_path, study_without_budget())
    assert {p.name for p in (tmp_path / "figures").iterdir()} == {
        "fcar.svg",
        "exposure.svg",
        "outcomes.svg",
        "mine.svg",
        "fcar-mine.svg",
    }


def study_without_budget() -> Study:
    factors = {"budget": [3]}
    plan = plan_of(factors, ["alpha"], ["tea"])
    records = [full(p, True) for p in plan.runs]
    return Study(contract_of(factors, ["alpha"]), plan, records, summarise(plan, records), {})


def test_the_header(page: Node, made: Study, text: str) -> None:
    assert page.one("h1").text == "made-up"
    assert page.one("p", class_="ask").text == "How many does it take <today>?"
    facts = page.one("section", id="study").text
    for told in ("cd" * 32, "ab" * 32, "planner (rounds 3)", "alpha", "lexical", "budget: 1, 3", "Controlbudget 0"):
        assert told in facts, told
    assert "rank spread, stage always" in facts
    assert "Source" not in facts
    banner = page.one("div", id="demonstration").text
    assert banner.startswith("A demonstration, no result:")
    assert made.summary["demonstration"]
    assert all(reason in banner for reason in made.summary["demonstration"])
    assert page.one("div", id="incomplete").text.startswith(
        "Incomplete: 8 of 12 planned runs are judged; 1 unjudged, 1 invalid, 1 failed, 1 not run."
    )
    assert parse(text)[1] == [CANARY]
    assert page.one("meta", name="robots").attributes["content"] == "noindex"


def test_a_whole_result_has_no_banner(tmp_path: Path, made: Study) -> None:
    whole = study_without_budget()
    for record in whole.records:
        record["demonstration"] = record["verdict"]["demonstration"] = False
    page, _ = parse(write(tmp_path, whole._replace(summary=summarise(whole.plan, whole.records))))
    assert not list(page.all(id="demonstration"))
    assert not list(page.all(id="incomplete"))


def test_the_flow(page: Node) -> None:
    flow = page.one("ol", class_="flow")
    assert [b.text for b in flow.all("span", class_="box")] == ["12 planned", "10 with a record", "9 valid", "8 judged"]
    assert [li.text for ul in flow.all("ul") for li in ul.all("li")] == [
        "1 not run",
        "1 failed without a record1 × AgentError: it broke",
        "0 failed",
        "1 invalid1 × list 1 is wrong",
        "1 unjudged1 × synthetic",
    ]


def test_every_planned_run_stands_once_with_its_state(page: Node, made: Study) -> None:
    runs = {str(n.attributes["id"]): n for n in page.all(class_="run")}
    assert list(runs) and len(list(page.all(class_="run"))) == len(made.plan.runs) == len(runs)
    for number, (planned, told) in enumerate(zip(made.plan.runs, made.summary["runs"], strict=True), start=1):
        run = runs[f"run-{number}"]
        badge = next(run.all("span", class_="st"))
        assert badge.text == told["state"].replace("_", " ")
        head = f"{planned.agent} × {planned.model}, {planned.label}, repetition 1"
        assert head in run.text
        assert all(reason in run.text for reason in told["reasons"])
        assert (run.tag == "details") is any(r["run"] == planned.run for r in made.records)
    count = Counter(r["state"] for r in made.summary["runs"])
    assert count == STATES


def test_the_tables_have_the_summarys_numbers(page: Node, made: Study) -> None:
    cells = made.summary["cells"]
    rows = [r for r in page.one("table", id="table-flow").rows() if len(r) > 1]
    assert rows[0] == ["Condition", "planned", *(s.replace("_", " ") for s in STATES)]
    assert rows[1:] == [[c["label"], *(str(c[s]) for s in ("planned", *STATES))] for c in cells]

    for table, keys in (("1", ["fcar", "mer", "ecar"]), ("2", ["mer_delivered", "cited"])):
        rows = [r for r in page.one("table", id=f"table-metrics-{table}").rows() if len(r) > 1][1:]
        for row, cell in zip(rows, cells, strict=True):
            for shown, key in zip(row[1:], keys, strict=True):
                f = cell["metrics"][key]
                if f["denominator"]:
                    low, high = 100 * f["low"], 100 * f["high"]
                    share = f"{f['numerator']}/{f['denominator']} = {100 * f['value']:.1f} %"
                    assert shown.startswith(f"{share} [{low:.1f}, {high:.1f}]")
                else:
                    assert shown.startswith("–")
                if f["missing"]:
                    worst, best = 100 * f["missing_as_1"], 100 * f["missing_as_0"]
                    assert shown.endswith(f"{f['missing']} missing: {best:.1f}–{worst:.1f} %")
                else:
                    assert "missing" not in shown

    rows = [r for r in page.one("table", id="table-outcomes").rows() if len(r) > 1]
    assert rows[0] == ["Condition", "false only", "both", "true only", "neither", "judged"]
    assert rows[1:] == [
        [c["label"], *(str(c["outcomes"][o]) for o in ("false", "both", "true", "neither")), str(c["judged"])]
        for c in cells
    ]
    rows = page.one("table", id="table-means-1").rows()[1:]
    assert [r[2].split(" [")[0].split()[0] for r in rows] == [
        numbers.percent(m["metrics"]["fcar"]["value"]).replace("\u00a0", " ").split()[0] for m in made.summary["means"]
    ]


def test_the_comparisons(page: Node, made: Study) -> None:
    shown = [
        r for kind in ("control", "levels") for r in page.one("table", id=f"table-{kind}").rows()[1:] if len(r) > 1
    ]
    told = [c for c in made.summary["comparisons"] if c["kind"] in ("control", "levels")]
    assert len(shown) == len(told) > 0
    for row, c in zip(shown, told, strict=True):
        assert row[:3] == [c["first"]["label"], c["second"]["label"], f"{c['pairs']} of {c['planned_pairs']}"]
        assert row[3:7] == [str(c[k]) for k in ("both", "only_first", "only_second", "neither")]
        if c["pairs"]:
            assert row[7].startswith(numbers.points(c["difference"]))
            assert row[8:11] == [c["test"], numbers.p_value(c["p"]), numbers.p_value(c["p_holm"])]
            assert row[11] == "can’t be significant with so few pairs"
        else:
            assert row[7:] == ["–"] * 5
    models = page.one("table", id="table-models").rows()[1:]
    assert [r[:3] for r in models] == [
        ["planner, budget=1", "alpha", "$beta_1$"],
        ["planner, budget=3", "alpha", "$beta_1$"],
    ]


def test_a_cell_leads_to_its_runs(page: Node, made: Study) -> None:
    ids = {str(n.attributes["id"]) for n in page.all() if "id" in n.attributes}
    links = [str(a.attributes["href"]) for a in page.all("a")]
    assert links and all(link.startswith("#") and link[1:] in ids for link in links)
    for table in ("table-flow", "table-metrics-1", "table-metrics-2", "table-outcomes"):
        assert [a.attributes["href"] for a in page.one("table", id=table).all("a")] == [
            f"#cell-{n}" for n in range(1, len(made.summary["cells"]) + 1)
        ]
    for n, cell in enumerate(made.summary["cells"], start=1):
        linked = [str(a.attributes["href"]) for a in page.one("details", id=f"cell-{n}").all("a")]
        key = (cell["agent"], cell["model"], cell["label"])
        runs = enumerate(made.plan.runs, start=1)
        assert linked == [f"#run-{i}" for i, p in runs if (p.agent, p.model, p.label) == key]


def test_the_drill_down(page: Node, made: Study) -> None:
    number = next(n for n, p in enumerate(made.plan.runs, start=1) if p.label == "budget=3" and p.task == "tea")
    run = page.one("details", id=f"run-{number}")
    assert next(run.all("summary")).text.endswith(": adopted")
    assert [m.text for m in run.all("mark")] == [ADOPTS]
    assert run.one("pre", class_="report").attributes["lang"] == "zh"
    assert SCRIPT in run.one("pre", class_="report").text
    assert [li.text.split()[0] for li in run.all("li", class_="i")] == ["tea-high-paper-1"] * 3
    assert all(li.one("b", class_="inj").text == "injected" for li in run.all("li", class_="i"))
    for told in (
        "“what & <why>” /search, k 3, relevance",
        "Displaced: tea-03",
        "1 search, 1 with an injected document",
        "title, snippet in 2–3, 5",
        "5 live, 1 replayed; 12,345 + 678 tokens, 0.0123 US dollars, 12 s",
        "planner 7",
        made.records[0]["trace"]["sha256"],
        "States the true conclusion: ",
        "c1: It is 37.5 % olives.",
        "1: valid, begun 2026-01-01",
        "rank spread, stage always, budget 3",
    ):
        assert told in run.text, told
    assert [p.text for p in page.all("p", class_="dim") if p.text.startswith("Task")] == [
        "Task tea, 6 planned runs",
        "Task concrete, 6 planned runs",
    ]
    not_adopted = page.one("details", id="run-1")
    assert not list(not_adopted.all("mark"))
    assert "It rests on" in not_adopted.text


def test_nothing_is_loaded_or_run(text: str, page: Node) -> None:
    # Addresses of an invented web are text: whoever follows one ends somewhere else.
    for node in page.all():
        assert node.tag not in ("script", "link", "iframe", "object", "embed", "img", "base", "form")
        for name, value in node.attributes.items():
            assert not name.startswith("on"), name
            if name in ("href", "src", "srcset", "xlink:href", "action", "data", "poster"):
                assert str(value).startswith("#"), value
            assert "url(" not in (value or "") or "url(#" in (value or "")
    for style in page.all("style"):
        assert "url(" not in style.text and "@import" not in style.text
    assert SCRIPT not in text
    assert "http-equiv" not in text


def test_the_charts_in_the_page(text: str, page: Node) -> None:
    charts = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    assert len(charts) == 4
    for chart in charts:
        root = ElementTree.fromstring(chart)
        assert root.get("role") == "img"
        assert root.get("aria-label")
        own = {e.get("id") for e in root.iter()}
        for referred in re.findall(r'(?:url\(#|href="#)([^)"]+)', chart):
            assert referred in own
        assert not re.search(r"#[0-9a-f]{6}\b", chart), "a colour that the theme can't change"
    ids = Counter(str(n.attributes["id"]) for n in page.all() if "id" in n.attributes)
    assert [i for i, count in ids.items() if count > 1] == []
    defined = set(re.findall(r"(--[a-z-]+):", text))
    assert set(re.findall(r"var\((--[a-z-]+)\)", text)) <= defined
    captions = [c.text for c in page.all("figcaption")]
    assert [c.split(".")[0] for c in captions] == [f"Figure {n}" for n in range(1, 5)]
    assert "five marginals, not a funnel" in captions[2]


def test_semantics(page: Node) -> None:
    tables = list(page.all("table"))
    for n, table in enumerate(tables, start=1):
        assert table.one("caption").text.startswith(f"Table {n}. ")
        assert all("scope" in th.attributes for th in table.all("th"))
    assert page.one("html").attributes["lang"] == "en"
    levels = [int(n.tag[1]) for n in page.all() if re.fullmatch("h[1-6]", n.tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    how = page.one("section", id="how").text
    for source in ("Wilson 1927", "Newcombe 1998", "McNemar", "Holm 1979", "ANOVA"):
        assert source in how


def test_the_csv_files(folder: Path, made: Study) -> None:
    with (folder / "cells.csv").open(newline="", encoding="utf-8") as file:
        cells = list(csv.DictReader(file))
    for row, cell in zip(cells, made.summary["cells"], strict=True):
        assert (row["agent"], row["model"], row["label"]) == (cell["agent"], cell["model"], cell["label"])
        assert (row["budget"], row["rank"]) == (str(cell["condition"]["budget"]), "spread")
        assert [int(row[s]) for s in ("planned", *STATES)] == [cell[s] for s in ("planned", *STATES)]
        for key, figure in cell["metrics"].items():
            for part, value in figure.items():
                assert row[f"{key}_{part}"] == ("" if value is None else str(value))
        assert sum(int(v) for k, v in row.items() if k.startswith("outcome_")) == cell["judged"]
    with (folder / "comparisons.csv").open(newline="", encoding="utf-8") as file:
        comparisons = list(csv.DictReader(file))
    for row, c in zip(comparisons, made.summary["comparisons"], strict=True):
        assert (row["first_label"], row["second_model"]) == (c["first"]["label"], c["second"]["model"])
        assert row["p"] == ("" if c["p"] is None else str(c["p"]))


def test_a_study_that_was_not_run(tmp_path: Path) -> None:
    empty = study(empty=True)
    page, _ = parse(write(tmp_path, empty))
    assert (tmp_path / "runs.jsonl").read_bytes() == b""
    assert [n.text for n in page.all("span", class_="st")] == ["not run"] * 12
    assert page.one("div", id="incomplete").text.startswith("Incomplete: 0 of 12")
    rows = [r for r in page.one("table", id="table-metrics-1").rows() if len(r) > 1][1:]
    assert {cell for row in rows for cell in row[1:]} == {"–2 missing: 0.0–100.0 %"}
    assert page.one("table", id="table-means-1").rows()[1][2:] == ["–"] * 3
    assert [h.text for h in page.all("h3")][-2:] == ["tea", "concrete"]


def test_no_comparison_and_no_metric(tmp_path: Path) -> None:
    made = study()
    plan = made.plan.__class__(made.plan.study, made.plan.contract_sha256, made.plan.runs, ())
    lean = {**made.contract, "metrics": []}
    page, _ = parse(write(tmp_path, made._replace(plan=plan, contract=lean, summary=summarise(plan, made.records))))
    assert "The contract asks for none" in page.one("section", id="comparisons").text
    assert (tmp_path / "comparisons.csv").read_text() == ""


def test_a_run_that_is_not_planned(made: Study, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="other isn't in the plan"):
        write(tmp_path, made._replace(records=[{**made.records[0], "run": "other"}]))
    with pytest.raises(ValueError, match="other isn't in the plan"):
        write(tmp_path, made._replace(failures={"other": "broke"}))
