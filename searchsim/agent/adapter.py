"""Adapters: PEP 723 scripts in ``adapters/``, one an agent framework.

What the launcher must know of one stands in its script block, under ``[tool.searchsim]``: ``home`` (the environment
variable that names a checkout of the framework), ``needs`` (files that must be in it), ``normalise`` (regular
expressions for what differs from run to run in its prompts).
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from searchsim import home
from searchsim.errors import AgentError, UsageError

__all__ = ["Adapter", "adapters", "prepare", "uv"]

_BLOCK = re.compile(r"(?m)^# /// script$\s(?P<content>(^#(| .*)$\s)+)^# ///$")
"""As PEP 723 gives it."""
_KEYS = ("home", "needs", "normalise")
_NO_SOURCE = {".git", ".venv", "__pycache__", "node_modules"}
"""Folders, wherever they stand, that are made and not written."""
_ASIDE = {"frontend", "web", "outputs", "cache", "logs"}
"""Folders at the top of a checkout that no headless run reads."""
_LARGEST = 1 << 20
"""Bytes: a larger file holds data."""


@dataclass(frozen=True, slots=True)
class Adapter:
    """One adapter script.

    Attributes:
        name: The agent's name.
        path: The script.
        summary: The first line of its docstring.
        home: The environment variable that names a checkout of the framework; None where it is on the index.
        needs: Files that must be in the checkout.
        normalise: Regular expressions: what they match in a prompt is no part of the request.
    """

    name: str
    path: Path
    summary: str
    home: str | None = None
    needs: tuple[str, ...] = ()
    normalise: tuple[str, ...] = ()

    def checkout(self) -> Path | None:
        """The framework's checkout; None where it needs none.

        Raises:
            UsageError: It isn't there, or isn't whole; the message says what is missing.
        """
        if self.home is None:
            return None
        given = os.environ.get(self.home)
        if not given:
            raise UsageError(f"agent {self.name}: set {self.home} to a checkout of its repository (docs/adapters.md)")
        folder = Path(given).expanduser()
        if not folder.is_dir():
            raise UsageError(f"agent {self.name}: {self.home} names {given}, which is no folder")
        if missing := [n for n in self.needs if not (folder / n).exists()]:
            raise UsageError(
                f"agent {self.name}: {self.home} names {given}, where {', '.join(missing)} is missing: is it a "
                "checkout of the version that docs/adapters.md names?"
            )
        return folder.resolve()

    def version(self, settings: Mapping[str, Any] | None = None) -> str:
        """What makes two runs of this agent runs of the same program: a hash of script, settings and checkout.

        Args:
            settings: What the adapter's own settings are to be.
        """
        whole = hashlib.sha256(self.path.read_bytes())
        whole.update(orjson.dumps(dict(settings or {}), option=orjson.OPT_SORT_KEYS))
        if (folder := self.checkout()) is not None:
            for file in sorted(_sources(folder)):
                whole.update(str(file.relative_to(folder)).encode() + b"\0" + file.read_bytes())
        return whole.hexdigest()[:16]


def _sources(folder: Path) -> Iterator[Path]:
    """The files of a checkout that can change what an agent does."""
    for path, folders, files in os.walk(folder):
        left_out = _NO_SOURCE | (_ASIDE if Path(path) == folder else set())
        folders[:] = [f for f in folders if f not in left_out]
        for name in files:
            file = Path(path, name)
            if file.is_file() and file.stat().st_size <= _LARGEST:
                yield file


def _described(name: str, path: Path) -> Adapter:
    try:
        text = path.read_text("utf-8")
        summary = (ast.get_docstring(ast.parse(text)) or "").split("\n", 1)[0]
        told = _told(text)
    except (SyntaxError, ValueError, OSError) as error:
        return Adapter(name, path, f"can't be used: {error}")
    return Adapter(
        name, path, summary, told.get("home"), tuple(told.get("needs", ())), tuple(told.get("normalise", ()))
    )


def _told(text: str) -> dict[str, Any]:
    """The ``[tool.searchsim]`` table of a script.

    Raises:
        ValueError: The script block is no TOML, or the table has something that the launcher doesn't know.
    """
    match = _BLOCK.search(text)
    if match is None:
        return {}
    block = "".join(line[2:] if line.startswith("# ") else line[1:] for line in match["content"].splitlines(True))
    told: dict[str, Any] = tomllib.loads(block).get("tool", {}).get("searchsim", {})
    for key, value in told.items():
        if key not in _KEYS:
            raise ValueError(f"[tool.searchsim] has no key {key!r}; keys: {', '.join(_KEYS)}")
        if key == "home" and not isinstance(value, str):
            raise ValueError("[tool.searchsim] home is the name of an environment variable")
        if key != "home" and not (isinstance(value, list) and all(isinstance(v, str) for v in value)):
            raise ValueError(f"[tool.searchsim] {key} is an array of strings")
        if key == "normalise":
            for pattern in value:
                try:
                    re.compile(pattern)
                except re.error as error:
                    raise ValueError(
                        f"[tool.searchsim] normalise: {pattern!r} is no regular expression: {error}"
                    ) from None
    return told


def _python(path: Path) -> str:
    """What a script says of the Python that it needs."""
    found = re.search(r'(?m)^# requires-python = "([^"]+)"', path.read_text("utf-8"))
    return found[1] if found else "of any version"


def adapters() -> dict[str, Adapter]:
    """All adapters by name."""
    return {name: _described(name, path) for name, path in home.instances("adapters")}


def prepare(name: str) -> tuple[Adapter, Path]:
    """An adapter and the interpreter of its environment, which is made where it isn't there.

    Raises:
        UsageError: There is no such adapter, it can't be read, or the checkout that it needs isn't there.
        AgentError: Its environment can't be made; the message has uv's last words.
    """
    path = home.find("adapters", name)
    adapter = adapters().get(name) or _described(path.stem, path)
    if adapter.summary.startswith("can't be used: "):
        raise UsageError(f"agent {name}: its script {adapter.summary}")
    adapter.checkout()
    # A script in a read-only place or an installed wheel has no lock beside it: exclude-newer in it pins.
    for command in (["sync", "--script"], ["python", "find", "--script"]):
        done = subprocess.run(  # noqa: S603 - uv with fixed arguments
            [uv(), *command, str(path)],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "UV_PYTHON_DOWNLOADS": "never"},
        )
        if done.returncode:
            last = (done.stderr.strip() or done.stdout.strip()).splitlines()
            needs = _python(path)
            raise AgentError(
                f"the environment of agent {name}, which needs Python {needs}, can't be made: {' '.join(last[-3:])}"
            )
    return adapter, Path(done.stdout.strip().splitlines()[-1])


def uv() -> str:
    """The uv beside this Python, else on the path.

    Raises:
        AgentError: There is none.
    """
    beside = Path(sys.executable).with_name("uv")
    found = str(beside) if beside.is_file() else shutil.which("uv")
    if not found:
        raise AgentError("uv isn't there: install searchsim with its dependencies (uv is one of them)")
    return found
