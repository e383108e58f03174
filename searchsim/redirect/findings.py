"""What the hooks told of a program: the lines of the file named by SEARCHSIM_REDIRECT_LOG.

Each is a JSON object with ``event``:

    hooked     pid, program   a Python or Node process has taken up the hook
    refused    host, url      traffic to somewhere else was refused; url is tcp://, udp:// or dns://
    passed     address        a connection to an allowed host
    unhooked   command        a program was started that no hook enters
    listening  port           a server of the program's own
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import orjson

from searchsim import trace
from searchsim.world import World, Worlds

__all__ = ["Findings", "read"]


@dataclass(frozen=True, slots=True)
class Findings:
    """What the hooks told.

    Attributes:
        hooked: Processes that took up the hook.
        refused: Host and URL of each refusal.
        passed: Addresses of allowed hosts that were connected to.
        unhooked: Commands that no hook enters.
    """

    hooked: int = 0
    refused: tuple[tuple[str, str], ...] = ()
    passed: frozenset[str] = frozenset()
    unhooked: tuple[str, ...] = ()

    def put_on_record(self, worlds: Worlds, world: World) -> None:
        """Add the refusals to a world's trace."""
        for host, url in self.refused:
            worlds.append(world, trace.refused(host=host, url=url))

    def past(self, strays: Iterable[str]) -> list[str]:
        """The addresses, of those that sockets were seen to lead to, that weren't allowed; see `sockets.Watch`."""
        return sorted(s for s in strays if s.rpartition(":")[0].strip("[]") not in self.passed)

    def reasons(self, strays: Iterable[str]) -> list[str]:
        """Why a run is invalid that isn't on its world's record; arguments as those of `past`."""
        return [f"traffic went to {place}, past the redirection" for place in self.past(strays)]


def read(log: Path) -> Findings:
    """What a log says; a program that never started has left none."""
    try:
        lines = log.read_bytes().splitlines()
    except FileNotFoundError:
        return Findings()
    hooked, refused, passed, unhooked = 0, [], set(), []
    for line in lines:
        try:
            fact = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        match fact.get("event"):
            case "hooked":
                hooked += 1
            case "refused":
                refused.append((str(fact["host"]), str(fact["url"])))
            case "passed":
                passed.add(str(fact["address"]))
            case "unhooked":
                unhooked.append(str(fact["command"]))
    return Findings(hooked, tuple(refused), frozenset(passed), tuple(dict.fromkeys(unhooked)))
