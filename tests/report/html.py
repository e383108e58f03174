"""A page as a tree, read with the standard library's parser."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser

VOID = {"meta", "br", "link", "img", "hr", "input", "wbr"}


class Node:
    def __init__(self, tag: str, attributes: dict[str, str | None] | None = None) -> None:
        self.tag = tag
        self.attributes = attributes or {}
        self.parts: list[Node | str] = []

    def all(self, tag: str | None = None, **attributes: str) -> Iterator[Node]:
        """Every element below, of a tag and with attributes (class_ among an element's classes)."""
        for part in self.parts:
            if isinstance(part, Node):
                if (tag is None or part.tag == tag) and part.has(attributes):
                    yield part
                yield from part.all(tag, **attributes)

    def has(self, attributes: dict[str, str]) -> bool:
        return all(
            value in (self.attributes.get("class") or "").split()
            if name == "class_"
            else self.attributes.get(name) == value
            for name, value in attributes.items()
        )

    def one(self, tag: str | None = None, **attributes: str) -> Node:
        found = list(self.all(tag, **attributes))
        assert len(found) == 1, f"{len(found)} {tag} {attributes}"
        return found[0]

    def children(self, tag: str) -> list[Node]:
        """The elements of a tag right below."""
        return [p for p in self.parts if isinstance(p, Node) and p.tag == tag]

    @property
    def text(self) -> str:
        whole = "".join(p if isinstance(p, str) else p.text for p in self.parts)
        return " ".join(whole.replace("\u00a0", " ").split())

    def rows(self) -> list[list[str]]:
        """A table's rows, as the texts of their cells."""
        return [[c.text for c in row.parts if isinstance(c, Node)] for row in self.all("tr")]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Node("")
        self.open = [self.root]
        self.comments: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "li" and self.open[-1].tag == "li":
            self.open.pop()
        node = Node(tag, dict(attrs))
        self.open[-1].parts.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].parts.append(Node(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag in ("ul", "ol") and self.open[-1].tag == "li":
            self.open.pop()
        assert self.open[-1].tag == tag, f"</{tag}> ends a {self.open[-1].tag}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].parts.append(data)

    def handle_comment(self, data: str) -> None:
        self.comments.append(data.strip())


def parse(page: str) -> tuple[Node, list[str]]:
    """The tree and the comments of a page, every element of which has to be closed in its turn."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == [reader.root]
    return reader.root, reader.comments
