"""Turn this process's web traffic to a simulation, and let nothing else out.

Standard library alone, Python 3.8 to 3.13. `sitecustomize` beside it installs it in every Python that has this folder
on PYTHONPATH. It works in two layers:

1. The libraries' own transports (http.client, and with it urllib, urllib3 and requests; httpcore, and with it httpx;
   aiohttp) are led to the simulation: the connection goes there, without TLS, and the request carries its original URL
   and the world's key. Everything else about the request stays, so that clients see the URLs they asked for.
2. An audit hook refuses every socket and every lookup that leads elsewhere. It sits below all Python code and can't be
   taken away, so that a library the first layer doesn't know fails closed.

Children inherit it: the calls that start programs put its variables back, whatever environment they are given.
"""

from __future__ import annotations

import _socket
import errno
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    # At run time these would cost every Python that starts their import.
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

__all__ = ["RedirectRefused", "install", "next_sitecustomize"]

_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib is slow to import
_PRELOAD = os.path.join(_HERE, "preload.cjs")  # noqa: PTH118
_WORLD_HEADER = "X-Searchsim-World"
_URL_HEADER = "X-Searchsim-Original-Url"
_KEPT = (
    "SEARCHSIM_REDIRECT_URL",
    "SEARCHSIM_REDIRECT_WORLD",
    "SEARCHSIM_REDIRECT_MODEL",
    "SEARCHSIM_REDIRECT_ALLOW",
    "SEARCHSIM_REDIRECT_LOG",
    "SEARCHSIM_REDIRECT_CLOCK",
    # Programs that no hook can enter often keep to these: the simulation refuses what they bring.
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
)
_INET = (_socket.AF_INET, getattr(_socket, "AF_INET6", _socket.AF_INET))
_LOCAL = {getattr(_socket, name, None) for name in ("AF_UNIX", "AF_NETLINK", "AF_ALG")}
_DNS_PORT = 53


class RedirectRefused(ConnectionRefusedError):  # noqa: N818 - it reads as what happened
    """Traffic to somewhere that is neither the simulation, nor the model, nor allowed."""


def _split(netloc: str, default: int | None) -> tuple[str, int | None]:
    """Host and port of the authority of a URL."""
    netloc = netloc.rpartition("@")[2]
    host, sign, port = netloc.rpartition(":")
    if not sign or "]" in port or (":" in host and not host.endswith("]")):
        host, port = netloc, ""
    return _plain(host), int(port) if port.isdigit() else default


def _plain(host: str) -> str:
    return host.strip("[]").rstrip(".").lower()


def _authority(url: str) -> tuple[str, int | None]:
    """Host and port that a URL leads to."""
    scheme, _, rest = url.partition("://")
    for end in "/?#":
        rest = rest.partition(end)[0]
    return _split(rest, 443 if scheme.lower() in ("https", "wss") else 80)


class _Settings:
    """What the environment says, read once."""

    def __init__(self) -> None:
        self.world = os.environ.get("SEARCHSIM_REDIRECT_WORLD", "")
        self.log = os.environ.get("SEARCHSIM_REDIRECT_LOG", "")
        host, port = _authority(os.environ["SEARCHSIM_REDIRECT_URL"])
        if not host:
            raise ValueError("SEARCHSIM_REDIRECT_URL is no URL")
        self.simulation: tuple[str, int] = (host, port or 80)
        models = os.environ.get("SEARCHSIM_REDIRECT_MODEL", "").replace(",", " ").split()
        allowed = os.environ.get("SEARCHSIM_REDIRECT_ALLOW", "").replace(",", " ").split()
        # Where traffic goes as it is; a port of None is any port.
        self.direct: list[tuple[str, int | None]] = [(host, port)]
        self.direct += [_authority(url) for url in models]
        self.direct += [_split(host, None) for host in allowed]
        self.kept = {name: os.environ[name] for name in _KEPT if name in os.environ}


_settings: _Settings
_resolved: dict[str, set[str]] = {}
_resolved_at: dict[str, float] = {}
_listening: set[int] = set()
_told: set[str] = set()


# What may go where.


