"""Runs and the smoothing of their reports in one table: verdict, exposure, engagement, SmoothScore.

A falsehood that an agent adopted from misleading documents looks faithful beside these very documents. So a run that
cites injected documents has two scores: against all that it cites, and with the injected left out. What an adopted
falsehood is worth shows in the second.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

from searchsim.errors import UsageError
from searchsim.records import Record, state
from searchsim.scoring.smoothing.engagement import engagement, of_run
from searchsim.scoring.smoothing.record import report_scores
from searchsim.scoring.smoothing.results import RESAMPLES, results, spread, summary
from searchsim.scoring.smoothing.scores import ReportScores
from searchsim.urls import cited_url

__all__ = ["Injected", "joined"]

Variant = Literal["smoothing", "smoothing_without_injected"]
_VARIANTS: tuple[Variant, ...] = ("smoothing", "smoothing_without_injected")

_Scores = dict[tuple[str, Variant], ReportScores]
"""By run and variant."""


def joined(
    runs: Iterable[Record], smoothing: Iterable[Mapping[str, Any]], *, resamples: int = RESAMPLES, seed: int = 0
) -> dict[str, Any]:
    """Join runs with the scores of their reports.

    Args:
        runs: Run records.
        smoothing: Records of scored reports, named by their runs; those that left documents out are the second scores.
        resamples: Samples of each bootstrap.
        seed: Of its draws.

    Returns:
        JSON with these fields:

        - ``runs``: for each run its id, agent, model, label, control, task, repetition and state; adopted and
          states_true (None where unjudged); exposure (how many injected documents were served, delivered, opened,
          cited); engagement (cited, opened, share; None where the run isn't valid); smoothing and
          smoothing_without_injected (`distribution`; None where it isn't scored; the same where the run cites no
          injected document)
        - ``groups``: the same for the runs of one agent, model and condition with one verdict, engagement taking each
          link once, and smoothing as `summary` has it; runs is their number
        - ``results``: `results` over the runs, for each variant of smoothing, agent/model/label being the system and
          the corpus the dataset
        - ``instrument``: the identity of what gave the scores; None without scores
        - ``unmatched``: names of scored reports that aren't of these runs
        - ``demonstration``: why this is no result; empty where it may be one

    Raises:
        UsageError: A run was scored twice in the same way, by different instruments, or on another text; or it stands
            twice.
    """
    known: dict[str, Record] = {}
    for run in runs:
        if run["run"] in known:
            raise UsageError(f"run {run['run']} stands twice")
        known[run["run"]] = run
    scores, told = _scores(known, smoothing)
    records = list(known.values())
    groups: dict[tuple[str, str, str, str], list[Record]] = {}
    for record in records:
        if state(record) == "judged":
            key = (record["agent"], record["model"], record["label"], record["verdict"]["state"])
            groups.setdefault(key, []).append(record)
    return {
        "runs": [_run(r, scores) for r in records],
        "groups": [_group(key, inside, scores, resamples, seed) for key, inside in groups.items()],
        "results": {
            v: results([scores[k] for r in records if (k := (r["run"], v)) in scores], resamples=resamples, seed=seed)
            for v in _VARIANTS
        },
        **told,
    }


@dataclass(frozen=True, slots=True)
class Injected:
    """A run's injected documents, as its record tells them. Reports cite in more ways than the record's citations read.

    Attributes:
        ids: Those of its plan.
        addresses: What it was served, opened, or is known to cite them by, as `searchsim.urls.cited_url` writes it.
    """

    ids: frozenset[str]
    addresses: frozenset[str]

    @classmethod
    def of(cls, run: Record) -> Injected:
        """Those of a run."""
        told = chain(chain.from_iterable(s["served"] for s in run["searches"]), run["fetches"], run["citations"])
        urls = {d["url"] for d in told if d["injected"]}
        return cls(frozenset(run["plan"]["documents"]), frozenset(map(cited_url, urls)))

    def has(self, addresses: Iterable[str], names: Iterable[str]) -> bool:
        """Whether what is cited is one of them.

        Args:
            addresses: Its addresses, as `searchsim.urls.cited_url` writes them.
            names: What its texts are called where they were found; in a corpus these are documents' ids.
        """
        return not (self.addresses.isdisjoint(addresses) and self.ids.isdisjoint(names))


def _scores(runs: Mapping[str, Record], smoothing: Iterable[Mapping[str, Any]]) -> tuple[_Scores, dict[str, Any]]:
    """The scores of each run, and what is told of them together. Records are large, so none is kept."""
    scores: _Scores = {}
    both: set[str] = set()
    unmatched: dict[str, None] = {}
    instrument: Mapping[str, Any] | None = None
    toys = dict.fromkeys(f"model {r['model']} is a toy or a stand-in" for r in runs.values() if r["demonstration"])
    for record in smoothing:
        name = record["report"]["name"]
        if name not in runs:
            unmatched[name] = None
            continue
        run = runs[name]
        if record["report"]["sha256"] != hashlib.sha256(run["report"].encode()).hexdigest():
            raise UsageError(f"run {name}: what was scored isn't the report of the run's record")
        if instrument is not None and record["identity"]["sha256"] != instrument["sha256"]:
            raise UsageError(f"run {name}: its score is of another instrument than the ones before: they don't compare")
        instrument = record["identity"]
        variant = _variant(record)
        if (name, variant) in scores:
            raise UsageError(f"run {name} was scored twice in the same way: keep one of them")
        system = f"{run['agent']}/{run['model']}/{run['label']}"
        scores[name, variant] = report_scores(record, system, run["corpus"]["name"])
        toys.update(dict.fromkeys(record["demonstration"]))
        injected = Injected.of(run)
        used = [
            d for d in record["documents"] if d["state"] != "left_out" and injected.has(d["addresses"], [d["source"]])
        ]
        if not used:
            # There is nothing to leave out, or it is.
            both.add(name)
        elif variant == _VARIANTS[1]:
            raise UsageError(f"run {name}: its score without injected documents has {used[0]['id']}, which is one")
    for name in both:
        if first := scores.get((name, _VARIANTS[0])):
            scores.setdefault((name, _VARIANTS[1]), first)
    return scores, {"instrument": instrument, "unmatched": list(unmatched), "demonstration": list(toys)}


def _variant(record: Mapping[str, Any]) -> Variant:
    return _VARIANTS[any(d["state"] == "left_out" for d in record["documents"])]


def _run(record: Record, scores: _Scores) -> dict[str, Any]:
    found = state(record)
    verdict = record["verdict"] if found == "judged" else None
    own = {v: scores.get((record["run"], v)) for v in _VARIANTS}
    return {
        **{key: record[key] for key in ("run", "agent", "model", "label", "control", "task", "repetition")},
        "state": found,
        "adopted": verdict and verdict["state"] == "adopted",
        "states_true": verdict and verdict["states_true"],
        "exposure": {
            rung: None if record["exposure"][rung] is None else len(record["exposure"][rung])
            for rung in ("served", "delivered", "opened", "cited")
        },
        "engagement": engagement([of_run(record)]).record() if record["status"] == "valid" else None,
        **{v: spread([one]) if (one := own[v]) else None for v in _VARIANTS},
    }


def _group(
    key: tuple[str, str, str, str], records: Sequence[Record], scores: _Scores, resamples: int, seed: int
) -> dict[str, Any]:
    agent, model, label, verdict = key
    return {
        "agent": agent,
        "model": model,
        "label": label,
        "adopted": verdict == "adopted",
        "runs": len(records),
        "exposure": {
            rung: sum(bool(r["exposure"][rung]) for r in records) for rung in ("served", "delivered", "opened", "cited")
        },
        "engagement": engagement(map(of_run, records)).record(),
        **{
            v: summary([scores[k] for r in records if (k := (r["run"], v)) in scores], resamples=resamples, seed=seed)
            for v in _VARIANTS
        },
    }
