"""The page reader, and the account that it is paid from."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from searchsim.documents import Document
from searchsim.server.context import CONTEXT
from searchsim.server.fields import json_answer
from searchsim.server.render import plain_text
from searchsim.server.serper.settings import SerperSettings
from searchsim.server.serper.wire import RefusedError, fields_of, named_world

__all__ = ["account", "scrape"]

_CREDITS = 2
_LONGEST_URL = 8192


async def scrape(request: web.Request) -> web.Response:
    """A document's page, as text and, if asked for, as Markdown."""
    context = request.app[CONTEXT]
    try:
        world = named_world(request)
        fields = await fields_of(request)
        url = fields.get("url") if isinstance(fields, dict) else None
        if not isinstance(url, str) or not url.strip():
            raise RefusedError(400, "Missing url parameter")
        if len(url) > _LONGEST_URL:
            raise RefusedError(400, f"The url is too long: at most {_LONGEST_URL} characters")
        document = await context.worlds.page(world, url, dialect="serper")
        if document is None:
            raise RefusedError(400, f"Could not scrape {url[:300]}")
        context.note(world, [document])
        return json_answer(_scraped(document, str(fields.get("includeMarkdown", "")).lower() in ("true", "1")))
    except RefusedError as refusal:
        return refusal.answer()


def _scraped(document: Document, markdown: bool) -> dict[str, Any]:
    answer: dict[str, Any] = {"text": f"{document.title}\n\n{plain_text(document.body)}"}
    if markdown:
        answer["markdown"] = f"# {document.title}\n\n{document.body}"
    metadata = {"title": document.title, "og:site_name": document.source_name, "og:url": document.url}
    if document.published:
        metadata["article:published_time"] = document.published.isoformat()
    return {**answer, "metadata": metadata, "credits": _CREDITS}


async def account(request: web.Request) -> web.Response:
    """What is left of the account's credits, by the world's trace."""
    try:
        world = named_world(request)
    except RefusedError as refusal:
        return refusal.answer()
    spent = 0
    for event in request.app[CONTEXT].worlds.events(world.key):
        if event["event"] == "search" and event["dialect"] == "serper":
            spent += 2 if event["k"] > 10 else 1
        elif event["event"] == "page" and event["dialect"] == "serper" and event["found"]:
            spent += _CREDITS
    balance, rate = SerperSettings.parse(world.plan.serper or None).account
    return json_answer({"balance": max(balance - spent, 0), "rateLimit": rate})
