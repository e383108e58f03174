"""The compatibility matrix: which clients there are, how each is led to a world, and what its calls come to.

`test_matrix` runs them and leaves what it found in a file; ``python -m tests.clients.matrix --write`` makes
docs/compatibility.md of it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

import orjson
import platformdirs

__all__ = ["CASES", "FOUND", "HEADS", "PAGE", "SCRIPTS", "Call", "Case", "Row", "page", "rows"]

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "compatibility.md"
SCRIPTS = Path(__file__).parent / "scripts"
# In the user's own cache: the tests' is a fresh one each time.
FOUND = platformdirs.user_cache_path("searchsim") / "tests" / "clients.json"

Kind = Literal["results", "contents", "text", "nothing", "page", "model", "models", "refused"]
Row = list[str]


@dataclass(frozen=True, slots=True)
class Call:
    """What a call comes to.

    Attributes:
        kind: ``results``, with titles, links and snippets as far as the client gives them; ``contents``, the same with
            the documents' bodies; ``text``, the snippets in one text; ``nothing``, for a vertical that a corpus has nothing for; ``page``, a document's text;
            ``model`` and ``models``, the gateway's; ``refused``.
        dialect: What the trace says was spoken.
        endpoint: The same, for a search.
        number: Which page of the list.
    """

    kind: Kind
    dialect: str = ""
    endpoint: str = "search"
    number: int = 1


@dataclass(frozen=True, slots=True)
class Case:
    """A client that is led to a world in one way.

    Attributes:
        script: The file that calls it.
        client: The package.
        calls: Its calls, in order.
        asks: The requests that it makes, as the docs tell them.
        way: By its own ``setting``, or by the ``hook`` and the variables that ``searchsim run`` sets.
        by: The setting, as the docs tell it.
        notes: What else a user should know.
    """

    script: str
    client: str
    calls: Mapping[str, Call]
    asks: str
    way: Literal["setting", "hook"]
    by: str = "`searchsim run`"
    notes: str = ""

    @property
    def id(self) -> str:
        """Its name in tests."""
        return f"{self.script.partition('.')[0]}-{self.way}"


def results(dialect: str, endpoint: str = "search", number: int = 1) -> Call:
    return Call("results", dialect, endpoint, number)


def contents(dialect: str, endpoint: str = "search") -> Call:
    return Call("contents", dialect, endpoint)


def text(dialect: str, endpoint: str = "search") -> Call:
    return Call("text", dialect, endpoint)


def read(dialect: str) -> Call:
    return Call("page", dialect)


NOTHING = Call("nothing")
HTML = read("page")

_BRAVE = {
    "BraveSearchWrapper.run": results("brave"),
    "BraveSearchWrapper.download_documents": results("brave"),
    "BraveSearch.invoke": results("brave"),
}
_SEARXNG = {
    "results": results("searxng"),
    "run": text("searxng"),
    "aresults": results("searxng"),
    "arun": text("searxng"),
}
_CREWAI = {"SerperDevTool": results("serper"), "SerperDevTool, news": results("serper", "news")}
_TAVILY = {
    "TavilyClient.search": results("tavily"),
    "TavilyClient.search, news": results("tavily", "news"),
    "TavilyClient.extract": read("tavily"),
    "AsyncTavilyClient.search": results("tavily"),
    "AsyncTavilyClient.extract": read("tavily"),
}
_EXA = {
    "Exa.search": contents("exa"),
    "Exa.search, news": contents("exa", "news"),
    "Exa.search_and_contents": contents("exa"),
    "Exa.get_contents": read("exa"),
    "AsyncExa.search": contents("exa"),
    "AsyncExa.get_contents": read("exa"),
}
_SERPER_NPM = {
    "search": results("serper"),
    "search, nextPage": results("serper", number=2),
    "news": results("serper", "news"),
    "images": NOTHING,
    "videos": NOTHING,
    "places": NOTHING,
}
_SERPER_AGENTIC = {
    "search": results("serper"),
    "searchNews": results("serper", "news"),
    "searchImages": NOTHING,
    "searchVideos": NOTHING,
    "searchPlaces": NOTHING,
    "searchProducts": NOTHING,
}
_OPENAI = {
    "chat.completions": Call("model"),
    "chat.completions, streamed": Call("model"),
    "models.list": Call("models"),
    "chat.completions, async": Call("model"),
}
_GET = "GET of the page's own URL"
_SERPER_JSON = "POST google.serper.dev, JSON"
_OPENAI_ASKS = "POST api.openai.com/v1/chat/completions, GET …/v1/models"
_TAVILY_ASKS = "POST api.tavily.com/search and /extract"
_EXA_ASKS = "POST api.exa.ai/search and /contents"

CASES: tuple[Case, ...] = (
    Case(
        "langchain_serper.py",
        "langchain-community, `GoogleSerperAPIWrapper`",
        {
            "results": results("serper"),
            "results, news": results("serper", "news"),
            "results, places": NOTHING,
            "results, images": NOTHING,
            "run": text("serper"),
            "run, news": text("serper", "news"),
            "aresults": results("serper"),
            "arun": text("serper"),
        },
        "POST google.serper.dev, query string; requests, aiohttp",
        "hook",
        notes="`run` and `arun` give the snippets alone, joined by spaces: no title and no link reaches the model.",
    ),
    Case(
        "langchain_brave.py",
        "langchain-community, `BraveSearchWrapper`, `BraveSearch`",
        _BRAVE,
        "GET api.search.brave.com/res/v1/web/search; requests",
        "setting",
        "`base_url=URL/brave/res/v1/web/search`",
    ),
    Case(
        "langchain_brave.py",
        "langchain-community, `BraveSearchWrapper`, `BraveSearch`",
        _BRAVE,
        "GET api.search.brave.com/res/v1/web/search; requests",
        "hook",
    ),
    Case(
        "langchain_searxng.py",
        "langchain-community, `SearxSearchWrapper`",
        _SEARXNG,
        "GET of an instance's /search; requests, aiohttp",
        "setting",
        "`searx_host=URL/w/KEY/searxng/search`",
    ),
    Case(
        "langchain_searxng.py",
        "langchain-community, `SearxSearchWrapper`",
        _SEARXNG,
        "GET of an instance's /search; requests, aiohttp",
        "hook",
        "`searchsim run`, which sets `SEARX_HOST`",
        notes="`run` and `arun` give the snippets alone.",
    ),
    Case(
        "smolagents_tools.py",
        'smolagents, `GoogleSearchTool(provider="serper")`, `VisitWebpageTool`',
        {
            "GoogleSearchTool": results("serper"),
            "GoogleSearchTool, filter_year": results("serper"),
            "VisitWebpageTool": HTML,
        },
        f"GET google.serper.dev/search; {_GET}; requests",
        "hook",
    ),
    Case(
        "crewai_serper.py",
        "crewai-tools, `SerperDevTool`",
        _CREWAI,
        f"{_SERPER_JSON}; requests",
        "setting",
        "`base_url=URL`",
    ),
    Case(
        "crewai_serper.py",
        "crewai-tools, `SerperDevTool`, `SerperScrapeWebsiteTool`",
        {**_CREWAI, "SerperScrapeWebsiteTool": read("serper")},
        f"{_SERPER_JSON}; POST scrape.serper.dev; requests",
        "hook",
    ),
    Case(
        "haystack_serper.py",
        "serperdev-haystack, `SerperDevWebSearch`",
        {"run": results("serper"), "run_async": results("serper")},
        f"{_SERPER_JSON}; httpx",
        "hook",
    ),
    Case(
        "gpt_researcher_retrievers.py",
        "gpt-researcher, `SearxSearch`, `CustomRetriever`",
        {"SearxSearch": results("searxng"), "CustomRetriever": contents("custom")},
        "GET of an instance's /search; GET of the endpoint; requests",
        "setting",
        "`SEARX_URL=URL/w/KEY/searxng`, `RETRIEVER_ENDPOINT=URL/w/KEY/custom`",
        notes="`SearxSearch` drops titles.",
    ),
    Case(
        "gpt_researcher_retrievers.py",
        "gpt-researcher, `SearxSearch`, `SerperSearch`, `TavilySearch`, `BingSearch`",
        {
            "SearxSearch": results("searxng"),
            "SerperSearch": results("serper"),
            "TavilySearch": results("tavily"),
            "BingSearch": results("bing"),
        },
        f"GET of an instance's /search; {_SERPER_JSON}; POST api.tavily.com/search; "
        "GET api.bing.microsoft.com/v7.0/search; requests",
        "hook",
        "`searchsim run`, which sets `SEARX_URL`",
        notes="`SearxSearch` and `TavilySearch` drop titles.",
    ),
    Case(
        "tavily_sdk.py",
        "tavily-python, `TavilyClient`, `AsyncTavilyClient`",
        _TAVILY,
        f"{_TAVILY_ASKS}; requests, httpx",
        "setting",
        "`api_base_url=URL/tavily`",
        notes="`get_search_context` counts with tiktoken, which downloads its encoding where it isn't on disk.",
    ),
    Case(
        "tavily_sdk.py",
        "tavily-python, `TavilyClient`, `AsyncTavilyClient`",
        _TAVILY,
        f"{_TAVILY_ASKS}; requests, httpx",
        "hook",
    ),
    Case(
        "exa_sdk.py",
        "exa-py, `Exa`, `AsyncExa`",
        _EXA,
        f"{_EXA_ASKS}; requests, httpx",
        "setting",
        "`base_url=URL/exa`, of `AsyncExa` `api_base=URL/exa`",
    ),
    Case("exa_sdk.py", "exa-py, `Exa`, `AsyncExa`", _EXA, f"{_EXA_ASKS}; requests, httpx", "hook"),
    Case(
        "serper_npm.mjs", "serper (npm), `Serper`", _SERPER_NPM, f"{_SERPER_JSON}; fetch", "setting", "`basePath: URL`"
    ),
    Case("serper_npm.mjs", "serper (npm), `Serper`", _SERPER_NPM, f"{_SERPER_JSON}; fetch", "hook"),
    Case(
        "serper_agentic.mjs",
        "@agentic/serper (npm), `SerperClient`",
        _SERPER_AGENTIC,
        f"{_SERPER_JSON}; ky on fetch",
        "setting",
        "`apiBaseUrl: URL`",
    ),
    Case(
        "serper_agentic.mjs",
        "@agentic/serper (npm), `SerperClient`",
        _SERPER_AGENTIC,
        f"{_SERPER_JSON}; ky on fetch",
        "hook",
    ),
    Case(
        "mcp_serper.py",
        "serper-mcp-server, with mcp's client",
        {
            "google_search": results("serper"),
            "google_search_news": results("serper", "news"),
            "google_search_scholar": results("serper", "scholar"),
            "google_search_patents": NOTHING,
            "webpage_scrape": read("serper"),
        },
        f"{_SERPER_JSON}; POST scrape.serper.dev; aiohttp, in an MCP server over stdio",
        "hook",
        notes="Its client starts it without PYTHONPATH: the hook puts itself back. It needs mcp before 2.",
    ),
    Case(
        "mcp_client.py",
        "mcp, `Client`",
        {"search": results("mcp"), "read_page": read("mcp")},
        "the tools `search` and `read_page`",
        "setting",
        "the server's command: `searchsim mcp --url URL --key KEY`",
    ),
    Case(
        "openai_sdk.py",
        "openai, `OpenAI`, `AsyncOpenAI`",
        _OPENAI,
        f"{_OPENAI_ASKS}; httpx2",
        "setting",
        "`base_url=URL/v1`",
    ),
    Case("openai_sdk.py", "openai, `OpenAI`, `AsyncOpenAI`", _OPENAI, f"{_OPENAI_ASKS}; httpx2", "hook"),
    Case("read_trafilatura.py", "trafilatura", {"fetch_url": HTML, "fetch_response": HTML}, f"{_GET}; urllib3", "hook"),
    Case(
        "read_readability.py",
        "readability-lxml",
        dict.fromkeys(("requests", "urllib", "httpx", "httpx2", "aiohttp", "httpx, async", "httpx2, async"), HTML),
        f"{_GET}; requests, urllib, httpx, httpx2, aiohttp",
        "hook",
        notes="It downloads nothing itself.",
    ),
    Case(
        "ddgs_search.py",
        "ddgs, `DDGS`",
        {"DDGS.text": Call("refused"), "DDGS.extract": Call("refused")},
        "GET of search engines' own pages; primp, in Rust",
        "hook",
        notes="No hook enters its Rust client, and no dialect stands for what it asks.",
    ),
)

HEADS = ("client", "version", "what it calls", "way in", "what works", "notes")
_WORDS = {"nothing": "empty lists", "refused": "refused, and on the run's record"}


def rows(found: Mapping[str, str]) -> Iterator[Row]:
    """The cells of the docs' table, a row a client; one that is led in two ways is told once.

    Args:
        found: Versions by the ids of cases that were found to work.
    """
    for (client, asks, calls), cases in groupby(CASES, lambda case: (case.client, case.asks, case.calls)):
        there = [case for case in cases if case.id in found]
        if there:
            works: dict[str, list[str]] = {}
            for name, call in calls.items():
                works.setdefault(_WORDS.get(call.kind, ""), []).append(f"`{name}`")
            told = [f"{', '.join(names)}{f' ({what})' if what else ''}" for what, names in works.items()]
            version = " and ".join(dict.fromkeys(found[case.id] for case in there))
            ways = ", or ".join(case.by for case in there)
            yield [client, version, asks, ways, "; ".join(told), " ".join(case.notes for case in there if case.notes)]


def page(found: Mapping[str, str]) -> str:
    """The whole page; argument as that of `rows`."""
    lines = [HEADS, ["---"] * len(HEADS), *rows(found)]
    return _HEAD + "".join(f"| {' | '.join(cells)} |\n" for cells in lines) + _TAIL


_HEAD = """\
# Compatibility

