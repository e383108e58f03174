"""The store of answers, what a request is, and how two runs are held against each other."""

from __future__ import annotations

import multiprocessing
import sqlite3
from pathlib import Path
from typing import Any

import orjson
import pytest

from searchsim.errors import UsageError
from searchsim.replay import Answers, Asked, Lane, Mode, Names, Recorded, Replay, Steps, steps
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
    runs = [("key-1", 4001, "searchsim-run-ab_1", 1), ("a-longer-key-2", 52002, "searchsim-run-zz9", 22)]
    text = "See http://127.0.0.1:{1}/w/{0}/page?url=x, http%3A%2F%2F127.0.0.1%3A{1}, /tmp/{2}/a, id-{3}"
    replays = [
        Replay(names=Names(key, f"http://127.0.0.1:{port}", folder, [r"id-\d+"])) for key, port, folder, _ in runs
    ]
    one, other = replays
    first = one.request("chat", chat(text.format(*runs[0]), stream=True))
    second = other.request("chat", chat(text.format(*runs[1]), user="u"))
    assert first.hash == second.hash
    assert one.request("completions", chat("x")).hash == one.request("chat", chat("x")).hash
    assert one.request("chat", chat("x", temperature=1)).hash != one.request("chat", chat("x")).hash


def test_a_recorded_answer_speaks_of_the_run_that_it_is_given_to(answers: Answers) -> None:
    branch = answers.begin(LANE, "control")
    keeper = Replay(Mode.RECORD, names=Names("key-1", "http://127.0.0.1:4001", "run-1"), answers=answers, branch=branch)
    said = "GET http://127.0.0.1:4001/w/key-1/page, http%3A%2F%2F127.0.0.1%3A4001, in /tmp/run-1/work"
    request = keeper.request("chat", chat("x"))
    keeper.keep(request, Recorded(recorded(said).answer, [{"choices": [{"delta": {"content": said}}]}]))
    reader = Replay(
        Mode.COUNTERFACTUAL, names=Names("key-2", "http://127.0.0.1:5", "run-2"), answers=answers, sources=[branch]
    )
    found = reader.find(reader.request("chat", chat("x")))
    assert found is not None
    assert found.answer["choices"][0]["message"]["content"] == (
        "GET http://127.0.0.1:5/w/key-2/page, http%3A%2F%2F127.0.0.1%3A5, in /tmp/run-2/work"
    )
    assert found.chunks is None, "a name may be cut in two by chunks: they are made anew"


def test_occurrences_count_answered_requests_alone() -> None:
    replay = Replay(names=Names("key"))
    first, second = replay.request("chat", chat("x")), replay.request("chat", chat("x"))
    assert (first.occurrence, second.occurrence) == (1, 2)
    replay.release(first)
    assert replay.request("chat", chat("x")).occurrence == 1, "a retry is the same occurrence"
    assert replay.request("chat", chat("x")).occurrence == 3


def test_answers_are_kept_by_lane_branch_kind_hash_and_occurrence(answers: Answers) -> None:
    branch = answers.begin(LANE, "control", {"world": "k"})
    assert answers.find(LANE, "control") is None, "a run that hasn't ended is no control"
    keeper = Replay(Mode.RECORD, names=Names("key"), answers=answers, lane=LANE, branch=branch)
    for text in ("one", "two"):
        request = keeper.request("chat", chat("x"))
        assert keeper.find(request) is None, "recording asks the model"
        keeper.keep(request, recorded(text))
    answers.end(branch, Steps((("search", "q", ""),), (Asked("h#1", lists=1),)))
    control = answers.find(LANE, "control")
    assert control is not None
    assert (control.steps.lists, control.steps.asked) == ((("search", "q", ""),), (Asked("h#1", lists=1),))
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
    reader = Replay(Mode.COUNTERFACTUAL, names=Names("key"), answers=answers, lane=LANE, sources=[control])
    found = [reader.find(reader.request("chat", chat("x"))) for _ in range(3)]
    assert [f and f.answer["choices"][0]["message"]["content"] for f in found] == ["one", "two", None]
    assert reader.find(reader.request("completions", chat("x"))) is None


def test_the_control_that_ended_last_is_the_control(answers: Answers) -> None:
    first, second = answers.begin(LANE, "control", {"world": "1"}), answers.begin(LANE, "control", {"world": "2"})
    answers.end(second, Steps())
    answers.end(first, Steps())
    found = answers.find(LANE, "control")
    assert found is not None and found.id == first.id
    pinned = answers.find(LANE, "control", "2")
    assert pinned is not None and pinned.id == second.id, "a study knows which one is its own"


