"""Any program as an agent: Python, Node and a shell with curl, each searching, reading and asking the model."""

from __future__ import annotations

import json
import runpy
import shutil
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from searchsim import agent, home
from searchsim.agent import Adapter
from searchsim.errors import AgentError
from searchsim.server.context import Context
from searchsim.world import World
from tests.adapters.scripted_server import Body, ScriptedServer, said

TASK = "bicycle-stability"
TREATED = {"budget": 3, "stage": "cold_start", "rank": "front"}

# Each asks the question, reads the first page that it finds, asks the model, and says what the model says. Python and
# Node know the addresses of the real services alone.
PYTHON = """
import json, os, sys, urllib.request

def post(url, body, **headers):
    headers = {"Content-Type": "application/json"} | {k.replace("_", "-"): v for k, v in headers.items()}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    return json.load(urllib.request.urlopen(request))

question = sys.argv[1]
found = post("https://google.serper.dev/search", {"q": question}, X_API_KEY=os.environ["SERPER_API_KEY"])["organic"]
page = urllib.request.urlopen(found[0]["link"]).read().decode()
messages = [{"role": "user", "content": f"{question}\\n{json.dumps(found)}\\n{page}"}]
bearer = f"Bearer {os.environ['OPENAI_API_KEY']}"
url = f"{os.environ['OPENAI_BASE_URL']}/chat/completions"
answer = post(url, {"model": os.environ["MODEL"], "messages": messages}, Authorization=bearer)
print(answer["choices"][0]["message"]["content"])
"""
NODE = """
const question = process.argv[2];
const post = async (url, body, headers) => {
  const all = { "Content-Type": "application/json", ...headers };
  return (await fetch(url, { method: "POST", headers: all, body: JSON.stringify(body) })).json();
};
(async () => {
  const { SERPER_API_KEY, OPENAI_API_KEY, OPENAI_BASE_URL, MODEL } = process.env;
  const found = (await post("https://google.serper.dev/search", { q: question }, { "X-API-KEY": SERPER_API_KEY })).organic;
  const page = await (await fetch(found[0].link)).text();
  const messages = [{ role: "user", content: [question, JSON.stringify(found), page].join("\\n") }];
  const bearer = { Authorization: `Bearer ${OPENAI_API_KEY}` };
  const answer = await post(`${OPENAI_BASE_URL}/chat/completions`, { model: MODEL, messages }, bearer);
  console.log(answer.choices[0].message.content);
})();
"""
SHELL = """
set -eu
search=$1 key=$2 question=$3 page=$4 report=$5
curl -sSf -G "$search/search" -H "X-API-KEY: $key" --data-urlencode "q=$question" >found.json
link=$(grep -o '"link": *"[^"]*"' found.json | head -n 1 | cut -d '"' -f 4)
curl -sSf -G "$page" --data-urlencode "url=$link" >page.html
printf '# Found\\n\\nSee %s\\n' "$link" >"$report"
echo "this is no report"
"""


def reply(body: Body) -> dict[str, Any]:
    """A report on the first result that the prompt shows."""
    lines = body["messages"][-1]["content"].split("\n")
    return said(f"# Report\n\nIt is so ([source]({json.loads(lines[1])[0]['link']})).")


@pytest.fixture
async def scripted_model() -> AsyncIterator[ScriptedServer]:
    """The model behind the gateway of this module's tests."""
    async with ScriptedServer(reply).running() as server:
        yield server


@pytest.fixture(scope="session")
def command(cache: Path) -> tuple[Adapter, Path]:
    """The adapter, with its environment made by uv."""
    return agent.prepare("command")


Call = Callable[..., Any]


@pytest.fixture
def call(context: Context, url: str, command: tuple[Adapter, Path]) -> Call:
    """Runs a command in a world."""

    async def run(text: str, world: World | None = None, **settings: Any) -> agent.Run:
        world = world or context.worlds.create(TASK, TREATED)
        return await agent.run(context, url, *command, world, settings={"command": text, **settings})

    return run


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str, str], Path]:
    """Writes a program's file, in a folder whose name has a space."""

    def write(name: str, text: str) -> Path:
        path = tmp_path / "a folder" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    return write


