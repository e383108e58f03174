# /// script
# requires-python = ">=3.11"
# dependencies = [
#   # What the agent is made of; the versions that its requirements.txt has, where it has them.
#   "aiohttp>=3.11,<4",
#   "beautifulsoup4>=4.12,<5",
#   "chardet>=5,<6",
#   "jinja2>=3.1,<4",
#   "lxml>=5,<7",
#   "nltk==3.9.1",
#   "numpy>=1.26,<3",
#   "openai>=1.60,<3",
#   "pdfplumber>=0.11,<0.12",
#   "rank-bm25==0.2.2",
#   "requests>=2.32,<3",
#   "tokenizers>=0.20,<0.21",
#   "tqdm==4.67.0",
#   "transformers==4.46.1",
#   # It ships NLTK's sentence splitter, which NLTK itself would download.
#   "llama-index-core>=0.14.10,<0.15",
# ]
#
# [tool.uv]
# exclude-newer = "2026-11-28T00:00:00Z"
#
# [tool.searchsim]
# home = "WEBTHINKER_HOME"
# needs = ["scripts/run_web_thinker_report.py", "scripts/search/bing_search.py", "scripts/evaluate/evaluate.py"]
# ///
"""WebThinker as it is: think, search, explore, write, check, edit; its script for reports, run headless.

The framework's own ``scripts/run_web_thinker_report.py`` runs from a checkout; all that is changed is in `STUBS`,
`environment` and `arguments`. It writes the chat template itself and sends raw prompts to /v1/completions. Settings,
beside the launcher's own:

    tokenizer      The folder of the model's tokenizer, for its chat template; without it, one for plain ChatML is made.
    aux_tokenizer  The same for the prompts of its helpers (plans, intents, sections); the same folder without it.
    jina           Read pages through Jina's reader; false, as WebThinker has it: it opens them itself.
    max_tokens     How long an answer may be; 81920, as WebThinker has it, and 1024 with a toy.
"""

import contextlib
import importlib.util
import json
import os
import re
import runpy
import sys
import types
from importlib.metadata import version
from pathlib import Path

SCRIPT = "scripts/run_web_thinker_report.py"

# Modules that the script imports and doesn't use: empty ones take their place.
STUBS = ("torch",)

# A name with "qwq" in it keeps the explorer on the main model and the script on a path that it has for names.
MODEL, AUX_MODEL = "searchsim-qwq", "searchsim-aux"

DEFAULTS = {"tokenizer": "", "aux_tokenizer": "", "jina": False, "max_tokens": 81920}
SMALL = {"max_tokens": 1024}

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)

# What the script prints where it gives up on something and goes on without it.
GIVEN_UP = re.compile(
    r"(?m)^(?:Failed after \d+ attempts: |Google Serper API .* after \d+ retries|Error during search query |"
    r"Error fetching URLs?\b).*$"
)
RETRIED = re.compile(r"(?m)^(?:Generate Response Error occurred: |Google Serper API .* retrying \()")


def environment() -> dict[str, str]:
    """What its libraries are told."""
    return {
        # The sentence splitter's data.
        "NLTK_DATA": str(nltk_data()),
        # The tokenizer is on disk, and nothing is to be looked up.
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_NO_ADVISORY_WARNINGS": "1",
    }


def arguments(request: dict, chosen: dict) -> list[str]:
    """What the script is told, in its own options."""
    tokenizer = chosen["tokenizer"] or str(make_tokenizer(Path("tokenizer")))
    # Its client sends the model a key that is written into it, so that the address names the world.
    model_url = f"{request['search']}/w/{request['key']}/v1"
    return [
        *("--single_question", request["prompt"]),
        *("--search_engine", "serper"),
        *("--serper_api_key", request["key"]),
        *("--api_base_url", model_url),
        *("--aux_api_base_url", model_url),
        *("--model_name", MODEL),
        *("--aux_model_name", AUX_MODEL),
        *("--tokenizer_path", tokenizer),
        *("--aux_tokenizer_path", chosen["aux_tokenizer"] or tokenizer),
        # A list's longest, and what may come appended to it: a smaller number would cut it off.
        *("--top_k", str(request["results"] + request["appended"])),
        *("--max_tokens", str(chosen["max_tokens"])),
        # The same question gets the same run.
        *("--temperature", "0"),
        *("--repetition_penalty", "1.0"),
        *("--seed", "0"),
        *("--concurrent_limit", "1"),
        *(("--use_jina", "--jina_api_key", request["key"]) if chosen["jina"] else ()),
    ]


def settings(given: dict) -> dict:
    """The adapter's settings, checked."""
    chosen = {**DEFAULTS, **(SMALL if given.get("small") else {})}
    chosen |= {name: given[name] for name in DEFAULTS if name in given}
    for name in ("tokenizer", "aux_tokenizer"):
        if chosen[name] and not (Path(chosen[name]) / "tokenizer_config.json").is_file():
            sys.exit(f"setting {name}: {chosen[name]} is no folder with a tokenizer_config.json in it")
    if not isinstance(chosen["jina"], bool):
        sys.exit(f"setting jina: {chosen['jina']!r} is neither true nor false")
    # A section gets a quarter of it.
    if not isinstance(chosen["max_tokens"], int) or chosen["max_tokens"] < 4:
        sys.exit(f"setting max_tokens: {chosen['max_tokens']!r} is no whole number from 4 on")
    return chosen


