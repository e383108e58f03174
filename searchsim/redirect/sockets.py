"""Sockets that a program opened past the hooks, where the system can tell: on Linux, from /proc.

A program that no hook enters (a static binary, a browser) can't be turned, but its open connections can be seen. They
are looked for a few times a second, so that a very short one may be missed: what is found is proof, what isn't found
is none.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
import sys
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

__all__ = ["Watch", "watched"]

_PROC = Path("/proc")
_EVERY = 0.2


@dataclass(slots=True)
class Watch:
    """The sockets of a program and all its children that lead beyond this machine.

    Attributes:
        mark: What the program's environment holds, and none else's.
        allowed: Addresses that it may connect to.
        able: Whether this system can tell.
        strays: Addresses, as ``host:port``, with the name of a program that connected there.
    """

    mark: bytes
    allowed: frozenset[str] = frozenset()
    able: bool = field(default_factory=(_PROC / "net" / "tcp").is_file)
    strays: dict[str, str] = field(default_factory=dict)
    _known: set[str] = field(default_factory=set)

    def look(self) -> None:
        """Look once."""
        connections = {inode: f"{host}:{port}" for inode, host, port in _connections() if host not in self.allowed}
        # Whose a socket is doesn't change, and finding out means reading of every process.
        away = {inode: place for inode, place in connections.items() if inode not in self._known}
        self._known = set(connections)
        if not away:
            return
        for pid in self._processes():
            for inode in _sockets(pid):
                if inode in away and away[inode] not in self.strays:
                    with suppress(OSError):
                        self.strays[away[inode]] = (_PROC / pid / "comm").read_text().strip()

    def _processes(self) -> Iterator[str]:
        """Those that have the mark, and what descends from them."""
        parents: dict[str, str] = {}
        marked: set[str] = set()
        for entry in os.scandir(_PROC):
            if entry.name.isdigit():
                with suppress(OSError):
                    parents[entry.name] = (_PROC / entry.name / "stat").read_text().rpartition(")")[2].split()[1]
                    if self.mark in (_PROC / entry.name / "environ").read_bytes():
                        marked.add(entry.name)
        for pid in parents:
            at: str | None = pid
            while at is not None and at not in marked:
                at = parents.get(at)
            if at is not None:
                yield pid


def _connections() -> Iterator[tuple[str, str, int]]:
    """Inode, remote address and port of every socket that is connected, or being connected, beyond this machine."""
    for name in ("tcp", "tcp6", "udp", "udp6"):
        with suppress(OSError):
            for line in (_PROC / "net" / name).read_text().splitlines()[1:]:
                fields = line.split()
                host, port = fields[2].split(":")
                address = _address(host)
                if int(port, 16) and not address.is_loopback and not address.is_unspecified:
                    shown = f"[{address}]" if address.version == 6 else str(address)
                    yield fields[9], shown, int(port, 16)


def _address(digits: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """An address as the kernel prints it: words of four bytes in the machine's order."""
    step = -1 if sys.byteorder == "little" else 1
    raw = b"".join(bytes.fromhex(digits[n : n + 8])[::step] for n in range(0, len(digits), 8))
    address = ipaddress.ip_address(raw)
    return getattr(address, "ipv4_mapped", None) or address


def _sockets(pid: str) -> Iterator[str]:
    """Inodes of a process's sockets."""
    with suppress(OSError):
        for entry in os.scandir(_PROC / pid / "fd"):
            with suppress(OSError):
                target = Path(entry.path).readlink().name
                if target.startswith("socket:["):
                    yield target[8:-1]


def _addresses(hosts: Iterable[str]) -> frozenset[str]:
    """What hosts, ``HOST`` or ``HOST:PORT``, are looked up as; without those that can't be."""
    found = set()
    for host in hosts:
        with suppress(OSError, ValueError):
            name = urlsplit(f"//{host}").hostname
            for *_, address in socket.getaddrinfo(name, None):
                found.add(f"[{address[0]}]" if ":" in str(address[0]) else str(address[0]))
    return frozenset(found)


@asynccontextmanager
async def watched(log: Path, allow: Iterable[str] = ()) -> AsyncIterator[Watch]:
    """Watch the processes whose hooks tell what they see in a file, until the block ends.

    Args:
        log: The file.
        allow: Hosts that they may reach.
    """
    allowed = await asyncio.to_thread(_addresses, tuple(allow))
    watch = Watch(f"SEARCHSIM_REDIRECT_LOG={log}".encode(), allowed)

    async def keep_looking() -> None:
        while True:
            await asyncio.to_thread(watch.look)
            await asyncio.sleep(_EVERY)

    job = asyncio.create_task(keep_looking()) if watch.able else None
    try:
        yield watch
    finally:
        if job is not None:
            job.cancel()
            with suppress(asyncio.CancelledError):
                await job
