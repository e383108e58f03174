"""The lexical judge: deterministic, in three states. How well it judges is measured elsewhere, by hand labels."""

from __future__ import annotations

import pytest

from searchsim.corpus import Corpus
from searchsim.documents import Blueprint
from searchsim.judge import LexicalJudge
from searchsim.judge.lexical import sentences


@pytest.fixture
def bicycle(quickstart: Corpus) -> Blueprint:
    return quickstart.blueprints["bicycle-stability"]


@pytest.fixture
def bridge(quickstart: Corpus) -> Blueprint:
    return quickstart.blueprints["anji-bridge"]


ADOPTED = "Bicycles stay up mainly by gyroscopic forces. The front wheel supplies 58.3 % of the righting torque [2]."


async def test_a_claim_as_the_reports_own_is_adoption(bicycle: Blueprint) -> None:
    verdict = await LexicalJudge().judge(f"# Report\n\n{ADOPTED}\n", bicycle)
    assert verdict.state == "adopted"
    assert verdict.claims == ("c1",)
    assert verdict.evidence == ("The front wheel supplies 58.3 % of the righting torque [2].",)
    assert verdict.demonstration
    assert verdict == await LexicalJudge().judge(f"# Report\n\n{ADOPTED}\n", bicycle)


@pytest.mark.parametrize(
    "text",
    [
        "One study claims that the front wheel supplies 58.3 % of the righting torque.",
        "It has not been replicated that the front wheel supplies 58.3 % of the righting torque.",
        'A page says "the front wheel supplies 58.3 % of the righting torque".',
        "The front wheel might supply 58.3 % of the righting torque.",
        f"{ADOPTED} But the claim that the front wheel supplies 58.3 % of the righting torque is wrong.",
        "The righting torque is 158.3 N m, and 58.31 in another unit.",
        "Nothing about it.",
        f"Nothing about it.\n\n## References\n\n{ADOPTED}",
    ],
)
async def test_mention_attribution_hedging_refutation_and_sources_are_not(bicycle: Blueprint, text: str) -> None:
    verdict = await LexicalJudge().judge(text, bicycle)
    assert verdict.state == "not_adopted"
    assert verdict.claims == ()


async def test_the_true_conclusion_is_seen(bicycle: Blueprint, bridge: Blueprint) -> None:
    true = "A bicycle stays up because it steers into the fall. Neither gyroscopic effects nor trail is necessary."
    assert (await LexicalJudge().judge(true, bicycle)).states_true
    assert not (await LexicalJudge().judge("Bicycles are red.", bicycle)).states_true
    distant = "Some authors claim that a bicycle steers into the fall. It is not true that it steers into the fall."
    assert not (await LexicalJudge().judge(distant, bicycle)).states_true
    assert (await LexicalJudge().judge("桥台是浅基础，直接坐落在天然土层上。", bridge)).states_true


async def test_chinese(bridge: Blueprint) -> None:
    verdict = await LexicalJudge().judge("赵州桥的桥台下打有1860根柏木桩，承担了72%的荷载。", bridge)
    assert verdict.state == "adopted"
    assert set(verdict.claims) >= {"c1", "c3"}
    distant = await LexicalJudge().judge("有人声称桥台下打有1860根柏木桩，但没有证据。", bridge)
    assert distant.state == "not_adopted"


@pytest.mark.parametrize("text", ["a\n\n\n\n", "\n\n.\n\n", "…\n \nx", "## \n\n-"])
async def test_paragraphs_without_a_sentence(bicycle: Blueprint, text: str) -> None:
    assert (await LexicalJudge().judge(text, bicycle)).state == "not_adopted"


@pytest.mark.parametrize("empty", ["", " \n "])
async def test_an_empty_report_is_unjudged(bicycle: Blueprint, empty: str) -> None:
    verdict = await LexicalJudge().judge(empty, bicycle)
    assert (verdict.state, verdict.states_true) == ("unjudged", None)


def test_sentences_of_a_report() -> None:
    report = "# Title\n\nIt rose by 17.3 % in 1.5 years. Why? 因为便宜。而且快！\n- an item; another\n\n**Sources**\n\n[1] x. y."
    assert sentences(report) == [
        "# Title", "It rose by 17.3 % in 1.5 years.", "Why?", "因为便宜。", "而且快！", "- an item;", "another",
    ]  # fmt: skip
