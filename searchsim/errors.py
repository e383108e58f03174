"""The exception tree. Every message says what is wrong and what to do about it.

SearchsimError              our failure unless a branch says otherwise   exit 1
├── UsageError              something that was given can't be used       exit 2, HTTP 400
│   ├── CorpusError         a corpus has faults (one line each)
│   ├── ConditionError      a condition, a pool or a world's request
│   └── ContractError       a study's contract
├── KeyInUseError           a world with that key exists                 HTTP 409
├── UnknownWorldError       no world has that key                        HTTP 404
├── MissingComponentError   something optional isn't installed
├── EngineError             a search engine elsewhere failed             HTTP 503
├── UpstreamError           the model behind the gateway failed          HTTP 502
└── AgentError              an agent's process failed
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = [
    "AgentError",
    "ConditionError",
    "ContractError",
    "CorpusError",
    "EngineError",
    "KeyInUseError",
    "MissingComponentError",
    "SearchsimError",
    "UnknownWorldError",
    "UpstreamError",
    "UsageError",
]


class SearchsimError(Exception):
    """Base of all errors that searchsim raises on purpose."""

    exit_code = 1


class UsageError(SearchsimError):
    """Wrong use: the caller can mend it."""

    exit_code = 2


class CorpusError(UsageError):
    """A corpus can't be used.

    Attributes:
        faults: One line for each fault, naming file, line and field where they are known.
    """

    def __init__(self, faults: Sequence[str]) -> None:
        self.faults = tuple(faults)
        more = f" (and {len(self.faults) - 1} more: run `searchsim corpus check`)" if len(faults) > 1 else ""
        super().__init__(f"{self.faults[0]}{more}")


class ConditionError(UsageError):
    """A condition, a pool or another part of a world's request can't be honoured.

    Attributes:
        field: The part of the request at fault, e.g. ``condition.budget``; None where it is the whole.
    """

    def __init__(self, message: str, field: str | None = None) -> None:
        self.field = field
        super().__init__(message)


class ContractError(UsageError):
    """A study's contract can't be used.

    Attributes:
        field: The part at fault, e.g. ``factors.rank``; empty where it is the whole.
    """

    def __init__(self, file: str, field: str, message: str) -> None:
        self.field = field
        super().__init__(f"{file}: {field}: {message}" if field else f"{file}: {message}")


class KeyInUseError(SearchsimError):
    """A world with this key exists already."""

    exit_code = 2


class UnknownWorldError(SearchsimError):
    """No world has this key."""

    exit_code = 2


class MissingComponentError(SearchsimError):
    """Something optional isn't installed; the message names the ways to get it."""


class EngineError(SearchsimError):
    """A search engine outside this process can't be used as it is."""


class UpstreamError(SearchsimError):
    """The model behind the gateway failed or can't be reached.

    Attributes:
        status: The HTTP status to answer with.
        body: The upstream's own error body, where it sent one that is JSON.
    """

    def __init__(self, message: str, status: int = 502, body: object | None = None) -> None:
        self.status = status
        self.body = body
        super().__init__(message)


class AgentError(SearchsimError):
    """An agent's process failed, or its environment couldn't be made."""
