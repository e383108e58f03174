# /// script
# requires-python = ">=3.11"
# dependencies = []
#
# [tool.uv]
# exclude-newer = "2026-11-28T00:00:00Z"
# ///
"""Any program: a command that gets the question, and whose output, or a file that it writes, is the report.

Settings:
    command: The command, split into arguments as a shell does it, but run by none.
    report: Where the report is: ``stdout``, or ``file``, which is the one that {report} names.
    env: More environment variables, as a mapping or as words NAME=VALUE.
    cwd: The folder that it runs in; else a fresh one.
    version: What the program's version is called in the run's record.

In command and env these stand for what a run has, and braces are doubled: {task} the task's id, {prompt} the question,
{model}, {model_url}, {key}, {search} the base URL of the Serper-compatible server, {reader} that of the Jina-compatible
one, {page} that of pages (append ?url=), {report} the path of a file. They are filled in after the splitting: a question
stays one argument, whatever is in it.
"""

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from string import Formatter

SETTINGS = {"command": None, "report": "stdout", "env": {}, "cwd": None, "version": None}
GIVEN = ("prompt", "model", "model_url", "key", "search", "reader", "page")


def main(request_file: str, answer_file: str) -> None:
    """Read the request, run, write the answer."""
    request = json.loads(Path(request_file).read_text("utf-8"))
    settings = chosen(request["settings"])
    # Not in the working folder, which the program finds empty.
    report = Path(tempfile.gettempdir()) / "report.md"
    values = {name: request[name] for name in GIVEN} | {"task": request["task"]["id"], "report": str(report)}
    command = [filled(word, values, "command") for word in words(settings["command"], "command")]
    env = {name: filled(value, values, f"env {name}") for name, value in settings["env"].items()}
    # The variables that frameworks know come first: what the user sets stands.
    done = call(command, {**os.environ, **request["variables"], **env}, settings["cwd"])
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it said nothing on stderr"])[-1]
        fail(f"{command[0]} {ending(done.returncode)}: {last}")
    sys.stderr.write(done.stderr)
    if settings["report"] == "stdout":
        text = done.stdout
    elif report.is_file():
        text = report.read_text("utf-8", "replace")
    else:
        fail(f"{command[0]} wrote no file {{report}}")
    if not text.strip():
        fail(f"{command[0]} left its report empty")
    program = {"program": str(settings["version"])} if settings["version"] is not None else {}
    answer = {
        "report": text,
        "versions": {"python": sys.version.split()[0], **program},
        "notes": {"program": command[0], "arguments": len(command) - 1},
    }
    Path(answer_file).write_text(json.dumps(answer, ensure_ascii=False), "utf-8")


def chosen(given: dict) -> dict:
    """The settings, those given put in; what can't be meant ends the run."""
    unknown = sorted(set(given) - set(SETTINGS) - {"small"})
    if unknown:
        fail(f"there is no setting {unknown[0]!r}; there are: {', '.join(SETTINGS)}")
    settings = SETTINGS | {name: value for name, value in given.items() if name in SETTINGS}
    if not isinstance(settings["command"], str) or not settings["command"].strip():
        fail("setting command is missing: give the command to run, such as python3 /path/to/agent.py {prompt}")
    if settings["report"] not in ("stdout", "file"):
        fail(f"setting report is {settings['report']!r}; it can be: stdout, file")
    if isinstance(settings["env"], str):
        pairs = [word.partition("=") for word in words(settings["env"], "env")]
        settings["env"] = {name: value if sign else None for name, sign, value in pairs}
    if not isinstance(settings["env"], dict):
        fail("setting env is neither a mapping nor words NAME=VALUE")
    for name, value in settings["env"].items():
        if not name or isinstance(value, (dict, list)) or value is None:
            fail(f"setting env has no value for {name!r}: give NAME=VALUE")
    settings["env"] = {name: str(value) for name, value in settings["env"].items()}
    if settings["cwd"] is not None and not Path(str(settings["cwd"])).is_dir():
        fail(f"setting cwd is {settings['cwd']!r}, where no folder is")
    return settings


def words(text: str, setting: str) -> list[str]:
    """A text split as a shell does it."""
    try:
        return shlex.split(text)
    except ValueError as problem:
        fail(f"setting {setting} can't be split into words: {problem}")


def filled(template: str, values: dict[str, str], where: str) -> str:
    """A template with the values put in."""
    text = ""
    try:
        for plain, name, form, conversion in Formatter().parse(template):
            text += plain
            if name is not None:
                if name not in values or form or conversion:
                    shown = name + (f"!{conversion}" if conversion else "") + (f":{form}" if form else "")
                    known = ", ".join(f"{{{n}}}" for n in sorted(values))
                    fail(f"setting {where} has {{{shown}}}; there are: {known} (and {{{{ }}}} for braces)")
                text += values[name]
    except ValueError as problem:
        fail(f"setting {where}: {problem} (double the braces that stand for themselves)")
    return text


def call(command: list[str], env: dict[str, str], cwd: str | None) -> subprocess.CompletedProcess:
    """Run a program to its end."""
    try:
        return subprocess.run(  # noqa: S603 - the command is the user's own
            command,
            env=env,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    except (OSError, ValueError) as problem:
        fail(f"{command[0]} can't be started: {getattr(problem, 'strerror', None) or problem}")


def ending(code: int) -> str:
    """How a program ended."""
    if code > 0:
        return f"ended with {code}"
    return f"was ended by {signal.Signals(-code).name}"


def fail(message: str) -> None:
    """End the run; the last line on stderr says why."""
    sys.exit(f"command: {message}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
