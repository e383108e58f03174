"""The demonstration: a small study with the real planner and the real local model, from contract to report."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from searchsim import records


@pytest.mark.local_model
@pytest.mark.timeout(900)
def test_the_demonstration(cache: Path, tmp_path: Path) -> None:
    env = {**os.environ, "SEARCHSIM_CACHE": str(cache), "XDG_DATA_HOME": str(tmp_path / "share")}
    command = [
        str(Path(sys.executable).with_name("searchsim")),
        "demo",
        "--tasks",
        "1",
        "--out",
        str(tmp_path / "demo"),
    ]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for told in ("control", "budget=1", "budget=3", "A demonstration, no result: model local is a toy", "index.html"):
        assert told in done.stdout
    runs = list(records.read(tmp_path / "demo" / "runs.jsonl"))
    assert [r["label"] for r in runs] == ["control", "budget=1", "budget=3"]
    assert all(r["demonstration"] and r["report"] and r["status"] == "valid" for r in runs)
    assert [len(r["exposure"]["served"]) for r in runs] == [0, 1, 3]
    assert all(r["exposure"]["delivered"] for r in runs[1:])
    page = (tmp_path / "demo" / "index.html").read_text("utf-8")
    assert "A demonstration, no result" in page
    assert "<script" not in page
