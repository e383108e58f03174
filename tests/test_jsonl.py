"""Files of lines that are added to: what a kill leaves, what isn't ours, and who may write."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchsim.errors import UsageError
from searchsim.jsonl import append, held, read_lines, whole

ITEM = {"item": "a", "ratings": {"judge": 2}}
LINE = json.dumps(ITEM).encode()
BEGUN = b'{"item":'


def items(path: Path, begun: bytes = BEGUN) -> list[dict[str, Any]]:
    return [item for _, item in read_lines(path, "rating", begun=begun)]


@pytest.mark.parametrize("torn", [b'{"i', b'{"item": "b', LINE[:-1]])
def test_what_a_kill_left_is_passed_over_and_taken_away_by_the_next_line(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(LINE + b"\n" + torn)
    assert items(path) == [ITEM]
    assert path.read_bytes().endswith(torn), "reading changes nothing"
    with pytest.raises(UsageError, match=r"x\.jsonl:2: not a JSON value"):
        items(path, b"")
    append(path, ITEM)
    assert items(path) == [ITEM, ITEM]


def test_a_whole_line_that_lacks_its_end_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(LINE)
    assert items(path) == [ITEM]
    append(path, ITEM)
    assert items(path) == [ITEM, ITEM]


@pytest.mark.parametrize(
    "content", [b"all my notes on one line", b"{notes}", b'{"item": "b\n', b'{"item": "b"}', b'{"item": "b\n' + LINE]
)
def test_what_is_no_such_line_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"x\.jsonl:1: "):
        items(path)
    assert path.read_bytes() == content


def test_whole_numbers_are_integers_however_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"item": "a", "ratings": {"judge": 2.0}}\n')
    assert json.dumps(items(path)) == '[{"item": "a", "ratings": {"judge": 2}}]'


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inside: st.lists(inside) | st.dictionaries(st.text(), inside),
)


@given(JSON)
def test_a_value_keeps_what_it_says(value: Any) -> None:
    assert whole(value) == value


def test_a_file_has_one_writer(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    code = "import sys; from pathlib import Path; from searchsim.jsonl import held\nwith held(Path(sys.argv[1])): pass"
    command = [sys.executable, "-c", code, str(path)]

    def another() -> str:
        return subprocess.run(command, capture_output=True, text=True, env=dict(os.environ)).stderr

    with held(path):
        append(path, ITEM)
        assert "another process is writing it" in another()
    assert another() == ""
    assert items(path) == [ITEM]
    with pytest.raises(UsageError, match="it can't be written"), held(tmp_path):
        pass
