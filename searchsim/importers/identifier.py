"""Ids and addresses for records whose own don't fit ours."""

from __future__ import annotations

import hashlib
import re
from urllib.parse import quote

__all__ = ["made_url", "safe_id", "slug"]

_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def safe_id(raw: str) -> str:
    """The id itself where the schemas allow it, else a safe one: what of it is safe, and the start of its SHA-256.

    A pure function of `raw`, so that every import of the same data gives the same ids.
    """
    if _SAFE.fullmatch(raw):
        return raw
    digest = hashlib.sha256(raw.encode("utf-8", "replace")).hexdigest()[:12]
    kept = _UNSAFE.sub("-", raw).strip("._-")[:100]
    return f"{kept}-{digest}" if kept else f"id-{digest}"


def slug(name: str) -> str:
    """A name as a host's label has it: lower case letters, digits and hyphens, at most 60; empty if it has none."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60].strip("-")


def made_url(name: str, family: str, raw: str) -> str:
    """An address for a document that has none; its host can't exist (RFC 2606)."""
    return f"https://{slug(name) or 'corpus'}.{family}.invalid/doc/{quote(raw, safe='', errors='replace')}"