def _numeric(host: str) -> Any:
    """The address that a host is, or None where it is a name."""
    import ipaddress

    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        try:
            # 127.1 and the like are addresses for the C library.
            return ipaddress.ip_address(_socket.inet_ntoa(_socket.inet_aton(host)))
        except (OSError, ValueError):
            return None
    return getattr(address, "ipv4_mapped", None) or address


def _loopback(host: str) -> bool:
    if host in ("localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback") or host.endswith(".localhost"):
        return True
    address = _numeric(host)
    return address is not None and (address.is_loopback or address.is_unspecified)


def _direct(host: str, port: int | None) -> bool:
    """Whether a place is the simulation, the model, or allowed."""
    loopback = None
    for name, only in _settings.direct:
        if only is not None and port is not None and only != port:
            continue
        if host == name or host in _resolved.get(name, ()):
            return True
        if loopback is None:
            loopback = _loopback(host)
        if loopback and _loopback(name):
            return True
    return False


def _direct_address(host: str, port: int) -> bool:
    """`_direct` for an address, which may be that of an allowed name that something else than Python looked up."""
    if _direct(host, port):
        return True
    if _numeric(host) is None:
        return False
    now = time.monotonic()
    for name, _ in _settings.direct:
        if _numeric(name) is None and not _loopback(name) and now - _resolved_at.get(name, -60.0) > 30:
            _resolved_at[name] = now
            try:
                _note_addresses(name, _socket.getaddrinfo(name, None))
            except OSError:
                continue
    return _direct(host, port)


def _note_addresses(name: str, found: Iterable[Any]) -> None:
    _resolved.setdefault(name, set()).update(str(entry[4][0]) for entry in found)


def _redirected(host: str, port: int | None) -> bool:
    """Whether a request to a host goes to the simulation instead. What is on this machine is left to the guard."""
    host = _plain(host)
    return not _direct(host, port) and not _loopback(host)


# What is told.


def _tell(**facts: object) -> None:
    """Add a line to the run's record; whole lines, whoever else writes."""
    if not _settings.log:
        return
    import json

    line = json.dumps(facts).encode() + b"\n"
    file = os.open(_settings.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, line)
    finally:
        os.close(file)


def _tell_once(**facts: object) -> None:
    key = repr(sorted(facts.items()))
    if key not in _told:
        _told.add(key)
        _tell(**facts)


def _refuse(host: str, port: int | None, scheme: str) -> None:
    shown = f"[{host}]" if ":" in host else host
    place = f"{shown}:{port}" if port else shown
    _tell(event="refused", host=host, url=f"{scheme}://{place}")
    what = "the lookup of" if scheme == "dns" else "a connection to"
    raise RedirectRefused(
        errno.ECONNREFUSED,
        f"searchsim refused {what} {place}, which is neither the simulation nor the model; "
        f"if the program must reach it, start `searchsim run` with --allow-host {place if _loopback(host) else host}",
    )


# The guard.


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    check = _CHECKS.get(event)
    if check is not None:
        check(*arguments)


def _check_connect(sock: Any, address: Any) -> None:
    if sock.family in _LOCAL:
        return
    if sock.family not in _INET or not isinstance(address, tuple):
        _refuse(f"family-{int(sock.family)}", None, "socket")
    stream = sock.type & 0xF == _socket.SOCK_STREAM
    _check_place(address[0], address[1], "tcp" if stream else "udp")


def _check_send(sock: Any, address: Any) -> None:
    if address is not None:
        _check_connect(sock, address)


def _check_place(host: Any, port: Any, scheme: str) -> None:
    host = _plain(os.fsdecode(host))
    port = int(port)
    if _direct_address(host, port):
        if not _loopback(host):
            _tell_once(event="passed", address=host)
        return
    if _loopback(host) and (_ours(port) if scheme == "tcp" else port != _DNS_PORT):
        return
    _refuse(host, port, scheme)


def _ours(port: int) -> bool:
    """Whether something in this run listens on a port of this machine: agents start servers of their own."""
    if port in _listening:
        return True
    if _settings.log:
        import json

        with open(_settings.log, encoding="utf-8") as lines:  # noqa: PTH123
            for line in lines:
                if '"listening"' in line and line.endswith("}\n"):
                    _listening.add(json.loads(line).get("port"))
    return port in _listening


