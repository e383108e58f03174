"""The matrix: pairs of the frameworks from the package index, its table, and the page that tells of them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from searchsim import agent
from searchsim.agent.run import RESULTS
from searchsim.replay import steps
from searchsim.server.context import Context
from searchsim.world import Worlds
from tests.adapters.matrix import FRAMEWORKS, HEADS, TASK, Measured, measure, table
from tests.agent.test_counterfactual import check_pre_synthesis
from tests.conftest import ROOT

PAGE = ROOT / "docs" / "adapters.md"


@pytest.mark.timeout(600)  # An environment of two hundred packages is made in the first run.
@pytest.mark.parametrize("name", ["smolagents", "gpt-researcher"])
async def test_a_pair(name: str, worlds: Worlds) -> None:
    control, treated = await measure(worlds, name, ("pre_synthesis",))
    assert control.run and treated.run, treated.problem
    check_pre_synthesis(control.run, treated.run)
    pool = set(treated.run.exposure.served)
    assert len(pool) == 3
    assert set(treated.run.exposure.delivered) == pool
    assert not (control.run.exposure.served or control.run.exposure.delivered or control.run.exposure.opened)
    rows = [dict(zip(HEADS, line[2:-2].split(" | "), strict=True)) for line in table([control, treated]).splitlines()]
    assert [(r["framework"], r["condition"]) for r in rows[2:]] == [(name, "control"), (name, "pre_synthesis")]
    last = len(steps(control.run.events).lists)
    shown = rows[3]
    assert shown["first injected"] == f"list {last}: 3 of 13, appended"
    assert shown["served"] == "3"
    assert re.fullmatch(r"3 \(link, title, source(, \w+)+\)", shown["delivered"])
    assert (shown["lists after"], shown["valid"]) == ("0", "yes")
    assert int(shown["calls before"]) <= int(shown["replayed"])
    assert rows[2]["first injected"] == rows[2]["calls before"] == rows[2]["lists after"] == "–"


def test_a_failed_run_is_a_row_that_says_why() -> None:
    cells = table([Measured("smolagents", "control", None, "it broke")]).splitlines()[2]
    assert cells.startswith("| smolagents | control | – ")
    assert cells.endswith("| failed: it broke |")


def test_frameworks_without_a_checkout_are_named_as_left_out() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.adapters.matrix", "webthinker"],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "- left out: agent webthinker: set WEBTHINKER_HOME to a checkout" in done.stdout
    assert done.stdout.splitlines()[-1] == "- command: `python -m tests.adapters.matrix webthinker`"


def test_the_page_has_every_adapter() -> None:
    text = PAGE.read_text("utf-8")
    listed = re.search(r"^\| agent \|.*\n\|[-| ]+\|\n((?:\|.*\n)+)", text, re.MULTILINE)
    assert listed
    names = re.findall(r"^\| `([\w-]+)` \|", listed[1], re.MULTILINE)
    sections = re.findall(r"^### ([\w-]+)$", text, re.MULTILINE)
    assert set(names) == set(agent.adapters())
    assert set(names) - set(sections) == set(), "each has a section"
    assert set(FRAMEWORKS) <= set(names)


async def test_the_adapter_on_the_page_works(context: Context, url: str, tmp_path: Path) -> None:
    code = re.search(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert code
    (tmp_path / "single.py").write_text(code[1], "utf-8")
    adapter, python = agent.prepare(str(tmp_path / "single.py"))
    assert adapter.summary == "Single: one search, one answer."
    world = context.worlds.create(TASK, {"budget": 3, "stage": "pre_synthesis"}, last_list=1, results=RESULTS)
    run = await agent.run(context, url, adapter, python, world)
    assert run.valid, run.reasons
    assert run.report == "scripted answer"
    assert set(run.exposure.delivered) == set(world.plan.documents), "ten results and three appended"
    assert set(run.versions) == {"requests"}
