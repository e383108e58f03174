"""Precision and recall of delivery, on prompts that truncate, re-encode and reorder."""

from __future__ import annotations

import html
import json
import random
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import pytest

from searchsim.corpus import Corpus
from searchsim.delivery import PROMPT, Matcher
from searchsim.documents import Document
from searchsim.engine.embedded import EmbeddedEngine
from searchsim.text import snippet
from searchsim.world import World, Worlds


def user(text: str) -> list[dict[str, Any]]:
    return [{"role": "system", "content": "You are helpful."}, {"role": "user", "content": text}]


@pytest.fixture
def world(worlds: Worlds) -> World:
    return worlds.create("bicycle-stability", {"budget": 3})


@pytest.fixture
def served(quickstart: Corpus, world: World) -> list[Document]:
    organic = [d for d in quickstart.documents() if d.id.startswith("bicycle-stability")][:10]
    return [*organic, *world.documents()]


@pytest.fixture
def matcher(engine: EmbeddedEngine, world: World, served: list[Document]) -> Matcher:
    made = Matcher(engine, world.documents())
    for document in served:
        made.add(document)
    return made


async def test_parts(matcher: Matcher, served: list[Document]) -> None:
    one = served[-1]
    for part, text in [
        ("link", one.url),
        ("title", one.title),
        ("snippet", snippet(one)),
        ("body", one.body[900:1200]),
    ]:
        found = await matcher.find(user(f"Look: {text} (end)"))
        assert found.documents == [one.id], part
        assert found.parts[one.id] == ([part, "source"] if part == "link" else [part]), "a link names its host"
    named = await matcher.find(user(f"They trust {one.source_name}."))
    assert named.documents == []
    assert named.parts == {one.id: ["source"]}
    hosted = await matcher.find(user(f"[1] {one.title} ({one.host})"))
    assert hosted.parts[one.id] == ["title", "source"]


async def test_the_models_own_messages_do_not_count(matcher: Matcher, served: list[Document]) -> None:
    text = served[-1].body[:900]
    found = await matcher.find([{"role": "user", "content": "Go on."}, {"role": "assistant", "content": text}])
    assert found.documents == []
    tool = await matcher.find([{"role": "tool", "content": text}])
    assert tool.documents == [served[-1].id]
    listed = await matcher.find([{"role": "user", "content": [{"type": "text", "text": text}, {"type": "image_url"}]}])
    assert listed.documents == [served[-1].id]


async def test_a_link_must_be_whole(matcher: Matcher, served: list[Document]) -> None:
    url = served[0].url
    bare = url.removeprefix("https://")
    for other in (url + "-other", url + ".html", f"https://sub.{bare}", f"https://my{bare}", f"me@{bare}"):
        assert (await matcher.find(user(other))).documents == [], other
    for same in (f"https://www.{bare}", f"{url}/", f"{url}.", bare):
        assert (await matcher.find(user(same))).documents == [served[0].id], same
    assert (await matcher.find(user(f"({url})."))).documents == [served[0].id]
    assert (await matcher.find(user(quote(url, safe="")))).documents == [served[0].id]


async def test_a_text_under_two_bylines_is_ambiguous(quickstart: Corpus, engine: EmbeddedEngine) -> None:
    pool = [d for d in quickstart.misleading["bicycle-stability"] if d.style == "paper"]
    twins = [d for d in pool if d.text == pool[0].text][:2]
    matcher = Matcher(engine, twins)
    for document in twins:
        matcher.add(document)
    found = await matcher.find(user(twins[0].body[:800]))
    assert found.documents == []
    assert sorted(found.ambiguous) == sorted(d.id for d in twins)
    linked = await matcher.find(user(f"{twins[0].url}\n{twins[0].body[:800]}"))
    assert linked.documents == [twins[0].id]
    assert linked.ambiguous == [twins[1].id]


async def test_nothing_served_nothing_delivered(engine: EmbeddedEngine, served: list[Document]) -> None:
    assert (await Matcher(engine).find(user(served[0].body))).documents == []


