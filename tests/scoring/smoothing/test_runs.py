"""`searchsim score runs`: a study's reports, with a scripted stand-in behind a real API."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from searchsim import corpus
from searchsim.documents import faults_in
from searchsim.jsonl import held
from searchsim.records import write
from searchsim.reproduce.synthetic import synthetic_record
from searchsim.scoring.smoothing.prompts import STEPS
from searchsim.study.matrix import PlannedRun
from tests.scoring.smoothing.scripted import DOCUMENTS, REPORT, ScriptedReader, write_documents
from tests.scripted import ScriptedModel


def run_record(number: int, *, cites_injected: bool, status: str = "valid", **more: Any) -> dict[str, Any]:
    planned = PlannedRun(
        run=f"a/m/budget=3/t{number}/1",
        agent="a",
        model="m",
        task=f"t{number}",
        language="en",
        label="budget=3",
        condition={"budget": 3},
        control=False,
        repetition=1,
    )
    record = synthetic_record(planned, adopted=True)
    url = "https://bread.example/crusts?utm_source=x"
    citation = {"url": url, "canonical": "bread.example/crusts", "document": "m1", "injected": True, "by": "url"}
    return {
        **record,
        "report": REPORT,
        "question": "How is bread kept fresh?",
        "citations": [citation] if cites_injected else [],
        "status": status,
        "verdict": record["verdict"] if status == "valid" else None,
        **more,
    }


@pytest.fixture
def files(tmp_path: Path) -> Path:
    write_documents(tmp_path / "pages")
    runs = [
        run_record(1, cites_injected=True),
        run_record(2, cites_injected=False),
        run_record(3, cites_injected=True, status="invalid"),
    ]
    write(tmp_path / "runs.jsonl", runs)
    return tmp_path


@pytest.fixture
def reader(scripted_model: ScriptedModel, monkeypatch: pytest.MonkeyPatch) -> ScriptedReader:
    found = ScriptedReader()
    scripted_model.say = found.serve
    monkeypatch.setenv("UPSTREAM_API_KEY", "scripted-key")
    return found


async def score(files: Path, model: ScriptedModel, *more: str, verb: str = "runs") -> tuple[int, str, str]:
    command = [sys.executable, "-m", "searchsim.cli", "score", verb, str(files / "runs.jsonl")]
    if verb == "runs":
        command += ["--out", str(files / "smoothing.jsonl"), "--cache", str(files / "answers.sqlite")]
        command += ["--documents", str(files / "pages"), "--model", "scripted", "--upstream", f"{model.url}/v1"]
    process = await asyncio.create_subprocess_exec(
        *command, *more, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ)
    )
    out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


async def test_runs_are_scored_twice_where_they_cite_injected_documents(
    files: Path, scripted_model: ScriptedModel, reader: ScriptedReader
) -> None:
    code, out, err = await score(files, scripted_model, "--dry-run", "--json")
    told = json.loads(out)
    assert (code, told["runs"], told["scores"], told["exact"]) == (0, 2, 3, False), err
    assert not reader.calls and not (files / "smoothing.jsonl").exists(), "a dry run asks nobody"

    code, out, err = await score(files, scripted_model)
    assert code == 0, err
    assert "2 valid runs, 3 scores made" in out
    made = [json.loads(line) for line in (files / "smoothing.jsonl").read_text("utf-8").splitlines()]
    assert [faults_in("smoothing", m) for m in made] == [[]] * 3
    left_out = [[d["url"] for d in m["documents"] if d["state"] == "left_out"] for m in made]
    assert [m["report"]["name"].split("/")[3] for m in made] == ["t1", "t1", "t2"]
    assert [len(x) for x in left_out] == [0, 1, 0] and "crusts" in left_out[1][0]
    quoted = [{e["document"] for c in m["claims"] for e in c["evidence"]} for m in made]
    assert quoted[1] < quoted[0], "what is left out is read by nobody"

    # Done is done; what a kill left of a line is taken away, and made again without another call.
    asked = sum(reader.calls.values())
    whole = (files / "smoothing.jsonl").read_bytes()
    assert "0 scores made" in (await score(files, scripted_model))[1]
    (files / "smoothing.jsonl").write_bytes(whole[:-100])
    code, out, err = await score(files, scripted_model)
    assert code == 0 and "1 scores made" in out, err
    assert len((files / "smoothing.jsonl").read_bytes().splitlines()) == 3
    assert sum(reader.calls.values()) == asked

    code, out, err = await score(files, scripted_model, str(files / "smoothing.jsonl"), "--json", verb="joined")
    assert code == 0, err
    rows = {r["run"].split("/")[3]: r for r in json.loads(out)["runs"]}
    assert rows["t1"]["adopted"] is True
    assert rows["t1"]["smoothing"]["mean"] is not None and rows["t1"]["smoothing_without_injected"] is not None
    assert rows["t2"]["smoothing"] == rows["t2"]["smoothing_without_injected"]
    assert rows["t3"]["smoothing"] is None, "an invalid run isn't scored"


async def test_wrong_use(files: Path, scripted_model: ScriptedModel, reader: ScriptedReader) -> None:
    assert (await score(files, scripted_model))[0] == 0
    for more, message in (
        (("--chunk", "500"), "another model, version, --chunk or --evidence"),
        (("--evidence", "500"), "another model, version, --chunk or --evidence"),
        (("--chunk", "99999999999999999999"), "Invalid value for '--chunk'"),
        (("--evidence", "99999999999999999999"), "Invalid value for '--evidence'"),
        (("--out", str(files / "smoothing.json")), "name a .jsonl file"),
        (("--out", str(files / "pages")), "name a file in a folder that is there"),
        (("--out", str(files / "nowhere" / "x.jsonl")), "name a file in a folder that is there"),
    ):
        code, _, err = await score(files, scripted_model, *more)
        assert (code, len(err.strip().splitlines())) == (2, 1)
        assert message in err


async def test_what_a_passing_failure_spoils_is_not_kept(
    files: Path, scripted_model: ScriptedModel, reader: ScriptedReader
) -> None:
    """A score that a model failed in is made by the next call, and until then the command says that it is missing."""
    spoilt = 2

    def say(body: dict[str, Any]) -> str:
        nonlocal spoilt
        answer = reader.serve(body)
        failing = bool(spoilt) and body["messages"][0]["content"] == STEPS["judge"].system
        spoilt -= failing
        scripted_model.status = 400 if failing else 200
        return answer

    scripted_model.say = say
    code, out, err = await score(files, scripted_model, "--parallel", "1")
    assert code == 5, err
    assert "2 valid runs, 2 scores made" in out
    assert "1 scores weren't made, as the model failed" in out
    lines = (files / "smoothing.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["usage"]["failed"] for line in lines] == [0, 0]
    asked = sum(reader.calls.values())
    code, out, err = await score(files, scripted_model, "--parallel", "1")
    assert (code, "1 scores made" in out) == (0, True), err
    assert sum(reader.calls.values()) == asked, "what was answered is kept, to the other run's same questions too"
    lines = (files / "smoothing.jsonl").read_text("utf-8").splitlines()
    assert len(lines) == 3
    assert {c["state"] for line in lines for c in json.loads(line)["claims"]} == {"scored"}


@pytest.mark.parametrize("step", ["judge", "skeptic"])
async def test_scores_that_lack_answers_are_told_whenever_they_are_there(
    files: Path, scripted_model: ScriptedModel, reader: ScriptedReader, step: str
) -> None:
    """No usable answer on a claim, or on one piece of a document: the exit code says so, also when nothing is to do."""
    more = {f"https://bread.example/{n}": f"This is page {n} of a book." for n in range(9)}
    write_documents(files / "pages", {**DOCUMENTS, **more})
    text = REPORT + "".join(f"[{n + 4}] {url}\n" for n, url in enumerate(more))
    write(files / "runs.jsonl", [run_record(1, cites_injected=False, report=text)])

    def change(asked: str, answer: Any, prompt: str) -> Any:
        return "No." if asked == step and (step == "judge" or "page 3 of" in prompt) else answer

    reader.change = change
    for made in ("1 scores made", "0 scores made"):
        code, out, err = await score(files, scripted_model)
        assert (code, made in out) == (5, True), err
        assert "1 scores have claims, or pieces of documents, that no usable answer came for" in out
    (line,) = (files / "smoothing.jsonl").read_text("utf-8").splitlines()
    found = json.loads(line)
    assert {c["state"] for c in found["claims"]} == {"unjudged" if step == "judge" else "scored"}
    assert found["counts"]["evidence"]["unread"] == (0 if step == "judge" else 2)


def dry(files: Path, scripted_model: ScriptedModel, *more: str) -> Any:
    return score(files, scripted_model, "--dry-run", "--json", *more)


@pytest.mark.parametrize("known", ["by its document", "as served", "as opened"])
async def test_an_injected_document_is_left_out_however_it_is_cited(
    files: Path, scripted_model: ScriptedModel, reader: ScriptedReader, known: str
) -> None:
    """The run's record reads fewer forms of citations than the scorer: here it saw none."""
    misleading = next(m for ms in corpus.load("quickstart").misleading.values() for m in ms)
    bare = misleading.url.partition("://")[2].removeprefix("www.")
    text = f"# Bread\n\nIt is so [1].\n\n## References\n\n[1] A study. www.{bare}\n"
    run = run_record(1, cites_injected=False, report=text)
    served = {"position": 1, "document": misleading.id, "url": misleading.url, "injected": True}
    told = {"at": "now", "url": misleading.url, "canonical": bare, "document": misleading.id, "found": True}
    search = {"at": "now", "list": 1, "endpoint": "search", "query": "q", "page": 1, "k": 10, "mode": "always"}
    more: dict[str, dict[str, Any]] = {
        "by its document": {"plan": {**run["plan"], "documents": [misleading.id]}},
        "as served": {"searches": [{**search, "served": [served], "displaced": []}]},
        "as opened": {"fetches": [{**told, "injected": True}]},
    }
    write(files / "runs.jsonl", [{**run, **more[known]}])
    code, out, err = await dry(files, scripted_model, "--documents", "quickstart")
    assert (code, json.loads(out)["scores"]) == (0, 2), err
    write(files / "runs.jsonl", [run])
    assert json.loads((await dry(files, scripted_model, "--documents", "quickstart"))[1])["scores"] == 1