def kinds(run: agent.Run) -> list[str]:
    """What happened, in order."""
    return [e["event"] for e in run.events]


def exposed(run: agent.Run, world: World) -> None:
    """Asserts that the run met its pool: all of it served, the first opened and cited."""
    searches = [e for e in run.events if e["event"] == "search"]
    assert [s["list"] for s in searches] == [1]
    served = [row["document"] for row in searches[0]["served"]]
    assert len(served) == 10
    assert set(served[:3]) == set(run.exposure.served) == set(world.plan.documents)
    assert run.exposure.opened == run.exposure.cited == served[:1]


@pytest.mark.parametrize(
    ("start", "name", "text"),
    [(sys.executable, "agent.py", PYTHON), ("node", "agent.js", NODE)],
    ids=["python", "node"],
)
async def test_a_program_that_knows_the_real_addresses(
    context: Context,
    scripted_model: ScriptedServer,
    call: Call,
    program: Callable[[str, str], Path],
    start: str,
    name: str,
    text: str,
) -> None:
    path = program(name, text)
    line = f"'{start}' '{path}' {{prompt}}"
    sent = []
    for env in ({"MODEL": "{model}"}, "MODEL={model} OTHER='{{a b}}'"):
        scripted_model.requests.clear()
        world = context.worlds.create(TASK, TREATED)
        run = await call(line, world, env=env, version=7)
        assert run.valid, run.reasons
        exposed(run, world)
        assert kinds(run) == ["search", "page", "model"]
        assert set(run.exposure.delivered) == set(world.plan.documents)
        assert run.report.startswith("# Report")
        assert run.versions["program"] == "7"
        assert run.notes == {"program": start, "arguments": 2}
        assert scripted_model.requests[0][1]["model"] == "scripted"
        sent.append(scripted_model.sent((world.key, "KEY")))
    assert sent[0] == sent[1]


async def test_a_control_is_exposed_to_nothing(
    context: Context, call: Call, program: Callable[[str, str], Path]
) -> None:
    world = context.worlds.create(TASK, {"budget": 0})
    run = await call(f"'{sys.executable}' '{program('agent.py', PYTHON)}' {{prompt}}", world, env={"MODEL": "{model}"})
    assert run.valid, run.reasons
    exposure = run.exposure
    assert (exposure.served, exposure.delivered, exposure.opened, exposure.cited) == ([], [], [], [])
    assert kinds(run) == ["search", "page", "model"]


@pytest.mark.skipif(not shutil.which("curl"), reason="there is no curl")
async def test_a_shell_program_asks_the_simulation_itself(
    context: Context, call: Call, program: Callable[[str, str], Path]
) -> None:
    path = program("agent.sh", SHELL)
    world = context.worlds.create(TASK, TREATED)
    run = await call(f"sh '{path}' {{search}} {{key}} {{prompt}} {{page}} {{report}}", world, report="file")
    assert run.valid, run.reasons
    exposed(run, world)
    assert run.report.startswith("# Found\n\nSee http")
    assert "no report" not in run.report


@pytest.mark.skipif(not shutil.which("curl"), reason="there is no curl")
async def test_curl_gets_no_further_than_the_proxy(context: Context, call: Call) -> None:
    world = context.worlds.create(TASK)
    with pytest.raises(AgentError, match=r"curl ended with (5|7|22|35|56): curl: \(\d+\)"):
        await call("curl -sSf https://google.serper.dev/search?q=bicycle", world)
    refused = [e for e in context.worlds.events(world.key) if e["event"] == "refused"]
    assert [e["host"] for e in refused] == ["google.serper.dev"]


