"""Adapter scripts: what they tell the launcher, and what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from searchsim import agent
from searchsim.agent.adapter import adapters
from searchsim.errors import UsageError

SCRIPT = '''# /// script
# requires-python = ">=3.11"
# dependencies = []
#
# [tool.searchsim]
{table}
# ///
"""A framework that isn't on the index.

More.
"""
'''


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with an adapters folder."""
    (tmp_path / "searchsim.yaml").touch()
    (tmp_path / "adapters").mkdir()
    monkeypatch.setenv("SEARCHSIM_HOME", str(tmp_path))
    return tmp_path / "adapters" / "framework.py"


def test_what_the_launcher_is_told(made: Path) -> None:
    made.write_text(
        SCRIPT.format(table='# home = "FRAMEWORK_HOME"\n# needs = ["src/main.py"]\n# normalise = ["id-\\\\d+"]')
    )
    found = adapters()["framework"]
    assert (found.home, found.needs, found.normalise) == ("FRAMEWORK_HOME", ("src/main.py",), ("id-\\d+",))
    assert found.summary == "A framework that isn't on the index."


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("# house = 1", "no key 'house'"),
        ("# home = 1", "home is the name"),
        ('# needs = "x"', "needs is an array"),
        ('# normalise = ["("]', "no regular expression"),
        ("# home =", "can't be used"),
    ],
)
def test_a_table_that_cannot_be_read(made: Path, table: str, message: str) -> None:
    made.write_text(SCRIPT.format(table=table))
    assert "can't be used" in adapters()["framework"].summary
    with pytest.raises(UsageError, match=message):
        agent.prepare("framework")


def test_what_is_missing_is_told(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made.write_text(SCRIPT.format(table='# home = "FRAMEWORK_HOME"\n# needs = ["src/main.py", "prompts"]'))
    monkeypatch.delenv("FRAMEWORK_HOME", raising=False)
    with pytest.raises(UsageError, match="set FRAMEWORK_HOME to a checkout"):
        agent.prepare("framework")
    monkeypatch.setenv("FRAMEWORK_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(UsageError, match="which is no folder"):
        agent.prepare("framework")
    checkout = tmp_path / "checkout"
    (checkout / "prompts").mkdir(parents=True)
    monkeypatch.setenv("FRAMEWORK_HOME", str(checkout))
    with pytest.raises(UsageError, match=r"where src/main.py is missing"):
        agent.prepare("framework")
    (checkout / "src").mkdir()
    (checkout / "src" / "main.py").write_text("print(1)")
    found, python = agent.prepare("framework")
    assert python.is_file() and found.checkout() == checkout


def test_another_program_is_another_version(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made.write_text(SCRIPT.format(table='# home = "FRAMEWORK_HOME"'))
    monkeypatch.setenv("FRAMEWORK_HOME", str(tmp_path / "checkout"))
    (tmp_path / "checkout" / ".git").mkdir(parents=True)
    source = tmp_path / "checkout" / "main.py"
    source.write_text("print(1)")
    adapter = adapters()["framework"]
    seen = [adapter.version()]
    assert adapter.version({}) == seen[0]
    seen.append(adapter.version({"steps": 3}))
    (tmp_path / "checkout" / ".git" / "index.json").write_text("{}")
    assert adapter.version() == seen[0], "what git keeps is no part of the program"
    source.write_text("print(2)")
    seen.append(adapter.version())
    made.write_text(made.read_text() + "# another line\n")
    seen.append(adapter.version())
    assert len(set(seen)) == 4
