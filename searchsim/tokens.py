"""How many tokens a text has, counted with encodings that are on disk: tiktoken itself would download them."""

from __future__ import annotations

import hashlib
import importlib.util
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

__all__ = ["count", "use_shipped_encodings"]

_O200K = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
"""What tiktoken names its cached file after."""


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
    return len(encoding.encode(text, disallowed_special=())), "tiktoken"


@lru_cache(maxsize=1)
def _encoding() -> Any:
    import tiktoken

    use_shipped_encodings()
    # Only what is on disk is used: a download in the middle of a run is no way to count.
    name = hashlib.sha1(_O200K.encode(), usedforsecurity=False).hexdigest()
    if not (Path(os.environ.get("TIKTOKEN_CACHE_DIR", "")) / name).is_file():
        return None
    return tiktoken.get_encoding("o200k_base")