def _check_lookup(host: Any, *_: Any) -> None:
    if host is None or host in ("", b""):
        return
    name = _plain(host if isinstance(host, str) else os.fsdecode(host))
    if _numeric(name) is not None or _loopback(name) or _direct(name, None) or name == _own_name():
        return
    _refuse(name, None, "dns")


def _check_reverse(host: Any, *_: Any) -> None:
    """A lookup of an address's name."""
    name = _plain(os.fsdecode(host))
    if not _loopback(name) and not _direct(name, None) and name != _own_name():
        _refuse(name, None, "dns")


def _own_name() -> str:
    return _socket.gethostname().lower()


_CHECKS: dict[str, Callable[..., None]] = {
    "socket.connect": _check_connect,
    "socket.sendto": _check_send,
    "socket.sendmsg": _check_send,
    "socket.getaddrinfo": _check_lookup,
    "socket.gethostbyname": _check_lookup,
    "socket.gethostbyaddr": _check_reverse,
}


def _patch_socket(module: Any) -> None:
    """What the audit can't do.

    Refuse names before C looks them up, remember the addresses of allowed names and of servers, and keep `connect_ex`
    to its contract.
    """
    getaddrinfo, gethostbyname, getnameinfo = module.getaddrinfo, module.gethostbyname, module.getnameinfo
    connect, connect_ex, listen = module.socket.connect, module.socket.connect_ex, module.socket.listen
    sendto, sendmsg = module.socket.sendto, module.socket.sendmsg

    def patched_getaddrinfo(host: Any, *arguments: Any, **more: Any) -> Any:
        found = getaddrinfo(host, *arguments, **more)
        if isinstance(host, str) and _direct(_plain(host), None):
            _note_addresses(_plain(host), found)
        return found

    def patched_gethostbyname(host: Any) -> Any:
        found = gethostbyname(host)
        if isinstance(host, str) and _direct(_plain(host), None):
            _resolved.setdefault(_plain(host), set()).add(found)
        return found

    def patched_getnameinfo(address: Any, flags: int) -> Any:
        if not flags & module.NI_NUMERICHOST:
            _check_reverse(address[0])
        return getnameinfo(address, flags)

    def check_name(sock: Any, address: Any) -> None:
        if sock.family in _INET and isinstance(address, tuple) and _numeric(os.fsdecode(address[0])) is None:
            _check_connect(sock, address)

    def patched_connect(self: Any, address: Any) -> Any:
        check_name(self, address)
        return connect(self, address)

    def patched_connect_ex(self: Any, address: Any) -> Any:
        try:
            check_name(self, address)
            return connect_ex(self, address)
        except RedirectRefused as refusal:
            return refusal.errno

    def patched_sendto(self: Any, data: Any, *given: Any) -> Any:
        check_name(self, given[-1] if given else None)
        return sendto(self, data, *given)

    def patched_sendmsg(self: Any, *given: Any) -> Any:
        check_name(self, given[3] if len(given) > 3 else None)
        return sendmsg(self, *given)

    def patched_listen(self: Any, *arguments: Any) -> Any:
        result = listen(self, *arguments)
        if self.family in _INET:
            _note_listening(self.getsockname()[1])
        return result

    module.getaddrinfo, module.gethostbyname = patched_getaddrinfo, patched_gethostbyname
    module.getnameinfo = patched_getnameinfo
    module.socket.connect, module.socket.connect_ex = patched_connect, patched_connect_ex
    module.socket.sendto, module.socket.sendmsg = patched_sendto, patched_sendmsg
    module.socket.listen = patched_listen


def _note_listening(port: int) -> None:
    if port not in _listening:
        _listening.add(port)
        _tell(event="listening", port=port)


# The libraries' transports.


def _marks(scheme: str, host: str, port: int | None, target: str) -> list[tuple[str, str]]:
    """The headers that a request gets: its world, and where it would have gone."""
    if target.startswith(("http://", "https://")):
        # A proxy is asked: the request line has the whole URL.
        host, port = _authority(target)
        original = target
    else:
        shown = host.encode("idna").decode() if not host.isascii() else f"[{host}]" if ":" in host else host
        usual = {"http": 80, "https": 443}.get(scheme)
        place = shown if port in (None, usual) else f"{shown}:{port}"
        original = f"{scheme}://{place}{target}"
    world = [(_WORLD_HEADER, _settings.world)] if _settings.world else []
    if _redirected(host, port):
        return [*world, (_URL_HEADER, original)]
    return world if (_plain(host), port) == _settings.simulation else []


