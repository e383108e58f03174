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

from searchsim.documents import faults_in
from searchsim.records import write
from searchsim.reproduce.synthetic import synthetic_record
from searchsim.study.matrix import PlannedRun
from tests.scoring.smoothing.scripted import REPORT, ScriptedReader, write_documents
from tests.scripted import ScriptedModel


def run_record(number: int, *, cites_injected: bool, status: str = "valid") -> dict[str, Any]:
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
        (("--chunk", "500"), "another model, version or --chunk"),
        (("--out", str(files / "nowhere" / "x.jsonl")), "name a file in a folder that is there"),
    ):
        code, _, err = await score(files, scripted_model, *more)
        assert (code, len(err.strip().splitlines())) == (2, 1)
        assert message in err
