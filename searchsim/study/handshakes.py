"""The handshakes of a study: each agent's wiring is proved once for each model, before the first run."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from searchsim import agent
from searchsim.agent import Adapter
from searchsim.counterfactual import needs_control
from searchsim.engine.opening import open_embedded
from searchsim.injection import load_factors
from searchsim.local import LocalModel
from searchsim.server.app import running
from searchsim.server.context import Context
from searchsim.store import SqliteStore
from searchsim.study.contract import AgentSpec, Contract, ModelSpec
from searchsim.study.ledger import Ledger
from searchsim.study.matrix import Plan
from searchsim.study.models import Models
from searchsim.study.upstream import InspectUpstream
from searchsim.world import Worlds

__all__ = ["shake_hands"]


def shake_hands(
    contract: Contract, planned: Plan, ledger: Ledger, opened: Models, prepared: Mapping[str, tuple[Adapter, Path]]
) -> None:
    """Prove what hasn't been proved, and keep it.

    Args:
        contract: The study's.
        planned: Its runs.
        ledger: Its folder.
        opened: Its models: the small local one is shared, since it can't be let go of while it answers a call that
            the end of a handshake left behind.
        prepared: Its agents, with their interpreters.

    Raises:
        AgentError: An agent's traffic doesn't go through its world; none of its runs would count.
    """
    known = {(h["agent"], h["version"], h["model"]) for h in ledger.handshakes()}
    factors = load_factors()
    # Where something is appended to lists, it must not be cut off by the agents' own k.
    appended = any(needs_control(factors, run.condition) for run in planned.runs)
    for of in contract.agents:
        version = prepared[of.name][0].version(of.settings)
        for spec in contract.models:
            if (of.name, version, spec.name) not in known:
                found = asyncio.run(_shake(contract, of, prepared[of.name], spec, appended, opened.local))
                ledger.append_handshake({**found, "version": version, "model": spec.name})


async def _shake(
    contract: Contract,
    of: AgentSpec,
    prepared: tuple[Adapter, Path],
    spec: ModelSpec,
    appended: bool,
    local: LocalModel | None,
) -> dict[str, object]:
    # Models of its own: a client is bound to the loop that it was first used in.
    with Models(local) as models, closing(SqliteStore()) as store:
        upstream = InspectUpstream(models.model(spec), spec.name, demonstration=spec.demonstration)
        # Whether traffic arrives is no matter of the engine.
        worlds = Worlds(contract.corpus, open_embedded(contract.corpus), store)
        context = Context(
            worlds,
            upstream,
            temperature=contract.temperature,
            seed=contract.seed,
            control_token=secrets.token_hex(16),
        )
        async with running(context) as url:
            return await agent.handshake(
                context,
                url,
                *prepared,
                contract.tasks[0],
                settings=of.settings,
                timeout=contract.seconds,
                appended=appended,
            )
