"""The variables of a program whose traffic is turned."""

from __future__ import annotations

from pathlib import Path

from searchsim.redirect.environment import HOOK, environment, redirection

URL = "http://127.0.0.1:8080"


def test_frameworks_find_the_simulation() -> None:
    env = environment(URL, "key", "http://127.0.0.1:8080/v1", ["db.local:5432"])
    assert (env["SERPER_BASE_URL"], env["SERPER_API_KEY"]) == (URL, "key")
    assert (env["OPENAI_BASE_URL"], env["OPENAI_API_KEY"]) == (f"{URL}/v1", "key")
    assert env["SEARX_HOST"] == f"{URL}/w/key/searxng/search"
    assert env["SEARCHSIM_REDIRECT_ALLOW"] == "db.local:5432"
    assert "OPENAI_BASE_URL" not in environment(URL, "key"), "without a model, the program's own stays"


def test_the_hooks_come_before_what_was_there() -> None:
    env = redirection(URL, "key", inherited={"PYTHONPATH": "/theirs", "NODE_OPTIONS": "--no-warnings"})
    assert env["PYTHONPATH"] == f"{HOOK}:/theirs"
    assert env["NODE_OPTIONS"] == f'--require "{HOOK / "preload.cjs"}" --no-warnings'
    assert "SERPER_API_KEY" not in env
    assert "SEARCHSIM_REDIRECT_LOG" not in env
    assert redirection(URL, "key", log=Path("/log"))["SEARCHSIM_REDIRECT_LOG"] == "/log"


def test_programs_without_a_hook_are_given_a_proxy_that_refuses() -> None:
    env = redirection(URL, "key", "https://model.example/v1", ["there.example"])
    assert env["HTTPS_PROXY"] == env["https_proxy"] == "http://key:x@127.0.0.1:8080"
    assert env["no_proxy"].split(",") == [
        "127.0.0.1",
        "localhost",
        "::1",
        "127.0.0.1",
        "model.example",
        "there.example",
    ]
