"""Where corpora, injectors, adapters and experiments are found.

A folder of one of the four kinds is looked for in the user's home first, then beside the package (a checkout,
also an editable installation), then in what the wheel carries. A name found earlier hides the same name later.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import platformdirs

from searchsim.errors import UsageError

__all__ = ["KINDS", "cache_folder", "find", "instances", "roots", "set_home"]

KINDS = ("corpora", "injectors", "adapters", "experiments")
_MARK = "searchsim.yaml"
_PACKAGE = Path(__file__).parent
_chosen: list[Path] = []


def set_home(path: Path | None) -> None:
    """Use a home given on the command line (``--home``); None takes it back.

    Raises:
        UsageError: The folder doesn't exist or holds no ``searchsim.yaml``.
    """
    _chosen.clear()
    if path is not None:
        _chosen.append(_valid_home(path, "--home"))


def _valid_home(path: Path, origin: str) -> Path:
    """A home must be marked, so that a folder is never searched for code by accident."""
    if not path.is_dir():
        raise UsageError(f"{origin}: {path} is no folder")
    if not (path / _MARK).is_file():
        raise UsageError(f"{origin}: {path} is no searchsim home: create an empty {_MARK} in it first")
    return path.resolve()


def roots() -> list[Path]:
    """The folders to look in, first one wins."""
    found: list[Path] = []
    if _chosen:
        found.append(_chosen[0])
    elif home := os.environ.get("SEARCHSIM_HOME"):
        found.append(_valid_home(Path(home), "SEARCHSIM_HOME"))
    elif (Path.cwd() / _MARK).is_file():
        found.append(Path.cwd())
    found.append(_shipped())
    return found


@lru_cache(maxsize=1)
def _shipped() -> Path:
    """The checkout around the package, else what the wheel carries.

    An editable installation leaves a stale ``_shipped`` behind, so the checkout comes first. It is told by its
    ``pyproject.toml``, because site-packages may hold a folder of any name.
    """
    checkout = _PACKAGE.parent
    if (checkout / "pyproject.toml").is_file() and (checkout / "corpora").is_dir():
        return checkout
    return _PACKAGE / "_shipped"


def instances(kind: str) -> Iterator[tuple[str, Path]]:
    """Names and paths of all instances of a kind, each name once, in alphabetical order.

    Args:
        kind: One of `KINDS`. Corpora are folders with a ``corpus.yaml``, injectors and adapters are ``.py`` files,
            experiments ``.yaml`` files.
    """
    seen: dict[str, Path] = {}
    for root in roots():
        folder = root / kind
        if not folder.is_dir():
            continue
        for path in sorted(folder.iterdir()):
            if kind == "corpora":
                if (path / "corpus.yaml").is_file():
                    seen.setdefault(path.name, path)
            elif path.suffix == (".yaml" if kind == "experiments" else ".py") and not path.name.startswith("_"):
                seen.setdefault(path.stem, path)
    yield from sorted(seen.items())


def find(kind: str, name: str) -> Path:
    """The path of one instance, by name or, where it is an existing path, as given.

    Raises:
        UsageError: There is none; the message lists those there are.
    """
    known = dict(instances(kind))
    if name in known:
        return known[name]
    path = Path(name)
    if path.exists() and (os.sep in name or path.is_dir() or path.suffix):
        return path
    have = ", ".join(known) or "none"
    raise UsageError(f"no {kind} named {name!r}; there are: {have} (a path works too)")


def cache_folder() -> Path:
    """The folder for what can be made again (indexes, environments): SEARCHSIM_CACHE, else the user's cache."""
    if chosen := os.environ.get("SEARCHSIM_CACHE"):
        return Path(chosen)
    return platformdirs.user_cache_path("searchsim")
