"""Contracts: the file that says beforehand what a study must consist of. ``schemas/contract.json`` is its law."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from searchsim import corpus as corpora
from searchsim import home
from searchsim.agent import adapters
from searchsim.corpus import Corpus
from searchsim.documents import faults_in
from searchsim.engine.opening import ENGINES
from searchsim.errors import ConditionError, ContractError
from searchsim.injection import Level, load_factors
from searchsim.scoring.metrics import METRICS

__all__ = ["AgentSpec", "Contract", "ModelSpec", "contract_hash", "load", "parse"]

_SECRET = re.compile(r"(^|[_-])(api_?key|key|token|secret|password|authorization|credentials?)$", re.IGNORECASE)
CONTRASTS = ("control", "levels", "agents", "models")


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model of a study.

    Attributes:
        name: What the study calls it.
        model: Inspect's name of it; None for the small local model.
        base_url: Of an OpenAI-compatible API, where it isn't the provider's own.
        args: Arguments of Inspect's provider.
        config: Generation settings of Inspect.
        price: US dollars for a million tokens, ``input`` and ``output``; None where unknown.
        demonstration: True for a toy or a stand-in.
    """

    name: str
    model: str | None
    base_url: str | None = None
    args: Mapping[str, Any] = field(default_factory=dict, hash=False)
    config: Mapping[str, Any] = field(default_factory=dict, hash=False)
    price: Mapping[str, float] | None = field(default=None, hash=False)
    demonstration: bool = False

    def cost(self, prompt_tokens: float, completion_tokens: float) -> float | None:
        """US dollars of so many tokens; None where there is no price."""
        if self.price is None:
            return None
        return (prompt_tokens * self.price["input"] + completion_tokens * self.price["output"]) / 1_000_000


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """An agent of a study.

    Attributes:
        name: Its adapter.
        settings: What its own settings are to be.
        expected: Model calls of one run and their tokens (calls, input_tokens, output_tokens); None where unknown.
    """

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)
    expected: Mapping[str, float] | None = field(default=None, hash=False)


@dataclass(frozen=True, slots=True)
class Contract:
    """A contract, read and found sound.

    Attributes:
        data: The whole file, as it stands, with what the command line put in its place.
        sha256: Its hash, ``limits`` of parallel runs and cost left out; every record names it.
        corpus: The corpus, its hash compared.
        tasks: Ids, in the corpus's order.
        factors: What varies.
        fixed: What is held.
        control: What makes a control.
        counterfactual: Whether a treated run gets its control's answers where it asked the same: see
            `searchsim.replay`.
        handshake: Whether each agent's wiring is proved before the first run.
        judge: A model, or None for the lexical judge.
        contrasts: Which pairs are compared.
        attempts: How often a run is tried.
        rerun_on: Which states of an attempt ask for another.
        cost_limit: US dollars; None for no limit.
    """

    data: Mapping[str, Any] = field(hash=False)
    sha256: str
    name: str
    question: str
    source: str
    corpus: Corpus = field(hash=False)
    tasks: tuple[str, ...]
    engine: str
    factors: Mapping[str, tuple[Level, ...]] = field(hash=False)
    fixed: Mapping[str, Level] = field(hash=False)
    control: Mapping[str, Level] = field(hash=False)
    agents: tuple[AgentSpec, ...]
    models: tuple[ModelSpec, ...]
    repetitions: int
    temperature: float
    seed: int
    counterfactual: bool
    handshake: bool
    judge: ModelSpec | None
    metrics: tuple[str, ...]
    contrasts: tuple[str, ...]
    attempts: int
    rerun_on: tuple[str, ...]
    parallel: int
    seconds: float
    cost_limit: float | None


def load(name: str, *, models: list[str] | None = None, first: int | None = None) -> Contract:
    """A contract by name (of ``experiments/``) or path.

    Args:
        name: Which.
        models: Models to take in place of the contract's.
        first: Take only so many of its tasks. With either, the contract's hash is that of what it then says.

    Raises:
        ContractError: It isn't sound; the message names file, field and remedy.
    """
    path = home.find("experiments", name)
    return parse(_yaml(path), path.name, models=models, first=first)


