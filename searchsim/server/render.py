"""Documents as text and HTML."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markdown_it import MarkdownIt

__all__ = ["markdown", "plain_text", "template"]

markdown = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
"""How bodies are read; raw HTML in one is shown, not run."""


def plain_text(body: str) -> str:
    """Markdown as the text that a reader sees: a paragraph or a table's row a line."""
    lines: list[str] = []
    cells: list[str] = []
    in_cell = False
    for token in markdown.parse(body):
        match token.type:
            case "inline":
                text = "".join(_inline(child) for child in token.children or [])
                (cells if in_cell else lines).append(text)
            case "fence" | "code_block":
                lines.append(token.content.rstrip())
            case "th_open" | "td_open":
                in_cell = True
            case "th_close" | "td_close":
                in_cell = False
            case "tr_close":
                lines.append("\t".join(cells))
                cells = []
    return "\n\n".join(line for line in lines if line)


def _inline(token: Any) -> str:
    if token.type in ("softbreak", "hardbreak"):
        return " "
    return token.content if token.type in ("text", "code_inline") else ""


@lru_cache(maxsize=1)
def _environment() -> Environment:
    folder = files("searchsim") / "templates"
    return Environment(
        loader=FunctionLoader(lambda name: (folder / name).read_text("utf-8")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def template(name: str, **values: Any) -> str:
    """Render one of ``searchsim/templates``."""
    return _environment().get_template(name).render(**values)
