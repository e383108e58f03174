"""Is a run valid? Its lists are recomputed from the record and compared with what was served.

A run is invalid where a served list differs from what the rules give for its recorded query, a forced or appended
document was cut off, a fault wasn't planned, or traffic went elsewhere. Not being served, delivered or opened is an
outcome, never a fault.
"""

from __future__ import annotations

from collections.abc import Sequence

from searchsim.engine import SearchEngine
from searchsim.trace import Event, served
from searchsim.world import World, Worlds

__all__ = ["reasons"]


async def reasons(worlds: Worlds, world: World, events: Sequence[Event]) -> list[str]:
    """Why a world's run is invalid; empty where it is valid.

    Args:
        worlds: Knows corpus and engine.
        world: The world, with its plan.
        events: Its trace, as kept.
    """
    found: list[str] = []
    if dict(world.plan.factors) != world.factors.sources:
        found.append("the factors' source has changed since the world was planned")
    found += _numbering(worlds, events)
    for event in events:
        match event["event"]:
            case "search":
                found += await _list_reasons(worlds, worlds.engine, world, event)
            case "fault" if not event["planned"]:
                found.append(f"unplanned fault at {event['where']}: {event['message']}")
            case "refused":
                found.append(f"traffic went to {event['host']} and was refused")
    return found


def _numbering(worlds: Worlds, events: Sequence[Event]) -> list[str]:
    """Each list has one number, and the numbers run from 1 without a gap.

    The order of events isn't that of the numbers where searches run side by side.
    """
    numbers: dict[tuple[str, object], set[int]] = {}
    for event in events:
        if event["event"] == "search":
            numbers.setdefault((event["endpoint"], worlds.query(event)), set()).add(event["list"])
    given = sorted(number for several in numbers.values() for number in several)
    if given != list(range(1, len(numbers) + 1)):
        return [f"the lists are numbered {given}, and there are {len(numbers)} distinct ones"]
    return []


async def _list_reasons(worlds: Worlds, engine: SearchEngine, world: World, event: Event) -> list[str]:
    query = worlds.query(event)
    number, k, page = event["list"], event["k"], event["page"]
    label = f"list {number} ({event['query'][:60]!r})"
    how = world.admission(number, event["endpoint"], event["query"])
    if page > 1:
        items = await world.later_page(engine, query, k, page)
        cut: list[str] = []
    else:
        composition = await world.compose(engine, query, k, how)
        items = composition.items
        cut = [d.id for d in composition.cut]
    found = []
    if served(items) != event["served"]:
        found.append(f"{label} was served otherwise than its rules say")
    if cut or event["cut"]:
        found.append(f"{label}: {len(cut or event['cut'])} documents were cut off by the client's own k of {k}")
    return found
