"""What can't be led to the world is refused and recorded."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp.web
import pytest

from searchsim.redirect.environment import HOOK, environment
from searchsim.redirect.findings import Findings, read
from tests.redirect.conftest import Turned, pythons

ATTEMPTS = {
    "tcp://192.0.2.9:80": "socket.create_connection(('192.0.2.9', 80), 5)",
    "tcp://[2001:db8::9]:80": "socket.socket(socket.AF_INET6).connect(('2001:db8::9', 80))",
    "tcp://name.example:443": "socket.socket().connect(('name.example', 443))",
    "dns://looked-up.example": "socket.getaddrinfo('looked-up.example', 443)",
    "dns://by-name.example": "socket.gethostbyname('by-name.example')",
    "dns://192.0.2.10": "socket.gethostbyaddr('192.0.2.10')",
    "dns://192.0.2.11": "socket.getnameinfo(('192.0.2.11', 80), 0)",
    "udp://192.0.2.12:53": "socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.12', 53))",
    "udp://192.0.2.13:9": "socket.socket(type=socket.SOCK_DGRAM).sendmsg([b'x'], [], 0, ('192.0.2.13', 9))",
    "udp://127.0.0.53:53": "socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.53', 53))",
    "tcp://127.0.0.1:9": "socket.create_connection(('127.0.0.1', 9), 5)",
    "tcp://192.0.2.14:80": "_socket.socket().connect(('192.0.2.14', 80))",
    "tcp://192.0.2.15:80": "asyncio.run(asyncio.open_connection('192.0.2.15', 80))",
    "dns://async.example": "asyncio.run(asyncio.open_connection('async.example', 80))",
    "dns://mail.example": "smtplib.SMTP('mail.example')",
}


@pytest.mark.parametrize("python", pythons(), ids=lambda p: p.split("/")[-3])
async def test_everything_else_is_refused(turned: Turned, python: str) -> None:
    code = f"""
import _socket, asyncio, smtplib, socket
for attempt in {list(ATTEMPTS.values())!r}:
    try:
        eval(attempt)
        print("went through:", attempt)
    except ConnectionRefusedError as refusal:
        if "searchsim refused" not in str(refusal) or "--allow-host" not in str(refusal):
            print(attempt, refusal)
print(socket.socket().connect_ex(("192.0.2.16", 80)))
"""
    result = await turned(python, "-W", "ignore", "-c", code)
    assert result.out.split() == ["111"], result.err
    assert result.refused() == [*ATTEMPTS, "tcp://192.0.2.16:80"]


async def test_uvloop_which_connects_below_python(turned: Turned, extras: str) -> None:
    code = """
import asyncio, uvloop
async def all():
    loop = asyncio.get_running_loop()
    for attempt in (
        loop.create_connection(asyncio.Protocol, "192.0.2.9", 80),
        loop.create_connection(asyncio.Protocol, "name.example", 80),
        loop.create_datagram_endpoint(asyncio.DatagramProtocol, remote_addr=("192.0.2.9", 53)),
        loop.getaddrinfo("looked-up.example", 80),
    ):
        try:
            await attempt
            print("went through")
        except ConnectionRefusedError:
            pass
    server = await loop.create_server(asyncio.Protocol, "127.0.0.1", 0)
    await loop.create_connection(asyncio.Protocol, *server.sockets[0].getsockname())
uvloop.new_event_loop().run_until_complete(all())
"""
    result = await turned(extras, "-c", code)
    assert (result.code, result.out) == (0, ""), result.err
    assert result.refused() == [
        "tcp://192.0.2.9:80",
        "tcp://name.example:80",
        "udp://192.0.2.9:53",
        "dns://looked-up.example",
    ]


async def test_what_stays_inside_goes_on(turned: Turned) -> None:
    """A program's own servers, those of its children, pairs, lookups of this machine."""
    code = """
import socket, subprocess, sys, threading, urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"mine")
    def log_message(self, *_): pass
server = HTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(urllib.request.urlopen("http://localhost:%d/" % server.server_port).read())
child = subprocess.Popen([sys.executable, "-c", "import socket; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True); s.accept()"], stdout=subprocess.PIPE)
socket.create_connection(("127.0.0.1", int(child.stdout.readline()))).close()
child.wait()
a, b = socket.socketpair(); a.sendall(b"x"); print(b.recv(1))
socket.getaddrinfo("localhost", 80), socket.getaddrinfo("127.0.0.1", 80), socket.gethostbyname(socket.gethostname())
print("done")
"""
    result = await turned(sys.executable, "-W", "ignore", "-c", code)
    assert result.out.split() == ["b'mine'", "b'x'", "done"], result.err
    assert result.refused() == []


