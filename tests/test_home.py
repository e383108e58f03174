from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from searchsim import home
from searchsim.errors import UsageError
from tests.conftest import ROOT


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    yield
    home.set_home(None)


def make(path: Path) -> Path:
    (path / "corpora" / "mine").mkdir(parents=True)
    (path / "corpora" / "mine" / "corpus.yaml").touch()
    (path / "corpora" / "quickstart").mkdir()
    (path / "corpora" / "quickstart" / "corpus.yaml").touch()
    (path / "searchsim.yaml").touch()
    return path


def test_a_home_comes_before_what_is_shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert dict(home.instances("corpora"))["quickstart"] == ROOT / "corpora" / "quickstart"
    one, two, three = (make(tmp_path / n) for n in "abc")
    monkeypatch.chdir(one)
    assert dict(home.instances("corpora"))["quickstart"] == one / "corpora" / "quickstart"
    monkeypatch.setenv("SEARCHSIM_HOME", str(two))
    assert home.find("corpora", "mine") == two / "corpora" / "mine"
    home.set_home(three)
    assert home.find("corpora", "mine") == three / "corpora" / "mine"
    assert "planner" in dict(home.instances("adapters")), "what a home lacks is found where it is shipped"


def test_a_folder_without_the_mark_is_no_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path)
    (tmp_path / "searchsim.yaml").unlink()
    monkeypatch.chdir(tmp_path)
    assert "mine" not in dict(home.instances("corpora"))
    monkeypatch.setenv("SEARCHSIM_HOME", str(tmp_path))
    with pytest.raises(UsageError, match="SEARCHSIM_HOME"):
        home.roots()


def test_paths_work_as_names(tmp_path: Path) -> None:
    make(tmp_path)
    assert home.find("corpora", str(tmp_path / "corpora" / "mine")) == tmp_path / "corpora" / "mine"
    with pytest.raises(UsageError, match="a path works too"):
        home.find("corpora", "absent")


def test_the_cache_can_be_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCHSIM_CACHE", str(tmp_path))
    assert home.cache_folder() == tmp_path
    monkeypatch.delenv("SEARCHSIM_CACHE")
    assert home.cache_folder().name == "searchsim"
