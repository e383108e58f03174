"""A genuine Elasticsearch for development and tests: in Docker where there is an engine, else as a JVM node.

The JVM node is made of Elasticsearch's own artifacts, which Maven brings. It has the core alone: no security, no
language analyzers, no scripts; searchsim needs none of them.

    python tools/elasticsearch/node.py start    start one, detached; prints its URL once it is healthy
    python tools/elasticsearch/node.py stop     end it
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Node", "NodeError", "find_java", "find_maven", "start_node"]

HERE = Path(__file__).parent
COMPOSE = HERE.parent.parent / "docker-compose.yml"
_LEAST_JAVA = 21
_HEALTHY_WITHIN = 120


class NodeError(Exception):
    """A node can't be started; the message says what is missing."""


@dataclass(frozen=True)
class Node:
    """A running JVM node.

    Attributes:
        url: Where it answers.
        pid: Its process, which leads a session of its own.
        home: Its folder, with its data.
    """

    url: str
    pid: int
    home: Path

    def stop(self, *, hard: bool = False) -> None:
        """End it and wait until it is gone; `hard` is a kill -9."""
        try:
            os.kill(self.pid, signal.SIGKILL if hard else signal.SIGTERM)
        except ProcessLookupError:
            return
        deadline = time.monotonic() + 20
        while _alive(self.pid):
            if time.monotonic() > deadline:
                os.kill(self.pid, signal.SIGKILL)
                deadline += 20
            time.sleep(0.05)
        _children.pop(self.pid, None)


_children: dict[int, subprocess.Popen[bytes]] = {}


def _alive(pid: int) -> bool:
    """Whether a process runs; a child of ours that has ended is reaped here."""
    if pid in _children:
        return _children[pid].poll() is None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def find_java() -> Path:
    """A Java that is new enough: JAVA_HOME's, the PATH's, or one beside the usual ones.

    Raises:
        NodeError: There is none.
    """
    homes = [Path(os.environ["JAVA_HOME"]) / "bin" / "java"] if os.environ.get("JAVA_HOME") else []
    if on_path := shutil.which("java"):
        homes.append(Path(on_path))
    homes += sorted(Path("/usr/lib/jvm").glob("*/bin/java"), reverse=True)
    for java in homes:
        if java.is_file() and (java.parent / "javac").exists() and _java_version(java) >= _LEAST_JAVA:
            return java
    raise NodeError(f"no JDK of version {_LEAST_JAVA} or newer: install one, or name it in JAVA_HOME")


def _java_version(java: Path) -> int:
    told = subprocess.run([str(java), "-version"], capture_output=True, text=True, check=False).stderr
    quoted = told.split('"')[1] if '"' in told else "0"
    return int(quoted.split(".")[0].split("-")[0])


def find_maven() -> Path:
    """Maven's command.

    Raises:
        NodeError: It isn't there.
    """
    if found := shutil.which("mvn"):
        return Path(found)
    raise NodeError("no mvn: install Maven, which brings Elasticsearch's jars")


def version() -> str:
    """The version of Elasticsearch that pom.xml names."""
    found = ElementTree.parse(HERE / "pom.xml").findtext("./dependencies/dependency/version")
    if found is None:
        raise NodeError("pom.xml names no version")
    return found


def _cache() -> Path:
    base = os.environ.get("SEARCHSIM_TOOLS_CACHE") or Path.home() / ".cache" / "searchsim-tools"
    made_of = hashlib.sha256((HERE / "EsNode.java").read_bytes() + (HERE / "pom.xml").read_bytes()).hexdigest()
    return Path(base) / f"elasticsearch-{version()}-{made_of[:8]}"


