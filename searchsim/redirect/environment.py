"""The environment of a program whose traffic is turned to a world."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

__all__ = ["HOOK", "environment", "framework_variables", "redirection"]

HOOK = Path(__file__).parent / "hook"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")

# Where frameworks look for an API's address and key: {url} is the simulation's, {key} the world's.
_FRAMEWORKS = {
    "SERPER_BASE_URL": "{url}",
    "SERPER_API_KEY": "{key}",
    "JINA_BASE_URL": "{url}/jina",
    "JINA_API_KEY": "{key}",
    "TAVILY_API_KEY": "{key}",
    "EXA_API_KEY": "{key}",
    "BRAVE_API_KEY": "{key}",
    "BRAVE_SEARCH_API_KEY": "{key}",
    "BING_SEARCH_URL": "{url}/bing/v7.0/search",
    "BING_SUBSCRIPTION_KEY": "{key}",
    # SearXNG has no key. langchain's wrapper asks at the very address; the others add /search to theirs.
    "SEARX_HOST": "{url}/w/{key}/searxng/search",
    "SEARX_URL": "{url}/w/{key}/searxng",
    "SEARXNG_URL": "{url}/w/{key}/searxng",
}
_MODEL = {
    "OPENAI_BASE_URL": "{model_url}",
    "OPENAI_API_BASE": "{model_url}",
    "OPENAI_API_KEY": "{key}",
}
# What would otherwise be refused, and make the run invalid, for nothing: reports to the makers of frameworks, and
# gpt-researcher's look-up of a page's host before it opens the page.
_QUIET = {
    "ALLOW_PRIVATE_URLS": "true",
    "ANONYMIZED_TELEMETRY": "False",
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_TOOLS_ALLOW_UNSAFE_PATHS": "true",
    "DO_NOT_TRACK": "1",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "LANGCHAIN_TRACING_V2": "false",
    "LANGSMITH_TRACING": "false",
    "OTEL_SDK_DISABLED": "true",
    "SCARF_NO_ANALYTICS": "true",
}


def environment(
    url: str,
    key: str,
    model_url: str | None = None,
    allow: Iterable[str] = (),
    *,
    log: Path | None = None,
    inherited: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Variables that turn a program to a world: those that frameworks know, and the hooks'.

    Args:
        url: The simulation's base URL.
        key: The world's key.
        model_url: The base URL of the OpenAI-compatible API that the program is to use; None leaves its own.
        allow: Hosts, ``HOST`` or ``HOST:PORT``, that the program may reach as they are.
        log: The file in which the hooks tell what they refused; see `searchsim.redirect.findings`.
        inherited: The environment that these are put on top of; its PYTHONPATH and NODE_OPTIONS are kept.
    """
    return framework_variables(url, key, model_url) | redirection(
        url, key, model_url, allow, log=log, inherited=inherited
    )


def framework_variables(url: str, key: str, model_url: str | None = None) -> dict[str, str]:
    """The variables that frameworks know; arguments as those of `environment`."""
    table = _FRAMEWORKS | (_MODEL if model_url else {})
    return {name: value.format(url=url, key=key, model_url=model_url) for name, value in table.items()} | _QUIET


def redirection(
    url: str,
    key: str,
    model_url: str | None = None,
    allow: Iterable[str] = (),
    *,
    log: Path | None = None,
    inherited: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The hooks' variables alone; arguments as those of `environment`."""
    allowed = tuple(allow)
    env = {
        "SEARCHSIM_REDIRECT_URL": url,
        "SEARCHSIM_REDIRECT_WORLD": key,
        "SEARCHSIM_REDIRECT_MODEL": model_url or "",
        "SEARCHSIM_REDIRECT_ALLOW": ",".join(allowed),
        **({"SEARCHSIM_REDIRECT_LOG": str(log)} if log else {}),
    }
    before = inherited or {}
    env["PYTHONPATH"] = os.pathsep.join([str(HOOK), *filter(None, [before.get("PYTHONPATH")])])
    env["NODE_OPTIONS"] = " ".join([f'--require "{HOOK / "preload.cjs"}"', *filter(None, [before.get("NODE_OPTIONS")])])
    # No hook enters a Rust or a Go program, but most keep to a proxy: the simulation refuses what they ask of it.
    parts = urlsplit(url)
    proxy = f"{parts.scheme}://{key}:x@{parts.netloc}"
    model_host = urlsplit(model_url).hostname if model_url else None
    past = ",".join([*_LOOPBACK, *filter(None, [parts.hostname, model_host]), *allowed])
    for name, value in {"HTTP_PROXY": proxy, "HTTPS_PROXY": proxy, "ALL_PROXY": proxy, "NO_PROXY": past}.items():
        env[name] = env[name.lower()] = value
    return env
