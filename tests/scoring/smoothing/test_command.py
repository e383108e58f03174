"""`searchsim score smoothing`, with a scripted stand-in behind a real API, and with the real local model."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from searchsim.cli import main
from searchsim.documents import faults_in
from tests.scoring.smoothing.scripted import DOCUMENTS, REPORT, ScriptedReader, write_documents
from tests.scripted import ScriptedModel


@pytest.fixture
def files(tmp_path: Path) -> Path:
    write_documents(tmp_path / "pages")
    (tmp_path / "bread.md").write_text(REPORT, "utf-8")
    return tmp_path


@pytest.fixture
def served(
    scripted_model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[ScriptedModel, ScriptedReader]]:
    reader = ScriptedReader()
    scripted_model.say = reader.serve
    monkeypatch.setenv("UPSTREAM_API_KEY", "scripted-key")
    yield scripted_model, reader


def command(files: Path, *more: str) -> list[str]:
    return [
        sys.executable, "-m", "searchsim.cli", "score", "smoothing", str(files / "bread.md"),
        "--documents", str(files / "pages"), "--cache", str(files / "answers.sqlite"), *more,
    ]  # fmt: skip


async def run(files: Path, *more: str) -> tuple[int, str, str]:
    import asyncio

    process = await asyncio.create_subprocess_exec(
        *command(files, *more), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ)
    )
    out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


async def test_a_report_is_scored(files: Path, served: tuple[ScriptedModel, ScriptedReader]) -> None:
    model, reader = served
    asked = ("--model", "scripted", "--upstream", f"{model.url}/v1", "--question", "How is bread kept fresh?")
    code, out, err = await run(files, *asked, "--dry-run")
    assert (code, err, reader.calls) == (0, "", {}), "a dry run asks nobody"
    assert "3 documents cited, 3 resolved" in out
    assert "claims: not known yet, taken as 7" in out
    assert "about 21" in out
    code, out, err = await run(files, *asked, "--json")
    assert code == 0, err
    made = json.loads(out)
    assert faults_in("smoothing", made) == []
    assert [c["score"] for c in made["claims"]] == [4, 1]
    assert (made["question"], made["identity"]["model"]) == ("How is bread kept fresh?", "openai-api/upstream/scripted")
    assert made["demonstration"] == []
    assert made["usage"]["prompt_tokens"] == 11 * sum(reader.calls.values())
    assert {h["Authorization"] for h in model.headers} == {"Bearer scripted-key"}
    assert "scripted-key" not in out
    assert {b["temperature"] for b in model.requests} == {0.0}
    before = sum(reader.calls.values())
    code, out, _ = await run(files, *asked)
    assert (code, sum(reader.calls.values())) == (0, before), "what was answered is kept"
    for told in ("scope expansion", "mean 2.50 over 2 claims", "for every kind of loaf", "comparable with scores of"):
        assert told in out
    told = json.loads((await run(files, *asked, "--dry-run", "--json"))[1])
    assert [(s["calls"], s["exact"]) for s in told["steps"]] == [(0, True)] * 7
    assert (told["claims"], told["calls"]) == (2, 0)


async def test_a_run_that_is_killed_goes_on(files: Path, served: tuple[ScriptedModel, ScriptedReader]) -> None:
    import asyncio

    model, reader = served
    asked = ("--model", "scripted", "--upstream", f"{model.url}/v1", "--parallel", "1")
    stuck = asyncio.Event()
    say = reader.serve

    def until_stuck(body: dict[str, Any]) -> str:
        answer = say(body)
        if sum(reader.calls.values()) == 8:
            model.delay = 60
            stuck.set()
        return answer

    model.say = until_stuck
    process = await asyncio.create_subprocess_exec(
        *command(files, *asked), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ)
    )
    await asyncio.wait_for(stuck.wait(), 60)
    process.send_signal(signal.SIGKILL)
    await process.communicate()
    answered = sum(reader.calls.values()) - 1
    assert answered == 7
    model.delay, model.say = 0, say
    reader.calls.clear()
    code, out, err = await run(files, *asked, "--json")
    assert code == 0, err
    usage = json.loads(out)["usage"]
    assert usage["live"] == sum(reader.calls.values()) == usage["calls"] - answered


async def test_a_model_that_keeps_to_no_form_leaves_all_unjudged(
    files: Path, served: tuple[ScriptedModel, ScriptedReader]
) -> None:
    model, reader = served
    reader.change = lambda step, answer, prompt: "Bread is nice." if step == "judge" else answer
    code, out, _ = await run(files, "--model", "scripted", "--upstream", f"{model.url}/v1")
    assert code == 5
    assert "c1 unjudged: the judge: the answer can't be used: it holds no JSON object" in out
    assert "mean" not in out


async def test_a_score_on_half_read_evidence_says_so(files: Path, served: tuple[ScriptedModel, ScriptedReader]) -> None:
    model, reader = served
    more = {f"https://bread.example/{n}": f"This is page {n} of a book." for n in range(9)}
    write_documents(files / "pages", {**DOCUMENTS, **more})
    (files / "bread.md").write_text(REPORT + "".join(f"[{n + 4}] {url}\n" for n, url in enumerate(more)), "utf-8")
    reader.change = lambda step, answer, prompt: "No." if step == "skeptic" and "page 3 of" in prompt else answer
    code, out, err = await run(files, "--model", "scripted", "--upstream", f"{model.url}/v1")
    assert code == 5, err
    assert "2 pieces unread" in out
    assert "mean 2.50 over 2 claims" in out


async def test_a_model_that_is_away_is_one_line(files: Path, served: tuple[ScriptedModel, ScriptedReader]) -> None:
    model, _ = served
    model.status = 401
    code, out, err = await run(files, "--model", "scripted", "--upstream", f"{model.url}/v1")
    assert (code, out) == (1, "")
    assert len(err.strip().splitlines()) == 1
    assert err.startswith("searchsim: ")


async def test_what_is_not_resolved_is_shown(files: Path, served: tuple[ScriptedModel, ScriptedReader]) -> None:
    model, _ = served
    (files / "pages" / "2.txt").unlink()
    (files / "bread.md").write_text(REPORT.replace("in dry kitchens [3]", "in dry kitchens [3][9]"), "utf-8")
    code, out, err = await run(files, "--model", "scripted", "--upstream", f"{model.url}/v1")
    assert code == 0, err
    assert "4 documents cited, 2 resolved" in out
    assert "unresolved: [3] https://bread.example/freezing: the index names 2.txt, which isn't there" in out
    assert "unresolved: [9]: the report has no reference of this number" in out
    assert "c2 unscored: none of what it rests on could be resolved (documents: 2)" in out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["/nowhere.md", "--documents", "."], "no report that can be read"),
        (["EMPTY", "--documents", "."], "the report is empty"),
        (["BREAD", "--documents", "/nowhere"], "no such folder of documents"),
        (["BREAD", "--documents", "PAGES", "--model", "gpt-4o"], "--model gpt-4o: give `local`"),
        (["BREAD", "--documents", "PAGES", "--model", "local", "--judge", "gpt-4o"], "--judge gpt-4o: give `local`"),
        (["BREAD", "--documents", "PAGES", "--model", "lexical"], "--model lexical: give `local`"),
        (["BREAD", "--documents", "PAGES", "--upstream", "http://127.0.0.1:9/v1"], "needs --model"),
        (["BREAD", "--documents", "PAGES", "--cache", "/proc/no/file", "--model", "a/b"], "can't be used"),
        (["BREAD", "--documents", "PAGES", "--parallel", "0"], "Invalid value for '--parallel'"),
        (["BREAD", "--documents", "PAGES", "--chunk", "99999999999999999999"], "Invalid value for '--chunk'"),
        (["BREAD", "--documents", "BROKEN"], "not a JSON value"),
        (["BREAD"], "--documents"),
    ],
)  # fmt: skip
def test_wrong_use_is_one_line(
    files: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    (files / "empty.md").write_text(" \n")
    (files / "broken").mkdir()
    (files / "broken" / "index.json").write_text("{")
    names = {"EMPTY": "empty.md", "BREAD": "bread.md", "PAGES": "pages", "BROKEN": "broken"}
    with pytest.raises(SystemExit) as ended:
        main(["score", "smoothing", *(names.get(a, a) for a in arguments)])
    out, err = capsys.readouterr()
    assert (ended.value.code, out) == (2, "")
    assert len(err.strip().splitlines()) == 1
    assert told in err


@pytest.mark.local_model
@pytest.mark.timeout(900)
async def test_the_local_model_as_far_as_it_goes(files: Path) -> None:
    """The whole path with a real model, which is a toy: what it can't do is told, and nothing is made up."""
    code, out, err = await run(files, "--json", "--parallel", "1")
    assert code in (0, 5), err
    made = json.loads(out)
    assert faults_in("smoothing", made) == []
    (told,) = made["demonstration"]
    assert "is a toy or a stand-in" in told
    assert made["usage"]["live"] >= 1
    assert made["usage"]["completion_tokens"] > 0
    for claim in made["claims"]:
        assert claim["places"]
        assert (claim["score"] is None) == (claim["state"] != "scored")
    counts = made["counts"]
    if not made["claims"]:
        assert (
            counts["report"]["unread"] or counts["claims"]["not_in_report"] or made["usage"]["steps"]["claims"]["calls"]
        )
    lacking = (counts[k][n] for k, n in (("report", "unread"), ("claims", "unjudged"), ("evidence", "unread")))
    assert (code == 5) == any(lacking)
