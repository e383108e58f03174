"""Fixtures: the quickstart corpus, its real engine, a server over it, and scripted stand-ins for models."""

from __future__ import annotations

import os
import runpy
import sys
import types
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from searchsim import corpus as corpora
from searchsim.corpus import Corpus
from searchsim.engine.embedded import EmbeddedEngine
from searchsim.engine.opening import open_embedded
from searchsim.server.app import running
from searchsim.server.context import Context
from searchsim.store import SqliteStore
from searchsim.upstream import HttpUpstream
from searchsim.world import Worlds
from tests.scripted import ScriptedModel

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Indexes of this session alone, so that nothing stale from an earlier one can pass a test."""
    folder = tmp_path_factory.mktemp("cache")
    patch = pytest.MonkeyPatch()
    patch.setenv("SEARCHSIM_CACHE", str(folder))
    for name in ("SEARCHSIM_HOME", "SEARCHSIM_STORE", "SEARCHSIM_LOCAL_MODEL", "SEARCHSIM_CONTROL_TOKEN"):
        patch.delenv(name, raising=False)
    yield folder
    patch.undo()


@pytest.fixture(scope="session")
def quickstart(cache: Path) -> Corpus:
    """The shipped corpus."""
    return corpora.load("quickstart")


@pytest.fixture(scope="session")
def engine(quickstart: Corpus) -> EmbeddedEngine:
    """Its real engine."""
    return open_embedded(quickstart)


@pytest.fixture
def worlds(quickstart: Corpus, engine: EmbeddedEngine) -> Iterator[Worlds]:
    """Worlds over the quickstart corpus, kept in memory."""
    made = Worlds(quickstart, engine, SqliteStore())
    yield made
    made.close()


@pytest.fixture
async def scripted_model() -> AsyncIterator[ScriptedModel]:
    """A stand-in for a model's server that says what its script says."""
    async with ScriptedModel.running() as model:
        yield model


@pytest.fixture
async def context(worlds: Worlds, scripted_model: ScriptedModel) -> AsyncIterator[Context]:
    """A server's state, with the scripted model behind the gateway."""
    upstream = HttpUpstream(f"{scripted_model.url}/v1", model="scripted")
    yield Context(worlds, upstream)
    await upstream.close()


@pytest.fixture
async def url(context: Context) -> AsyncIterator[str]:
    """A running server's address."""
    async with running(context) as address:
        yield address


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    """A client."""
    async with aiohttp.ClientSession() as session:
        yield session


@pytest.fixture(scope="session")
def script() -> Callable[[str], dict[str, Any]]:
    """The functions of an adapter, by its name. The module of its model's client is in its own environment alone, so
    that a stand-in takes its place here."""

    def run(name: str) -> dict[str, Any]:
        with pytest.MonkeyPatch.context() as patch:
            stand_in = types.ModuleType("llama_index.llms.openai_like")
            stand_in.OpenAILike = object  # type: ignore[attr-defined]
            patch.setitem(sys.modules, "llama_index.llms.openai_like", stand_in)
            return runpy.run_path(str(ROOT / "adapters" / f"{name}.py"))

    return run


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Say why tests of the local model are skipped, where it can't be had; CI counts skips as failures."""
    from searchsim.errors import MissingComponentError
    from searchsim.local import find_weights

    try:
        find_weights()
    except MissingComponentError as missing:
        if os.environ.get("CI"):
            return
        for item in items:
            if item.get_closest_marker("local_model"):
                item.add_marker(pytest.mark.skip(reason=str(missing)))
