"""Embeddings without a model: for upstreams that have none, such as the small local model and Inspect's.

A text's vector counts its tokens (`searchsim.text.tokens`, the engine's own) and pairs of them under feature hashing
(Weinberger et al., 2009: a second hash gives each its sign, so that collisions cancel out), each count damped by a
logarithm, the whole of length 1. Their cosine tells how many words two texts share. It is the same on every machine.
"""

from __future__ import annotations

import base64
import hashlib
import math
import struct
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from searchsim import tokens
from searchsim.text import tokens as words

__all__ = ["DIMENSIONS", "MODEL", "embedded", "vector"]

MODEL = "searchsim-lexical"
DIMENSIONS = 768


def vector(text: str) -> list[float]:
    """A text's vector: `DIMENSIONS` numbers, of length 1; all zero for a text without a word."""
    stream = words(text)
    found = [0.0] * DIMENSIONS
    for feature, count in Counter([*stream, *(" ".join(pair) for pair in pairwise(stream))]).items():
        digest = hashlib.blake2b(feature.encode(), digest_size=8).digest()
        index = int.from_bytes(digest[:4], "big") % DIMENSIONS
        found[index] += math.copysign(1 + math.log(count), 1 if digest[4] & 1 else -1)
    length = math.sqrt(sum(x * x for x in found))
    return [x / length for x in found] if length else found


def embedded(given: str | Sequence[Any], encoding: str | None = None) -> dict[str, Any]:
    """An answer of ``/v1/embeddings``.

    Args:
        given: A text, texts, or token ids of OpenAI's cl100k_base, which its clients send.
        encoding: ``float`` (default) or ``base64`` (little-endian floats of 32 bits).
    """
    if isinstance(given, str):
        texts = [given]
    elif all(isinstance(x, int) for x in given):
        texts = [tokens.decode([int(x) for x in given])]
    else:
        texts = [x if isinstance(x, str) else tokens.decode(x) for x in given]
    data = []
    for index, text in enumerate(texts):
        found: list[float] | str = vector(text)
        if encoding == "base64":
            found = base64.b64encode(struct.pack(f"<{DIMENSIONS}f", *found)).decode()
        data.append({"object": "embedding", "index": index, "embedding": found})
    count = sum(tokens.count(t)[0] for t in texts)
    return {
        "object": "list",
        "data": data,
        "model": MODEL,
        "usage": {"prompt_tokens": count, "total_tokens": count},
    }
