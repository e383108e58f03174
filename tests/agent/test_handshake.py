"""Handshakes: an agent whose traffic goes through its world, and those whose traffic doesn't."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from searchsim import agent
from searchsim.errors import AgentError
from searchsim.server.context import Context
from tests.scripted import ScriptedModel

TASK = "bicycle-stability"
SCRIPT = '''# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""A scripted agent."""
import json, sys, time, urllib.request
request = json.load(open(sys.argv[1]))

def post(url, body):
    headers = {{"Content-Type": "application/json", "X-API-KEY": request["key"], "Authorization": "Bearer " + request["key"]}}
    return json.load(urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)))

def search(q):
    return json.dumps(post(request["search"] + "/search", {{"q": q}}))

def ask(text):
    body = {{"model": "m", "messages": [{{"role": "user", "content": text}}]}}
    return post(request["model_url"] + "/chat/completions", body)["choices"][0]["message"]["content"]

{body}
json.dump({{"report": "done"}}, open(sys.argv[2], "w"))
'''


@pytest.fixture
def shake(tmp_path: Path, context: Context, url: str) -> Callable[..., Any]:
    (tmp_path / "searchsim.yaml").touch()

    async def shaken(body: str, **more: Any) -> dict[str, Any]:
        path = tmp_path / "scripted.py"
        path.write_text(SCRIPT.format(body=body))
        return await agent.handshake(context, url, *agent.prepare(str(path)), TASK, **more)

    return shaken


async def test_it_ends_as_soon_as_the_document_has_reached_the_model(
    shake: Callable[..., Any], context: Context, scripted_model: ScriptedModel
) -> None:
    found = await shake("ask(search('anything at all'))\ntime.sleep(600)")
    assert (found["searches"], found["calls"], found["task"]) == (1, 1, TASK)
    assert found["nonce"] in scripted_model.requests[0]["messages"][0]["content"]
    assert list(context.worlds.all()) == [], "its world is thrown away"
    assert context.replays == {} and context.matchers == {}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("ask('from memory')", "no search reached the simulation"),
        ("search('x')", "its searches were served, but no call reached the gateway"),
        ("search('x')\nask('from memory')", "no prompt of its 1 model calls held what was put there"),
        ("sys.exit('the agent broke')", "the agent broke"),
        (
            "search('x')\ntry:\n    urllib.request.urlopen('https://search.example/')\nexcept OSError:\n    pass",
            "no call reached the gateway",
        ),
    ],
)
async def test_how_far_it_got_is_told(shake: Callable[..., Any], context: Context, body: str, message: str) -> None:
    with pytest.raises(AgentError, match=message):
        await shake(body)
    assert list(context.worlds.all()) == []


@pytest.mark.parametrize(("shown", "message"), [(13, ""), (12, "2 of 3 documents behind a list of 10"), (10, "own k")])
async def test_an_agent_whose_own_k_cuts_off_what_is_appended(
    shake: Callable[..., Any], shown: int, message: str
) -> None:
    body = f"rows = json.loads(search('bicycle wheels'))['organic'][:{shown}]\nask(json.dumps(rows))"
    if message:
        with pytest.raises(AgentError, match=message):
            await shake(body, appended=True)
    else:
        assert (await shake(body, appended=True))["appended"] is True
