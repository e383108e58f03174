"""Stop strings: where a text met the first of them, and what is kept of it.

A server that is asked for ``include_stop_str_in_output`` and doesn't know it leaves out the stop string, and doesn't
tell which one it was. A stream is cut here instead (`Cutter`). A model that answers whole would go on for long: it is
sent the stop strings whose meeting shows in the text afterwards (`recognisable`, `ended`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["Cutter", "ended", "recognisable"]

_MARKS = (
    (re.compile(r"<\|(?:begin|end)_(\w+)\|>"), "<|begin_{}|>", "<|end_{}|>"),
    (re.compile(r"</?(\w[\w.-]*)>"), "<{}>", "</{}>"),
)


class Cutter:
    """Ends a text at the first stop string, whatever the pieces that it comes in.

    Attributes:
        met: The stop string that it ended at.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        self.met: str | None = None
        self._stops = stops
        self._held = ""

    def feed(self, piece: str) -> str:
        """What is certain of the text now; what may be the start of a stop string is held back."""
        text = self._held + piece
        # The one that is complete first is the one that a model's server meets first.
        ends = [(at + len(s), n) for n, s in enumerate(self._stops) if (at := text.find(s)) >= 0]
        if ends:
            end, n = min(ends)
            self.met, self._held = self._stops[n], ""
            return text[:end]
        lengths = range(min(len(text), max((len(s) for s in self._stops), default=1) - 1), 0, -1)
        start = next((len(text) - k for k in lengths if any(s.startswith(text[-k:]) for s in self._stops)), len(text))
        self._held = text[start:]
        return text[:start]

    def rest(self) -> str:
        """What was held back, where the text ended by itself."""
        held, self._held = self._held, ""
        return held


def recognisable(stops: Sequence[str]) -> list[str]:
    """What to send in the place of stop strings, so that `ended` can tell where a text met them.

    A closing mark (``<|end_x|>``, ``</x>``) is sent: a text that met it has its opening mark open. In the place of an
    opening mark its closing one is sent, for a text that met that holds the opening one. Any other stop string isn't
    sent: the model goes on, and its text is cut there.
    """
    return list(dict.fromkeys(marks[1] for stop in stops if (marks := _marks(stop))))


def ended(text: str, stops: Sequence[str], finish: str | None) -> tuple[str, str | None]:
    """A text that was stopped at what is `recognisable`, up to and with the first stop string, and that string.

    Args:
        text: As the model gave it.
        stops: All stop strings.
        finish: Its finish reason; a text that ended by its length met none that it doesn't hold.
    """
    cutter = Cutter(stops)
    kept = cutter.feed(text)
    if cutter.met:
        return kept, cutter.met
    if finish != "stop":
        return text, None
    opened = {}
    for stop in stops:
        marks = _marks(stop)
        if marks and marks[1] == stop and marks[0] in text:
            opened[stop] = text.rfind(marks[0])
    if not opened:
        return text, None
    met = max(opened, key=lambda stop: opened[stop])
    return text + met, met


def _marks(stop: str) -> tuple[str, str] | None:
    """The opening and the closing mark that a stop string is one of."""
    for pattern, opening, closing in _MARKS:
        if match := pattern.fullmatch(stop):
            return opening.format(match[1]), closing.format(match[1])
    return None
