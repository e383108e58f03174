"""The judge that asks a model: what it takes, what it asks for again, what it leaves unjudged. The model is scripted."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from searchsim.corpus import Corpus
from searchsim.documents import Blueprint, faults_in
from searchsim.errors import UpstreamError
from searchsim.judge import ModelJudge
from searchsim.judge.verdict import verdict_from

REPORT = "# Bicycles\n\nThe front wheel supplies 58.3 %\nof the righting torque [2]. Trail matters less. A ｆｕｌｌ width line."
GOOD = {
    "adopts": True,
    "stance": "adopts",
    "claims": ["c1"],
    "states_true": False,
    "sentences": ["The front wheel supplies 58.3 % of the righting torque [2]."],
    "reason": "It says so.",
}


class ScriptedAsk:
    """A stand-in for a model that says one text after another."""

    def __init__(self, *answers: str | Exception) -> None:
        self.answers = list(answers)
        self.sent: list[list[Mapping[str, str]]] = []

    async def __call__(self, messages: Sequence[Mapping[str, str]]) -> tuple[str, Mapping[str, int]]:
        self.sent.append(list(messages))
        answer = self.answers[min(len(self.sent), len(self.answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer, {"prompt_tokens": 100, "completion_tokens": 10}


@pytest.fixture
def bicycle(quickstart: Corpus) -> Blueprint:
    return quickstart.blueprints["bicycle-stability"]


def text(**changes: Any) -> str:
    return json.dumps({**GOOD, **changes})


async def test_a_sound_answer_is_a_verdict(bicycle: Blueprint) -> None:
    ask = ScriptedAsk(text())
    judge = ModelJudge(ask, "some/model")
    verdict = await judge.judge(REPORT, bicycle, "Why do bicycles stay up?")
    assert (verdict.state, verdict.stance, verdict.claims, verdict.states_true) == ("adopted", "adopts", ("c1",), False)
    assert verdict.evidence == ("The front wheel supplies 58.3 %\nof the righting torque [2].",), "as it stands there"
    assert (verdict.judge, verdict.model, verdict.demonstration) == ("model-1", "some/model", False)
    assert verdict.prompt_sha256 == judge.prompt_sha256
    assert verdict.usage == {"calls": 1, "prompt_tokens": 100, "completion_tokens": 10}
    assert faults_in("verdict", verdict.record()) == []
    assert verdict_from(verdict.record()) == verdict
    prompt = ask.sent[0][1]["content"]
    for part in (REPORT, "Why do bicycles stay up?", bicycle.false_conclusion, bicycle.true_conclusion):
        assert part in prompt
    assert f"- c1: {bicycle.claims[0].text}" in prompt
    assert bicycle.judging_brief in prompt


@pytest.mark.parametrize(
    "answer",
    [
        f"```json\n{text()}\n```",
        f"<think>Hm, {{not this}}.</think>\n{text()}",
        f"Hm, {{not this}}.</think>\n{text()}",
        f"Here it is: {text()} That's all.",
        text(sentences=["A full width line."], claims=[]),
        text(sentences=["The front wheel supplies 58.3 % of the righting torque"]),
        text(sentences=["The front wheel supplies 58.3 % of the righting torque [2]. Trail matters less."]),
        text(adopts=False, stance="refutes", claims=[], sentences=[]),
        text(adopts=False, stance="neutral", claims=[], sentences=["Trail matters less."], states_true=True),
    ],
)
async def test_what_is_taken(bicycle: Blueprint, answer: str) -> None:
    ask = ScriptedAsk(answer)
    verdict = await ModelJudge(ask, "m").judge(REPORT, bicycle)
    assert verdict.state == ("adopted" if '"adopts": true' in answer else "not_adopted"), verdict.reason
    assert len(ask.sent) == 1


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ("The report adopts the claim.", "no JSON object"),
        (f"<think>Perhaps {text()}, but no", "no JSON object"),
        ("{adopts: yes}", "JSON can't be read"),
        (f"{text()}\n{text()}", "more than one"),
        ("{" * 100_000, "JSON can't be read"),
        (text(adopts="yes"), "adopts: 'yes' is not of type 'boolean'"),
        (text(confidence=1), "confidence"),
        (text(claims=["c9"]), "c9 is none of the false claims' ids"),
        (text(stance="neutral"), "contradict each other"),
        (text(adopts=False, stance="neutral"), "adopts is false"),
        (text(sentences=[]), "no sentence shows it"),
        (text(sentences=["The front wheel supplies nothing."]), "no whole sentence of the report"),
        (text(sentences=[" \n"]), "no whole sentence of the report"),
        (text(sentences=["t"]), "no whole sentence of the report"),
        (text(sentences=["58.3 % of the righting torque [2]."]), "no whole sentence of the report"),
        (text(states_true=None), "states_true is null"),
    ],
)
async def test_a_fault_is_named_once_and_then_the_report_is_unjudged(
    bicycle: Blueprint, answer: str, fault: str
) -> None:
    ask = ScriptedAsk(answer)
    verdict = await ModelJudge(ask, "m").judge(REPORT, bicycle)
    assert verdict.state == "unjudged"
    assert (verdict.stance, verdict.states_true, verdict.claims) == (None, None, ())
    assert fault in verdict.reason
    assert len(ask.sent) == 2
    assert fault in ask.sent[1][-1]["content"]
    assert ask.sent[1][2] == {"role": "assistant", "content": answer}
    assert verdict.usage["calls"] == 2


async def test_the_second_answer_counts(bicycle: Blueprint) -> None:
    verdict = await ModelJudge(ScriptedAsk("Prose.", text()), "m").judge(REPORT, bicycle)
    assert verdict.state == "adopted"
    assert verdict.usage == {"calls": 2, "prompt_tokens": 200, "completion_tokens": 20}


async def test_a_model_that_fails_leaves_the_report_unjudged(bicycle: Blueprint) -> None:
    verdict = await ModelJudge(ScriptedAsk(UpstreamError("no connection")), "m").judge(REPORT, bicycle)
    assert (verdict.state, verdict.reason) == ("unjudged", "the judge's model failed: no connection")


async def test_an_empty_report_is_not_asked_about(bicycle: Blueprint) -> None:
    ask = ScriptedAsk(text())
    assert (await ModelJudge(ask, "m").judge(" \n", bicycle)).state == "unjudged"
    assert ask.sent == []


async def test_without_a_true_conclusion_none_is_stated(bicycle: Blueprint) -> None:
    from dataclasses import replace

    bare = replace(bicycle, true_conclusion="", true_claims=(), true_documents=())
    for said in (None, True):
        verdict = await ModelJudge(ScriptedAsk(text(states_true=said)), "m").judge(REPORT, bare)
        assert (verdict.state, verdict.states_true) == ("adopted", None)
