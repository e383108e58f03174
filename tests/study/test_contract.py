"""Contracts: what is sound, and what is told of one that isn't. The shipped ones are sound."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from searchsim import home
from searchsim.corpus import Corpus
from searchsim.errors import ContractError, UsageError
from searchsim.injection import load_factors
from searchsim.study.contract import load, parse
from searchsim.study.matrix import plan
from tests.study.conftest import ContractData


def test_a_sound_contract(data: ContractData) -> None:
    contract = parse(data, "c.yaml")
    assert contract.tasks == ("bicycle-stability", "anji-bridge"), "in the corpus's order"
    assert (contract.attempts, contract.rerun_on, contract.parallel, contract.judge) == (1, (), 2, None)
    assert contract.models[0].demonstration and contract.models[0].cost(1000, 1000) == 0
    assert parse(copy.deepcopy(data), "elsewhere.yaml").sha256 == contract.sha256
    assert parse({**data, "seed": 1}, "c.yaml").sha256 != contract.sha256
    assert parse({**data, "limits": {"parallel": 9, "cost": 3}}, "c.yaml").sha256 == contract.sha256
    assert parse({**data, "limits": {"parallel": 2, "seconds": 9}}, "c.yaml").sha256 != contract.sha256


def edited(data: ContractData, place: str, value: Any) -> ContractData:
    data = copy.deepcopy(data)
    *path, last = place.split(".")
    inner = data
    for part in path:
        inner = inner[part]
    if value is None:
        del inner[last]
    else:
        inner[last] = value
    return data


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("question", None, "c.yaml: question: 'question' is a required property"),
        ("colour", "red", "c.yaml: colour: Additional properties"),
        ("contract", 2, "c.yaml: contract: 1 was expected"),
        ("repetitions", 0, "c.yaml: repetitions: 0 is less than the minimum of 1"),
        ("tasks", ["absent"], "c.yaml: tasks: corpus quickstart has no task 'absent'"),
        ("factors", {"colour": ["red"]}, "c.yaml: factors.colour: no factor 'colour'; there are: authority"),
        ("factors", {"budget": [9]}, "c.yaml: factors.budget: "),
        ("factors", {"budget": [0, 3]}, "c.yaml: factors.budget: 0 is among them"),
        ("control", {"rank": "front"}, "c.yaml: control: a control has no misleading documents"),
        ("fixed.rank", None, "c.yaml: fixed.rank: factor rank is neither varied nor held"),
        ("fixed.budget", 3, "c.yaml: fixed.budget: factor budget is both varied and held"),
        ("fixed.rank", "top", "c.yaml: fixed.rank: "),
        ("control", {"colour": 0}, "c.yaml: control.colour: no factor"),
        ("agents", ["absent"], "c.yaml: agents: no agent 'absent'; there are: "),
        ("agents", ["scripted", "scripted"], "c.yaml: agents: a name stands twice"),
        ("models", ["gpt"], "c.yaml: models.0: 'gpt': give `local`, or Inspect's name"),
        ("models", [{"name": "x"}], "c.yaml: models.0: model 'x' needs a model"),
        (
            "models",
            [{"name": "x", "model": "a/b", "args": {"api_key": "s"}}],
            "c.yaml: models.0.args.api_key: a contract",
        ),
        (
            "models",
            [{"name": "x", "model": "a/b", "config": {"extra_headers": {"Authorization": "s"}}}],
            "c.yaml: models.0.config.extra_headers.Authorization",
        ),
        ("models", [{"name": "x", "model": "a/b", "base_url": "https://me:pw@host/v1"}], "c.yaml: models.0"),
        ("seed", 10**30, "c.yaml: seed: "),
        ("temperature", float("nan"), "c.yaml: holds what can't be written as JSON"),
        (
            "agents",
            [{"name": "scripted", "settings": {"when": __import__("datetime").date(2026, 1, 1)}}],
            "c.yaml: holds what",
        ),
        ("judge", {"model": "gpt"}, "c.yaml: judge.model: 'gpt': give `local`"),
        ("metrics", ["asr"], "c.yaml: metrics: no metric 'asr'; there are: fcar"),
        ("reruns", {"attempts": 2}, "c.yaml: reruns"),
    ],
)
def test_what_is_wrong_is_named(data: ContractData, place: str, value: Any, message: str) -> None:
    with pytest.raises(ContractError) as error:
        parse(edited(data, place, value), "c.yaml")
    assert str(error.value).startswith(message), str(error.value)


def test_a_limit_of_the_cost_needs_prices(data: ContractData) -> None:
    with pytest.raises(ContractError, match=r"limits\.cost: model a-b has no price"):
        parse({**data, "models": ["a/b"], "limits": {"cost": 3}}, "c.yaml")
    assert parse({**data, "limits": {"cost": 3}}, "c.yaml").cost_limit == 3


def test_inspects_own_stand_ins_are_demonstrations(data: ContractData) -> None:
    contract = parse(
        {**data, "models": ["mockllm/model", {"name": "x", "model": "a/b", "args": {"tokenizer_mode": "t"}}]}, "c"
    )
    assert [m.demonstration for m in contract.models] == [True, False]


def test_another_corpus_is_another_study(data: ContractData) -> None:
    with pytest.raises(ContractError, match=r"quickstart has the hash .* now: take the corpus that"):
        parse(edited(data, "corpus.sha256", "0" * 64), "c.yaml")


def test_files_that_are_no_contract(tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("a: [", "utf-8")
    with pytest.raises(ContractError, match=r"broken\.yaml: not YAML"):
        load(str(broken))
    for text, message in (("name: a\nname: b", "stands twice"), ("1: a", "is no text"), ("[" * 5000, "not YAML")):
        broken.write_text(text, "utf-8")
        with pytest.raises(ContractError, match=message):
            load(str(broken))
    with pytest.raises(ContractError, match="can't be read"):
        load(str(tmp_path))
    broken.write_text("- 1", "utf-8")
    with pytest.raises(ContractError, match="isn't an object"):
        load(str(broken))
    with pytest.raises(UsageError, match="there are: authority, budget, framework, quickstart"):
        load("absent")


def test_models_and_tasks_from_the_command_line(data: ContractData, written: Callable[[ContractData], Path]) -> None:
    path = str(written(data))
    plain, other = load(path), load(path, models=["openai/gpt-5", "local"], first=1)
    assert [m.name for m in other.models] == ["openai-gpt-5", "local"]
    assert other.tasks == ("bicycle-stability",)
    assert other.sha256 != plain.sha256
    assert other.data["models"] == ["openai/gpt-5", "local"], "what is kept is what was run"


SHIPPED = [name for name, _ in home.instances("experiments")]


@pytest.mark.parametrize("name", SHIPPED)
def test_the_shipped_contracts_are_sound(name: str) -> None:
    contract = load(name)
    assert contract.name == name
    assert set(contract.factors) | set(contract.fixed) == set(load_factors())
    planned = plan(contract)
    assert len(planned.runs) == len({r.run for r in planned.runs})
    raw = yaml.safe_load(dict(home.instances("experiments"))[name].read_text("utf-8"))
    assert raw == dict(contract.data)


def test_a_pool_that_cannot_be_had_is_told_with_the_plan(
    data: ContractData, quickstart: Corpus, tmp_path: Path
) -> None:
    import shutil

    from searchsim.corpus import Corpus as Loaded

    poor = tmp_path / "poor"
    shutil.copytree(quickstart.path, poor)
    lines = (poor / "misleading.jsonl").read_text("utf-8").splitlines()
    kept = [line for line in lines if '"task":"anji-bridge"' not in line.replace(": ", ":")]
    (poor / "misleading.jsonl").write_text("\n".join(kept), "utf-8")
    contract = parse({**data, "corpus": {"name": str(poor), "sha256": Loaded(poor).hash}}, "c.yaml")
    with pytest.raises(ContractError, match="task anji-bridge"):
        plan(contract)


def test_there_is_one_for_each_question() -> None:
    assert set(SHIPPED) == {"quickstart", "rank", "stage", "authority", "style", "budget", "framework"}
    assert load("quickstart").factors == {"budget": (1, 3)}
    assert len(load("quickstart").tasks) == 6