class _Loader(yaml.SafeLoader):
    """YAML without keys that stand twice, of which the last would win unseen."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            name = self.construct_object(key, deep=True)
            if not isinstance(name, str):
                raise yaml.constructor.ConstructorError(None, None, f"the key {name!r} is no text", key.start_mark)
            if name in seen:
                raise yaml.constructor.ConstructorError(None, None, f"the key {name!r} stands twice", key.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep)


def _yaml(path: Path) -> dict[str, Any]:
    try:
        data = yaml.load(path.read_text("utf-8"), _Loader)  # noqa: S506 - a safe loader
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise ContractError(path.name, "", f"not YAML: {' '.join(str(error).split())}") from error
    except OSError as error:
        raise ContractError(str(path), "", f"can't be read ({error.strerror}); name a contract's file") from error
    if not isinstance(data, dict):
        raise ContractError(path.name, "", "isn't an object; experiments/quickstart.yaml is an example")
    return data


def parse(data: dict[str, Any], where: str, *, models: list[str] | None = None, first: int | None = None) -> Contract:
    """A contract from its data; see `load`.

    Args:
        data: The file's content.
        where: The file's name, for messages.
        models: See `load`.
        first: See `load`.
    """
    if models:
        data = {**data, "models": list(models)}
    contract_hash(data, where)
    for place, message in faults_in("contract", data):
        raise ContractError(where, place, message)
    corpus = corpora.load(data["corpus"]["name"])
    if corpus.hash != data["corpus"]["sha256"]:
        raise ContractError(
            where,
            "corpus.sha256",
            f"corpus {corpus.name} has the hash {corpus.hash} now: take the corpus that the contract was written for, "
            "or put this hash in, and the study is another one",
        )
    if first is not None:
        chosen = list(corpus.tasks) if data["tasks"] == "all" else data["tasks"]
        data = {**data, "tasks": chosen[:first]}
    tasks = tuple(corpus.tasks) if data["tasks"] == "all" else tuple(data["tasks"])
    for task in tasks:
        if task not in corpus.tasks:
            raise ContractError(where, "tasks", f"corpus {corpus.name} has no task {task!r}")
        if task not in corpus.blueprints:
            raise ContractError(where, "tasks", f"task {task!r} has no blueprint, so nothing can be injected or judged")
    _check_factors(data, where)
    agents = tuple(_agent(a, where) for a in data["agents"])
    specs = tuple(_model(m, where, f"models.{n}") for n, m in enumerate(data["models"]))
    for kind, names in (("agents", [a.name for a in agents]), ("models", [m.name for m in specs])):
        if len(set(names)) < len(names):
            raise ContractError(where, kind, "a name stands twice")
    for key in data["metrics"]:
        if key not in METRICS:
            raise ContractError(where, "metrics", f"no metric {key!r}; there are: {', '.join(METRICS)}")
    judge = None if data["judge"] == "lexical" else _model(data["judge"]["model"], where, "judge.model")
    if data.get("limits", {}).get("cost") is not None:
        for spec in (*specs, *([judge] if judge else [])):
            if spec.price is None:
                raise ContractError(where, "limits.cost", f"model {spec.name} has no price, so that no cost is known")
    limits, reruns = data.get("limits", {}), data.get("reruns", {"attempts": 1, "after": []})
    return Contract(
        data=data,
        sha256=contract_hash(data, where),
        name=data["name"],
        question=data["question"],
        source=data.get("source", ""),
        corpus=corpus,
        tasks=tuple(t for t in corpus.tasks if t in tasks),
        engine=data.get("engine", ENGINES[0]),
        factors={k: tuple(v) for k, v in data["factors"].items()},
        fixed=dict(data["fixed"]),
        control=dict(data["control"]),
        agents=agents,
        models=specs,
        repetitions=int(data["repetitions"]),
        temperature=data.get("temperature", 0.0),
        seed=data.get("seed", 0),
        counterfactual=data.get("answers", "counterfactual") == "counterfactual",
        handshake=bool(data.get("handshake", True)),
        judge=judge,
        metrics=tuple(data["metrics"]),
        contrasts=tuple(data.get("contrasts", CONTRASTS)),
        attempts=int(reruns["attempts"]),
        rerun_on=tuple(reruns["after"]),
        parallel=int(limits.get("parallel", 1)),
        seconds=limits.get("seconds", 3600.0),
        cost_limit=limits.get("cost"),
    )


def contract_hash(data: Mapping[str, Any], where: str) -> str:
    """A contract's hash. How many runs go on at a time and what they may cost doesn't change what they are.

    Raises:
        ContractError: The data hold what JSON doesn't know.
    """
    limits = data.get("limits")
    if isinstance(limits, Mapping):
        data = {**data, "limits": {k: v for k, v in limits.items() if k not in ("parallel", "cost")}}
    try:
        # The standard library's, which refuses what has no place in JSON: NaN, dates, sets, what contains itself.
        text = json.dumps(data, sort_keys=True, allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ContractError(where, "", f"holds what can't be written as JSON ({error})") from error
    return hashlib.sha256(text.encode()).hexdigest()


def _check_factors(data: Mapping[str, Any], where: str) -> None:
    """Every factor is varied or held, once, at levels that it has."""
    known = load_factors()
    varied, fixed, control = data["factors"], data["fixed"], data["control"]
    for kind, given in (("factors", varied), ("fixed", fixed), ("control", control)):
        for name, levels in given.items():
            if name not in known:
                raise ContractError(where, f"{kind}.{name}", f"no factor {name!r}; there are: {', '.join(known)}")
            for level in levels if kind == "factors" else [levels]:
                try:
                    known.complete({name: level})
                except ConditionError as error:
                    raise ContractError(where, f"{kind}.{name}", str(error)) from error
    for name in known:
        if (name in varied) == (name in fixed):
            how = "both varied and held" if name in varied else "neither varied nor held"
            raise ContractError(
                where, f"fixed.{name}", f"factor {name} is {how}: name it in factors or in fixed, and once"
            )
    if control.get("budget") != 0:
        raise ContractError(where, "control", "a control has no misleading documents: give it budget 0")
    if data.get("answers") == "live":
        for name, levels in [*varied.items(), *((n, [v]) for n, v in fixed.items())]:
            for level in levels:
                if known[name].factor.needs.get(known[name].factor.level(level)):
                    raise ContractError(
                        where, "answers", f"{name} {level} must know the control's last list: it needs counterfactual"
                    )
    if 0 in varied.get("budget", ()):
        raise ContractError(where, "factors.budget", "0 is among them: leave it out, the control is run anyway")


def _agent(given: str | Mapping[str, Any], where: str) -> AgentSpec:
    data: Mapping[str, Any] = {"name": given} if isinstance(given, str) else given
    if data["name"] not in adapters():
        raise ContractError(where, "agents", f"no agent {data['name']!r}; there are: {', '.join(adapters())}")
    _no_secrets(data.get("settings", {}), where, "agents.settings")
    return AgentSpec(data["name"], data.get("settings", {}), data.get("expected"))


def _model(given: str | Mapping[str, Any], where: str, place: str) -> ModelSpec:
    if given == "local" or (not isinstance(given, str) and "model" not in given):
        data: Mapping[str, Any] = {"name": "local"} if isinstance(given, str) else given
        if data["name"] != "local":
            raise ContractError(where, place, f"model {data['name']!r} needs a model: Inspect's name, provider/name")
        return ModelSpec(
            "local", None, config=data.get("config", {}), price={"input": 0, "output": 0}, demonstration=True
        )
    data = {"name": given.replace("/", "-").replace(":", "-"), "model": given} if isinstance(given, str) else given
    _no_secrets({k: data.get(k, {}) for k in ("args", "config")}, where, place)
    if "/" not in data["model"]:
        raise ContractError(
            where, place, f"{data['model']!r}: give `local`, or Inspect's name of a model, provider/name"
        )
    return ModelSpec(
        data["name"],
        data["model"],
        data.get("base_url"),
        data.get("args", {}),
        data.get("config", {}),
        data.get("price"),
        # Inspect's own stand-ins are no models.
        data.get("demonstration", False) or data["model"].startswith(("mockllm/", "none/")),
    )


def _no_secrets(value: object, where: str, place: str) -> None:
    """A contract is kept, hashed and shown."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if _SECRET.search(name):
                raise ContractError(
                    where,
                    f"{place}.{name}",
                    "a contract is kept and shown, and is no place for a key: Inspect reads it from the environment",
                )
            _no_secrets(inner, where, f"{place}.{name}")
    elif isinstance(value, list):
        for inner in value:
            _no_secrets(inner, where, place)