def _patch_http_client(module: Any) -> None:
    """http.client, and whatever builds on it: urllib, urllib3, requests, botocore, httplib2."""
    base = module.HTTPConnection
    putrequest, putheader = base.putrequest, base.putheader

    def patched_putrequest(self: Any, method: str, url: str, *arguments: Any, **more: Any) -> None:
        putrequest(self, method, url, *arguments, **more)
        for name, value in _marks(*_place_of(self), target=url or "/"):
            putheader(self, name, value)

    def init_subclass(cls: Any, **more: Any) -> None:
        super(base, cls).__init_subclass__(**more)
        _turn_connect(cls)

    def turn_all(cls: Any) -> None:
        _turn_connect(cls)
        for subclass in cls.__subclasses__():
            turn_all(subclass)

    base.putrequest = patched_putrequest
    turn_all(base)
    # Subclasses connect in ways of their own, and are yet to come.
    base.__init_subclass__ = classmethod(init_subclass)  # type: ignore[arg-type]


def _place_of(connection: Any) -> tuple[str, str, int | None]:
    """Scheme, host and port that a connection is for, behind the proxy if there is one."""
    tunnel = getattr(connection, "_tunnel_host", None)
    port = getattr(connection, "_tunnel_port", None) if tunnel else connection.port
    secure = bool(tunnel) or getattr(connection, "default_port", None) == 443
    return "https" if secure else "http", tunnel or connection.host, port or (443 if secure else 80)


def _turn_connect(cls: Any) -> None:
    connect = cls.__dict__.get("connect")
    if not callable(connect) or hasattr(connect, "searchsim"):
        return

    def patched(self: Any, *arguments: Any, **more: Any) -> Any:
        _, host, port = _place_of(self)
        if not _redirected(host, port):
            return connect(self, *arguments, **more)
        import socket

        timeout = getattr(self, "timeout", None)
        given: Any = [timeout] if timeout is None or isinstance(timeout, (int, float)) else []
        self.sock = socket.create_connection(_settings.simulation, *given)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if hasattr(self, "is_verified"):
            self.is_verified = True
        return None

    patched.searchsim = True  # type: ignore[attr-defined]
    cls.connect = patched


def _patch_httpcore(module: Any) -> None:
    """httpcore, and with it httpx: sync and async pools, those of proxies too."""

    def turned(request: Any) -> Any:
        url = request.url
        scheme = url.scheme.decode()
        port = url.port or (443 if scheme in ("https", "wss") else 80)
        marks = _marks(scheme, url.host.decode(), port, url.target.decode())
        if not marks:
            return request, False
        away = any(name == _URL_HEADER for name, _ in marks)
        if away:
            host, port = _settings.simulation
            url = module.URL(scheme=b"http", host=host.encode(), port=port, target=url.target)
        marked = module.Request(
            method=request.method,
            url=url,
            headers=[*request.headers, *((name.encode(), value.encode("latin-1")) for name, value in marks)],
            content=request.stream,
            extensions=request.extensions,
        )
        return marked, away

    def pool_for(pool: Any, plain: Any) -> Any:
        """The pool itself, or where its connections go through a proxy, one beside it that goes straight."""
        proxied = getattr(pool, "_proxy", None) is not None or hasattr(pool, "_proxy_url")
        if not proxied:
            return pool
        if "_searchsim_plain" not in pool.__dict__:
            pool._searchsim_plain = plain(max_keepalive_connections=0)
        return pool._searchsim_plain

    handle = module.ConnectionPool.handle_request
    handle_async = module.AsyncConnectionPool.handle_async_request

    def patched(self: Any, request: Any) -> Any:
        if getattr(self, "_uds", None):
            return handle(self, request)
        marked, away = turned(request)
        return handle(pool_for(self, module.ConnectionPool) if away else self, marked)

    async def patched_async(self: Any, request: Any) -> Any:
        if getattr(self, "_uds", None):
            return await handle_async(self, request)
        marked, away = turned(request)
        return await handle_async(pool_for(self, module.AsyncConnectionPool) if away else self, marked)

    module.ConnectionPool.handle_request = patched
    module.AsyncConnectionPool.handle_async_request = patched_async


