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
"""Think → search → draft section by section → revise, on llama-index: WebThinker's shape in a reference agent.

A loop of thoughts decides, from what was found so far, what to search for next or that enough is known. Then come an
outline, each of its sections drafted on its own from the findings nearest to it, and a revision of the whole. Prompts
are plain text and answers are parsed tolerantly, so that a model of 135M parameters gets through (what it searched for
heads its sections); a large one also reads pages, sums up what it read, and searches again for a section.
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

# What a toy takes, and a large model; every value can be set from outside.
SETTINGS = {
    "steps": (2, 6),
    "outline": (False, True),
    "sections": (2, 5),
    "section_steps": (0, 1),
    "results": (10, 13),
    "shown": (4, 13),
    "titles": (False, True),
    "pages": (0, 2),
    "page_characters": (0, 6000),
    "snippet": (150, 400),
    "digest": (False, True),
    "findings": (1, 6),
    "tokens": (24, 1200),
    "section_tokens": (80, 2400),
    "report_tokens": (180, 8000),
    "context": (4096, 65536),
}

# The task stands in the system message, the evidence alone in the user's: small models then keep to the evidence.
WORDS = {
    "en": {
        "think": "You look into a question by web searches, one at a time. Consider what was found so far and what is still missing. Then finish with a line of its own: SEARCH: and the words to search for next, or ENOUGH if the question can be answered. Question: {question}",
        "read": "Sum up what the search results given say about “{about}”, as far as it helps to answer the question. Keep their numbers, and cite each fact by the number of its result, like [2]. Question: {question}",
        "outline": "Write the headings of a report that answers the question from the findings given: at most {sections} short headings, each on a line of its own, and nothing else. Question: {question}",
        "more": "You are about to write the section “{about}” of a report. If the findings given lack something that this section needs, finish with a line of its own: SEARCH: and the words to search for; otherwise with ENOUGH. Question of the report: {question}",
        "draft": "Write the section “{about}” of a report from the findings given, in one or a few paragraphs without a heading. Keep the numbers, and cite sources by their numbers, like [2]. Question of the report: {question}",
        "revise": "Revise the draft of a report given: begin with a clear answer to the question, take out repetitions and contradictions, and keep headings, numbers and citations like [2]. Write the whole report, without a list of sources. Question: {question}",
        "nothing": "Nothing was found so far.",
        "sources": "Sources",
    },
    "zh": {
        "think": "你正在通过网络搜索研究一个问题，每次只搜索一次。请考虑目前已找到什么、还缺少什么，最后单独写一行：“搜索：”加上下一次的搜索词；如果已经可以回答问题，就写“足够”。问题：{question}",
        "read": "请概括给出的搜索结果中与“{about}”有关、有助于回答问题的内容，保留其中的数字，并注明结果编号，例如[2]。问题：{question}",
        "outline": "请为一份根据给出的资料回答问题的报告拟定小标题：最多{sections}个，简短，每行一个，不要写别的内容。问题：{question}",
        "more": "你将要撰写报告的“{about}”一节。如果给出的资料还缺少这一节需要的内容，最后单独写一行：“搜索：”加上搜索词；否则写“足够”。报告的问题：{question}",
        "draft": "请根据给出的资料撰写报告的“{about}”一节，写一段或几段，不要写标题，保留其中的数字，并注明来源编号，例如[2]。报告的问题：{question}",
        "revise": "请修改给出的报告草稿：开头明确回答问题，去掉重复和矛盾之处，保留小标题、数字和[2]这样的来源编号。请写出完整的报告，不要列出来源。问题：{question}",
        "nothing": "目前还没有找到资料。",
        "sources": "来源",
    },
}
SOURCES = r"(?:sources|references|bibliography|来源|参考文献|参考资料)"


class Wanted(Event):
    """The next search."""

    query: str


class Learned(Event):
    """A search is made, its finding kept: time to think again."""


class Enough(Event):
    """The thinking is over."""


class Outlined(Event):
    """The headings of the report."""

    headings: list[str]


class Drafted(Event):
    """All sections."""

    draft: str


class Thinker(Workflow):
    """The agent. Its steps run one after another, so that searches keep their order."""

    def __init__(self, request: dict) -> None:
        super().__init__(timeout=None)
        chosen = request["settings"]
        check(chosen, {k: large for k, (_, large) in SETTINGS.items()})
        self.set = {k: chosen.get(k, small if chosen.get("small") else large) for k, (small, large) in SETTINGS.items()}
        self.request = request
        self.question = request["prompt"]
        self.words = WORDS["zh" if request["task"]["language"].startswith("zh") else "en"]
        self.sources: list[dict] = []
        self.made: list[str] = []
        self.findings: list[str] = []
        self.client = httpx.AsyncClient(timeout=60, headers={"X-API-KEY": request["key"]}, trust_env=False)

    def known(self, about: str) -> str:
        """The findings nearest to something."""
        return nearest(self.findings, about, self.set["findings"])

    async def ask(self, name: str, tokens: str, evidence: str, about: str = "") -> str:
        """One plain prompt, one plain answer, of the model behind the gateway, under the world's key."""
        model = OpenAILike(
            model=self.request["model"],
            api_base=self.request["model_url"],
            api_key=self.request["key"],
            is_chat_model=True,
            temperature=0.0,
            max_tokens=self.set[tokens],
            timeout=900,
            max_retries=1,
            context_window=self.set["context"],
        )
        task = self.words[name].format(question=self.question, about=about, sections=self.set["sections"])
        messages = [
            ChatMessage(role=MessageRole.SYSTEM, content=task),
            ChatMessage(role=MessageRole.USER, content=evidence or self.words["nothing"]),
        ]
        answer = await model.achat(messages)
        # Reasoning models think aloud first, some without the opening mark, some without an end.
        return re.sub(r"(?s)^.*</think>|<think>.*", "", answer.message.content or "").strip()

    async def search(self, query: str) -> list[dict]:
        """The results of a search, each with the number it has among all sources."""
        self.made.append(query)
        body = {"q": query, "num": self.set["results"]}
        answer = await self.client.post(f"{self.request['search']}/search", json=body)
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
        bearer = {"Authorization": f"Bearer {self.request['key']}"}
        answer = await self.client.get(f"{self.request['reader']}/{link}", headers=bearer)
        return answer.text[: self.set["page_characters"]] if answer.status_code == 200 else ""

    async def learn(self, query: str) -> None:
        """Search, read what came, and keep it as a finding."""
        lines = []
        for place, row in enumerate((await self.search(query))[: self.set["shown"]]):
            host = row["link"].split("/")[2]
            head = f"{row['title']} ({host})\n" if self.set["titles"] else f"({host}) "
            lines.append(f"[{row['number']}] {head}{(row.get('snippet') or '')[: self.set['snippet']]}")
            if place < self.set["pages"] and (text := await self.read(row["link"])):
                lines.append(text)
        text = "\n".join(lines)
        if text and self.set["digest"]:
            text = await self.ask("read", "section_tokens", text, query) or text
        if text:
            self.findings.append(f"{query}\n{text}")

    @step
    async def think(self, ev: StartEvent | Learned) -> Wanted | Enough:
        """Decide on the next search; the first one is made in any case."""
        if len(self.made) >= max(1, self.set["steps"]):
            return Enough()
        text = await self.ask("think", "tokens", "\n\n".join(self.findings))
        query = decide(text, self.made, [s["title"] for s in self.sources] or [self.question])
        return Wanted(query=query or self.question) if query or not self.made else Enough()

    @step
    async def look(self, ev: Wanted) -> Learned:
        """Make the search and keep its finding."""
        await self.learn(ev.query)
        return Learned()

    @step
    async def outline(self, ev: Enough) -> Outlined:
        """Settle the sections."""
        text = await self.ask("outline", "tokens", self.known(self.question)) if self.set["outline"] else ""
        return Outlined(headings=headings(text, self.made)[: self.set["sections"]])

    @step
    async def draft(self, ev: Outlined) -> Drafted:
        """Write each section on its own, after one more search where it wants one."""
        parts = []
        for heading in ev.headings:
            for _ in range(self.set["section_steps"]):
                text = await self.ask("more", "tokens", self.known(heading), heading)
                if not (query := decide(text, self.made, [])):
                    break
                await self.learn(query)
            if text := await self.ask("draft", "section_tokens", self.known(heading), heading):
                parts.append(f"## {heading}\n\n{text}")
        return Drafted(draft="\n\n".join(parts))

    @step
    async def revise(self, ev: Drafted) -> StopEvent:
        """Go over the whole once more, and list what it cites."""
        text = kept(ev.draft, await self.ask("revise", "report_tokens", ev.draft or self.known(self.question)))
        await self.client.aclose()
        cited = [s for s in self.sources if s["number"] in numbers(text)]
        listed = "\n".join(f"[{s['number']}] {s['title']}. {s['link']}" for s in cited)
        whole = f"{text}\n\n## {self.words['sources']}\n\n{listed}\n" if cited else f"{text}\n"
        return StopEvent(result={"report": whole if text else "", "citations": [s["link"] for s in cited]})


