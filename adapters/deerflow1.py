# /// script
# requires-python = ">=3.12"
# dependencies = [
#   # What the agent is made of: the versions of DeerFlow's own lock.
#   "aiohttp==3.13.3",
#   "jinja2==3.1.6",
#   "json-repair==0.39.1",
#   "langchain==1.1.0",
#   "langchain-community==0.4.1",
#   "langchain-core==1.2.5",
#   "langchain-openai==1.1.0",
#   "langchain-tavily==0.2.13",
#   "langgraph==1.0.4",
#   "langgraph-prebuilt==1.0.5",
#   "markdownify==1.1.0",
#   "openai==2.8.1",
#   "pydantic==2.12.5",
#   "pyyaml==6.0.2",
#   "readabilipy==0.3.0",
#   "requests==2.32.5",
#   # 1.2 is the first that can be told to read no .env.
#   "python-dotenv>=1.2,<2",
#   # DeerFlow imports these at its start; nothing of them runs here.
#   "langchain-deepseek==1.0.1",
#   "langchain-experimental==0.4.0",
#   "langchain-google-genai==3.2.0",
#   "langchain-mcp-adapters==0.1.14",
#   "langchain-milvus==0.3.0",
#   "langchain-qdrant==1.1.0",
#   "mcp==1.23.0",
#   "pymilvus>=2.6.10,<3",
#   "qdrant-client>=1.15.1,<2",
# ]
#
# [tool.uv]
# exclude-newer = "2026-11-28T00:00:00Z"
#
# [tool.searchsim]
# home = "DEERFLOW_HOME"
# needs = ["src/workflow.py", "src/graph/nodes.py"]
# # langchain's name of a model call stands in the plan that a second round of planning is shown.
# normalise = ["lc_run--[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"]
# ///
"""DeerFlow 1 as it is: coordinator, background investigation, planner, researchers, reporter.

The framework's own graph runs from a checkout of its branch main-1.x; all that is set is in `environment` and
`research`. Settings, beside the launcher's own:

    search      serper (default), tavily, brave or searxng: the search API that DeerFlow is told to use. Through Serper
                and SearXNG it shows its model snippets alone, through Brave and Tavily titles and links too.
    steps       How many steps the planner is asked for at most; 3, as DeerFlow has it.
    iterations  How often it may plan; 1, as DeerFlow has it.
    extractor   What takes the text out of a page: python (default), or node, DeerFlow's choice where Node is there.
"""

import asyncio
import importlib.util
import json
import os
import sys
import tomllib
import traceback
from importlib.metadata import version
from pathlib import Path

SEARCH = {"serper": "serper", "tavily": "tavily", "brave": "brave_search", "searxng": "searx"}
LOCALES = {"en": "en-US", "zh": "zh-CN"}
DEFAULTS = {"search": "serper", "steps": 3, "iterations": 1, "extractor": "python"}


def environment(request: dict, chosen: dict) -> dict[str, str]:
    """What DeerFlow is told: its own settings, from its own variables."""
    key, search = request["key"], request["search"]
    return {
        # The one model of all roles.
        "BASIC_MODEL__base_url": request["model_url"],
        "BASIC_MODEL__model": request["model"],
        "BASIC_MODEL__api_key": key,
        "BASIC_MODEL__temperature": "0",
        # The search API, and the world's key for each; SearXNG has none, so its address names the world.
        "SEARCH_API": SEARCH[chosen["search"]],
        "SERPER_API_KEY": key,
        "TAVILY_API_KEY": key,
        "BRAVE_SEARCH_API_KEY": key,
        "SEARX_HOST": f"{search}/w/{key}/searxng/search",
        # The reader of pages.
        "JINA_API_KEY": key,
        # A .env in the checkout or above it would change the run.
        "PYTHON_DOTENV_DISABLED": "1",
        # Where it finds a Node, readabilipy runs `npm install` in the middle of the run; else it uses its Python parser.
        **({"PATH": str(Path(sys.executable).parent)} if chosen["extractor"] == "python" else {}),
    }


