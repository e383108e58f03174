"""The docs say what the code does."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer

from searchsim import home, trace
from searchsim.agent import adapters
from searchsim.cli import app
from searchsim.cli.score import agreement_cells
from searchsim.corpus import FILES, Corpus
from searchsim.documents import schema
from searchsim.engine.embedded import EmbeddedEngine
from searchsim.injection import load_factors
from searchsim.judge import LexicalJudge
from searchsim.records import STATES
from searchsim.scoring.agreement import agreement, judge_excerpts
from searchsim.scoring.metrics import METRICS
from searchsim.server.app import make_app
from searchsim.server.context import Context
from searchsim.store import SqliteStore
from searchsim.world import Worlds
from tests.conftest import ROOT

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(DOCS.glob("*.md"))]


def rows(page: str, head: str) -> list[list[str]]:
    """The rows of the table whose first header cell is `head`."""
    text = (DOCS / page).read_text("utf-8")
    table = re.search(rf"^\| {re.escape(head)} \|.*\n\|[-| ]+\|\n((?:\|.*\n)+)", text, re.MULTILINE)
    assert table, f"{page} has no table that starts with {head}"
    return [[c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table[1].splitlines()]


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def leaves(command: Any, path: tuple[str, ...] = ("searchsim",)) -> dict[str, Any]:
    children = getattr(command, "commands", None)
    if not children:
        return {" ".join(path): command}
    return {k: v for name, child in children.items() for k, v in leaves(child, (*path, name)).items()}


def test_commands_and_options() -> None:
    told = {quoted(r[0])[0]: set(quoted(r[2])) for r in rows("commands.md", "command")}
    there = {
        name: {o for p in command.params if p.param_type_name == "option" for o in p.opts if o != "--help"}
        for name, command in leaves(typer.main.get_command(app)).items()
    }
    assert told == there


def test_variables() -> None:
    told = {quoted(r[0])[0] for r in rows("commands.md", "variable")}
    used: set[str] = set()
    for path in [*(ROOT / "searchsim").rglob("*.py"), *(ROOT / "injectors").glob("*.py")]:
        used |= set(re.findall(r"SEARCHSIM_[A-Z_]+", path.read_text("utf-8")))
    assert told == used


def test_factors() -> None:
    told = {quoted(r[0])[0]: (quoted(r[1]), quoted(r[2])[0]) for r in rows("factors.md", "factor")}
    shipped = {
        name: ([str(level) for level in r.factor.levels], str(r.factor.default)) for name, r in load_factors().items()
    }
    assert told == shipped
    assert [quoted(r[0])[0] for r in rows("factors.md", "stage")] == list(load_factors()["stage"].factor.levels)


async def test_the_factor_in_the_docs_works(
    quickstart: Corpus, engine: EmbeddedEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = re.search(r"```python\n(.*?)```", (DOCS / "factors.md").read_text("utf-8"), re.DOTALL)
    assert code
    (tmp_path / "injectors").mkdir()
    (tmp_path / "searchsim.yaml").touch()
    (tmp_path / "injectors" / "published.py").write_text(code[1], "utf-8")
    monkeypatch.setenv("SEARCHSIM_HOME", str(tmp_path))
    worlds = Worlds(quickstart, engine, SqliteStore())
    dated = worlds.create("bicycle-stability", {"published": "2026-08-20", "rank": "front"})
    answer = await worlds.search(dated, dialect="test", endpoint="search", text="gyroscopic bicycle tbs", tbs="qdr:m")
    assert [i.injected for i in answer.items] and all(i.injected for i in answer.items)
    assert {str(i.document.published) for i in answer.items} == {"2026-08-20"}
    plain = worlds.create("bicycle-stability")
    assert plain.condition["published"] == "as_written"
    assert "published" in plain.plan.factors
    worlds.close()


def test_the_corpus_format() -> None:
    told = {quoted(r[0])[0]: set(quoted(r[1])) for r in rows("corpora.md", "file")}
    assert told == {
        "corpus.yaml": set(schema("corpus")["properties"]),
        **{file: set(schema(kind)["properties"]) for file, kind in FILES.items()},
    }


def test_paths(quickstart: Corpus, engine: EmbeddedEngine) -> None:
    worlds = Worlds(quickstart, engine, SqliteStore())
    routes = make_app(Context(worlds)).router.resources()
    served = {r.canonical for r in routes if not r.canonical.startswith("/w/")}
    worlds.close()
    told = {p for r in rows("http.md", "path") for p in quoted(r[0]) if p.startswith("/")}
    control = {quoted(r[0])[0].split(" ")[1] for r in rows("http.md", "call")}
    plain = {re.sub(r"\{.*?\}", "KEY", p) for p in served}
    people = {"/_sim/ui", "/_sim/ui/KEY", "/_sim/page"}
    assert control == {p for p in plain if p.startswith("/_sim")} - people
    named = {p.replace("/sjina/KEY", "/sjina/QUERY").replace("/jina/KEY", "/jina/URL") for p in plain}
    rest = {p for p in named if not p.startswith("/_sim")} - {"/jina", "/jina/", "/sjina", "/sjina/"}
    assert rest == {p for p in told if not p.startswith("/_sim")}


ASKED = {"request": "r", "occurrence": 1, "origin": "live", "lists": 0, "exposed": False}


def test_events(quickstart: Corpus) -> None:
    told = {quoted(r[0])[0]: quoted(r[1]) for r in rows("http.md", "event")}
    made = [
        trace.search(dialect="d", endpoint="e", query="q", tbs="", page=1, k=1, number=1, mode="no", items=[], displaced=[], cut=[]),
        trace.page(dialect="d", url="u", document=None, injected=False),
        trace.model(kind="chat", model="m", usage={}, delivered=[], parts={}, ambiguous=[], settings={}, messages=[], answer="", asked=ASKED),
        trace.embedding(model="m", usage={}, given="t", asked=ASKED),
        trace.fault(where="w", status=1, message="m"),
        trace.refused(host="h", url="u"),
    ]  # fmt: skip
    assert {e["event"]: sorted(set(e) - {"event", "at"}) for e in made} == {k: sorted(v) for k, v in told.items()}


def test_contracts_records_states_and_metrics() -> None:
    told = [key for r in rows("studies.md", "key") for key in quoted(r[0])]
    assert told == list(schema("contract")["properties"])
    needed = {key for r in rows("studies.md", "key") if r[2] == "yes" for key in quoted(r[0])}
    assert needed == set(schema("contract")["required"])
    assert {f for r in rows("studies.md", "fields") for f in quoted(r[0])} == set(schema("run")["properties"])
    assert [quoted(r[0])[0] for r in rows("studies.md", "state")] == list(STATES)
    assert [quoted(r[0])[0] for r in rows("studies.md", "metric")] == list(METRICS)


def test_the_shipped_experiments() -> None:
    text = (ROOT / "experiments" / "README.md").read_text("utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)) == {n for n, _ in home.instances("experiments")}


async def test_the_judges_agreement(quickstart: Corpus) -> None:
    """The figures in the docs are those that the command gives."""
    questions = {t.id: t.question for t in quickstart.tasks.values()}
    judged = await judge_excerpts(LexicalJudge(), quickstart.excerpts(), quickstart.blueprints, questions)
    assert rows("judging.md", "excerpts") == [agreement_cells(row) for row in agreement(judged)]


def test_agents() -> None:
    assert {quoted(r[0])[0] for r in rows("agents.md", "agent")} == set(adapters())


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_readmes_map_is_the_house() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    block = re.search(r"## The house\n+```\n(.*?)```", text, re.DOTALL)
    assert block
    told = {line.split()[0].rstrip("/") for line in block[1].splitlines() if line.strip()}
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    folders = {p.split("/")[0] for p in tracked if "/" in p and not p.startswith(".")}
    assert folders | {"Makefile"} == told
    for kind in home.KINDS:
        assert kind in told


def test_nothing_names_this_machine() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in listed.splitlines():
        path = ROOT / name
        if path.is_file() and path.suffix not in (".jsonl",):
            text = path.read_text("utf-8")
            assert not re.search(r"(?<![\w.])/(?:root|home/\w+|work/(?:main|shared))/", text), name