def _patch_aiohttp(module: Any) -> None:
    """aiohttp.connector: a request's URL is the simulation's while its connection is found, and its own again then."""
    connect = module.BaseConnector.connect
    local = tuple(getattr(module, name) for name in ("UnixConnector", "NamedPipeConnector") if hasattr(module, name))

    async def patched(self: Any, req: Any, *arguments: Any, **more: Any) -> Any:
        url = req.url
        marks = [] if isinstance(self, local) else _marks(url.scheme, url.raw_host or "", url.port, url.raw_path_qs)
        for name, value in marks:
            req.headers[name] = value
        if not any(name == _URL_HEADER for name, _ in marks):
            return await connect(self, req, *arguments, **more)
        host, port = _settings.simulation
        req.url = url.with_scheme("http").with_host(host).with_port(port)
        req.proxy = None
        try:
            return await connect(self, req, *arguments, **more)
        finally:
            req.url = url

    module.BaseConnector.connect = patched


def _patch_uvloop(module: Any) -> None:
    """Uvloop connects and looks up below Python, where no audit sees it."""
    loop = module.Loop
    connection, datagram = loop.create_connection, loop.create_datagram_endpoint
    server, getaddrinfo = loop.create_server, loop.getaddrinfo

    async def create_connection(self: Any, factory: Any, host: Any = None, port: Any = None, **more: Any) -> Any:
        if host is not None:
            _check_place(host, port or 0, "tcp")
        return await connection(self, factory, host, port, **more)

    async def create_datagram_endpoint(
        self: Any, factory: Any, local_addr: Any = None, remote_addr: Any = None, **more: Any
    ) -> Any:
        if remote_addr is not None:
            _check_place(remote_addr[0], remote_addr[1], "udp")
        return await datagram(self, factory, local_addr, remote_addr, **more)

    async def create_server(self: Any, *arguments: Any, **more: Any) -> Any:
        made = await server(self, *arguments, **more)
        for sock in made.sockets or ():
            _note_listening(sock.getsockname()[1])
        return made

    async def looked_up(self: Any, host: Any, port: Any, **more: Any) -> Any:
        _check_lookup(host)
        return await getaddrinfo(self, host, port, **more)

    loop.create_connection, loop.create_datagram_endpoint = create_connection, create_datagram_endpoint
    loop.create_server, loop.getaddrinfo = create_server, looked_up


_PATCHES: dict[str, Callable[[Any], None]] = {
    "socket": _patch_socket,
    "http.client": _patch_http_client,
    "httpcore": _patch_httpcore,
    "httpcore2": _patch_httpcore,
    "aiohttp.connector": _patch_aiohttp,
    "uvloop": _patch_uvloop,
}


class _Finder:
    """Patches a library as soon as it is imported, and costs nothing before."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        patch = _PATCHES.get(name)
        if patch is None:
            return None
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find else None
            if spec is not None:
                _patch_when_loaded(spec.loader, patch)
                return spec
        return None


def _patch_when_loaded(loader: Any, patch: Callable[[Any], None]) -> None:
    load = loader.exec_module

    def exec_module(module: Any) -> None:
        load(module)
        patch(module)

    loader.exec_module = exec_module


# Children.


def _restored(environment: Any) -> dict[bytes, bytes]:
    """An environment with the hook's variables put back."""
    env: dict[bytes, bytes] = {os.fsencode(k): os.fsencode(v) for k, v in dict(environment).items()}
    for name, value in _settings.kept.items():
        env[os.fsencode(name)] = os.fsencode(value)
    paths = [p for p in os.fsdecode(env.get(b"PYTHONPATH", b"")).split(os.pathsep) if p and p != _HERE]
    env[b"PYTHONPATH"] = os.fsencode(os.pathsep.join([_HERE, *paths]))
    options = os.fsdecode(env.get(b"NODE_OPTIONS", b""))
    if _PRELOAD not in options:
        env[b"NODE_OPTIONS"] = os.fsencode((f'--require "{_PRELOAD}" {options}').rstrip())
    return env


