"""What the SmoothScore paper prints: its tables, as golden vectors.

Nothing here is made up: what isn't printed has no place in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from searchsim.scoring.smoothing.scores import BINS

__all__ = [
    "AGREEMENT",
    "CELLS",
    "CORRELATIONS",
    "DATASETS",
    "GEMINI",
    "INTERVENTIONS",
    "LUNA",
    "OPENED",
    "OPUS",
    "QUEST",
    "RATED",
    "REVISIONS",
    "SOL",
    "SONNET",
    "SYSTEMS",
    "TULU",
    "Cell",
    "Intervention",
    "Key",
    "Opened",
    "Printed",
    "Tables",
    "scores",
]

LUNA, SOL, SONNET, OPUS, QUEST, TULU, GEMINI = SYSTEMS = ("luna", "sol", "sonnet", "opus", "quest", "dr-tulu", "gemini")
RESEARCHER_BENCH, CS2_EXPERT, DRB_II, RESEARCH_RUBRICS = DATASETS = (
    "researcherbench",
    "cs2-expert",
    "drb-ii",
    "researchrubrics",
)

Key = tuple[str, str]
"""Dataset and system, or model and condition."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A system on a dataset.

    Attributes:
        reports: How many were scored.
        claims: How many they hold.
        mean: Their mean score.
        interval: Its 95 % interval.
        percent: Of the claims, with each of the five scores.
        words: Mean of a report.
        documents: Mean of those that a report cites.
    """

    reports: int
    claims: int
    mean: float
    interval: tuple[float, float]
    percent: tuple[float, ...]
    words: int
    documents: float


@dataclass(frozen=True, slots=True)
class Intervention:
    """A model's reports on ResearcherBench, written again under a condition; as `Cell`, with the length's ratio."""

    length: float
    claims: int
    mean: float
    interval: tuple[float, float]
    percent: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Opened:
    """How many of the links that a system cites on a dataset it opened.

    Attributes:
        percent: As printed.
        opened: The count.
        cited: Of these.
    """

    percent: float
    opened: int
    cited: int


@dataclass(frozen=True, slots=True)
class Printed:
    """A variable's correlations with smoothing: across systems, within them, pooled; with p-values where printed."""

    rho: float
    rho_p: float
    r: float
    r_p: float
    within: float
    within_p: float
    pooled: float


