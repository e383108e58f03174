"""The store of answers, what a request is, and how two runs are held against each other."""

from __future__ import annotations

import multiprocessing
import sqlite3
from pathlib import Path
from typing import Any

import orjson
import pytest

from searchsim.errors import UsageError
from searchsim.replay import Answers, Lane, Mode, Recorded, Replay, Steps, normaliser, steps
from searchsim.trace import Event

LANE = Lane("c@1/tantivy", "t", "planner", "v1", "m")


def chat(text: str, **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": text}], **more}


def recorded(text: str) -> Recorded:
    return Recorded({"choices": [{"message": {"content": text}}]})


@pytest.fixture
def answers(tmp_path: Path) -> Answers:
    return Answers(tmp_path / "deep" / "answers.sqlite")


def test_a_request_is_what_it_asks_whatever_world_server_folder_or_form_it_came_in() -> None:
    one = Replay(normalise=normaliser("key-1", "http://127.0.0.1:4001", [r"id-\d+"]))
    other = Replay(normalise=normaliser("key-2", "http://127.0.0.1:4002", [r"id-\d+"]))
    text = "See http://127.0.0.1:{port}/w/{key}/page?url=x, http%3A%2F%2F127.0.0.1%3A{port}, /tmp/searchsim-run-{dir}/a, id-{n}"
    first = one.request("chat", chat(text.format(port=4001, key="key-1", dir="ab_1", n=1), stream=True))
    second = other.request("chat", chat(text.format(port=4002, key="key-2", dir="zz9", n=22), user="u"))
    assert first.hash == second.hash
    assert b"{server}" in first.text and b"{key}" in first.text and b"{folder}" in first.text
    assert one.request("completions", chat("x")).hash == one.request("chat", chat("x")).hash
    assert one.request("chat", chat("x", temperature=1)).hash != one.request("chat", chat("x")).hash


def test_occurrences_count_answered_requests_alone() -> None:
    replay = Replay(normalise=str)
    first, second = replay.request("chat", chat("x")), replay.request("chat", chat("x"))
    assert (first.occurrence, second.occurrence) == (1, 2)
    replay.release(first)
    assert replay.request("chat", chat("x")).occurrence == 1, "a retry is the same occurrence"
    assert replay.request("chat", chat("x")).occurrence == 3


def test_answers_are_kept_by_lane_branch_kind_hash_and_occurrence(answers: Answers) -> None:
    branch = answers.begin(LANE, "control", {"world": "k"})
    assert answers.find(LANE, "control") is None, "a run that hasn't ended is no control"
    keeper = Replay(Mode.RECORD, normalise=str, answers=answers, lane=LANE, branch=branch)
    for text in ("one", "two"):
        request = keeper.request("chat", chat("x"))
        assert keeper.find(request) is None, "recording asks the model"
        keeper.keep(request, recorded(text))
    answers.end(branch, Steps((("search", "q", ""),), ("h",), ("live",)))
    control = answers.find(LANE, "control")
    assert control is not None
    assert (control.steps.lists, control.steps.requests) == ((("search", "q", ""),), ("h",))
    for other in (
        Lane("c@2/tantivy", "t", "planner", "v1", "m"),
        Lane("c@1/tantivy", "u", "planner", "v1", "m"),
        Lane("c@1/tantivy", "t", "thinker", "v1", "m"),
        Lane("c@1/tantivy", "t", "planner", "v2", "m"),
        Lane("c@1/tantivy", "t", "planner", "v1", "n"),
        Lane("c@1/tantivy", "t", "planner", "v1", "m", 2),
    ):
        assert answers.find(other, "control") is None
    assert answers.find(LANE, "control", "k") is not None and answers.find(LANE, "control", "other") is None
    reader = Replay(Mode.COUNTERFACTUAL, normalise=str, answers=answers, lane=LANE, sources=[control])
    found = [reader.find(reader.request("chat", chat("x"))) for _ in range(3)]
    assert [f and f.answer["choices"][0]["message"]["content"] for f in found] == ["one", "two", None]
    assert reader.find(reader.request("completions", chat("x"))) is None


def test_the_first_control_to_end_stays_the_control(answers: Answers) -> None:
    first, second = answers.begin(LANE, "control"), answers.begin(LANE, "control")
    answers.end(second, Steps())
    answers.end(first, Steps())
    found = answers.find(LANE, "control")
    assert found is not None and found.id == second.id


def _write(path: Path, number: int) -> None:
    answers = Answers(path)
    branch = answers.begin(LANE, f"c{number}")
    replay = Replay(Mode.RECORD, normalise=str, answers=answers, lane=LANE, branch=branch)
    for n in range(50):
        replay.keep(replay.request("chat", chat(f"{number} {n}")), recorded("x"))
    answers.end(branch, Steps())
    answers.close()


def test_several_processes_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write, args=(path, n)) for n in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [w.exitcode for w in writers] == [0, 0, 0]
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT count(*) FROM answer").fetchone() == (150,)
        assert db.execute("SELECT count(*), count(DISTINCT ended) FROM branch").fetchone() == (3, 3)