@pytest.fixture
async def elsewhere() -> AsyncIterator[str]:
    """A server of the user's on this machine: host and port."""
    app = aiohttp.web.Application()

    async def answer(request: aiohttp.web.Request) -> aiohttp.web.Response:
        return aiohttp.web.Response(text=" ".join(h for h in request.headers if h.startswith("X-Searchsim")) or "plain")

    app.router.add_get("/", answer)
    runner = aiohttp.web.AppRunner(app)
    await runner.setup()
    await aiohttp.web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


ASK = """
import sys, urllib.request
try:
    print(urllib.request.urlopen("http://" + sys.argv[1]).read().decode())
except Exception as problem:
    print(problem)
"""


async def test_hosts_that_are_allowed(turned: Turned, elsewhere: str) -> None:
    refused = await turned(sys.executable, "-c", ASK, elsewhere)
    assert f"--allow-host {elsewhere}" in refused.out
    allowed = await turned(sys.executable, "-c", ASK, elsewhere, allow=[elsewhere])
    assert allowed.out.strip() == "plain", "what goes elsewhere isn't told of the world"
    other_port = await turned(sys.executable, "-c", ASK, elsewhere, allow=["127.0.0.1:9"])
    assert "searchsim refused" in other_port.out
    any_port = await turned(sys.executable, "-c", ASK, elsewhere.replace("127.0.0.1", "localhost"), allow=["localhost"])
    assert any_port.out.strip() == "plain"


async def test_a_name_that_is_allowed(turned: Turned, elsewhere: str) -> None:
    """The address that it is looked up as may be connected to; the lookup is a stand-in here."""
    code = f"""
import _socket
real = _socket.getaddrinfo
_socket.getaddrinfo = lambda host, *more: real("127.0.0.1" if host == "there.example" else host, *more)
import socket
print(len(socket.getaddrinfo("there.example", 80)) > 0)
socket.create_connection(("there.example", {elsewhere.split(":")[1]})).close()
try:
    socket.getaddrinfo("not-there.example", 80)
except OSError as problem:
    print(type(problem).__name__)
"""
    result = await turned(sys.executable, "-c", code, allow=["there.example"])
    assert result.out.split() == ["True", "RedirectRefused"], result.err


async def test_a_hook_that_cannot_be_set_up_ends_the_process() -> None:
    env = {**os.environ, **environment("http://", "key"), "SEARCHSIM_REDIRECT_URL": "nonsense://"}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "print('ran')", env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    out, err = await process.communicate()
    assert (process.returncode, out) == (70, b"")
    assert b"the redirection can't be set up" in err


async def test_another_sitecustomize_still_runs(turned: Turned, tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "sitecustomize.py").write_text("HERE = 1\nprint('theirs', __name__)\n")
    code = "import os, sitecustomize; print(sitecustomize.HERE, os.environ['PYTHONPATH'])"
    result = await turned(sys.executable, "-c", code, env={"PYTHONPATH": str(tmp_path / "theirs")})
    assert result.out.splitlines() == ["theirs sitecustomize", f"1 {tmp_path / 'theirs'}"]


def test_the_hook_is_read_by_any_python_from_3_8() -> None:
    own = {path.stem for path in HOOK.glob("*.py")}
    for path in HOOK.glob("*.py"):
        tree = ast.parse(path.read_text("utf-8"), feature_version=(3, 8))
        used = {n.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for n in node.names}
        used |= {str(node.module).split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert used - own <= sys.stdlib_module_names, path.name


def test_a_log_with_a_broken_line(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert read(log) == Findings()
    lines = [{"event": "hooked", "pid": 1}, {"event": "refused", "host": "h", "url": "dns://h"}, {"event": "new"}]
    log.write_text("\n".join(map(json.dumps, lines)) + '\n{"event": "ref')
    assert read(log) == Findings(hooked=1, refused=(("h", "dns://h"),))
