"""Does an agent's traffic go through its world at all?

The proof is made in a throw-away world, not inside a run, whose prompts it would change: documents with a word that
nobody else has stand in the first list, and the agent is run until that word is in a prompt to its model. Where
documents are to be appended to lists, as many as may be are appended, and every one must arrive: an agent that cuts its
results to its own k would otherwise be taken for one that wasn't convinced.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from searchsim.agent.adapter import Adapter
from searchsim.agent.process import carry_out, fresh_folder
from searchsim.agent.run import APPENDED, RESULTS, TIMEOUT, request_of, turned
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
    appended: bool = False,
) -> dict[str, Any]:
    """Run an agent until documents that only its world has reach its model.

    Args:
        context: The server's state.
        url: Where the server listens.
        adapter: The agent.
        python: The interpreter of its environment.
        task: The task that it is given.
        settings: What the adapter's own settings are to be.
        timeout: Seconds after which it is given up.
        appended: Whether the documents stand behind a full list, each of which must arrive; else one stands first.

    Returns:
        Agent, task, nonce, and how many searches and model calls it took.

    Raises:
        AgentError: A document never reached the model; the message says how far it got.
    """
    nonce = f"zq{secrets.token_hex(6)}"
    question = context.worlds.corpus.task(task).question
    today = context.worlds.corpus.today.isoformat()
    documents = [_document(f"{nonce}{n}", question, today) for n in range(APPENDED if appended else 1)]
    condition = {"stage": "pre_synthesis"} if appended else {"stage": "cold_start", "rank": "front"}
    world = await context.worlds.create_given(
        task, condition, documents, results=RESULTS, last_list=1 if appended else None
    )

    def delivered() -> set[str]:
        events = context.worlds.events(world.key)
        return {d for e in events if e["event"] == "model" for d in e["delivered"]} & set(world.plan.documents)

    def arrived() -> bool:
        return len(delivered()) == len(documents)

    try:
        with fresh_folder() as folder:
            log = folder / "redirection"
            request = request_of(context, url, adapter, world, settings)
            variables = turned(context, url, world, log)
            await carry_out(adapter, python, request, variables, timeout, folder, until=arrived)
            found = findings.read(log)
            found.put_on_record(context.worlds, world)
        count = Counter(e["event"] for e in context.worlds.events(world.key))
        if not arrived():
            raise AgentError(f"the handshake with agent {adapter.name} failed: {_how_far(count, len(delivered()))}")
        return {
            "agent": adapter.name,
            "task": task,
            "nonce": nonce,
            "appended": appended,
            "searches": count["search"],
            "calls": count["model"],
        }
    finally:
        context.worlds.end(world.key)
        context.forget(world.key)


def _how_far(count: Mapping[str, int], delivered: int) -> str:
    searches, calls = count["search"], count["model"]
    if not searches:
        far = "no search reached the simulation"
    elif not calls:
        far = "its searches were served, but no call reached the gateway"
    elif delivered:
        far = (
            f"{delivered} of {APPENDED} documents behind a list of {RESULTS} reached its model: its own k is too small"
        )
    else:
        far = (
            f"its {searches} searches were served, but no prompt of its {calls} model calls held what was put there: "
            "is its own k too small?"
        )
    return far + (f"; {count['refused']} requests went elsewhere and were refused" if count["refused"] else "")


def _document(mark: str, question: str, today: str) -> dict[str, Any]:
    text = f"Registry entry {mark}. It was filed under this question: {question} The entry's mark is {mark}."
    return {
        "id": f"handshake-{mark}",
        "url": f"https://registry.example/{mark}",
        # Long enough to be known from its title alone, which is all that some show of their first search.
        "title": f"Registry entry {mark}, filed under the very question that is asked here",
        "body": text,
        "snippet": f"Registry entry {mark}: the mark {mark} was filed under this very question in the registry.",
        "source_name": "Registry",
        "published": today,
    }
