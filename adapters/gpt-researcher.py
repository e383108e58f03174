# /// script
# requires-python = ">=3.11"
# dependencies = [
#   # 0.15.1, the last for Python 3.11, takes snippets for whole pages: it opens none, and drops their URLs.
#   "gpt-researcher==0.15.0",
#   "llama-index-core>=0.14.10,<0.15",  # for the encodings in it, which tiktoken would download
# ]
#
# [tool.uv]
# exclude-newer = "2026-11-28T00:00:00Z"
# ///
"""GPT Researcher: it plans searches, reads what they find, picks passages by embeddings, and writes one long report.

Settings:
    retriever: ``serper``, ``tavily`` or ``searx``.
    queries: Searches that the planner is asked for.
    results: Results that each search asks for but the planner's own, which asks for 7.
    words: How long the report is to be at least.
    embedding: The model that embeddings are asked of.
"""

import asyncio
import json
import logging
import os
import random
import sys
from collections.abc import Awaitable, Callable
from functools import wraps
from importlib.metadata import distribution, version
from pathlib import Path
from typing import Any

SETTINGS = {
    "retriever": "serper",
    "queries": 3,  # the framework's own
    "results": None,  # what a list holds at most, and what may come appended: none is cut off
    "words": 1200,  # the framework's own
    "embedding": "text-embedding-3-small",  # the framework's own
}
RETRIEVERS = ("serper", "tavily", "searx")

# What the framework reads when it is imported and set up: {name} is the request's, or a setting.
ENVIRONMENT = {
    "OPENAI_BASE_URL": "{model_url}",
    "OPENAI_API_KEY": "{key}",
    "FAST_LLM": "openai:{model}",
    "SMART_LLM": "openai:{model}",
    "STRATEGIC_LLM": "openai:{model}",
    "EMBEDDING": "custom:{embedding}",  # the same API; as texts, where "openai" sends numbers of tokens
    "TEMPERATURE": "0",
    "RETRIEVER": "{retriever}",
    "SERPER_API_KEY": "{key}",
    "TAVILY_API_KEY": "{key}",
    "SEARX_URL": "{search}/w/{key}/searxng",
    "MAX_ITERATIONS": "{queries}",
    "MAX_SEARCH_RESULTS_PER_QUERY": "{results}",
    "TOTAL_WORDS": "{words}",
    "LANGUAGE": "{language}",
    "SCRAPER": "bs",  # plain GETs, without a browser
    "MAX_SCRAPER_WORKERS": "1",  # pages one after another
    "CURATE_SOURCES": "false",
    "IMAGE_GENERATION_ENABLED": "false",
    "ALLOW_PRIVATE_URLS": "true",  # no look-up of a page's host before it is opened
    "TIKTOKEN_CACHE_DIR": str(distribution("llama-index-core").locate_file("llama_index/core/_static/tiktoken_cache")),
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
    "SCARF_NO_ANALYTICS": "true",
    "DO_NOT_TRACK": "1",
}


async def main(request_file: str, answer_file: str) -> None:
    """Read the request, run, write the answer."""
    request = json.loads(Path(request_file).read_text("utf-8"))
    settings = chosen({"results": request["results"] + request["appended"], **request["settings"]})
    language = "chinese" if request["task"]["language"].startswith("zh") else "english"
    values = request | settings | {"language": language}
    os.environ.update({name: value.format_map(values) for name, value in ENVIRONMENT.items()})

    from gpt_researcher import GPTResearcher
    from gpt_researcher.skills.researcher import ResearchConductor

    # The framework searches for all queries at once and reads what they find in a shuffled order.
    ResearchConductor._process_sub_query = one_at_a_time(ResearchConductor._process_sub_query)
    random.seed(0)
    # Where a search, a page or an embedding failed it goes on, and says so here alone.
    problems = Problems()
    logging.getLogger().addHandler(problems)

    researcher = GPTResearcher(query=request["prompt"], report_type="research_report", verbose=False)
    try:
        context = await researcher.conduct_research()
        # It would write from nothing, also where there is nothing because something broke.
        report = await researcher.write_report() if context or not problems.texts else ""
    except Exception as problem:
        fail(f"{problem}: {problem.__cause__}" if problem.__cause__ else f"{type(problem).__name__}: {problem}")
    if not report.strip():
        fail(problems.last or "it ended without a report")
    names = ("gpt-researcher", "langchain", "langchain-openai")
    answer = {
        "report": report,
        "versions": {"python": sys.version.split()[0], **{name: version(name) for name in names}},
        "notes": {
            "role": researcher.agent,
            "context_characters": len(str(context)),
            "sources": len(researcher.research_sources),
            "errors": problems.texts,
        },
    }
    Path(answer_file).write_text(json.dumps(answer, ensure_ascii=False), "utf-8")


def one_at_a_time(call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """A coroutine function whose calls wait for each other, in the order in which they were made."""
    lock = asyncio.Lock()

    @wraps(call)
    async def waiting(*given: Any, **more: Any) -> Any:
        async with lock:
            return await call(*given, **more)

    return waiting


class Problems(logging.Handler):
    """The errors that were logged, first to last."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: list[str] = []

    @property
    def last(self) -> str:
        """The last of them."""
        return self.texts[-1] if self.texts else ""

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one."""
        self.texts.append(record.getMessage())


def chosen(given: dict) -> dict:
    """The settings, those given put in; one that there isn't ends the run."""
    unknown = sorted(set(given) - set(SETTINGS) - {"small"})
    if unknown:
        fail(f"there is no setting {unknown[0]!r}; there are: {', '.join(SETTINGS)}")
    settings = SETTINGS | {name: value for name, value in given.items() if name in SETTINGS}
    if settings["retriever"] not in RETRIEVERS:
        fail(f"setting retriever is {settings['retriever']!r}; it can be: {', '.join(RETRIEVERS)}")
    for name in ("queries", "results", "words"):
        if not isinstance(settings[name], int) or settings[name] < 1:
            fail(f"setting {name} is {settings[name]!r}; it must be a whole number above 0")
    return settings


def fail(message: str) -> None:
    """End the run; the last line on stderr says why."""
    sys.exit(f"gpt-researcher: {' '.join(message.split())}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