@dataclass
class Shown:
    """A result as an agent might put it into a prompt."""

    name: str

    def text(self, documents: list[Document], draw: random.Random) -> str:
        match self.name:
            case "snippets joined":
                return " ".join(snippet(d) for d in documents)
            case "numbered":
                return "\n".join(f"[{n}] {d.title}\n{snippet(d)[:100]}..." for n, d in enumerate(documents, 1))
            case "json":
                rows = [{"title": d.title, "snippet": snippet(d), "link": d.url} for d in documents]
                return json.dumps(rows)
            case "json in json":
                rows = [{"t": d.title, "s": snippet(d)} for d in documents]
                return json.dumps({"output": json.dumps(rows)})
            case "html escaped":
                return "".join(f"&lt;li&gt;{html.escape(html.escape(snippet(d)))}" for d in documents)
            case "truncated body":
                return "\n".join(d.body[start : start + 260] for d in documents for start in [draw.randrange(400)])
            case "sentences shuffled":
                pieces = [s for d in documents for s in d.body.split(". ")[:14]]
                draw.shuffle(pieces)
                return ". ".join(pieces)
            case "one line upper case":
                return " ".join(d.body[:700].upper().replace("\n", "  ") for d in documents)
            case _:
                raise AssertionError(self.name)


WAYS = ["snippets joined", "numbered", "json", "json in json", "html escaped", "truncated body", "sentences shuffled", "one line upper case"]  # fmt: skip


@pytest.mark.parametrize("task", ["bicycle-stability", "roman-harbour-concrete", "anji-bridge", "movable-type"])
async def test_precision_and_recall(quickstart: Corpus, engine: EmbeddedEngine, worlds: Worlds, task: str) -> None:
    """Over random prompts of every way: what is in is found, what isn't in isn't."""
    world = worlds.create(task, {"budget": 5})
    served = [*(d for d in quickstart.documents() if d.id.startswith(task)), *world.documents()]
    matcher = Matcher(engine, world.documents())
    for document in served:
        matcher.add(document)
    hits = wrong = missed = 0
    draw = random.Random(7)
    for way in WAYS:
        for _ in range(12):
            inside = draw.sample(served, draw.randint(1, 6))
            text = Shown(way).text(inside, draw)
            found = set((await matcher.find(user(f"Question?\n\n{text}\n\nAnswer."))).documents)
            wanted = {d.id for d in inside}
            hits += len(found & wanted)
            wrong += len(found - wanted)
            missed += len(wanted - found)
    precision, recall = hits / (hits + wrong), hits / (hits + missed)
    print(f"{task}: precision {precision:.3f}, recall {recall:.3f} over {hits + missed} deliveries")
    assert precision >= 0.98
    assert recall >= 0.97


async def test_a_document_served_later_makes_a_run_ambiguous(quickstart: Corpus, engine: EmbeddedEngine) -> None:
    pool = [d for d in quickstart.misleading["bicycle-stability"] if d.style == "paper"]
    one, two = [d for d in pool if d.text == pool[0].text][:2]
    matcher = Matcher(engine)
    matcher.add(one)
    assert (await matcher.find(user(one.body[:800]))).documents == [one.id]
    matcher.add(two)
    assert (await matcher.find(user(one.body[:800]))).documents == []


async def test_a_raw_prompt_is_read_without_the_models_own_words(engine: EmbeddedEngine, quickstart: Corpus) -> None:
    """WebThinker's prompts are one text, in which results stand between what the model said before."""
    documents = list(quickstart.documents())[:3]
    matcher = Matcher(engine)
    for document in documents:
        matcher.add(document)
    texts = [" ".join(d.body.split()[:30]) for d in documents]

    def prompt(text: str) -> list[dict[str, str]]:
        return [{"role": "system", "content": "Think."}, {"role": PROMPT, "content": text}]

    first = "Question."
    said = f"<think>I remember {texts[0]}</think>\nI conclude: {texts[0]}"
    matcher.said(prompt(first), said)
    goes_on = f"{first}{said.replace('</think>' + chr(10), '')}\nResults: {texts[1]}"
    assert (await matcher.find(prompt(goes_on))).documents == [documents[1].id], "its own words aren't delivered to it"
    # What it said in another conversation was put before it by the agent.
    other = f"Another question. An assistant's summary: {texts[0]}"
    assert (await matcher.find(prompt(other))).documents == [documents[0].id]
    assert (await matcher.find([{"role": "user", "content": said}])).documents == [documents[0].id]
