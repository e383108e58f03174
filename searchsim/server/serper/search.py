"""Answers of the verticals."""

from __future__ import annotations

from typing import Any

import orjson
from aiohttp import web

from searchsim.faults import Fault, Met, PlannedFaultError, planned
from searchsim.server.context import ASKED_HOST, CONTEXT, Context
from searchsim.server.fields import json_answer
from searchsim.server.serper.parameters import Asked, asked, engine_of
from searchsim.server.serper.rows import ROWS
from searchsim.server.serper.settings import SerperSettings
from searchsim.server.serper.wire import RefusedError, error, fields_of, named_world
from searchsim.world import World

__all__ = ["search"]

_MOST_IN_A_BATCH = 100


async def search(request: web.Request) -> web.Response:
    """A query, or an array of them, of the vertical that the path names."""
    try:
        world = named_world(request)
        fields = await fields_of(request)
        path = request.path.rsplit("/", 1)[-1]
        if isinstance(fields, list) and not 1 <= len(fields) <= _MOST_IN_A_BATCH:
            raise RefusedError(400, f"A batch has 1 to {_MOST_IN_A_BATCH} queries")
        # All are checked before any is served, so that a bad batch leaves no trace of half of it.
        engine = engine_of(request.get(ASKED_HOST, ""))
        queries = [asked(path, one, engine) for one in (fields if isinstance(fields, list) else [fields])]
        settings = SerperSettings.parse(world.plan.serper or None)
        for query in queries:
            settings.allow(query.text, query.k)
    except RefusedError as refusal:
        return refusal.answer()
    context = request.app[CONTEXT]
    try:
        answers = await _answers(context, world, settings, queries)
    except PlannedFaultError as failure:
        if failure.fault.kind == "truncated_json":
            return _broken_off(queries[0], isinstance(fields, list))
        return error(failure.status, failure.message)
    return json_answer(answers if isinstance(fields, list) else answers[0])


async def _answers(
    context: Context, world: World, settings: SerperSettings, queries: list[Asked]
) -> list[dict[str, Any]]:
    met = await context.worlds.meet(world, "serper", sum(q.vertical.served for q in queries))
    faults = iter(met.faults)
    answers = []
    for query in queries:
        if not query.vertical.served:
            answers.append(_nothing(query))
            continue
        number, fault = next(faults)
        if fault is not None and fault.does.spoils == "list":
            # Nobody can read such a list: it is none, has no number, and only the fault is on record.
            context.worlds.append(world, planned(fault, [number], "serper"))
            answers.append(_without_list(query, fault))
            continue
        answer = await _answer(context, world, settings, query, met)
        if fault is not None:
            for row in answer[query.vertical.rows][::2]:
                row.pop("snippet", None)
            context.worlds.append(world, planned(fault, [number], "serper"))
        answers.append(answer)
    await met.hold()
    return answers


async def _answer(context: Context, world: World, settings: SerperSettings, query: Asked, met: Met) -> dict[str, Any]:
    worlds = context.worlds
    found = await worlds.search(
        world,
        dialect="serper",
        endpoint=query.name,
        text=query.text,
        tbs=query.tbs,
        k=query.k,
        page=query.page,
        met=met,
    )
    context.note(world, (item.document for item in found.items))
    row, words, today = ROWS[query.name], found.query.words, worlds.corpus.today
    rows = [row(n, item.document, words, today, query.language) for n, item in enumerate(found.items, start=1)]
    task = worlds.corpus.task(world.task)
    # Extras stand on a search's first page, around the results, in the live order.
    wanted = settings.features if query.name == "search" and query.page == 1 else ()
    extras = {name: task.serp[name] for name in wanted if name in task.serp}
    before: dict[str, Any] = {name: extras[name] for name in ("answerBox", "knowledgeGraph") if name in extras}
    after: dict[str, Any] = {name: extras[name] for name in ("peopleAlsoAsk",) if name in extras}
    if "relatedSearches" in wanted:
        after["relatedSearches"] = settings.related(task, query.text)
    answer = {"searchParameters": query.echo, **before, query.vertical.rows: rows, **after}
    return {**answer, "credits": query.credits}


def _nothing(query: Asked) -> dict[str, Any]:
    """The answer of a vertical that a corpus has nothing for."""
    answer: dict[str, Any] = {"searchParameters": query.echo}
    if query.name == "maps" and "ll" in query.echo:
        answer["ll"] = query.echo["ll"]
    return {
        **answer,
        query.vertical.rows: [],
        **{name: [] for name in query.vertical.more},
        "credits": query.credits,
    }


def _without_list(query: Asked, fault: Fault) -> dict[str, Any]:
    instead: dict[str, dict[str, Any]] = {
        "no_organic": {},
        "organic_null": {query.vertical.rows: None},
        "organic_object": {query.vertical.rows: {}},
    }
    return {"searchParameters": query.echo, **instead[fault.kind], "credits": query.credits}


def _broken_off(query: Asked, batch: bool) -> web.Response:
    """An answer that ends where its first result starts, so that nothing of a list can be read out of it."""
    whole = orjson.dumps({"searchParameters": query.echo, query.vertical.rows: []})
    body = (b"[" if batch else b"") + whole.removesuffix(b"]}") + b'{"title":"'
    return web.Response(body=body, content_type="application/json", charset="utf-8")