def settings(given: dict) -> dict:
    """The adapter's settings, checked."""
    chosen = {name: given.get(name, default) for name, default in DEFAULTS.items()}
    if chosen["search"] not in SEARCH:
        sys.exit(f"setting search: {chosen['search']!r} is none of {', '.join(SEARCH)}")
    if chosen["extractor"] not in ("python", "node"):
        sys.exit(f"setting extractor: {chosen['extractor']!r} is none of python, node")
    for name in ("steps", "iterations"):
        if not isinstance(chosen[name], int) or chosen[name] < 1:
            sys.exit(f"setting {name}: {chosen[name]!r} is no whole number from 1 on")
    if chosen["extractor"] == "node":
        scripts = Path(importlib.util.find_spec("readabilipy").origin).parent / "javascript"
        if not (scripts / "node_modules").is_dir():
            sys.exit(f"setting extractor: node needs Readability.js: run `npm install` in {scripts} first")
    return chosen


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
        return tomllib.loads((home / "pyproject.toml").read_text("utf-8"))["project"]["version"]


async def research(request: dict, chosen: dict) -> dict:
    """Run the graph to its end; gives its last state."""
    from src.workflow import graph

    question, language = request["prompt"], request["task"]["language"]
    state = {
        "messages": [{"role": "user", "content": question}],
        "research_topic": question,
        "clarified_research_topic": question,
        "auto_accepted_plan": True,
        "enable_background_investigation": True,
        "locale": LOCALES.get(language.partition("-")[0], language),
    }
    config = {
        "configurable": {
            "thread_id": "default",
            "max_plan_iterations": chosen["iterations"],
            "max_step_num": chosen["steps"],
            # A list's longest, and what may come appended to it: a smaller number would cut it off.
            "max_search_results": request["results"] + request["appended"],
        },
        "recursion_limit": 100,
        # Searches that a model asks for in one breath are made one after another.
        "max_concurrency": 1,
    }
    async for now in graph.astream(state, config, stream_mode="values"):
        state = now
    return state


def answer(state: dict, home: Path, chosen: dict) -> dict:
    """The answer from the graph's last state."""
    plan, report = state.get("current_plan"), (state.get("final_report") or "").strip()
    if not report:
        sys.exit(
            "DeerFlow's reporter wrote nothing"
            if plan
            else "DeerFlow ended without a plan: as coordinator the model called no tool, or its plan was no JSON"
        )
    sources = [c["url"] for c in state.get("citations") or []]
    packages = ("langchain", "langchain-community", "langgraph", "openai")
    return {
        "report": report,
        # The state's are all sources that the reporter was shown: those that it put in the report are its citations.
        "citations": [url for url in sources if url in report],
        "versions": {
            "deer-flow": checkout(home),
            **{name: version(name) for name in packages},
            "python": sys.version.split()[0],
        },
        "notes": {
            **chosen,
            "plan": plan.title,
            "plan_steps": [f"{step.step_type.value}: {step.title}" for step in plan.steps],
            # A step that fails is told to the reporter as a finding, and the run goes on.
            "failed_steps": sum((step.execution_res or "").startswith("[ERROR]") for step in plan.steps),
            "sources": sources,
        },
    }


def main(request_file: str, answer_file: str) -> None:
    """Read the request, run, write the answer."""
    request = json.loads(Path(request_file).read_text("utf-8"))
    chosen = settings(request["settings"])
    home = Path(request["home"])
    if (home / "conf.yaml").exists():
        sys.exit(f"{home} holds a conf.yaml, which would change what is run: name a checkout without one")
    os.environ.update(environment(request, chosen))
    sys.path.insert(0, str(home))
    try:
        state = asyncio.run(research(request, chosen))
    except Exception as error:
        traceback.print_exc()
        sys.exit(f"DeerFlow failed: {type(error).__name__}: {' '.join(str(error).split())}")
    Path(answer_file).write_text(json.dumps(answer(state, home, chosen), ensure_ascii=False), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
