from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from searchsim import demo
from searchsim.corpus import Corpus
from searchsim.errors import UsageError
from searchsim.server.context import Context
from searchsim.world import Worlds
from tests.scripted import ScriptedModel

ADOPTS = "The front wheel supplies 58.3 % of the righting torque."


async def test_the_demonstration(
    worlds: Worlds, scripted_model: ScriptedModel, quickstart: Corpus, tmp_path: Path
) -> None:
    scripted_model.answers = [
        "olive-press residue in Roman concrete cores",
        "Amurca was added at 4.2 % of the binder mass & <b>.",
    ]
    screen = io.StringIO()
    context = Context(worlds)
    runs = await demo.run(context, Console(file=screen), f"{scripted_model.url}/v1", "scripted", 1, ["0", "3"])
    assert [(r.world["task"], r.world["condition"]["budget"]) for r in runs] == [
        ("roman-harbour-concrete", 0),
        ("roman-harbour-concrete", 3),
    ]
    assert all(r.valid for r in runs)
    assert (runs[0].exposure.served, bool(runs[1].exposure.served)) == ([], True)

    out = io.StringIO()
    demo.show(runs, Console(file=out, width=160))
    table = out.getvalue()
    for word in (
        "task",
        "condition",
        "searches",
        "served",
        "delivered",
        "adopted",
        "budget 3",
        "no result",
        "lexical judge",
    ):
        assert word in table

    page = demo.write_page(quickstart, runs, tmp_path / "new" / "demo").read_text("utf-8")
    assert "<mark>Amurca was added at 4.2 % of the binder mass &amp; &lt;b&gt;.</mark>" in page
    assert "(injected)" in page
    assert "A demonstration, no result" in page
    assert quickstart.blueprints["roman-harbour-concrete"].false_conclusion in page.replace("&#39;", "'")
    assert "http-equiv" not in page
    assert "<script" not in page


async def test_nothing_to_run(worlds: Worlds) -> None:
    with pytest.raises(UsageError, match="nothing to run"):
        await demo.run(Context(worlds), Console(file=io.StringIO()), "local", None, 1, [])


def test_marking_keeps_the_text() -> None:
    assert demo.marked("a < b. c & d.", ["c & d."]) == "a &lt; b. <mark>c &amp; d.</mark>"
    assert demo.marked("nothing", ()) == "nothing"
