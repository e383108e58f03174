"""``searchsim world create --faults`` against a running server."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from searchsim.cli import main
from searchsim.server.context import Context

TASK = "bicycle-stability"
FAULTS = [{"kind": "429", "on": [1, 4]}, {"kind": "no_organic", "share": 0.2}]


async def create(url: str, *arguments: str) -> int:
    def call() -> int:
        with pytest.raises(SystemExit) as ended:
            main(["world", "create", TASK, "--url", url, "--key", "k", *arguments])
        assert isinstance(ended.value.code, int)
        return ended.value.code

    return await asyncio.to_thread(call)


@pytest.mark.parametrize("whole", [False, True])
async def test_faults_as_json_and_from_a_file(
    url: str, context: Context, tmp_path: Path, capsys: pytest.CaptureFixture[str], whole: bool
) -> None:
    text = json.dumps({"faults": FAULTS, "latency": "live"} if whole else FAULTS)
    (tmp_path / "faults.json").write_text(text, "utf-8")
    for given in (text, str(tmp_path / "faults.json")):
        assert await create(url, "--faults", given) == 0
        made = json.loads(capsys.readouterr().out)
        assert made["plan"]["faults"] == FAULTS
        assert made["plan"]["latency"] == ("live" if whole else None)
        context.worlds.end("k")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("/nowhere/faults.json", "neither JSON nor a file"),
        ("[", "no JSON"),
        ('{"fault": []}', "give an array of faults"),
        ('[{"kind": "418", "on": [1]}]', "one of: 429"),
    ],
)
async def test_what_cannot_be_used(url: str, capsys: pytest.CaptureFixture[str], given: str, told: str) -> None:
    assert await create(url, "--faults", given) == 2
    assert told in capsys.readouterr().err
