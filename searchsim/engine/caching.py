"""Lists of an immutable corpus, kept in memory: many worlds ask for the same ones."""

from __future__ import annotations

from collections import OrderedDict

from searchsim.documents import Document
from searchsim.engine import Hit, SearchEngine, Statistics
from searchsim.query import Query

__all__ = ["CachingEngine"]

_LISTS = 4096
_DOCUMENTS = 20_000


class CachingEngine:
    """An engine before which the last few thousand lists are kept.

    It is for engines whose answers never change; documents that stand in several lists are held once.
    """

    def __init__(self, engine: SearchEngine, lists: int = _LISTS) -> None:
        """Put a cache before an engine.

        Args:
            engine: The engine.
            lists: How many lists are kept.
        """
        self._engine = engine
        self._most = lists
        self._lists: OrderedDict[tuple[Query, int], list[Hit]] = OrderedDict()
        self._documents: OrderedDict[str, Document] = OrderedDict()
        self.name = engine.name
        self.fields = engine.fields

    async def search(self, query: Query, k: int) -> list[Hit]:
        """See `SearchEngine.search`."""
        key = (query, k)
        if key in self._lists:
            self._lists.move_to_end(key)
            return list(self._lists[key])
        hits = [Hit(self._held(h.document), h.score) for h in await self._engine.search(query, k)]
        self._lists[key] = hits
        if len(self._lists) > self._most:
            self._lists.popitem(last=False)
        return list(hits)

    def _held(self, document: Document) -> Document:
        held = self._documents.setdefault(document.id, document)
        self._documents.move_to_end(document.id)
        if len(self._documents) > _DOCUMENTS:
            self._documents.popitem(last=False)
        return held

    async def statistics(self, query: Query) -> Statistics:
        """See `SearchEngine.statistics`."""
        return await self._engine.statistics(query)

    async def document(self, id_: str) -> Document | None:
        """See `SearchEngine.document`."""
        return self._documents.get(id_) or await self._engine.document(id_)

    async def document_at(self, url: str) -> Document | None:
        """See `SearchEngine.document_at`."""
        return await self._engine.document_at(url)

    async def close(self) -> None:
        """See `SearchEngine.close`."""
        await self._engine.close()
