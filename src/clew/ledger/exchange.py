"""Match tool calls with their results, one message at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from clew.ledger.outcome import Outcome, outcome
from clew.ledger.speech import Said, said
from clew.ledger.tools import Deed, deed
from clew.message import Cite, Item, Json, ToolCall, ToolResult

MOST_OPEN = 256
"""Calls waiting for a result, above which the oldest counts as abandoned; chosen by hand."""


class Asked(NamedTuple):
    """A call and its position."""

    call: ToolCall
    cite: Cite
    deed: Deed


class Exchange(NamedTuple):
    """A call and its result."""

    call: ToolCall
    asked: Cite
    deed: Deed
    result: ToolResult
    answered: Cite
    outcome: Outcome


class Reading(NamedTuple):
    """A message, parsed once for all trackers."""

    number: int
    """Index of the message in the session, from 0."""
    item: Item
    said: list[Said]
    calls: list[Asked]
    exchanges: list[Exchange]


class OpenCalls:
    """The calls that have no result yet.

    A result answers the nearest earlier unanswered call with its id: real sessions reuse ids.
    """

    def __init__(self) -> None:
        self._open: dict[str, list[Asked]] = {}
        self._count = 0

    def read(self, item: Item, index: int) -> Reading:
        """Parse a message: who says what, which calls it makes, which calls it answers."""
        calls: list[Asked] = []
        exchanges: list[Exchange] = []
        for number, part in enumerate(item.message.parts):
            if isinstance(part, ToolCall):
                asked = Asked(part, Cite(item.id, number), deed(part))
                calls.append(asked)
                self._add(asked)
            elif isinstance(part, ToolResult):
                asked_for = self._take(part.call_id)
                if asked_for is not None:
                    call, cite, done = asked_for
                    ended = outcome(done, part)
                    exchanges.append(Exchange(call, cite, done, part, Cite(item.id, number), ended))
        return Reading(index, item, said(item), calls, exchanges)

    def _add(self, asked: Asked) -> None:
        self._open.setdefault(asked.call.call_id, []).append(asked)
        self._count += 1
        if self._count > MOST_OPEN:
            self._abandon_oldest()

    def _take(self, call_id: str) -> Asked | None:
        waiting = self._open.get(call_id)
        if not waiting:
            return None
        nearest = waiting[-1].cite.message
        place = next(i for i, asked in enumerate(waiting) if asked.cite.message == nearest)
        taken = waiting.pop(place)
        if not waiting:
            del self._open[call_id]
        self._count -= 1
        return taken

    def _abandon_oldest(self) -> None:
        oldest = next(iter(self._open))
        self._open[oldest].pop(0)
        if not self._open[oldest]:
            del self._open[oldest]
        self._count -= 1

    def __iter__(self) -> Iterator[Asked]:
        for waiting in self._open.values():
            yield from waiting

    def copy(self) -> OpenCalls:
        """Return an independent copy."""
        twin = OpenCalls()
        twin._open = {call_id: waiting.copy() for call_id, waiting in self._open.items()}
        twin._count = self._count
        return twin

    def to_json(self) -> list[Json]:
        """Return the open calls as JSON."""
        return [[*cite, call.call_id, call.name, call.arguments] for call, cite, _ in self]

    @classmethod
    def from_json(cls, rows: Any) -> OpenCalls:  # noqa: ANN401  # JSON on its way in
        """Return the object that ``to_json`` wrote."""
        keeper = cls()
        for message, part, start, end, call_id, name, arguments in rows:
            call = ToolCall(call_id, name, arguments)
            keeper._add(Asked(call, Cite(message, part, start, end), deed(call)))
        return keeper
