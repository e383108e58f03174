"""The SmoothScore paper's figures that can't be told: what they come from isn't published."""

from __future__ import annotations

from collections.abc import Mapping

from searchsim.reproduce.lines import Line, line, untold
from searchsim.reproduce.smoothscore_tables import AGREEMENT, RATED, REVISIONS

__all__ = ["elsewhere", "intervals", "untold_agreement"]

_CLAIMS = "the scores of the 73 claims aren't published"

_TEXT = {
    ("gpt-5", "alpha"): "0.62",
    ("annotator-2", "alpha"): "0.64",
    ("gemini-2.5-pro", "alpha"): "0.36",
    ("claude-sonnet-4.5", "alpha"): "0.04",
    ("gemini-2.5-pro", "rho"): "0.60",
}
"""Where the text prints another figure than the table."""

_MEASURES = (
    ("exact", "Exact agreement", "%"),
    ("within_one", "Agreement within one", "%"),
    ("rho", "Spearman's ρ", "correlation"),
    ("alpha", "Krippendorff's ordinal α", "alpha"),
)


def intervals(id_: str, rows: Mapping[str, tuple[float, float]]) -> list[Line]:
    """95 % intervals of means."""
    why = "which claims are of which report isn't published, nor how the intervals were made"
    return [
        untold(f"{id_}.{name}", f"Interval of the mean score, {name.replace('.', ', ')}", row, why, unit="score")
        for name, row in rows.items()
    ]


def untold_agreement() -> list[Line]:
    """SM-6 and the means of SM-7."""
    rows = []
    for rater, figures in AGREEMENT.items():
        for (key, title, unit), value in zip(_MEASURES, figures, strict=True):
            other = _TEXT.get((rater, key))
            why = f"{_CLAIMS}; the text prints {other} where the table has this" if other else _CLAIMS
            rows.append(untold(f"SM-6.{rater}.{key}", f"{title}, {rater} with annotator 1", value, why, unit=unit))
    beyond = 100 - AGREEMENT["gpt-5"][1]
    return [
        *rows,
        line(
            "SM-6.two",
            "Claims that GPT-5 and annotator 1 score two or more apart",
            7,
            beyond,
            unit="%",
            inputs="printed share within one",
        ),
        untold("SM-6.kappa", "Cohen's κ of the annotators, from 3 on", 0.62, _CLAIMS, unit="kappa"),
        untold("SM-6.ppv", "Of what GPT-5 scores from 3 on, so scored by annotator 1", 62, _CLAIMS, unit="%"),
        *(
            untold(
                f"SM-7.{rater}.{system}",
                f"Mean score of the 73 claims, {system} by {rater}",
                mean,
                _CLAIMS,
                unit="score",
            )
            for rater, means in RATED.items()
            for system, mean in means.items()
        ),
    ]


def elsewhere() -> list[Line]:
    """SM-10, SM-12 to SM-14."""
    traces, drafts = "no trace is published", "neither the reports nor their rubric scores are published"
    return [
        line(
            "SM-10",
            "Luna's reports that open a page which they cite, of 65",
            20,
            65 - 45,
            unit="reports",
            inputs="the printed 45 that open none",
        ),
        untold("SM-10.snippet", "Median length of Luna's search snippets", 585, traces, unit="characters"),
        *(
            untold(
                f"SM-12.{model}.{given}",
                f"Rise of the rubric score of {model}'s reports, revised with {given}",
                rise,
                drafts,
                unit="points",
            )
            for (model, given), rise in REVISIONS.items()
        ),
        untold(
            "SM-13",
            "Evidence of the worked example: supporting, countervailing",
            [61, 77],
            "it isn't published",
            unit="quotes",
        ),
        untold("SM-13.aspect", "The same under its aspect A1.1", [31, 9], "it isn't published", unit="quotes"),
        untold(
            "SM-14.drb-ii",
            "Queries kept, DeepResearch Bench II, of 66",
            18,
            "how queries were labelled isn't published",
            unit="queries",
        ),
        untold(
            "SM-14.researchrubrics",
            "Queries kept, ResearchRubrics, of 101",
            17,
            "how queries were labelled isn't published",
            unit="queries",
        ),
    ]
