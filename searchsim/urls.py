"""One spelling for URLs that mean the same page."""

from __future__ import annotations

from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

__all__ = ["canonical_url"]

_TRACKING = ("utm_", "fbclid", "gclid", "mc_cid", "mc_eid", "ref_src")


def canonical_url(url: str) -> str:
    """A URL without scheme, fragment, tracking parameters, default port, ``www.`` and trailing slash.

    It is for comparing, not for fetching: host in lower case, path percent-decoded once and encoded again.
    Whatever can't be taken apart is given back stripped.
    """
    bare = url.strip()
    if "://" not in bare:
        bare = f"https://{bare.lstrip('/')}"
    try:
        parts = urlsplit(bare)
        port = parts.port
    except ValueError:
        return url.strip()
    host = (parts.hostname or "").removeprefix("www.").rstrip(".")
    if port not in (None, 80, 443):
        host = f"{host}:{port}"
    path = quote(unquote(parts.path), safe="/~!$&'()*+,;=:@").rstrip("/")
    query = urlencode(
        [(k, v) for k, v in parse_qsl(parts.query, keep_blank_values=True) if not k.lower().startswith(_TRACKING)]
    )
    return urlunsplit(("", host, path, query, "")).lstrip("/")
