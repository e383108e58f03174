# /// script
# requires-python = ">=3.12"
# dependencies = [
#   # Those that this way through DeerFlow imports, at the versions of its own backend/uv.lock.
#   "httpx==0.28.1",
#   "langchain==1.3.14",
#   "langchain-core==1.4.9",
#   "langchain-openai==1.2.1",
#   "langgraph==1.2.9",
#   "markdownify==1.2.2",
#   "mcp==1.28.1",
#   "openai==2.32.0",
#   "pydantic==2.13.3",
#   "python-dotenv>=1.2",
#   "pyyaml>=6.0.3",
#   "readabilipy==0.3.0",
#   "sqlalchemy[asyncio]==2.0.49",
#   "tavily-python==0.7.23",
# ]
#
# [tool.uv]
# exclude-newer = "2026-11-28T00:00:00Z"
#
# [tool.searchsim]
# home = "DEERFLOW2_HOME"
# needs = [
#   "backend/packages/extension-api/deerflow_extension_api/__init__.py",
#   "backend/packages/harness/deerflow/client.py",
#   "backend/packages/harness/pyproject.toml",
# ]
# ///
"""DeerFlow 2 as it is: one agent that searches, reads pages and writes the report.

The framework's own client runs from a checkout of its branch main; all that is set is in `environment`,
`configuration` and `OneByOne`. Settings, beside the launcher's own:

    search           searxng (default), brave, tavily or serper: DeerFlow's search tool. That for Serper shows its model
                     ten results whatever it was served: documents appended to a list never reach it.
    recursion_limit  How many steps its graph may take; 1000, as DeerFlow's web page has it. An answer of the model
                     and the tools that it calls take nine.
"""

import json
import os
import re
import sys
import threading
import tomllib
import traceback
from collections import Counter
from importlib.metadata import version
from pathlib import Path

from langchain.agents.middleware import AgentMiddleware
from langgraph.errors import GraphRecursionError

HARNESS = "backend/packages/harness"
EXTENSION_API = "backend/packages/extension-api"
# How each search tool is led to the world: by its key, or, as SearXNG has none, by the address.
SEARCH = {
    "searxng": {"base_url": "{search}/w/{key}/searxng"},
    "brave": {"api_key": "{key}"},
    "tavily": {"api_key": "{key}"},
    "serper": {"api_key": "{key}"},
}
TOOLS = ("web_search", "web_fetch")
DEFAULTS = {"search": "searxng", "recursion_limit": 1000}


def environment(request: dict) -> dict[str, str]:
    """What DeerFlow has no other setting for."""
    return {
        # The page reader takes its key from nowhere else.
        "JINA_API_KEY": request["key"],
        # The MCP servers and the .env of a checkout that is also used otherwise are no part of a run.
        "DEER_FLOW_EXTENSIONS_CONFIG_PATH": str(Path("extensions_config.json").resolve()),
        "PYTHON_DOTENV_DISABLED": "1",
        # Where it finds a Node, readabilipy runs `npm install` in the middle of the run; else it uses its Python parser.
        "PATH": str(Path(sys.executable).parent),
    }


def settings(given: dict) -> dict:
    """The adapter's settings, checked."""
    chosen = {name: given.get(name, default) for name, default in DEFAULTS.items()}
    if chosen["search"] not in SEARCH:
        sys.exit(f"setting search: {chosen['search']!r} is none of {', '.join(SEARCH)}")
    if not isinstance(chosen["recursion_limit"], int) or chosen["recursion_limit"] < 1:
        sys.exit(f"setting recursion_limit: {chosen['recursion_limit']!r} is no whole number from 1 on")
    return chosen


def configuration(request: dict, chosen: dict) -> dict:
    """DeerFlow's config.yaml. What isn't named here is as DeerFlow has it."""
    # A list's longest, and what may come appended to it: a smaller number would cut it off.
    search = {"max_results": request["results"] + request["appended"]}
    search |= {name: value.format(**request) for name, value in SEARCH[chosen["search"]].items()}
    return {
        "log_level": "warning",
        "models": [
            {
                "name": "model",
                "use": "langchain_openai:ChatOpenAI",
                "model": request["model"],
                "base_url": request["model_url"],
                "api_key": request["key"],
                "temperature": 0,
                "use_responses_api": False,
                # A small machine's model thinks for long; a call made again would be one more on record.
                "timeout": 1800,
                "stream_chunk_timeout": 1800,
                "max_retries": 0,
            }
        ],
        "llm_call": {"retry_max_attempts": 1},
        "tool_groups": [{"name": "web"}],
        "tools": [
            {
                "name": "web_search",
                "group": "web",
                "use": f"deerflow.community.{chosen['search']}.tools:web_search_tool",
                **search,
            },
            {
                "name": "web_fetch",
                "group": "web",
                "use": "deerflow.community.jina_ai.tools:web_fetch_tool",
                "timeout": 60,
            },
        ],
        # DeerFlow adds tools of its own: one that asks the user, which would end a run that nobody attends, and some for
        # files and skills. It keeps to these two.
        "authorization": {
            "enabled": True,
            "provider": {
                "use": "deerflow.authz.rbac:RbacAuthorizationProvider",
                "config": {"roles": {"user": {"tools": {"allow": list(TOOLS)}}}},
            },
        },
        # No tool uses it, but there has to be one. Nothing is started.
        "sandbox": {"use": "deerflow.sandbox.local:LocalSandboxProvider"},
        # A long result would be put into a file under a random name, for a tool that isn't there.
        "tool_output": {"externalize_min_chars": 0},
        "skills": {"path": "skills"},
        "database": {"backend": "memory"},
        "memory": {"enabled": False, "injection_enabled": False},
        "summarization": {"enabled": False},
        "title": {"enabled": False},
        "suggestions": {"enabled": False},
        "token_usage": {"enabled": False},
    }