def _jars() -> Path:
    """The folder of the jars, brought by Maven the first time: modules/ on the module path, netty/ for the plugin."""
    target = _cache()
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as name:
        work = Path(name)
        command = [str(find_maven()), "-q", "-B", "-f", str(HERE / "pom.xml"), "dependency:copy-dependencies"]
        done = subprocess.run(
            [*command, "-DincludeScope=runtime", f"-DoutputDirectory={work / 'all'}"],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise NodeError(f"Maven can't bring Elasticsearch's jars: {(done.stdout + done.stderr).strip()[-500:]}")
        made = work / "made"
        for part in ("modules", "netty", "classes"):
            (made / part).mkdir(parents=True)
        for jar in (work / "all").glob("*.jar"):
            shutil.move(jar, made / ("netty" if "netty" in jar.name else "modules") / jar.name)
        plugin = next((made / "netty").glob("transport-netty4-*.jar"))
        shutil.unpack_archive(plugin, work / "plugin", "zip")
        for described in (work / "plugin" / "META-INF" / "es-plugins" / "transport-netty4").iterdir():
            shutil.copy(described, made / "netty")
        java = find_java()
        modules = os.pathsep.join(str(j) for j in (made / "modules").glob("*.jar"))
        done = subprocess.run(
            [str(java.with_name("javac")), "-cp", modules, "-d", str(made / "classes"), str(HERE / "EsNode.java")],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise NodeError(f"EsNode.java can't be compiled: {done.stderr.strip()[-500:]}")
        try:
            made.rename(target)
        except OSError:
            if not target.is_dir():
                raise
    return target


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def start_node(home: Path, *, heap: str = "1g", port: int | None = None) -> Node:
    """Start a JVM node and wait until it is healthy.

    Args:
        home: Its folder; what data is there is kept.
        heap: Its memory.
        port: Where it shall answer; else any free port of loopback.

    Raises:
        NodeError: Java, Maven or the jars are missing, or it doesn't become healthy.
    """
    java, jars = find_java(), _jars()
    for part in ("config", "lib", "plugins", "logs"):
        (home / part).mkdir(parents=True, exist_ok=True)
    shutil.copy(HERE / "log4j2.properties", home / "config")
    shutil.copytree(jars / "netty", home / "modules" / "transport-netty4", dirs_exist_ok=True)
    http = port or _free_port()
    command = [
        str(java),
        f"-Xmx{heap}",
        f"-Xms{heap}",
        "--enable-native-access=ALL-UNNAMED",
        f"-Djava.io.tmpdir={home / 'logs'}",
        "-p",
        str(jars / "modules"),
        "--add-modules",
        "ALL-MODULE-PATH,jdk.incubator.vector",
        "-cp",
        str(jars / "classes"),
        "EsNode",
        str(home),
        str(http),
        str(_free_port()),
    ]
    with (home / "logs" / "out").open("ab") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd=home
        )
    _children[process.pid] = process
    node = Node(f"http://127.0.0.1:{http}", process.pid, home)
    try:
        _wait(node)
    except NodeError:
        node.stop(hard=True)
        raise
    return node


def _wait(node: Node) -> None:
    deadline = time.monotonic() + _HEALTHY_WITHIN
    while time.monotonic() < deadline:
        if not _alive(node.pid):
            break
        if healthy(node.url):
            return
        time.sleep(0.2)
    tail = (node.home / "logs" / "out").read_text("utf-8", "replace")[-800:]
    raise NodeError(f"Elasticsearch didn't become healthy: {tail}")


def healthy(url: str) -> bool:
    """Whether a node answers and isn't red."""
    try:
        with urllib.request.urlopen(f"{url}/_cluster/health", timeout=5) as answer:
            return json.load(answer)["status"] in ("green", "yellow")
    except (OSError, ValueError, KeyError):
        return False


# --- for make ------------------------------------------------------------------------------------------------------


# Compose wants the server's token whatever service is meant; this one reaches none.
_COMPOSE_ENVIRONMENT = {"SEARCHSIM_CONTROL_TOKEN": "unused", **os.environ}


def _state() -> Path:
    return _cache().parent / "node.json"


def _docker() -> bool:
    if not shutil.which("docker"):
        return False
    return subprocess.run(["docker", "info"], capture_output=True, check=False).returncode == 0


def _start() -> str:
    state = _state()
    if state.is_file():
        url: str = json.loads(state.read_text())["url"]
        if healthy(url):
            return url
        _stop()
    if _docker():
        subprocess.run(
            ["docker", "compose", "-f", str(COMPOSE), "up", "-d", "--wait", "elasticsearch"],
            check=True,
            stdout=sys.stderr,
            env=_COMPOSE_ENVIRONMENT,
        )
        told = {"url": "http://127.0.0.1:9200", "docker": True}
    else:
        home = _cache().parent / "node"
        node = start_node(home)
        told = {"url": node.url, "pid": node.pid, "home": str(home)}
    state.parent.mkdir(parents=True, exist_ok=True)
    state.write_text(json.dumps(told))
    return str(told["url"])


def _stop() -> None:
    state = _state()
    if not state.is_file():
        return
    told = json.loads(state.read_text())
    if told.get("docker"):
        subprocess.run(
            ["docker", "compose", "-f", str(COMPOSE), "stop", "elasticsearch"], check=True, env=_COMPOSE_ENVIRONMENT
        )
    else:
        node = Node(told["url"], told["pid"], Path(told["home"]))
        # The process's number may have been given to another since: only a node of ours is ended.
        command = Path(f"/proc/{node.pid}/cmdline")
        if not command.exists() or b"EsNode" in command.read_bytes():
            node.stop()
    state.unlink()


def main() -> int:
    """Start or stop the one node of make."""
    if sys.argv[1:] == ["start"]:
        try:
            print(_start())
        except (NodeError, subprocess.CalledProcessError) as problem:
            print(f"make elasticsearch: {problem}", file=sys.stderr)
            return 1
        return 0
    if sys.argv[1:] == ["stop"]:
        _stop()
        return 0
    print("usage: node.py start|stop", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
