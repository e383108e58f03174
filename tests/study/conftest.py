"""A study in small: a scripted agent of the standard library, a scripted model, and contracts over them."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from searchsim.corpus import Corpus
from tests.conftest import ROOT
from tests.scripted import ScriptedModel

HOME = Path(__file__).parent / "home"

ContractData = dict[str, Any]


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> None:
    """The home that holds the scripted agent."""
    monkeypatch.setenv("SEARCHSIM_HOME", str(HOME))


@pytest.fixture
def data(quickstart: Corpus) -> ContractData:
    """A sound contract."""
    return {
        "contract": 1,
        "name": "small",
        "question": "Does it work?",
        "corpus": {"name": "quickstart", "sha256": quickstart.hash},
        "tasks": ["bicycle-stability", "anji-bridge"],
        "factors": {"budget": [3]},
        "fixed": {"authority": "high", "style": "paper", "rank": "front", "stage": "always"},
        "control": {"budget": 0},
        "agents": [{"name": "scripted", "expected": {"calls": 1, "input_tokens": 11, "output_tokens": 7}}],
        "models": ["local"],
        "repetitions": 1,
        "handshake": False,
        "judge": "lexical",
        "metrics": ["fcar", "mer", "ecar"],
        "limits": {"parallel": 2},
    }


@pytest.fixture
def scripted(data: ContractData, scripted_model: ScriptedModel) -> ContractData:
    """The same with a scripted model that has a price."""
    model = {
        "name": "stand-in",
        "model": "openai-api/scripted/m",
        "base_url": f"{scripted_model.url}/v1",
        "price": {"input": 1000, "output": 2000},
        "demonstration": True,
    }
    return {**data, "models": [model]}


Searchsim = Callable[..., Any]


@pytest.fixture
def searchsim(tmp_path: Path, cache: Path) -> Searchsim:
    """The command in a process of its own, while the scripted model answers in this one.

    Gives the process where ``wait`` is false, else its exit code, stdout and stderr.
    """
    env = {
        **os.environ,
        "SEARCHSIM_HOME": str(HOME),
        "SEARCHSIM_CACHE": str(cache),
        "SCRIPTED_API_KEY": "x",
        # Inspect's own files (traces, buffers of samples) stay out of the user's home.
        "XDG_DATA_HOME": str(tmp_path / "share"),
        "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),
    }

    async def run(*arguments: object, wait: bool = True) -> Any:
        process = await asyncio.create_subprocess_exec(
            str(Path(sys.executable).with_name("searchsim")),
            *map(str, arguments),
            cwd=ROOT,
            env=env,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        if not wait:
            return process
        out, err = await process.communicate()
        return process.returncode, out.decode(), err.decode()

    return run


@pytest.fixture
def written(tmp_path: Path) -> Callable[[ContractData], Path]:
    """Writes a contract."""

    def write(data: ContractData) -> Path:
        path = tmp_path / "contract.yaml"
        path.write_text(yaml.safe_dump(data, allow_unicode=True), "utf-8")
        return path

    return write
