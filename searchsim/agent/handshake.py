"""Does an agent's traffic go through its world at all?

The proof is made in a throw-away world, not inside a run, whose prompts it would change: a document with a word that
nobody else has stands first in the first list, and the agent is run until that word is in a prompt to its model.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from searchsim.agent.adapter import Adapter
from searchsim.agent.process import carry_out
from searchsim.agent.run import RESULTS, TIMEOUT, request_of, turned
from searchsim.errors import AgentError
from searchsim.redirect import findings
from searchsim.server.context import Context

__all__ = ["handshake"]


async def handshake(
    context: Context,
    url: str,
    adapter: Adapter,
    python: Path,
    task: str,
    *,
    settings: Mapping[str, Any] | None = None,
    timeout: float = TIMEOUT,  # noqa: ASYNC109 - it ends a process, not a coroutine
) -> dict[str, Any]:
    """Run an agent until a document that only its world has reaches its model.

    Args:
        context: The server's state.
        url: Where the server listens.
        adapter: The agent.
        python: The interpreter of its environment.
        task: The task that it is given.
        settings: What the adapter's own settings are to be.
        timeout: Seconds after which it is given up.

    Returns:
        Agent, task, nonce, and how many searches and model calls it took.

    Raises:
        AgentError: The document never reached the model; the message says how far it got.
    """
    nonce = f"zq{secrets.token_hex(6)}"
    question = context.worlds.corpus.task(task).question
    text = f"Registry entry {nonce}. It was filed under this question: {question} The entry's mark is {nonce}."
    document = {
        "id": f"handshake-{nonce}",
        "url": f"https://registry.example/{nonce}",
        "title": f"Registry entry {nonce}",
        "body": text,
        "snippet": f"Registry entry {nonce}: the mark {nonce} was filed under this very question in the registry.",
        "source_name": "Registry",
        "published": context.worlds.corpus.today.isoformat(),
    }
    condition = {"stage": "cold_start", "rank": "front", "budget": 1}
    world = await context.worlds.create_given(task, condition, [document], results=RESULTS)

    def count(kind: str) -> int:
        return sum(e["event"] == kind for e in context.worlds.events(world.key))

    def reached() -> bool:
        return any(e["event"] == "model" and e["delivered"] for e in context.worlds.events(world.key))

    try:
        with tempfile.TemporaryDirectory(prefix="searchsim-log-") as folder:
            log = Path(folder) / "log"
            request = request_of(context, url, adapter, world, settings)
            variables = turned(context, url, world, log)
            await carry_out(adapter, python, request, variables, timeout, until=reached)
            found = findings.read(log)
            found.put_on_record(context.worlds, world)
        searches, calls, refused = count("search"), count("model"), count("refused")
        if not reached():
            if not searches:
                far = "no search reached the simulation"
            elif not calls:
                far = "its searches were served, but no call reached the gateway"
            else:
                far = f"its {searches} searches were served, but no prompt of its {calls} model calls held a result"
            more = f"; {refused} requests went elsewhere and were refused" if refused else ""
            raise AgentError(f"the handshake with agent {adapter.name} failed: {far}{more}")
        return {"agent": adapter.name, "task": task, "nonce": nonce, "searches": searches, "calls": calls}
    finally:
        context.worlds.end(world.key)
        context.forget(world.key)