def test_a_file_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "answers.sqlite").write_text("no database, but long enough to be taken for a damaged one" * 9)
    with pytest.raises(UsageError, match="can't be used"):
        Answers(tmp_path / "answers.sqlite")
    with pytest.raises(UsageError, match="no regular expression"):
        normaliser("k", patterns=["("])


def test_a_miss_tells_what_differs_from_the_nearest_request(answers: Answers) -> None:
    branch = answers.begin(LANE, "control")
    keeper = Replay(Mode.RECORD, normalise=str, answers=answers, lane=LANE, branch=branch)
    for text in ("Something else altogether", "The question is old: 2026-11-30, 12:00"):
        keeper.keep(keeper.request("chat", chat(text)), recorded("x"))
    reader = Replay(Mode.REPLAY, normalise=str, answers=answers, lane=LANE, sources=[branch])
    told = reader.missing(reader.request("chat", chat("The question is old: 2026-12-01, 12:00")))
    assert "messages[0].content, character 27" in told
    assert "2026-11-30" in told and "2026-12-01" in told
    reader.request("chat", chat("Something else altogether"))
    again = reader.request("chat", chat("Something else altogether"))
    assert reader.missing(again) == "the request is recorded fewer than 2 times"
    more = chat("Something else altogether")
    more["messages"].append({"role": "user", "content": "more"})
    assert "at messages[1]: recorded [], now [" in reader.missing(reader.request("chat", more))
    assert "recorded null" in reader.missing(reader.request("chat", chat("Something else altogether", top_p=0.5)))
    assert reader.missing(reader.request("embeddings", {"input": "x"})) == "no embeddings request is recorded"


def search(number: int, query: str, injected: bool = False) -> Event:
    return {
        "event": "search",
        "list": number,
        "endpoint": "search",
        "query": query,
        "tbs": "",
        "served": [{"injected": injected}],
    }


def call(request: str, origin: str) -> Event:
    return {"event": "model", "request": request, "origin": origin}


CONTROL = steps([search(1, "a"), call("h1", "live"), search(2, "b"), call("h2", "live"), call("h3", "live")])


def test_the_shared_beginning_is_compared_up_to_the_first_injected_list() -> None:
    treated = steps(
        [
            search(1, "a"), call("h1", "replayed"), search(2, "b", injected=True), call("x", "live"), search(3, "c"),
        ]
    )  # fmt: skip
    assert (treated.injected, treated.before) == (2, 1)
    assert treated.differs(CONTROL) == []


def test_a_miss_before_the_injected_list_is_told() -> None:
    treated = steps([search(1, "a"), call("x", "live"), search(2, "b", injected=True)])
    assert treated.differs(CONTROL) == [
        "model calls 1 weren't the control's, and nothing injected had been served by then"
    ]


def test_a_list_that_the_control_did_not_make_is_told() -> None:
    told = steps([search(1, "a"), search(2, "c", injected=True)]).differs(CONTROL)
    assert told == ["list 2 ('c') isn't the control's: the control's was 'b'"]
    told = steps([search(1, "a"), search(2, "b"), search(3, "c", injected=True)]).differs(CONTROL)
    assert told == ["list 3 ('c') isn't the control's: it made no such list"]


def test_a_run_that_was_served_nothing_is_compared_whole() -> None:
    same = steps([search(1, "a"), call("h1", "replayed"), search(2, "b"), call("h2", "replayed")])
    assert same.differs(CONTROL) == []
    assert steps([search(1, "a"), call("h1", "replayed"), call("x", "live")]).differs(CONTROL)


def test_a_page_that_is_injected_ends_the_shared_beginning_for_the_model() -> None:
    page: Event = {"event": "page", "injected": True}
    assert steps([search(1, "a"), call("h1", "replayed"), page, call("x", "live")]).before == 1


def test_steps_are_json() -> None:
    assert orjson.loads(orjson.dumps(CONTROL.record()))["lists"] == [["search", "a", ""], ["search", "b", ""]]
