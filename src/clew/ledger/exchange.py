"""Match tool calls with their results, one message at a time, and decide how each call ended.

Whether a call succeeded, failed, or was refused by the person is judged by the result's text and exit code,
and by the host's error flag.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from clew.ledger.outcome import Outcome, outcome
from clew.ledger.tool_actions import ToolAction, action_of
from clew.message import Cite, Item, Json, ToolCall, ToolResult
from clew.rules.speech import Utterance, utterances

MOST_OPEN = 256
"""Calls waiting for a result, above which the oldest counts as abandoned; chosen by hand."""


class Asked(NamedTuple):
    """A call and its position."""

    call: ToolCall
    cite: Cite
    action: ToolAction


class Exchange(NamedTuple):
    """A call and its result."""

    call: ToolCall
    asked: Cite
    action: ToolAction
    result: ToolResult
    answered: Cite
    outcome: Outcome


class Reading(NamedTuple):
    """A message, parsed once for all trackers."""

    number: int
    """Index of the message in the session, from 0."""
    item: Item
    said: list[Utterance]
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
                asked = Asked(part, Cite(item.id, number), action_of(part))
                calls.append(asked)
                self._add(asked)
            elif isinstance(part, ToolResult):
                asked_for = self._take(part.call_id)
                if asked_for is not None:
                    call, cite, action = asked_for
                    call_outcome = outcome(action, part)
                    exchanges.append(Exchange(call, cite, action, part, Cite(item.id, number), call_outcome))
        return Reading(index, item, utterances(item), calls, exchanges)

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
        open_call = waiting.pop(place)
        if not waiting:
            del self._open[call_id]
        self._count -= 1
        return open_call

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
            keeper._add(Asked(call, Cite(message, part, start, end), action_of(call)))
        return keeper
