"""Redirected traffic: a request for another host is answered by what stands for that host here.

A request is redirected where the hook has marked it with its original URL, or where it came as to a proxy, with the
whole URL in its request line. It is sent through the application again under the path that stands for its host: a
dialect's, the gateway's, or, where no dialect has the host, the page of its URL. What a page can't answer is refused
and recorded, and so is a tunnel, which a proxy's client asks for.
"""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Awaitable, Callable, Iterable
from types import ModuleType

from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from searchsim import trace
from searchsim.server.context import ASKED_HOST, CONTEXT, ORIGINAL_HEADER, WORLD_HEADER, named_world

__all__ = ["GATEWAY", "TABLE", "middleware", "register"]

# The model's host: its paths are the gateway's own.
GATEWAY = {"api.openai.com": "/v1"}

TABLE = web.AppKey("hosts", dict[str, str])
_OTHERS = web.AppKey("others", frozenset[str])
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def register(app: web.Application, parts: Iterable[ModuleType]) -> None:
    """Take up the hosts that dialects stand for: the ``HOSTS`` of each, host → path prefix."""
    table: dict[str, str] = {}
    names = {"_sim", "w", "page"}
    for part in parts:
        table |= getattr(part, "HOSTS", {})
        names.add(part.__name__.rpartition(".")[2])
    app[TABLE] = table
    # First segments that aren't those of a dialect at the root.
    app[_OTHERS] = frozenset({"", *names, *(p.split("/")[1] for p in (*table.values(), *GATEWAY.values()) if p)})


@web.middleware
async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Send redirected requests where they belong; all others pass."""
    if request.method == "CONNECT":
        return _refuse(request, request.raw_path.rpartition(":")[0].strip("[]").lower(), f"tcp://{request.raw_path}")
    original = request.headers.get(ORIGINAL_HEADER) or _asked_of_proxy(request)
    if original is None:
        return await handler(request)
    try:
        url = URL(original, encoded=True)
        host = (url.host or "").rstrip(".").lower()
    except ValueError:
        host = ""
    if not host or url.scheme not in ("http", "https"):
        # Control's own refusal is the plainer word.
        return await handler(request) if _is_control(request.path) else _plain(400, "400 Bad Request")
    path = _path(request.app, host, url.raw_path)
    if path is None and host in (*request.app[TABLE], *GATEWAY):
        return _plain(403, "403 Forbidden") if _is_control(url.path) else _plain(404, "404 Not Found")
    if path is None and request.method not in ("GET", "HEAD"):
        return _refuse(request, host, str(url.with_query(None).with_user(None)))
    if path is None:
        target = URL.build(path="/page", query={"url": str(url.with_user(None))})
    else:
        target = URL.build(path=path, query_string=url.raw_query_string, encoded=True)
    again = request.clone(rel_url=target, headers=_headers(request))
    again[ASKED_HOST] = host
    # aiohttp has no public name for this: the cloned request is routed, and passes the middlewares, as one that came.
    return await request.app._handle(again)


def _path(app: web.Application, host: str, path: str) -> str | None:
    """The path here of one at another host; None where nothing here stands for it."""
    if host in GATEWAY:
        return path if path.startswith(f"{GATEWAY[host]}/") else None
    prefix = app[TABLE].get(host)
    if prefix is None:
        return None
    if prefix:
        return prefix + ("" if path == "/" else path)
    return None if path.split("/")[1] in app[_OTHERS] else path


def _is_control(path: str) -> bool:
    return path == "/_sim" or path.startswith("/_sim/")


def _asked_of_proxy(request: web.Request) -> str | None:
    """The whole URL of a request line that was meant for a proxy, unless it is of this server."""
    asked = request.raw_path
    if not asked.startswith(("http://", "https://")):
        return None
    here = request.transport.get_extra_info("sockname") if request.transport else None
    try:
        url = URL(asked, encoded=True)
        if here and url.port == here[1] and url.host in (here[0], "localhost"):
            return None
    except ValueError:
        pass
    return asked


def _headers(request: web.Request) -> CIMultiDict[str]:
    """The headers without those that have done their work."""
    headers = request.headers.copy()
    if WORLD_HEADER not in headers and (key := _proxy_key(request)):
        headers[WORLD_HEADER] = key
    for name in (ORIGINAL_HEADER, "Proxy-Authorization", "Expect"):
        headers.popall(name, None)
    return headers


def _proxy_key(request: web.Request) -> str | None:
    """The world that the proxy's user names."""
    kind, _, coded = request.headers.get("Proxy-Authorization", "").partition(" ")
    if kind.lower() != "basic":
        return None
    try:
        return b64decode(coded, validate=True).decode().partition(":")[0] or None
    except (Base64Error, UnicodeDecodeError):
        return None


def _refuse(request: web.Request, host: str, url: str) -> web.Response:
    """Refuse what goes to a host that nothing here stands for, on the record of its world."""
    worlds = request.app[CONTEXT].worlds
    key = request.headers.get(WORLD_HEADER) or _proxy_key(request)
    world = worlds.find(key) if key else named_world(request)
    if world is not None:
        worlds.append(world, trace.refused(host=host, url=url[:2000]))
    if request.method == "CONNECT":
        message = (
            f"searchsim refused {host}: nothing here stands for it (`searchsim run --allow-host {host}` lets it)\n"
        )
        return web.Response(text=message, status=403, headers={"Connection": "close"})
    return _plain(404, "404 Not Found")


def _plain(status: int, text: str) -> web.Response:
    return web.Response(text=f"{text}\n", status=status)
