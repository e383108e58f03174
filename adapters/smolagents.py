# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "markdownify>=1.2,<2",
#   "requests>=2.32,<3",
#   "smolagents[openai]==1.26.0",
# ]
#
# [tool.uv]
# exclude-newer = "2026-11-28T00:00:00Z"
#
# [tool.searchsim]
# # A model that writes its tool calls as text gets ids for them, which are random.
# normalise = ["[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"]
# ///
"""smolagents: its ToolCallingAgent or its CodeAgent, with its Google search on Serper and its page reader.

Settings:
    agent: ``tool_calling``, or ``code``, which runs Python that the model writes, in this process.
    steps: Steps at most; then the model is asked for its answer without tools.
    page_characters: What of a page reaches the model.
"""

import json
import os
import sys
from functools import partial
from importlib.metadata import version
from pathlib import Path

# This file has the name of the package that it imports: its folder may not come first.
sys.path = [p for p in sys.path if Path(p).resolve() != Path(__file__).resolve().parent]

from smolagents import (  # noqa: E402
    CodeAgent,
    FinalAnswerTool,
    GoogleSearchTool,
    LogLevel,
    OpenAIServerModel,
    ToolCallingAgent,
    VisitWebpageTool,
)
from smolagents.utils import AgentError  # noqa: E402

SETTINGS = {
    "agent": "tool_calling",
    "steps": 20,  # the framework's own
    "page_characters": 40000,  # the framework's own
}
# smolagents answers as shortly as it can; a report with sources has to be asked for.
ASKED = {
    "en": "Write your final answer as a report in Markdown that names the URLs of its sources.",
    "zh": "请把最终答案写成一份 Markdown 格式的报告，并注明所引来源的网址。",
}


def main(request_file: str, answer_file: str) -> None:
    """Read the request, run, write the answer."""
    request = json.loads(Path(request_file).read_text("utf-8"))
    settings = chosen(request["settings"])
    os.environ["SERPER_API_KEY"] = request["key"]
    tools = [GoogleSearchTool(provider="serper"), VisitWebpageTool(settings["page_characters"]), FinalAnswerTool()]
    model = OpenAIServerModel(request["model"], api_base=request["model_url"], api_key=request["key"])
    kind = {
        # Several calls in one step are made one after another, so that searches keep their order.
        "tool_calling": partial(ToolCallingAgent, max_tool_threads=1),
        "code": CodeAgent,
    }[settings["agent"]]
    agent = kind(tools=tools, model=model, max_steps=settings["steps"], verbosity_level=LogLevel.ERROR)
    language = "zh" if request["task"]["language"].startswith("zh") else "en"
    try:
        result = agent.run(f"{request['prompt']}\n\n{ASKED[language]}", return_full_result=True)
    except AgentError as problem:
        sys.exit(f"smolagents: {' '.join(str(problem).split())}")
    report = result.output
    if result.state == "max_steps_error" and not isinstance(report, str):
        # It gives the model's failure as if it were the answer.
        sys.exit(f"smolagents: {' '.join(str(report).split())}")
    if not isinstance(report, str):
        report = json.dumps(report, ensure_ascii=False, default=str)
    if not report.strip():
        sys.exit("smolagents ended without a report")
    steps = [s for s in result.steps if "step_number" in s]
    answer = {
        "report": report,
        "versions": {
            "python": sys.version.split()[0],
            **{name: version(name) for name in ("smolagents", "openai", "markdownify")},
        },
        "notes": {
            "agent": type(agent).__name__,
            "state": result.state,
            "steps": len(steps),
            "errors": [s["error"]["message"] for s in steps if s["error"]],
        },
    }
    Path(answer_file).write_text(json.dumps(answer, ensure_ascii=False), "utf-8")


def chosen(given: dict) -> dict:
    """The settings, those given put in; one that there isn't ends the run."""
    unknown = sorted(set(given) - set(SETTINGS) - {"small"})
    if unknown:
        sys.exit(f"smolagents has no setting {unknown[0]!r}; there are: {', '.join(SETTINGS)}")
    settings = SETTINGS | {name: value for name, value in given.items() if name in SETTINGS}
    if settings["agent"] not in ("tool_calling", "code"):
        sys.exit(f"setting agent is {settings['agent']!r}; it can be: tool_calling, code")
    for name in ("steps", "page_characters"):
        if not isinstance(settings[name], int) or settings[name] < 1:
            sys.exit(f"setting {name} is {settings[name]!r}; it must be a whole number above 0")
    return settings


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