class OneByOne(AgentMiddleware):
    """Makes the tool calls of one answer one after another, so that searches keep their order.

    DeerFlow's client has a place for middlewares. (langgraph's own ``max_concurrency`` of 1 would hang: a thread that
    waits for the stream takes the one place.)

    Attributes:
        context: The run's context, in which DeerFlow notes why it stopped.
    """

    def __init__(self) -> None:
        super().__init__()
        self.context: dict = {}
        self.done: set[tuple] = set()
        self.turn = threading.Condition()

    def before_agent(self, state, runtime):
        """Keep the context."""
        self.context = runtime.context

    def wrap_tool_call(self, request, handler):
        """Wait for the calls before this one. Those of tools that aren't there never get here."""
        asked = next(m for m in reversed(request.state["messages"]) if getattr(m, "tool_calls", None))
        calls = [(asked.id, call["id"]) for call in asked.tool_calls if call["name"] in TOOLS]
        own = (asked.id, request.tool_call["id"])
        with self.turn:
            self.turn.wait_for(lambda: self.done.issuperset(calls[: calls.index(own)]))
        try:
            return handler(request)
        finally:
            with self.turn:
                self.done.add(own)
                self.turn.notify_all()


def research(request: dict, chosen: dict) -> tuple[list[dict], dict]:
    """Run the agent to its end; gives its messages and the run's context."""
    from deerflow.client import DeerFlowClient

    one_by_one = OneByOne()
    client = DeerFlowClient("config.yaml", middlewares=[one_by_one], available_skills=set())
    messages: list[dict] = []
    try:
        for event in client.stream(request["prompt"], thread_id="run", recursion_limit=chosen["recursion_limit"]):
            if event.type == "values":
                messages = event.data["messages"]
    except GraphRecursionError:
        sys.exit(f"DeerFlow wasn't done after {chosen['recursion_limit']} steps: set recursion_limit higher")
    except Exception as error:
        traceback.print_exc()
        sys.exit(f"DeerFlow failed: {type(error).__name__}: {' '.join(str(error).split())}")
    return messages, one_by_one.context


def answer(messages: list[dict], context: dict, home: Path, chosen: dict) -> dict:
    """The answer from the agent's messages: its last one is the report."""
    last = messages[-1]
    facts = last.get("additional_kwargs") or {}
    if facts.get("deerflow_error_fallback"):
        # It says what went wrong as if that were the answer.
        problem = facts.get("error_detail") or facts.get("error_reason") or last["content"]
        sys.exit(f"DeerFlow failed: {' '.join(str(problem).split())}")
    stopped = context.get("stop_reason")
    if stopped not in (None, "model_length_capped"):
        sys.exit(f"DeerFlow broke off before there was a report: {stopped}")
    report = text(last["content"]) if last["type"] == "ai" else ""
    if not report:
        sys.exit("DeerFlow ended without a report")
    calls = Counter(call["name"] for message in messages for call in message.get("tool_calls") or [])
    packages = ("langchain", "langchain-openai", "langgraph", "openai")
    return {
        "report": report,
        "versions": {
            "deer-flow": checkout(home),
            **{name: version(name) for name in packages},
            "python": sys.version.split()[0],
        },
        "notes": {
            **chosen,
            "answers": sum(message["type"] == "ai" for message in messages),
            "calls": dict(sorted(calls.items())),
            "cut_at_the_models_limit": stopped is not None,
        },
    }


def text(content: str | list) -> str:
    """The words of a message, without the thoughts that some models write before them."""
    if not isinstance(content, str):
        content = "".join(part if isinstance(part, str) else part.get("text") or "" for part in content)
    return re.sub(r"(?s)<think>.*?</think>", "", content).strip()


def checkout(home: Path) -> str:
    """The commit of a checkout; the version that it calls itself where it is none."""
    git = home / ".git"
    try:
        if git.is_file():
            git = home / git.read_text("utf-8").removeprefix("gitdir:").strip()
        head = (git / "HEAD").read_text("utf-8").strip()
        if not head.startswith("ref: "):
            return head
        name = head.removeprefix("ref: ")
        shared = git / "commondir"
        root = git / shared.read_text("utf-8").strip() if shared.is_file() else git
        if (root / name).is_file():
            return (root / name).read_text("utf-8").strip()
        packed = (line.split() for line in (root / "packed-refs").read_text("utf-8").splitlines())
        return next(parts[0] for parts in packed if parts[1:] == [name])
    except (OSError, StopIteration):
        return tomllib.loads((home / HARNESS / "pyproject.toml").read_text("utf-8"))["project"]["version"]


def main(request_file: str, answer_file: str) -> None:
    """Read the request, run, write the answer."""
    request = json.loads(Path(request_file).read_text("utf-8"))
    chosen = settings(request["settings"])
    home = Path(request["home"])
    os.environ.update(environment(request))
    sys.path += [str(home / HARNESS), str(home / EXTENSION_API)]
    # JSON is YAML.
    Path("config.yaml").write_text(json.dumps(configuration(request, chosen)), "utf-8")
    Path("extensions_config.json").write_text("{}", "utf-8")
    Path("skills").mkdir()
    messages, context = research(request, chosen)
    Path(answer_file).write_text(json.dumps(answer(messages, context, home, chosen), ensure_ascii=False), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