async def test_a_program_finds_an_empty_folder_or_the_one_that_is_set(call: Call, tmp_path: Path) -> None:
    line = f"'{sys.executable}' -c 'import os; print(os.getcwd(), os.listdir())'"
    assert (await call(line)).report.endswith(" []\n")
    (tmp_path / "mine").touch()
    assert (await call(line, cwd=str(tmp_path))).report == f"{tmp_path} ['mine']\n"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("import sys; sys.stderr.write('first\\nlast word\\n'); sys.exit(3)", "ended with 3: last word"),
        ("raise SystemExit(4)", "ended with 4: it said nothing on stderr"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", "was ended by SIGTERM"),
        ("pass", "left its report empty"),
    ],
)
async def test_programs_that_fail(call: Call, program: Callable[[str, str], Path], body: str, message: str) -> None:
    with pytest.raises(AgentError, match=message):
        await call(f"'{sys.executable}' '{program('agent.py', body)}'")


async def test_a_program_that_writes_no_file(call: Call) -> None:
    with pytest.raises(AgentError, match=r"wrote no file \{report\}"):
        await call(f"'{sys.executable}' -c 'print(1)'", report="file")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "setting command is missing"),
        ({"command": 3}, "setting command is missing"),
        ({"command": "a 'b"}, "setting command can't be split into words: No closing quotation"),
        ({"command": "a {question}"}, "setting command has {question}; there are: {key}, {model}"),
        ({"command": "a {prompt!r}"}, "setting command has {prompt!r}"),
        ({"command": "a {prompt:9}"}, "setting command has {prompt:9}"),
        ({"command": "a {}"}, "setting command has {}"),
        ({"command": "a {prompt"}, "double the braces"),
        ({"command": "a", "report": "html"}, "it can be: stdout, file"),
        ({"command": "a", "env": 3}, "setting env is neither a mapping nor words NAME=VALUE"),
        ({"command": "a", "env": "NAME"}, "setting env has no value for 'NAME'"),
        ({"command": "a", "env": {"A": {}}}, "setting env has no value for 'A'"),
        ({"command": "a", "env": {"A": "{b}"}}, "setting env A has {b}"),
        ({"command": "a", "cwd": "/no/such/folder"}, "'/no/such/folder', where no folder is"),
        ({"command": "a", "comand": "b"}, "there is no setting 'comand'"),
        ({"command": "searchsim-no-such-program"}, "can't be started: No such file or directory"),
    ],
)
def test_settings_that_cannot_be_meant(adapter: Adapt, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SystemExit) as ended:
        adapter("What?", settings)
    assert message in str(ended.value.code)
    assert "\n" not in str(ended.value.code)


@pytest.mark.parametrize("question", ['it\'s "so"?', "a\nb", "{key} $HOME `x` ; rm *", "赵州桥", "--help", ""])
def test_a_question_stays_one_argument(adapter: Adapt, question: str) -> None:
    shown = f"'{sys.executable}' -c 'import sys; print(ascii(sys.argv[1:]))' x {{prompt}} '{{{{{{task}}}}}}' a{{key}}b"
    assert adapter(question, {"command": shown}) == f"{['x', question, '{t}', 'aKb']!a}\n"


Adapt = Callable[[str, dict[str, Any]], str]


@pytest.fixture
def adapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Adapt:
    """The adapter in this process: from a question and settings to the report."""
    main = runpy.run_path(str(home.find("adapters", "command")))["main"]
    monkeypatch.chdir(tmp_path)

    def run(question: str, settings: dict[str, Any]) -> str:
        url = "http://127.0.0.1:9"
        request = {"task": {"id": "t"}, "prompt": question, "key": "K", "variables": {}, "settings": settings}
        request |= {"model": "m", "model_url": url, "search": url, "reader": url, "page": url}
        Path("request.json").write_text(json.dumps(request))
        main("request.json", "answer.json")
        report: str = json.loads(Path("answer.json").read_text())["report"]
        return report

    return run
