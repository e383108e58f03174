"""A wheel, installed in an empty environment elsewhere, works with the shipped folders."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
import zipfile
from pathlib import Path

import pytest

from tests.conftest import ROOT

UV = Path(sys.executable).with_name("uv")


def run(*command: str | Path, cwd: Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run([str(c) for c in command], cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    run(UV, "build", "--wheel", "--out-dir", out, ROOT, cwd=out)
    (built,) = out.glob("*.whl")
    return built


def test_it_holds_the_four_folders_and_one_import_name(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for inside in (
        "corpora/quickstart/documents.jsonl",
        "injectors/rank.py",
        "adapters/planner.py",
        "experiments/README.md",
    ):
        assert f"searchsim/_shipped/{inside}" in names
    assert "searchsim/schemas/document.json" in names
    assert "searchsim/templates/pages/paper.html" in names
    assert {n.split("/")[0] for n in names if ".dist-info" not in n} == {"searchsim"}


@pytest.mark.timeout(300)
def test_it_works_elsewhere(wheel: Path, tmp_path: Path) -> None:
    env = {k: v for k, v in os.environ.items() if not k.startswith(("SEARCHSIM", "VIRTUAL_ENV"))}
    env["SEARCHSIM_CACHE"] = str(tmp_path / "cache")
    run(UV, "venv", "--python", sys.executable, "venv", cwd=tmp_path, env=env)
    run(UV, "pip", "install", "--python", "venv/bin/python", wheel, cwd=tmp_path, env=env)
    command = tmp_path / "venv" / "bin" / "searchsim"
    (entry,) = json.loads(run(command, "corpus", "list", "--json", cwd=tmp_path, env=env))
    assert entry["name"] == "quickstart"
    assert "_shipped" in entry["path"]
    assert "planner" in run(command, "agent", "list", cwd=tmp_path, env=env)
    assert "no faults" in run(command, "corpus", "check", "quickstart", cwd=tmp_path, env=env)
    process = subprocess.Popen(
        [command, "serve", "--port", "0", "--json", "--task", "anji-bridge"],
        cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout
        url = json.loads(process.stdout.readline())["url"]
        with urllib.request.urlopen(f"{url}/search?q=%E8%B5%B5%E5%B7%9E%E6%A1%A5", timeout=20) as answer:
            assert len(json.loads(answer.read())["organic"]) == 10
        process.terminate()
        assert process.wait(timeout=5) == 0
    finally:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()