async def test_a_dry_run_counts_what_two_scores_ask_once(
    files: Path, scripted_model: ScriptedModel, reader: ScriptedReader
) -> None:
    told = {}
    for cites_injected in (False, True):
        write(files / "runs.jsonl", [run_record(1, cites_injected=cites_injected)])
        told[cites_injected] = json.loads((await dry(files, scripted_model))[1])
    # The second score reads nothing that the first doesn't: its 7 supposed claims are merged, assigned and judged anew.
    assert told[True]["calls"] == told[False]["calls"] + 3 * 7
    # Once all but the judge's answers are there, what is told is what is asked.
    reader.change = lambda step, answer, prompt: "No." if step == "judge" else answer
    assert (await score(files, scripted_model))[0] == 5
    (files / "smoothing.jsonl").unlink()
    write(files / "runs.jsonl", [run_record(n, cites_injected=False) for n in (1, 2)])
    exact = json.loads((await dry(files, scripted_model, "--judge", "another"))[1])
    assert (exact["scores"], exact["calls"], exact["exact"]) == (2, 2, True), "two runs with one report ask the same"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("all my notes, one line, no newline at its end", "other.txt:1: not a JSON value"),
        ('{"record": 1}\n{"record":1,"rep', "other.txt:1: record"),
        ('{"record": 1}', "other.txt:1: "),
    ],
)
async def test_a_file_that_holds_something_else_is_left_as_it_is(
    files: Path, scripted_model: ScriptedModel, reader: ScriptedReader, content: str, message: str
) -> None:
    other = files / "other.txt"
    other.write_text(content)
    for more in ((), ("--dry-run",)):
        code, _, err = await score(files, scripted_model, "--out", str(other), *more)
        assert (code, len(err.strip().splitlines())) == (2, 1)
        assert other.read_text() == content
    assert not reader.calls


async def test_a_dry_run_changes_nothing(files: Path, scripted_model: ScriptedModel, reader: ScriptedReader) -> None:
    assert (await score(files, scripted_model))[0] == 0
    cut = (files / "smoothing.jsonl").read_bytes()[:-100]
    (files / "smoothing.jsonl").write_bytes(cut)
    code, out, err = await dry(files, scripted_model)
    assert (code, json.loads(out)["scores"]) == (0, 1), err
    assert (files / "smoothing.jsonl").read_bytes() == cut


async def test_two_processes_do_not_write_one_file(
    files: Path, scripted_model: ScriptedModel, reader: ScriptedReader
) -> None:
    with held(files / "smoothing.jsonl"):
        code, _, err = await score(files, scripted_model)
        assert (code, len(err.strip().splitlines())) == (2, 1)
        assert "another process is writing it" in err
        assert (await dry(files, scripted_model))[0] == 0, "who reads alone isn't in the way"