Real clients, unpatched, from the package index: the tests run each in an environment of its own against a world, and
compare what it gave back with what the world's record says was served. This page is made of what they found
(`python -m tests.clients.matrix --write` after them).

URL is the server's address, KEY the world's key, which is also the client's API key. With `searchsim run -- CMD` a
client needs neither: its requests are turned where they stand, and its own key is left unread. Python on requests,
httpx, httpx2, urllib3, urllib, http.client and aiohttp can be turned so, and Node on fetch, http and https.

"""
_TAIL = """
**Empty lists**: a corpus has documents for Serper's search, news and scholar; the other verticals answer in their shape
with nothing in it.

**What can't be turned.** A client that opens its sockets past Python's and Node's own libraries, as ddgs does in Rust, can
only be refused: by the proxy that `searchsim run` names, or by the system. [redirection.md](redirection.md) says which are
refused, which are seen, and which go their own way.
"""


def main(arguments: list[str]) -> None:
    """Write the page of what the last run found."""
    if arguments != ["--write"]:
        sys.exit("usage: python -m tests.clients.matrix --write")
    try:
        found: dict[str, Any] = orjson.loads(FOUND.read_bytes())
    except FileNotFoundError:
        sys.exit("nothing was found yet: run pytest tests/clients first")
    if missing := [c.id for c in CASES if c.id not in found]:
        sys.exit(f"not found to work: {', '.join(missing)}: run pytest tests/clients first")
    PAGE.write_text(page(found), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
