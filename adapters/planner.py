# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "httpx>=0.27",
#   "llama-index-core>=0.14.10,<0.15",
#   "llama-index-llms-openai-like>=0.5,<0.9",
# ]
#
# [tool.uv]
# exclude-newer = "2026-11-28T00:00:00Z"
# ///
"""Planner → researcher → reporter, on llama-index: DeerFlow's shape in a reference agent.

A first search gives the planner an impression; the planner splits the question into searches; each search's results
(and, with a large model, the pages behind the first of them) become notes; the notes become a report with its sources.
Prompts are plain text and answers are parsed tolerantly, so that a model of 135M parameters gets through; a large one
gets longer evidence and more steps.
"""

import asyncio
import json
import re
import sys
from importlib.metadata import version
from pathlib import Path

import httpx
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.workflow import Event, StartEvent, StopEvent, Workflow, step
from llama_index.llms.openai_like import OpenAILike

# What differs between a toy and a real model; every value can be set from outside.
SMALL = {
    "steps": 2,
    "results": 10,
    "shown": 5,
    "titles": False,
    "pages": 0,
    "page_characters": 0,
    "snippet": 170,
    "tokens": 140,
    "report_tokens": 260,
    "note_characters": 420,
    "context": 4096,
}
# Ten results and three appended: a smaller number would cut off what may be appended to a list.
LARGE = {
    "steps": 5,
    "results": 13,
    "shown": 13,
    "titles": True,
    "pages": 2,
    "page_characters": 6000,
    "snippet": 400,
    "tokens": 1200,
    "report_tokens": 6000,
    "note_characters": 6000,
    "context": 65536,
}

# The task stands in the system message, the evidence alone in the user's: small models then keep to the evidence.
WORDS = {
    "en": {
        "plan": "Write {steps} short web search queries that together answer the question from different sides, each on a "
        "line of its own, and nothing else. The titles of some search results are given. Question: {question}",
        "note": "Answer the question from the search results given, in a few sentences. Keep their numbers, and cite "
        "each fact by the number of its result, like [2]. Question: {question}",
        "report": "Write a report that answers the question from the notes given: first the conclusion, then the reasons. "
        "Keep the numbers, and cite sources by their numbers, like [2]. Question: {question}",
        "sources": "Sources",
    },
    "zh": {
        "plan": "请写出{steps}条简短的搜索词，从不同方面共同回答下面的问题，每行一条，不要写别的内容。已给出一些搜索结果的标题。问题：{question}",
        "note": "请根据给出的搜索结果用几句话回答下面的问题，保留其中的数字，并注明结果编号，例如[2]。问题：{question}",
        "report": "请根据给出的笔记写一份回答下面问题的报告：先写结论，再写理由，保留其中的数字，并注明来源编号，例如[2]。问题：{question}",
        "sources": "来源",
    },
}


class Planned(Event):
    """The searches to make."""

    queries: list[str]


class Researched(Event):
    """The notes of all searches."""

    notes: list[str]