def check(chosen: dict, known: dict) -> None:
    """Refuse settings that there aren't: a slip of the pen must not change what is measured."""
    for name, value in chosen.items():
        if name == "small":
            continue
        if name not in known:
            sys.exit(f"thinker has no setting {name!r}; there are: {', '.join(known)}")
        if type(value) is not type(known[name]):
            sys.exit(f"thinker: {name} takes values of type {type(known[name]).__name__}, not {value!r}")


def kept(draft: str, revised: str) -> str:
    """The revised text, without a list of sources of its own; the draft where most of that, or all it cited, is lost."""
    text = re.sub(rf"(?is)\n[#*\s]*{SOURCES}[*:：\s]*\n(?:(?!\n#).)*\Z", "", revised).strip()
    old, new = (sum(map(len, set(re.split(r"(?<=[.!?。！？])\s*", t)))) for t in (draft, text))  # repetitions aside
    return draft if new < old / 2 or (numbers(draft) and not numbers(text)) else text


def numbers(text: str) -> set[int]:
    """The numbers of the sources that a text cites."""
    return {int(n) for group in re.findall(r"[\[【［]([\d,，、 ]+)[\]】］]", text) for n in re.findall(r"\d+", group)}


def bare(line: str) -> str:
    """A line without the marks of lists and headings, and without quotes about the whole of it."""
    line = re.sub(r"^[\s#*•>-]*(?:\(?\d{1,2}[.)、：:](?!\d)\s*)?", "", line).strip(" \t*`#")
    inner = line.strip("\"'“”「」")
    return line if re.search(r"[\"“”「」]", inner) else inner


