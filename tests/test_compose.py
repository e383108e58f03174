"""docker-compose.yml and Dockerfile, as far as they can be held to something without a Docker engine."""

from __future__ import annotations

import copy
import fnmatch
import json
import os
import re
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.conftest import ROOT

COMPOSE = ROOT / "docker-compose.yml"
SEARCHSIM = Path(sys.executable).with_name("searchsim")
TOKEN = "a-token-of-the-test"


@pytest.fixture(scope="module")
def law() -> Any:
    """A validator for the Compose specification's own JSON Schema, as check-jsonschema carries it."""
    found = resources.files("check_jsonschema") / "builtin_schemas" / "vendor" / "compose-spec.json"
    schema = json.loads(found.read_text("utf-8"))
    assert schema["$id"] == "compose_spec.json"
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    return kind(schema)


@pytest.fixture
def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(COMPOSE.read_text("utf-8"))
    return loaded


@pytest.fixture
def server(compose: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = compose["services"]["searchsim"]
    return found


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's, in order, with continued lines joined."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text("utf-8"), flags=re.MULTILINE)
    lines = re.sub(r"\\\n\s*", " ", text).splitlines()
    return [(word.upper(), rest.strip()) for word, _, rest in (line.partition(" ") for line in lines if line.strip())]


def copied() -> list[str]:
    """What the Dockerfile copies out of the checkout."""
    rests = [r.split() for word, r in instructions() if word in ("COPY", "ADD") and "--from=" not in r]
    return [path for parts in rests for path in parts[:-1] if not path.startswith("--")]


def last_stage() -> list[tuple[str, str]]:
    found = instructions()
    return found[max(i for i, (word, _) in enumerate(found) if word == "FROM") :]


# --- the specification ---------------------------------------------------------------------------------------------


def test_it_is_what_the_specification_allows(law: Any, compose: dict[str, Any]) -> None:
    assert [e.message for e in law.iter_errors(compose)] == []
    assert set(compose["services"]) == {"elasticsearch", "searchsim"}


BROKEN: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no such key": lambda services: services["searchsim"].update(prots=[]),
    "ports aren't a mapping": lambda services: services["searchsim"].update(ports={"8080": "8080"}),
    "no such condition": lambda services: services["searchsim"]["depends_on"].update(
        elasticsearch={"condition": "healthy"}
    ),
    "read_only is true or false": lambda services: services["searchsim"].update(read_only=["/"]),
    "an image is a name": lambda services: services["elasticsearch"].update(image=9.5),
    "no such limit": lambda services: services["elasticsearch"]["ulimits"].update(memlock={"soft": -1, "most": -1}),
    "no such key of a health check": lambda services: services["elasticsearch"]["healthcheck"].update(every="10s"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_file_fails(law: Any, compose: dict[str, Any], fault: str) -> None:
    broken = copy.deepcopy(compose)
    BROKEN[fault](broken["services"])
    assert not law.is_valid(broken)


# --- the hardening -------------------------------------------------------------------------------------------------


def test_nothing_is_published_beyond_loopback(compose: dict[str, Any]) -> None:
    published = {name: service["ports"] for name, service in compose["services"].items()}
    assert published == {"elasticsearch": ["127.0.0.1:9200:9200"], "searchsim": ["127.0.0.1:8080:8080"]}
    assert not any(service.get("network_mode") for service in compose["services"].values())


def test_nobody_is_root_or_can_become_it(compose: dict[str, Any]) -> None:
    for name, service in compose["services"].items():
        assert int(service["user"].split(":")[0]) > 0, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert not {"privileged", "cap_add", "devices", "pid", "ipc"} & set(service), name


def test_the_server_writes_to_its_volume_and_tmp_alone(compose: dict[str, Any], server: dict[str, Any]) -> None:
    assert server["read_only"] is True
    writable = [v.split(":")[1] for v in server["volumes"]] + [t.split(":")[0] for t in server["tmpfs"]]
    assert writable == ["/data", "/tmp"]
    assert Path(server["environment"]["SEARCHSIM_STORE"]).is_relative_to("/data")
    assert Path(server["environment"]["SEARCHSIM_CACHE"]).is_relative_to("/tmp")
    used = {v.split(":")[0] for service in compose["services"].values() for v in service["volumes"]}
    assert used == set(compose["volumes"])  # named ones, no folder of the host


def test_the_token_has_no_default(server: dict[str, Any]) -> None:
    assert re.fullmatch(r"\$\{SEARCHSIM_CONTROL_TOKEN:\?[^}]+\}", server["environment"]["SEARCHSIM_CONTROL_TOKEN"])
    assert "--public" in server["command"]
    assert "--control-token" not in server["command"]  # commands are seen by everybody who lists processes


def test_elasticsearch_is_the_version_that_is_tested(compose: dict[str, Any]) -> None:
    pom = ElementTree.parse(ROOT / "tools" / "elasticsearch" / "pom.xml")
    versions = {found.text for found in pom.iterfind("./dependencies/dependency/version")}
    assert {compose["services"]["elasticsearch"]["image"]} == {f"elasticsearch:{v}" for v in versions}


def test_elasticsearch_is_waited_for(compose: dict[str, Any], server: dict[str, Any]) -> None:
    assert server["depends_on"] == {"elasticsearch": {"condition": "service_healthy"}}
    address = server["environment"]["SEARCHSIM_ELASTICSEARCH"]
    assert address == "http://elasticsearch:9200"
    check = compose["services"]["elasticsearch"]["healthcheck"]["test"]
    assert check[:3] == ["CMD", "curl", "-fsS"]
    assert "/_cluster/health?wait_for_status=yellow&timeout=5s" in check[-1]
    assert int(compose["services"]["elasticsearch"]["healthcheck"]["timeout"][:-1]) > 5


# --- the server's own part, run here -------------------------------------------------------------------------------


def test_the_command_and_its_health_check_work(server: dict[str, Any], tmp_path: Path) -> None:
    """The command as it stands but for the engine and the address, and the check as it stands but for the port."""
    _, *check = server["healthcheck"]["test"]
    assert check[:2] == ["python", "-c"]
    command = list(server["command"])
    for option, value in {"--engine": "tantivy", "--host": "127.0.0.1", "--port": "0"}.items():
        command[command.index(option) + 1] = value
    env = {k: v for k, v in os.environ.items() if not k.startswith("SEARCHSIM") or k == "SEARCHSIM_CACHE"}
    env |= {"SEARCHSIM_CONTROL_TOKEN": TOKEN, "SEARCHSIM_STORE": str(tmp_path / "store.sqlite")}
    process = subprocess.Popen(
        [SEARCHSIM, *command, "--json"], cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout
        port = json.loads(process.stdout.readline())["url"].rsplit(":", 1)[1]
        probe = check[2].replace("8080", port)
        assert probe != check[2]
        well = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=False)
        assert (well.returncode, well.stderr) == (0, "")
        assert (tmp_path / "store.sqlite").is_file()
        process.terminate()
        assert process.wait(timeout=10) == 0
        ill = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=False)
        assert ill.returncode != 0
    finally:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


def test_without_a_token_the_command_is_refused(server: dict[str, Any], tmp_path: Path) -> None:
    env = {k: v for k, v in os.environ.items() if not k.startswith("SEARCHSIM")}
    env["SEARCHSIM_CONTROL_TOKEN"] = ""
    done = subprocess.run(
        [SEARCHSIM, *server["command"]], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "--control-token" in done.stderr


# --- the Dockerfile ------------------------------------------------------------------------------------------------


def test_what_is_copied_exists_and_reaches_the_builder() -> None:
    paths = copied()
    assert paths
    rules = [r for r in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if r and not r.startswith("#")]
    for path in paths:
        assert (ROOT / path).exists(), path
        ignored = False
        for rule in rules:
            if fnmatch.fnmatch(path, rule.removeprefix("!")):
                ignored = not rule.startswith("!")
        assert not ignored, f".dockerignore hides {path}"
    let_in = {rule[1:] for rule in rules if rule.startswith("!")}
    assert let_in == set(paths)


def test_all_that_the_wheel_carries_is_copied() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {*wheel["packages"], *wheel["force-include"], *project["project"]["license-files"]}
    assert needed | {project["project"]["readme"], "pyproject.toml"} <= set(copied())


def test_the_image_runs_the_command_and_not_as_root(server: dict[str, Any]) -> None:
    stage = last_stage()
    users = [rest for word, rest in stage if word == "USER"]
    assert users == [server["user"]]
    uid, gid = users[0].split(":")
    assert int(uid) > 0 and int(gid) > 0
    runs = " ".join(rest for word, rest in stage if word == "RUN")
    assert f"--uid {uid} " in runs and f"install -d -o {uid} -g {gid} /data" in runs
    words = [word for word, _ in stage]
    assert words.index("USER") > max(i for i, word in enumerate(words) if word == "RUN")
    assert ("ENTRYPOINT", '["searchsim"]') in stage


def test_there_are_two_stages_of_one_base() -> None:
    bases = [rest.split()[0] for word, rest in instructions() if word == "FROM"]
    assert bases == ["python:3.12-slim"] * 2
    for word, rest in instructions():
        if word == "RUN" and "pip " in rest:
            assert "--no-cache-dir" in rest


@pytest.mark.parametrize("name", ["Dockerfile", "docker-compose.yml", ".dockerignore"])
def test_no_registry_is_named(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    assert set(re.findall(r"\w+://([^/:\s]+)", text)) <= {"127.0.0.1", "elasticsearch"}
    assert "index-url" not in text
