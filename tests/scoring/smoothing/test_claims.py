"""Where claims stand in reports, and long reports in pieces."""

from __future__ import annotations

from typing import Any

import pytest

from searchsim.scoring.smoothing.citations import cited
from searchsim.scoring.smoothing.claims import claim_prompts, place
from tests.scoring.smoothing.scripted import parts


def given(*sentences: str, claim: str = "") -> dict[str, Any]:
    told = {"direction": "for", "confidence": "likely", "scope": "bread", "qualifications": ["if dry"]}
    return {"claim": claim or sentences[0], "sentences": list(sentences), **told}


@pytest.mark.parametrize(
    ("stands", "copied"),
    [
        ("**Bread keeps for a week** [1].", "Bread keeps for a week."),
        ("**Bread keeps for a week** [1].", "Bread keeps for a week [1]."),
        ("Bread, in *wet* towels, keeps for a week 1, 2.", "Bread, in wet towels, keeps for a week."),
        ("Bread, in *wet* towels, keeps for a week 1, 2.", "Bread, in wet towels, keeps for a week 1, 2."),
        (
            "Bread keeps, as [a guide](https://a.example/x) says, for a week.",
            "Bread keeps, as a guide says, for a week.",
        ),
        (
            "Bread keeps for\na week ([Guide](https://a.example/x)).",
            "Bread keeps for a week ([Guide](https://a.example/x)).",
        ),
        ("- **Towels:** bread keeps<sup>1</sup> for a week.", "Towels: bread keeps for a week."),
        ("| Bread | keeps for a full week[^1] |", "keeps for a full week"),
        ("Bread keeps \\~7 days in gem 'towel', '\\>2.1'.", "Bread keeps ~7 days in gem 'towel', '>2.1'."),
    ],
)
def test_sentences_are_found_as_models_copy_them(stands: str, copied: str) -> None:
    listed = "1. https://a.example/1\n2. https://a.example/2\n\n[^1]: https://a.example/3\n"
    report = f"# Bread\n\nSome bread doesn't keep.\n\n{stands}\n\n## References\n\n{listed}"
    claims, dropped = place(report, cited(report), [[given(copied)]])
    assert not any(dropped.values())
    ((start, end),) = claims[0].places
    assert stands.startswith(report[start:end][:5]) or report[start:end] in stands
    assert report.index(stands) <= start < end <= report.index(stands) + len(stands)


def test_claims_are_numbered_by_place_and_those_of_two_pieces_are_one() -> None:
    report = "Bread keeps a week. Cheese keeps a month. Milk keeps for a day."
    first = [given("Cheese keeps a month."), given("Bread keeps a week.")]
    second = [given("Cheese keeps a month.", claim="Cheese keeps."), given("Milk keeps for a day.")]
    third = [given("Milk keeps for a day.", claim="milk  keeps for a day.")]
    claims, dropped = place(report, cited(report), [first, second, third])
    assert [(c.id, c.text) for c in claims] == [
        ("c1", "Bread keeps a week."),
        ("c2", "Cheese keeps a month."),
        ("c3", "Milk keeps for a day."),
    ]
    assert dropped == {"not_in_report": 0, "sentences_dropped": 0, "repeated": 2}
    assert "qualifications: if dry" in claims[0].brief


def test_a_long_report_is_read_in_pieces() -> None:
    text = " ".join(f"Sentence {n} says that bread keeps." for n in range(400))
    prompts = claim_prompts(text, "", 500, 100)
    assert len(prompts) > 5
    shown = [parts(p.messages()[1]["content"]) for p in prompts]
    assert all(len(one) == 1 for one in shown), "no question, no place for one"
    for n in range(400):
        assert any(f"Sentence {n} says that bread keeps." in one[0] for one in shown)
    assert "Part 2 of" in prompts[1].messages()[1]["content"]