def nltk_data() -> Path:
    """The folder of NLTK's data that llama-index-core ships."""
    for place in importlib.util.find_spec("llama_index").submodule_search_locations:
        folder = Path(place) / "core" / "_static" / "nltk_cache"
        if (folder / "tokenizers" / "punkt_tab" / "english").is_dir():
            return folder
    sys.exit("llama-index-core ships NLTK's punkt_tab no more: the sentence splitter has no data")


def make_tokenizer(folder: Path) -> Path:
    """A tokenizer of bytes whose chat template is plain ChatML. The script uses the template and the end token."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    bare = Tokenizer(models.BPE(vocab={letter: n for n, letter in enumerate(letters)}, merges=[]))
    bare.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bare.decoder = decoders.ByteLevel()
    made = PreTrainedTokenizerFast(
        tokenizer_object=bare,
        eos_token="<|im_end|>",  # noqa: S106 - no password
        additional_special_tokens=["<|im_start|>"],
        chat_template=CHATML,
    )
    made.save_pretrained(folder)
    return folder.resolve()


def commit(home: Path) -> str:
    """The commit of a checkout; empty where it is none."""
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
        return ""


def research(home: Path, options: list[str], log: Path) -> None:
    """Run the script to its end, in this process; what it prints goes into a file."""
    # transformers looks whether torch is there when it is imported, and is to see that it isn't.
    import transformers  # noqa: F401

    for name in STUBS:
        sys.modules[name] = types.ModuleType(name)
    # The checkout stays as it is. The script adds ./scripts/utils itself, but is run from another folder.
    sys.dont_write_bytecode = True
    sys.path[:0] = [str(home / "scripts"), str(home / "scripts" / "utils")]
    sys.argv = [str(home / SCRIPT), *options]
    with log.open("w", encoding="utf-8") as file, contextlib.redirect_stdout(file):
        runpy.run_path(str(home / SCRIPT), run_name="__main__")


def answer(request: dict, home: Path, chosen: dict, log: Path) -> dict:
    """The answer from what the script wrote into the working folder; a run that went on without evidence is none."""
    printed = log.read_text("utf-8")
    if given_up := GIVEN_UP.search(printed):
        sys.exit(f"WebThinker went on without what it asked for: {given_up[0]}")
    records = [json.loads(p.read_text("utf-8"))[0] for p in Path("outputs").glob("*/test.*.json")]
    if len(records) != 1:
        sys.exit(f"WebThinker wrote no record of its run; its last words: {printed.strip().splitlines()[-1:]}")
    explored = [step["search_query"] for step in records[0]["WebExplorer"]]
    if not explored:
        sys.exit(
            "WebThinker made no search: its model wrote no <|begin_search_query|> … <|end_search_query|>; "
            "it needs a model that follows such instructions"
        )
    lists = json.loads(Path("cache/serper_search_cache.json").read_text("utf-8"))
    if failed := [query for query, found in lists.items() if "organic" not in found]:
        sys.exit(f"WebThinker went on without the results of: {failed[0]}")
    reports = list(Path("outputs").glob("*/markdown.*/article_1.md"))
    if not reports:
        sys.exit(f"WebThinker made {len(explored)} searches and wrote no article")
    found = {row["link"] for results in lists.values() for row in results["organic"]}
    read = json.loads(Path("cache/url_cache.json").read_text("utf-8"))
    packages = ("transformers", "openai", "aiohttp", "nltk")
    return {
        # The script puts the question before the article.
        "report": reports[0].read_text("utf-8").removeprefix(f"Question: {request['prompt']}\n\n"),
        "versions": {
            "webthinker": commit(home) or "unknown: the checkout has no .git",
            **{name: version(name) for name in packages},
            "python": sys.version.split()[0],
        },
        "notes": {
            **chosen,
            "searches": explored,
            "explorer_searches": [query for query in lists if query not in explored],
            "retries": len(RETRIED.findall(printed)),
            "pages_read": len(read),
            # PDFs by their address, short pages, and what couldn't be had.
            "pages_unread": sorted(found - read.keys()),
        },
    }


def main(request_file: str, answer_file: str) -> None:
    """Read the request, run, write the answer."""
    request = json.loads(Path(request_file).read_text("utf-8"))
    chosen = settings(request["settings"])
    home, log = Path(request["home"]), Path("webthinker.log")
    os.environ.update(environment())
    try:
        research(home, arguments(request, chosen), log)
    except Exception as error:
        sys.exit(f"WebThinker failed: {type(error).__name__}: {' '.join(str(error).split())[:400]}")
    Path(answer_file).write_text(json.dumps(answer(request, home, chosen, log), ensure_ascii=False), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