CELLS: Mapping[Key, Cell] = {
    (RESEARCHER_BENCH, LUNA): Cell(65, 443, 1.95, (1.85, 2.06), (37.0, 34.1, 25.7, 3.2, 0.0), 1_828, 8.6),
    (RESEARCHER_BENCH, SOL): Cell(64, 430, 1.93, (1.81, 2.05), (37.0, 35.6, 25.1, 2.3, 0.0), 1_710, 9.9),
    (RESEARCHER_BENCH, SONNET): Cell(65, 435, 2.52, (2.42, 2.61), (13.8, 26.7, 53.3, 6.2, 0.0), 2_125, 21.6),
    (RESEARCHER_BENCH, OPUS): Cell(65, 445, 2.36, (2.28, 2.44), (19.1, 29.4, 47.9, 3.6, 0.0), 1_328, 18.8),
    (RESEARCHER_BENCH, QUEST): Cell(63, 404, 2.50, (2.35, 2.65), (18.1, 26.7, 43.6, 10.1, 1.5), 1_332, 9.8),
    (RESEARCHER_BENCH, TULU): Cell(65, 408, 2.57, (2.47, 2.67), (12.0, 26.7, 54.2, 6.9, 0.2), 1_948, 17.4),
    (RESEARCHER_BENCH, GEMINI): Cell(64, 434, 3.27, (3.21, 3.34), (1.6, 5.1, 58.1, 34.8, 0.5), 4_860, 39.2),
    (CS2_EXPERT, LUNA): Cell(25, 164, 1.93, (1.75, 2.11), (44.5, 23.8, 27.4, 3.0, 1.2), 1_999, 10.4),
    (CS2_EXPERT, SOL): Cell(25, 165, 1.82, (1.66, 1.98), (43.6, 31.5, 23.6, 1.2, 0.0), 1_514, 10.8),
    (CS2_EXPERT, SONNET): Cell(25, 167, 2.30, (2.12, 2.48), (21.6, 32.3, 40.7, 5.4, 0.0), 2_177, 18.5),
    (CS2_EXPERT, OPUS): Cell(25, 188, 2.20, (2.05, 2.33), (28.7, 26.6, 42.0, 1.6, 1.1), 1_431, 19.7),
    (CS2_EXPERT, QUEST): Cell(25, 156, 2.67, (2.46, 2.87), (17.3, 18.6, 47.4, 13.5, 3.2), 1_210, 8.6),
    (CS2_EXPERT, TULU): Cell(25, 168, 2.70, (2.53, 2.86), (12.5, 19.0, 55.4, 12.5, 0.6), 2_156, 17.8),
    (CS2_EXPERT, GEMINI): Cell(24, 175, 3.18, (3.09, 3.28), (4.0, 5.7, 59.4, 29.7, 1.1), 5_122, 48.6),
    (DRB_II, LUNA): Cell(18, 106, 1.66, (1.46, 1.86), (58.5, 18.9, 20.8, 1.9, 0.0), 3_886, 14.6),
    (DRB_II, SOL): Cell(18, 111, 1.83, (1.62, 2.04), (45.0, 29.7, 23.4, 0.9, 0.9), 3_979, 20.2),
    (DRB_II, SONNET): Cell(18, 107, 2.46, (2.24, 2.68), (15.0, 30.8, 47.7, 6.5, 0.0), 3_432, 32.4),
    (DRB_II, OPUS): Cell(18, 106, 2.39, (2.24, 2.53), (21.7, 26.4, 43.4, 8.5, 0.0), 2_786, 31.2),
    (DRB_II, QUEST): Cell(16, 95, 2.88, (2.54, 3.25), (9.5, 22.1, 46.3, 14.7, 7.4), 2_397, 11.2),
    (DRB_II, TULU): Cell(18, 102, 2.49, (2.27, 2.71), (19.6, 21.6, 50.0, 7.8, 1.0), 2_884, 14.4),
    (DRB_II, GEMINI): Cell(18, 120, 3.05, (2.89, 3.23), (2.5, 12.5, 62.5, 22.5, 0.0), 4_844, 32.7),
    (RESEARCH_RUBRICS, LUNA): Cell(17, 111, 1.83, (1.57, 2.10), (45.0, 31.5, 19.8, 2.7, 0.9), 3_128, 10.0),
    (RESEARCH_RUBRICS, SOL): Cell(17, 108, 1.93, (1.73, 2.12), (36.1, 38.9, 22.2, 1.9, 0.9), 2_736, 11.9),
    (RESEARCH_RUBRICS, SONNET): Cell(17, 110, 2.55, (2.37, 2.72), (12.7, 29.1, 49.1, 8.2, 0.9), 3_031, 28.6),
    (RESEARCH_RUBRICS, OPUS): Cell(17, 100, 2.42, (2.21, 2.61), (17.0, 29.0, 49.0, 5.0, 0.0), 2_010, 22.7),
    (RESEARCH_RUBRICS, QUEST): Cell(17, 104, 2.88, (2.61, 3.16), (12.5, 14.4, 50.0, 19.2, 3.8), 1_930, 9.6),
    (RESEARCH_RUBRICS, TULU): Cell(17, 99, 2.63, (2.38, 2.86), (14.1, 24.2, 49.5, 9.1, 3.0), 2_732, 15.0),
    (RESEARCH_RUBRICS, GEMINI): Cell(17, 113, 3.23, (3.05, 3.40), (6.2, 1.8, 56.6, 33.6, 1.8), 4_687, 31.2),
}
"""Smoothing, and what reports are like, by dataset and system."""

INTERVENTIONS: Mapping[Key, Intervention] = {
    (LUNA, "search"): Intervention(1.0, 416, 1.95, (1.84, 2.07), (37.3, 33.4, 26.0, 3.4, 0.0)),
    (LUNA, "search+instructions"): Intervention(1.0, 397, 1.88, (1.78, 1.98), (40.3, 34.0, 23.2, 2.5, 0.0)),
    (LUNA, "documents"): Intervention(1.6, 390, 1.80, (1.70, 1.91), (45.6, 31.0, 21.3, 2.1, 0.0)),
    (LUNA, "documents+instructions"): Intervention(1.4, 378, 1.52, (1.44, 1.60), (61.1, 26.7, 11.6, 0.5, 0.0)),
    (SONNET, "search"): Intervention(1.0, 407, 2.54, (2.44, 2.63), (13.5, 25.6, 54.8, 6.1, 0.0)),
    (SONNET, "search+instructions"): Intervention(1.1, 391, 2.23, (2.12, 2.34), (25.6, 30.2, 40.4, 3.8, 0.0)),
    (SONNET, "documents"): Intervention(1.2, 394, 2.38, (2.27, 2.49), (18.3, 31.0, 45.4, 5.3, 0.0)),
    (SONNET, "documents+instructions"): Intervention(1.3, 367, 1.78, (1.67, 1.88), (49.9, 25.1, 22.9, 1.9, 0.3)),
}
"""Smoothing where the cited documents are in the prompt, where the prompt asks for calibration, and both."""