def _check_command(program: Any, arguments: Sequence[Any]) -> None:
    """Tell of a child that the hook can't enter."""
    words = [os.fsdecode(a) for a in arguments]
    name = os.path.basename(os.fsdecode(program))  # noqa: PTH119
    alone = name.startswith(("python", "pypy")) and _isolated(words[1:])
    if alone or name in ("deno", "bun"):
        _tell(event="unhooked", command=" ".join([name, *words[1:]])[:200])


def _isolated(options: Iterable[str]) -> bool:
    """Whether Python's options keep it from PYTHONPATH or from sitecustomize."""
    takes_value = False
    for word in options:
        if takes_value:
            takes_value = False
            continue
        if not word.startswith("-") or word in ("-", "--"):
            return False
        if word.startswith("--"):
            continue
        for position, letter in enumerate(word[1:], start=2):
            if letter in "ISE":
                return True
            if letter in "cm":
                return False
            if letter in "WX":
                takes_value = position == len(word)
                break
    return False


def _patch_starting() -> None:
    """Every way in which Python starts a program."""
    try:
        import _posixsubprocess
    except ImportError:
        pass
    else:
        fork_exec = _posixsubprocess.fork_exec

        def patched_fork_exec(*given: Any) -> Any:
            arguments = list(given)
            # Arguments, executables, …, environment: so since Python 3.2.
            _check_command(arguments[1][0], arguments[0])
            env = os.environ if arguments[5] is None else dict(e.partition(b"=")[::2] for e in arguments[5])
            arguments[5] = [k + b"=" + v for k, v in _restored(env).items()]
            return fork_exec(*arguments)

        _posixsubprocess.fork_exec = patched_fork_exec
        if hasattr(sys.modules.get("subprocess"), "_fork_exec"):
            sys.modules["subprocess"]._fork_exec = patched_fork_exec  # type: ignore[attr-defined]
    execve = os.execve

    def patched_execve(path: Any, arguments: Any, env: Any) -> Any:
        _check_command(path, arguments)
        return execve(path, arguments, _restored(env))

    def patched_execv(path: Any, arguments: Any) -> Any:
        return patched_execve(path, arguments, os.environ)

    os.execve, os.execv = patched_execve, patched_execv  # type: ignore[assignment]
    for name in ("posix_spawn", "posix_spawnp"):
        if hasattr(os, name):
            setattr(os, name, _turn_spawn(getattr(os, name)))
    system = os.system

    def patched_system(command: Any) -> int:
        # The shell takes the environment that C has.
        for name, value in _restored(os.environ).items():
            os.environ[os.fsdecode(name)] = os.fsdecode(value)
        try:
            return system(command)
        finally:
            _hide()

    os.system = patched_system


def _turn_spawn(spawn: Any) -> Any:
    def patched(path: Any, arguments: Any, env: Any, **more: Any) -> Any:
        _check_command(path, arguments)
        return spawn(path, arguments, _restored(os.environ if env is None else env), **more)

    return patched


def _hide() -> None:
    """Take the hook's folder from what the program sees of PYTHONPATH: the program's own part remains.

    C keeps the variable, and children get it back.
    """
    data = getattr(os.environ, "_data", None)
    name: Any = os.fsencode("PYTHONPATH")
    if isinstance(data, dict) and name in data:
        rest = [p for p in os.fsdecode(data[name]).split(os.pathsep) if p and p != _HERE]
        if rest:
            data[name] = os.fsencode(os.pathsep.join(rest))
        else:
            del data[name]


def install() -> None:
    """Install the hook; an error here must end the process, for nothing would stand between it and the network."""
    global _settings
    _settings = _Settings()
    sys.addaudithook(_audit)
    sys.meta_path.insert(0, _Finder())
    for name, patch in _PATCHES.items():
        if name in sys.modules:
            patch(sys.modules[name])
    _patch_starting()
    _hide()
    _tell(event="hooked", pid=os.getpid(), program=f"Python {sys.version_info[0]}.{sys.version_info[1]}")


def next_sitecustomize() -> None:
    """Import the sitecustomize that this one stands before, where there is another."""
    import importlib.machinery

    path = [p for p in sys.path if os.path.abspath(p) != _HERE]  # noqa: PTH100
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", path)
    if spec is not None and spec.loader is not None:
        import importlib.util

        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)
