"""How many tokens a text has, counted with encodings that are on disk: tiktoken itself would download them."""

from __future__ import annotations

import hashlib
import importlib.util
import os
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any

__all__ = ["count", "decode", "starts", "use_shipped_encodings"]

_FILE = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
"""What tiktoken names its cached files after."""

_AT_ONCE = 400_000
"""Characters."""


def use_shipped_encodings() -> None:
    """Point tiktoken at the copies that llama-index-core ships, unless it is pointed somewhere already."""
    spec = importlib.util.find_spec("llama_index")
    for place in spec.submodule_search_locations or [] if spec else []:
        folder = Path(place) / "core" / "_static" / "tiktoken_cache"
        if folder.is_dir():
            os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(folder))


def count(text: str) -> tuple[int, str]:
    """The tokens of a text and how they were counted: ``tiktoken``, or ``estimate`` where no encoding is on disk."""
    encoding = _encoding()
    if encoding is None:
        return -(-len(text.encode()) // 4), "estimate"
    # tiktoken fails on a million white-space characters in a row; a seam costs a token at most.
    parts = (text[n : n + _AT_ONCE] for n in range(0, len(text), _AT_ONCE))
    return sum(len(encoding.encode(part, disallowed_special=())) for part in parts), "tiktoken"


def starts(text: str) -> list[int]:
    """Where each token of a text starts, in characters; without an encoding on disk, tokens are of four bytes."""
    encoding = _encoding()
    if encoding is None:
        places: list[int] = []
        for place, edge in enumerate(accumulate((len(c.encode(errors="replace")) for c in text[:-1]), initial=0)):
            if text and edge >= 4 * len(places):
                places.append(place)
        return places
    found: list[int] = encoding.decode_with_offsets(encoding.encode(text, disallowed_special=()))[1]
    return found


def decode(ids: Sequence[int]) -> str:
    """The text of token ids of cl100k_base, which is what OpenAI's clients embed; the ids as words where that fails.

    The encoding may not be on disk, and an id may be none of it.
    """
    encoding = _encoding("cl100k_base")
    try:
        return str(encoding.decode(list(ids))) if encoding else " ".join(map(str, ids))
    except (KeyError, OverflowError):
        return " ".join(map(str, ids))


@lru_cache(maxsize=2)
def _encoding(name: str = "o200k_base") -> Any:
    import tiktoken

    use_shipped_encodings()
    # Only what is on disk is used: a download in the middle of a run is no way to count.
    file = hashlib.sha1(_FILE.format(name).encode(), usedforsecurity=False).hexdigest()
    if not (Path(os.environ.get("TIKTOKEN_CACHE_DIR", "")) / file).is_file():
        return None
    return tiktoken.get_encoding(name)