def _write(path: Path, number: int) -> None:
    answers = Answers(path)
    branch = answers.begin(LANE, f"c{number}")
    replay = Replay(Mode.RECORD, names=Names("key"), answers=answers, lane=LANE, branch=branch)
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


def test_a_miss_tells_what_differs_from_the_nearest_request(answers: Answers) -> None:
    branch = answers.begin(LANE, "control")
    keeper = Replay(Mode.RECORD, names=Names("key"), answers=answers, lane=LANE, branch=branch)
    for text in ("Something else altogether", "The question is old: 2026-11-30, 12:00"):
        keeper.keep(keeper.request("chat", chat(text)), recorded("x"))
    reader = Replay(Mode.REPLAY, names=Names("key"), answers=answers, lane=LANE, sources=[branch])
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


def call(request: str, origin: str, lists: int, exposed: bool = False, kind: str = "model") -> Event:
    asked = {"request": request, "occurrence": 1, "origin": origin, "lists": lists, "exposed": exposed}
    return {"event": kind, **asked}


CONTROL = steps(
    [
        search(1, "a"), call("h1", "live", 1), search(2, "b"), call("h2", "live", 2), call("h3", "live", 2),
    ]
)  # fmt: skip
MISSED = "model calls {} weren't the control's, and nothing injected had been served by then"


def test_the_shared_beginning_is_compared_up_to_the_first_injected_list() -> None:
    treated = steps(
        [
            search(1, "a"), call("h1", "replayed", 1), search(2, "b", injected=True), call("x", "live", 2, True),
            search(3, "c"),
        ]
    )  # fmt: skip
    assert (treated.injected, len(treated.before)) == (2, 1)
    assert treated.differs(CONTROL) == []


def test_a_miss_before_the_injected_list_is_told() -> None:
    treated = steps([search(1, "a"), call("x", "live", 1), search(2, "b", injected=True)])
    assert treated.differs(CONTROL) == [MISSED.format(1)]
    # It counts when a call was made, not when it was answered, and embeddings count as well.
    late = steps([search(1, "a"), search(2, "b", injected=True), call("x", "live", 1)])
    assert late.differs(CONTROL) == [MISSED.format(1)]
    embedded = [search(1, "a"), call("h1", "replayed", 1), call("e", "live", 1, kind="embedding")]
    assert steps([*embedded, search(2, "b", injected=True)]).differs(CONTROL) == [MISSED.format(2)]


def test_a_call_of_the_control_that_was_left_out_is_told() -> None:
    treated = steps([search(1, "a"), search(2, "b", injected=True)])
    assert treated.differs(CONTROL) == ["1 of the 1 model calls that the control made by then weren't made"]


def test_calls_side_by_side_may_change_their_order() -> None:
    control = steps([call("h1", "live", 0), call("h2", "live", 0), search(1, "a")])
    treated = steps([call("h2", "replayed", 0), call("h1", "replayed", 0), search(1, "a", injected=True)])
    assert treated.differs(control) == []


def test_a_list_that_the_control_did_not_make_is_told() -> None:
    shared = [search(1, "a"), call("h1", "replayed", 1)]
    told = steps([*shared, search(2, "c", injected=True)]).differs(CONTROL)
    assert told == ["list 2 isn't the control's: 'c', the control: 'b'"]
    rest = [search(2, "b"), call("h2", "replayed", 2), call("h3", "replayed", 2)]
    told = steps([*shared, *rest, search(3, "c", injected=True)]).differs(CONTROL)
    assert told == ["list 3 isn't the control's: 'c', the control: it made no list 3"]


def test_a_run_that_was_served_nothing_is_compared_whole() -> None:
    shared = [search(1, "a"), call("h1", "replayed", 1), search(2, "b"), call("h2", "replayed", 2)]
    assert steps([*shared, call("h3", "replayed", 2)]).differs(CONTROL) == []
    assert steps(shared).differs(CONTROL) == ["1 of the 3 model calls that the control made by then weren't made"]
    short = steps([search(1, "a"), call("h1", "replayed", 1)]).differs(CONTROL)
    assert short[0] == "list 2 isn't the control's: it made no list 2, the control: 'b'"


def test_what_was_asked_again_since_its_stream_broke_off_stands_once() -> None:
    assert len(steps([call("h1", "live", 0), call("h1", "live", 0)]).asked) == 1


def test_steps_are_json() -> None:
    again = Steps.of(orjson.loads(orjson.dumps(CONTROL.record())))
    assert again.lists == CONTROL.lists
    assert [(a.request, a.lists) for a in again.asked] == [(a.request, a.lists) for a in CONTROL.asked]
