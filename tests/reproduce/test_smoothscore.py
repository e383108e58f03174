"""The SmoothScore paper's figures come out again, and wouldn't from other tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

import orjson
import pytest
from scipy.stats import pearsonr, spearmanr
from typer.testing import CliRunner

from searchsim.cli.reproduce import reproduce_app
from searchsim.reproduce import smoothscore
from searchsim.reproduce.lines import Line
from searchsim.reproduce.smoothscore_tables import (
    CELLS,
    DATASETS,
    GEMINI,
    INTERVENTIONS,
    LUNA,
    OPENED,
    QUEST,
    RATED,
    SOL,
    SONNET,
    SYSTEMS,
    TULU,
    Cell,
    Intervention,
    Key,
    Tables,
    scores,
)
from searchsim.scoring.smoothing.results import distribution

T = TypeVar("T")


@pytest.fixture(scope="module")
def answer() -> list[Line]:
    return smoothscore.lines()


@pytest.fixture(scope="module")
def found(answer: list[Line]) -> dict[str, Line]:
    return {entry["id"]: entry for entry in answer}


def test_every_figure_is_there_once(answer: list[Line], found: dict[str, Line]) -> None:
    assert len(answer) == len(found)
    assert {id_.split(".")[0] for id_ in found} == {f"SM-{n}" for n in range(1, 15)}
    for name in ("SM-1", "SM-2"):
        assert {f"{name}.{d}.{s}" for d in DATASETS for s in SYSTEMS} <= set(found)
    assert {f"SM-9.{d}.{s}" for d in DATASETS for s in SYSTEMS if s != GEMINI} <= set(found)
    fields = {"id", "what", "unit", "source", "inputs", "published", "relation", "recomputed", "tolerance", "holds"}
    assert all(fields <= entry.keys() <= fields | {"reason"} for entry in found.values())


def test_no_figure_fails(found: dict[str, Line]) -> None:
    assert [entry for entry in found.values() if entry["holds"] is False] == []


def test_only_what_isnt_published_cant_be_told(found: dict[str, Line]) -> None:
    untold = {id_ for id_, entry in found.items() if entry["holds"] is None}
    expected = {
        id_
        for id_ in found
        if id_.startswith(("SM-2.", "SM-6.", "SM-7.", "SM-11.interval.", "SM-12.", "SM-13", "SM-14"))
    }
    expected |= {
        f"SM-8.{name}.{kind}"
        for name in ("documents", "words", "claims", "claim_words")
        for kind in ("within", "pooled")
    }
    expected |= {"SM-8.claim_words.rho", "SM-8.claim_words.r", "SM-8.gemini", f"SM-9.{GEMINI}", "SM-10.snippet"}
    assert untold == expected - {"SM-6.two"}
    for id_ in untold:
        assert (found[id_]["recomputed"], found[id_]["tolerance"]) == (None, None)
        assert found[id_]["reason"]


def test_the_tolerances_are_those_that_the_tables_rounding_asks_for(found: dict[str, Line]) -> None:
    means = [found[f"SM-1.{d}.{s}"] for d in DATASETS for s in SYSTEMS]
    assert len(means) == 28
    assert {entry["tolerance"] for entry in means} == {0.006}
    across = [found[f"SM-8.{name}.{kind}"] for name in ("documents", "words", "claims") for kind in ("rho", "r")]
    assert {entry["tolerance"] for entry in across} == {0.02}
    ratios = [found[f"SM-9.{d}.{s}"] for d, s in OPENED]
    assert {entry["tolerance"] for entry in ratios} == {0.05}


def test_what_came_out_was_computed(found: dict[str, Line]) -> None:
    def came_out(id_: str) -> Any:
        return found[id_]["recomputed"]

    # 164 + 151·2 + 114·3 + 14·4 of 443 claims.
    assert came_out("SM-1.researcherbench.luna") == pytest.approx(864 / 443, abs=1e-6)
    assert came_out("SM-3.gemini") == pytest.approx([366 / 120, 1421 / 434], abs=1e-6)
    assert came_out("SM-5.sol") == [12.5, 25.75]
    assert "12.49 to 25.46" in found["SM-5.sol"]["reason"]
    assert came_out("SM-9.researcherbench.luna") == pytest.approx(9500 / 496, abs=1e-6)
    assert came_out("SM-11.half") == pytest.approx((46 / 378) / (122 / 416), abs=1e-6)


def test_correlations_are_scipys(found: dict[str, Line]) -> None:
    means = [distribution(scores(cell))["mean"] for cell in CELLS.values()]
    for name, values in {
        "documents": [c.documents for c in CELLS.values()],
        "words": [c.words for c in CELLS.values()],
        "claims": [c.claims / c.reports for c in CELLS.values()],
    }.items():
        assert found[f"SM-8.{name}.rho"]["recomputed"] == pytest.approx(spearmanr(values, means).statistic, abs=1e-6)
        assert found[f"SM-8.{name}.r"]["recomputed"] == pytest.approx(pearsonr(values, means).statistic, abs=1e-6)


def test_the_text_that_differs_from_its_table_is_told(found: dict[str, Line]) -> None:
    assert found["SM-6.gpt-5.alpha"]["published"] == 0.68
    assert "the text prints 0.62" in found["SM-6.gpt-5.alpha"]["reason"]
    assert "the text prints" not in found["SM-6.gpt-5.rho"]["reason"]


def test_the_tables_are_whole() -> None:
    assert set(CELLS) == {(d, s) for d in DATASETS for s in SYSTEMS}
    assert set(OPENED) == set(CELLS) - {(d, GEMINI) for d in DATASETS}
    assert {model for model, _ in INTERVENTIONS} == {LUNA, SONNET}
    rows: list[Cell | Intervention] = [*CELLS.values(), *INTERVENTIONS.values()]
    for row in rows:
        assert len(scores(row)) == row.claims
        assert row.interval[0] <= row.mean <= row.interval[1]


def _changed(rows: Mapping[Key, T], key: Key, **change: object) -> dict[Key, T]:
    return {**rows, key: replace(rows[key], **change)}  # type: ignore[type-var]


def _failing(tables: Tables) -> set[str]:
    return {entry["id"] for entry in smoothscore.lines(tables) if entry["holds"] is False}


@pytest.mark.parametrize(
    ("tables", "failing"),
    [
        # A mean misprinted by a hundredth.
        (Tables(cells=_changed(CELLS, (DATASETS[0], SONNET), mean=2.54)), {"SM-1.researcherbench.sonnet"}),
        # Eight of DR Tulu's claims from 2 to 3, so that all percentages still are those of whole claims.
        (
            Tables(cells=_changed(CELLS, (DATASETS[0], TULU), percent=(12.0, 24.8, 56.1, 6.9, 0.2))),
            {"SM-1.researcherbench.dr-tulu"},
        ),
        # A percentage that no whole number of claims has, and that makes the sum another.
        (
            Tables(cells=_changed(CELLS, (DATASETS[2], QUEST), percent=(9.5, 22.1, 46.3, 14.7, 8.7))),
            {"SM-1", "SM-1.drb-ii.quest", "SM-3.others", "SM-5.five.quest"},
        ),
        # More documents cited: the correlation, and how many more than Sol Gemini cites.
        (
            Tables(cells=_changed(CELLS, (DATASETS[0], SOL), documents=60.0)),
            {"SM-8.documents.rho", "SM-8.documents.r", "SM-8.gemini.documents"},
        ),
        (Tables(opened=_changed(OPENED, (DATASETS[0], LUNA), opened=96)), {"SM-9.researcherbench.luna"}),
        (Tables(opened=_changed(OPENED, (DATASETS[1], TULU), opened=1)), {"SM-9.cs2-expert.dr-tulu", "SM-9.dr-tulu"}),
        (Tables(rated={**RATED, "gpt-5": {LUNA: 2.7, TULU: 2.6, GEMINI: 3.0}}), {"SM-7"}),
        (
            Tables(interventions=_changed(INTERVENTIONS, (LUNA, "documents"), length=1.7)),
            {"SM-11.length"},
        ),
        (
            Tables(
                interventions=_changed(
                    INTERVENTIONS, (SONNET, "documents+instructions"), percent=(43.9, 25.1, 28.9, 1.9, 0.3)
                )
            ),
            {"SM-11.sonnet.documents+instructions", "SM-11.sonnet.documents+instructions.3", "SM-11.half"},
        ),
    ],
)
def test_an_altered_table_is_found_in_its_figures_alone(tables: Tables, failing: set[str]) -> None:
    assert _failing(tables) - {"SM-1", "SM-11"} == failing - {"SM-1", "SM-11"}
    assert failing & {"SM-1", "SM-11"} <= _failing(tables)


def test_the_command_answers_a_program(found: dict[str, Line]) -> None:
    result = CliRunner().invoke(reproduce_app, ["smoothscore", "--json"])
    assert result.exit_code == 0
    assert orjson.loads(result.stdout) == list(found.values())


def test_the_command_answers_a_person(found: dict[str, Line]) -> None:
    result = CliRunner().invoke(reproduce_app, ["smoothscore"])
    assert result.exit_code == 0
    assert all(id_ in result.stdout for id_ in found)
    told = sum(entry["holds"] is not None for entry in found.values())
    assert f"{len(found)} figures: {told} hold, 0 don't, {len(found) - told} can't be told." in result.stdout
    assert "on the published tables; it replicates nothing" in result.stdout


def test_the_command_fails_with_a_figure(found: dict[str, Line], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smoothscore, "lines", lambda: [{**found["SM-7"], "recomputed": False, "holds": False}])
    for arguments in (["smoothscore"], ["smoothscore", "--json"]):
        assert CliRunner().invoke(reproduce_app, arguments).exit_code == 1
