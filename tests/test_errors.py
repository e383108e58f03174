from __future__ import annotations

import importlib
import pkgutil

import pytest

import searchsim
from searchsim import errors


def test_the_tree_drawn_at_the_top_is_the_tree() -> None:
    drawn = [w for w in (errors.__doc__ or "").replace("│", " ").split() if w.endswith("Error")]
    assert sorted(drawn) == sorted(errors.__all__)
    for name in errors.__all__:
        assert issubclass(getattr(errors, name), errors.SearchsimError)


def test_wrong_use_ends_with_2_and_our_failure_with_1() -> None:
    assert errors.UsageError("x").exit_code == errors.CorpusError(["x"]).exit_code == 2
    assert errors.ConditionError("x", "f").exit_code == 2
    assert errors.AgentError("x").exit_code == errors.UpstreamError("x").exit_code == 1


def test_a_corpus_error_says_how_many_faults_there_are() -> None:
    assert str(errors.CorpusError(["a: b"])) == "a: b"
    assert "2 more" in str(errors.CorpusError(["a", "b", "c"]))


MODULES = [m.name for m in pkgutil.walk_packages(searchsim.__path__, "searchsim.")]


@pytest.mark.parametrize("name", MODULES)
def test_every_exported_name_exists(name: str) -> None:
    module = importlib.import_module(name)
    exported = getattr(module, "__all__", [])
    assert len(set(exported)) == len(exported)
    for entry in exported:
        assert hasattr(module, entry), f"{name}.{entry}"
