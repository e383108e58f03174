"""Models by the names that contracts have for them, and the judge."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from searchsim.errors import UpstreamError, UsageError
from searchsim.judge import Ask, Judge, LexicalJudge, ModelJudge
from searchsim.judge.model import prompt_hash
from searchsim.judge.verdict import identity
from searchsim.local import LOCAL_EXTRA, LocalModel, find_weights
from searchsim.study.contract import ModelSpec
from searchsim.study.upstream import usage_of
from searchsim.tokens import use_shipped_encodings

if TYPE_CHECKING:
    from inspect_ai.model import Model

__all__ = ["Models", "ask", "judge_identity", "judge_spec", "settings_hash"]

_RETRIES = 5
"""Of a model call: Inspect by itself would try for ever."""


class Models:
    """Opens models, each once, and lets go of them in the end (a context manager).

    Attributes:
        local: The small local model, where it is open.
    """

    def __init__(self, local: LocalModel | None = None) -> None:
        """Make it.

        Args:
            local: The local model to share; None opens one where it is wanted.
        """
        self._open: dict[str, Model] = {}
        self.local = local

    def __enter__(self) -> Models:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.clear()
        # The local model's server ends with its last reference.
        self.local = None

    def model(self, spec: ModelSpec) -> Model:
        """Inspect's model.

        Raises:
            UsageError: Inspect has no such model, or wants a key or a package for it; the message is Inspect's.
            MissingComponentError: The local model isn't there.
        """
        from inspect_ai.model import GenerateConfig, get_model

        # Not by its name alone: the judge and an agent may have one model under different settings.
        key = settings_hash(spec)
        if key in self._open:
            return self._open[key]
        use_shipped_encodings()
        config = {"max_retries": _RETRIES, **spec.config}
        named, base_url, args = spec.model, spec.base_url, dict(spec.args)
        if named is not None and named.startswith("openai-api/upstream/"):
            # One that the command line names by its address: its key is the gateway's, and a server may want none.
            key_there = os.environ.get("UPSTREAM_API_KEY") or os.environ.get("SEARCHSIM_UPSTREAM_KEY") or "none"
            args.setdefault("api_key", key_there)
        if named is None:
            self.local = self.local or LocalModel()
            named, base_url, args = f"openai-api/local/{self.local.name}", self.local.url, {"api_key": "local"}
            config = {**config, "extra_body": LOCAL_EXTRA}
        try:
            opened = get_model(named, config=GenerateConfig(**config), base_url=base_url, memoize=False, **args)
        except Exception as error:
            # Inspect's own complaints (an unknown provider, a missing key or package) come in many classes.
            raise UsageError(f"model {spec.name} ({named}): {' '.join(_plain(error).split())}") from error
        self._open[key] = opened
        return opened

    def judge(self, spec: ModelSpec | None) -> Judge:
        """The judge that a contract names: a model, or None for the lexical one."""
        if spec is None:
            return LexicalJudge()
        return ModelJudge(
            ask(self.model(spec)),
            spec.model or spec.name,
            settings_sha256=settings_hash(spec),
            demonstration=spec.demonstration,
        )


def settings_hash(spec: ModelSpec) -> str:
    """Hash of where and how a model is asked."""
    weights = str(find_weights()) if spec.model is None else None
    asked = [spec.model, spec.base_url, spec.args, spec.config, weights and Path(weights).name]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def judge_identity(spec: ModelSpec | None) -> dict[str, str | None]:
    """The identity of a contract's judge, without opening its model; see `searchsim.judge.verdict.IDENTITY`."""
    if spec is None:
        return identity(LexicalJudge())
    return {
        "judge": ModelJudge.name,
        "model": spec.model or spec.name,
        "prompt_sha256": prompt_hash(),
        "settings_sha256": settings_hash(spec),
    }


def _plain(error: Exception) -> str:
    """An error's text; Inspect dresses some with the markup of its console."""
    from rich.errors import MarkupError
    from rich.text import Text

    try:
        return Text.from_markup(str(error)).plain
    except MarkupError:
        return str(error)


def ask(model: Model) -> Ask:
    """Asks an Inspect model what a judge wants to know, at temperature 0."""

    async def asked(messages: Sequence[Mapping[str, str]]) -> tuple[str, Mapping[str, int]]:
        from inspect_ai.model import (
            ChatMessage,
            ChatMessageAssistant,
            ChatMessageSystem,
            ChatMessageUser,
            GenerateConfig,
        )

        kinds: dict[str, Any] = {
            "system": ChatMessageSystem,
            "user": ChatMessageUser,
            "assistant": ChatMessageAssistant,
        }
        sent: list[ChatMessage] = [kinds[m["role"]](content=m["content"]) for m in messages]
        try:
            output = await model.generate(sent, config=GenerateConfig(temperature=0.0, seed=0))
        except Exception as error:
            # What was tried again and again is told by the last of its failures.
            tried = getattr(error, "last_attempt", None)
            last = tried.exception() if tried is not None else error
            raise UpstreamError(f"{type(last).__name__}: {last}") from error
        if output.error:
            raise UpstreamError(output.error)
        return output.completion, usage_of(output)

    return asked


def judge_spec(name: str, base_url: str | None = None) -> ModelSpec | None:
    """The judge that a command line names: ``lexical`` (None), ``local``, or Inspect's name of a model.

    Args:
        name: Which.
        base_url: Of an OpenAI-compatible API; ``name`` is then a model of it.

    Raises:
        UsageError: It is none of these.
    """
    if name == "lexical":
        return None
    if name == "local":
        return ModelSpec("local", None, demonstration=True)
    if base_url:
        return ModelSpec(name, f"openai-api/upstream/{name}", base_url)
    if "/" not in name:
        raise UsageError(
            f"judge {name!r}: give `lexical`, `local`, Inspect's name of a model (provider/name), or --upstream URL "
            "with a model of that API"
        )
    return ModelSpec(name.replace("/", "-"), name)