def phrase(line: str, least: int) -> bool:
    """Whether a line has the form of a query or a heading, and is neither a sentence nor a fragment of one."""
    words = len(line.split()) if line.isascii() else len(line) / 2
    return least <= words <= 16 and not re.search(r"[.!,;:。！，；：、]\s*$|[.!;。！；]\s|[\[\]。，]", line)


def decide(text: str, made: list[str], titles: list[str]) -> str:
    """The search that a thought ends with, or nothing where it says that enough is known.

    A thought without a usable search gives the first title not yet searched for, which is what a person without an idea
    would do.
    """
    done = {m.lower() for m in made}
    lines = [line for line in text.splitlines() if bare(line)]
    for line in reversed(lines):
        marked = re.split(r"(?i)(?:\bsearch(?: query)?|搜索|搜索词)\**\s*[:：]", line)
        query = bare(marked[-1])
        if re.fullmatch(r"ENOUGH\b.*|(?i:enough|none|足够|无)\W*", query):
            return ""
        if query.lower() not in done and ((len(marked) > 1 and query) or (len(lines) == 1 and phrase(query, 2))):
            return query[:200]
    return next((t for t in titles if t.lower() not in done), "")


def headings(text: str, made: list[str]) -> list[str]:
    """The headings in an outline; where it has none, what was searched for heads the sections."""
    lines = text.splitlines()
    marked = [line for line in lines if re.match(r"\s*(?:#|\d+[.)、：:])", line)]
    found: dict[str, str] = {}
    for line in map(bare, marked or lines):
        if phrase(line, 1) and not re.fullmatch(rf"(?i){SOURCES}", line):
            found.setdefault(line.lower(), line)
    return list(found.values()) or made


def nearest(findings: list[str], heading: str, count: int) -> str:
    """The findings that share most words (characters, in Chinese) with a heading, in the order they were made."""
    words = [set(re.findall(r"[a-z0-9]{3,}|[\u4e00-\u9fff]", text.lower())) for text in (heading, *findings)]
    places = sorted(range(len(findings)), key=lambda i: (-len(words[0] & words[i + 1]), i))
    return "\n\n".join(findings[i] for i in sorted(places[:count]))


async def main(request_file: str, answer_file: str) -> None:
    """Read the request, run, write the answer."""
    request = json.loads(Path(request_file).read_text("utf-8"))
    result = await Thinker(request).run()
    names = ("llama-index-core", "llama-index-llms-openai-like")
    versions = {"python": sys.version.split()[0], **{name: version(name) for name in names}}
    Path(answer_file).write_text(json.dumps({**result, "versions": versions}, ensure_ascii=False), "utf-8")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