class Planner(Workflow):
    """The agent. Its steps run one after another, so that searches keep their order."""

    def __init__(self, request: dict) -> None:
        super().__init__(timeout=None)
        chosen = request["settings"]
        check(chosen, LARGE)
        self.set = {**(SMALL if chosen.get("small") else LARGE), **{k: v for k, v in chosen.items() if k in LARGE}}
        self.request = request
        self.question = request["prompt"]
        self.words = WORDS["zh" if request["task"]["language"].startswith("zh") else "en"]
        self.sources: list[dict] = []
        self.client = httpx.AsyncClient(timeout=60, headers={"X-API-KEY": request["key"]}, trust_env=False)

    def model(self, tokens: int) -> OpenAILike:
        """The model behind the gateway, under the world's key."""
        return OpenAILike(
            model=self.request["model"],
            api_base=self.request["model_url"],
            api_key=self.request["key"],
            is_chat_model=True,
            temperature=0.0,
            max_tokens=tokens,
            timeout=900,
            max_retries=1,
            context_window=self.set["context"],
        )

    async def ask(self, name: str, tokens: int, evidence: str) -> str:
        """One plain prompt, one plain answer."""
        task = self.words[name].format(question=self.question, steps=self.set["steps"])
        messages = [
            ChatMessage(role=MessageRole.SYSTEM, content=task),
            ChatMessage(role=MessageRole.USER, content=evidence),
        ]
        answer = await self.model(tokens).achat(messages)
        # Reasoning models think aloud first.
        return re.sub(r"(?s)<think>.*?</think>", "", answer.message.content or "").strip()

    async def search(self, query: str) -> list[dict]:
        """The results of a search, each with the number it has among all sources."""
        answer = await self.client.post(
            f"{self.request['search']}/search", json={"q": query, "num": self.set["results"]}
        )
        answer.raise_for_status()
        found = []
        for row in answer.json().get("organic") or []:
            known = next((s for s in self.sources if s["link"] == row["link"]), None)
            if known is None:
                known = {**row, "number": len(self.sources) + 1}
                self.sources.append(known)
            found.append(known)
        return found

    async def read(self, link: str) -> str:
        """The start of a page."""
        answer = await self.client.get(
            f"{self.request['reader']}/{link}", headers={"Authorization": f"Bearer {self.request['key']}"}
        )
        return answer.text[: self.set["page_characters"]] if answer.status_code == 200 else ""

    async def shown(self, rows: list[dict]) -> str:
        """Results as the model sees them."""
        lines = []
        for place, row in enumerate(rows[: self.set["shown"]]):
            host = row["link"].split("/")[2]
            text = (row.get("snippet") or "")[: self.set["snippet"]]
            head = f"{row['title']} ({host})\n" if self.set["titles"] else f"({host}) "
            lines.append(f"[{row['number']}] {head}{text}")
            if place < self.set["pages"] and (text := await self.read(row["link"])):
                lines.append(text)
        return "\n".join(lines) or "-"

    @step
    async def plan(self, ev: StartEvent) -> Planned:
        """Search once for an impression, then plan."""
        rows = await self.search(self.question)
        titles = "\n".join(f"- {r['title']}" for r in rows[: self.set["shown"]])
        text = await self.ask("plan", self.set["tokens"], titles or "-")
        return Planned(queries=queries(text, self.question, [r["title"] for r in rows], self.set["steps"]))

    @step
    async def research(self, ev: Planned) -> Researched:
        """Search and take notes, one query after another."""
        notes = []
        for query in ev.queries:
            rows = await self.search(query)
            text = await self.ask("note", self.set["tokens"], await self.shown(rows))
            notes.append(cut(text, self.set["note_characters"]))
        return Researched(notes=notes)

    @step
    async def report(self, ev: Researched) -> StopEvent:
        """Write the report and list what it cites."""
        text = await self.ask("report", self.set["report_tokens"], "\n\n".join(ev.notes))
        await self.client.aclose()
        numbers = {
            int(n) for group in re.findall(r"[\[【]([\d,，、 ]+)[\]】]", text) for n in re.findall(r"\d+", group)
        }
        cited = [s for s in self.sources if s["number"] in numbers]
        listed = "\n".join(f"[{s['number']}] {s['title']}. {s['link']}" for s in cited)
        whole = f"{text}\n\n## {self.words['sources']}\n\n{listed}\n" if cited else f"{text}\n"
        return StopEvent(result={"report": whole if text else "", "citations": [s["link"] for s in cited]})


def check(chosen: dict, known: dict) -> None:
    """Refuse settings that there aren't: a slip of the pen must not change what is measured."""
    for name, value in chosen.items():
        if name == "small":
            continue
        if name not in known:
            sys.exit(f"planner has no setting {name!r}; there are: {', '.join(known)}")
        if type(value) is not type(known[name]):
            sys.exit(f"planner: {name} takes values of type {type(known[name]).__name__}, not {value!r}")


def cut(text: str, characters: int) -> str:
    """The start of a text, up to the end of a sentence where there is one."""
    if len(text) <= characters:
        return text
    head = text[:characters]
    ends = [m.end() for m in re.finditer(r"[.!?](?=\s)|[。！？\n]", head)]
    return head[: ends[-1]].rstrip() if ends and ends[-1] > characters // 3 else head


def queries(text: str, question: str, titles: list[str], steps: int) -> list[str]:
    """The searches in a planner's answer, whatever its form: lines, a numbered list, JSON.

    Where the answer holds too few, titles of the first search's results are searched for, which is what a person
    without a plan would do.
    """
    lines: list[str] = []
    if match := re.search(r"\[[^\[\]]*\]", text, re.DOTALL):
        try:
            lines = [str(item.get("query", "") if isinstance(item, dict) else item) for item in json.loads(match[0])]
        except (ValueError, AttributeError):
            lines = []
    if not lines:
        lines = text.splitlines()
    found: dict[str, str] = {}
    for line in lines:
        bare = re.sub(
            r"^\s*(?:[-*•]|\(?\d+[.)、：:]|Q\d+:|query\s*\d*:|搜索词\s*\d*[：:])\s*", "", line, flags=re.IGNORECASE
        )
        bare = bare.strip().strip("\"'`*“”「」").strip()
        size = len(bare.split()) if bare.isascii() else len(bare) / 2
        if 2 <= size <= 24 and bare.lower() != question.lower() and not bare.endswith(":"):
            found.setdefault(bare.lower(), bare)
    for title in titles:
        if len(found) >= steps:
            break
        found.setdefault(title.lower(), title)
    return list(found.values())[:steps] or [question]


async def main(request_file: str, answer_file: str) -> None:
    """Read the request, run, write the answer."""
    request = json.loads(Path(request_file).read_text("utf-8"))
    result = await Planner(request).run()
    names = ("llama-index-core", "llama-index-llms-openai-like")
    versions = {"python": sys.version.split()[0], **{name: version(name) for name in names}}
    Path(answer_file).write_text(json.dumps({**result, "versions": versions}, ensure_ascii=False), "utf-8")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