OPENED: Mapping[Key, Opened] = {
    (RESEARCHER_BENCH, LUNA): Opened(19.2, 95, 496),
    (CS2_EXPERT, LUNA): Opened(13.3, 34, 256),
    (DRB_II, LUNA): Opened(9.3, 27, 291),
    (RESEARCH_RUBRICS, LUNA): Opened(8.9, 17, 190),
    (RESEARCHER_BENCH, SOL): Opened(27.7, 169, 611),
    (CS2_EXPERT, SOL): Opened(30.0, 88, 293),
    (DRB_II, SOL): Opened(16.1, 68, 422),
    (RESEARCH_RUBRICS, SOL): Opened(28.2, 70, 248),
    (RESEARCHER_BENCH, QUEST): Opened(73.8, 217, 294),
    (CS2_EXPERT, QUEST): Opened(64.9, 63, 97),
    (DRB_II, QUEST): Opened(30.5, 36, 118),
    (RESEARCH_RUBRICS, QUEST): Opened(29.4, 25, 85),
    (RESEARCHER_BENCH, SONNET): Opened(2.3, 34, 1_458),
    (CS2_EXPERT, SONNET): Opened(3.5, 19, 536),
    (DRB_II, SONNET): Opened(1.1, 8, 750),
    (RESEARCH_RUBRICS, SONNET): Opened(1.1, 6, 559),
    (RESEARCHER_BENCH, OPUS): Opened(0.9, 12, 1_277),
    (CS2_EXPERT, OPUS): Opened(2.3, 13, 561),
    (DRB_II, OPUS): Opened(1.3, 10, 751),
    (RESEARCH_RUBRICS, OPUS): Opened(0.2, 1, 471),
    (RESEARCHER_BENCH, TULU): Opened(0.5, 5, 1_082),
    (CS2_EXPERT, TULU): Opened(0, 0, 445),
    (DRB_II, TULU): Opened(0, 0, 303),
    (RESEARCH_RUBRICS, TULU): Opened(0, 0, 290),
}
"""Document engagement by dataset and system; Gemini's can't be seen."""

CORRELATIONS: Mapping[str, Printed] = {
    "documents": Printed(0.37, 0.056, 0.59, 0.001, 0.03, 0.35, 0.38),
    "words": Printed(0.24, 0.23, 0.39, 0.04, 0.12, 0.001, 0.33),
    "claims": Printed(0.08, 0.70, 0.10, 0.63, -0.02, 0.61, 0.00),
    "claim_words": Printed(0.43, 0.02, 0.56, 0.002, 0.02, 0.16, 0.12),
}
"""By the keys of `searchsim.scoring.smoothing.correlations.correlations`: across systems, within them, pooled."""

AGREEMENT: Mapping[str, tuple[float, float, float, float]] = {
    "annotator-2": (58, 96, 0.72, 0.71),
    "gpt-5": (56, 93, 0.69, 0.68),
    "gemini-2.5-pro": (27, 74, 0.63, 0.41),
    "claude-sonnet-4.5": (19, 56, 0.51, 0.11),
}
"""With annotator 1 on 73 claims: exact and within one in per cent, Spearman's ρ, Krippendorff's ordinal α."""

RATED: Mapping[str, Mapping[str, float]] = {
    "annotator-1": {LUNA: 1.96, TULU: 2.16, GEMINI: 2.71},
    "gpt-5": {LUNA: 1.71, TULU: 2.60, GEMINI: 3.04},
    "gemini-2.5-pro": {LUNA: 2.33, TULU: 2.96, GEMINI: 3.83},
    "claude-sonnet-4.5": {LUNA: 2.88, TULU: 3.32, GEMINI: 4.42},
}
"""Mean scores of the 73 claims, by rater and system."""

REVISIONS: Mapping[Key, float] = {
    (LUNA, "none"): 0.4,
    (LUNA, "documents"): 4.1,
    (LUNA, "evidence"): 4.4,
    (SONNET, "none"): 1.1,
    (SONNET, "documents"): 9.7,
    (SONNET, "evidence"): 12.0,
}
"""Rise of the rubric score of a revised report, by model and what it was revised with."""


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables that something is recomputed from."""

    cells: Mapping[Key, Cell] = field(default_factory=lambda: CELLS)
    interventions: Mapping[Key, Intervention] = field(default_factory=lambda: INTERVENTIONS)
    opened: Mapping[Key, Opened] = field(default_factory=lambda: OPENED)
    rated: Mapping[str, Mapping[str, float]] = field(default_factory=lambda: RATED)


def scores(row: Cell | Intervention) -> list[int]:
    """The scores behind a row's percentages, each as often as it was given: whole claims, as near as can be."""
    return [b for b, percent in zip(BINS, row.percent, strict=True) for _ in range(round(percent * row.claims / 100))]
