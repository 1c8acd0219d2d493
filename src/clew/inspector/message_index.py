"""Where the messages of a session are in its log, and what the model saw after any event.

Only the events that are not messages are read, so that a page of a long session is fast.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from clew.log import (
    ABOUT,
    CALL,
    KINDS,
    MESSAGE,
    REFUSAL,
    RESHAPING,
    RESUME,
    TOOL_COMPACTION,
    Ref,
    View,
    apply_event,
)
from clew.log.protocol import Ctx, Store, StoredEvent
from clew.providers.api import int_or_zero
from clew.providers.shapes import as_object

NOT_MESSAGES = tuple(name for name in KINDS if name != MESSAGE.name)
"""The kinds of all events other than messages."""
AT_HAND = frozenset({*RESHAPING, REFUSAL.name, ABOUT.name, TOOL_COMPACTION.name})
"""Kinds with few events that are needed often; of all other events only the position is kept."""


class ReportedCall(NamedTuple):
    """A model call, as its provider counted it."""

    seq: int
    """Its event."""
    tokens: int
    """The tokens of request and reply."""


@dataclass(slots=True)
class MessageIndex:
    """Positions of messages and views in a session's log, without reading the messages. Not thread-safe.

    Events are numbered from 1 without gaps (``seq``), and every event that is not listed in
    ``_non_message_seqs`` is a message; so message number n is the n-th event that is not listed. Example: if
    events 1, 2, 4 and 5 are messages and 3 and 6 are not, ``_non_message_seqs`` is [3, 6] and
    ``_messages_before`` is [2, 4]; ``seq(3)`` is 4, and ``number(4)`` is 3.
    """

    store: Store
    ctx: Ctx
    upto: int = 0
    """The last event that was read."""
    at_hand: list[StoredEvent] = field(default_factory=list)
    """The events of the kinds in ``AT_HAND``, oldest first."""
    reports: list[ReportedCall] = field(default_factory=list)
    """The recorded model calls whose tokens the provider reported, oldest first."""
    _non_message_seqs: list[int] = field(default_factory=list)
    """The events that are not messages."""
    _messages_before: list[int] = field(default_factory=list)
    """The number of messages before each of these events."""
    _views: list[View] = field(default_factory=lambda: [View()])
    """The view after each event that changes it other than by adding a message."""
    _latest: View = field(default_factory=View)
    """The view requested last; the next request is often for the same or a later one."""
    _kinds: tuple[str, ...] | None = NOT_MESSAGES
    """The kinds of events that are read; None for all."""

    def catch_up(self) -> int:
        """Read the events appended since; return the last event."""
        head = self.store.head(self.ctx).seq
        if head > self.upto:
            for stored in self.store.read(self.ctx, self.upto, head, self._kinds):
                if stored.event.kind != MESSAGE.name:
                    self._messages_before.append(stored.seq - 1 - len(self._non_message_seqs))
                    self._non_message_seqs.append(stored.seq)
                if stored.event.kind in AT_HAND:
                    self.at_hand.append(stored)
                elif stored.event.kind == CALL.name and (tokens := reported_tokens(stored)):
                    self.reports.append(ReportedCall(stored.seq, tokens))
            self.upto = head
        return head

    def read_all(self) -> None:
        """Start again and read every event, because the log has kinds unknown to this version."""
        self._kinds = None
        self.upto = 0
        for known in (self.at_hand, self.reports, self._non_message_seqs, self._messages_before):
            known.clear()
        self._views, self._latest = [View()], View()
        self.catch_up()

    @property
    def messages(self) -> int:
        """Return the number of messages."""
        return self.upto - len(self._non_message_seqs)

    def seq(self, number: int) -> int:
        """Return the event of a message, by its number."""
        return number + bisect_left(self._messages_before, number)

    def number(self, seq: int) -> int:
        """Return the number of messages up to an event."""
        return seq - bisect_right(self._non_message_seqs, seq)

    def is_message(self, seq: int) -> bool:
        """Return whether an event is a message."""
        return self.number(seq) > self.number(seq - 1)

    def of_kinds(self, *kinds: str, after: int = 0) -> Iterator[StoredEvent]:
        """Yield the events of some kinds in ``AT_HAND``, oldest first, in the current schema."""
        first = bisect_right(self.at_hand, after, key=lambda stored: stored.seq)
        for stored in self.at_hand[first:]:
            if stored.event.kind in kinds:
                yield KINDS[stored.event.kind].current(stored)

    # What the model saw ----------------------------------------------------------------------------------

    @property
    def is_shaped(self) -> bool:
        """Return whether any event other than a message changed the view."""
        return any(stored.event.kind in RESHAPING for stored in self.at_hand)

    def view(self, seq: int) -> View:
        """Return the view after an event."""
        self._shape(seq)
        known_view = self._views[bisect_right(self._views, seq, key=lambda view: view.seq) - 1]
        if known_view.seq <= self._latest.seq <= seq:
            known_view = self._latest
        self._latest = self._with_messages_up_to(known_view, seq)
        return self._latest

    def seen(self, seq: int) -> Sequence[Ref]:
        """Return what the model saw after an event.

        If the session comes from a tool that compacted it, and clew has not compacted it since, that is what
        the tool left: its summary, the messages that it kept, and everything after. If it was imported to
        continue with the whole conversation (``--whole``), that is all of it.
        """
        return self.seen_in(self.view(seq), seq)

    def seen_in(self, view: View, seq: int) -> Sequence[Ref]:
        """Return what the model sees of a view of the log up to an event; see ``seen``."""
        last = self.tool_compaction_before(seq)
        if last is None or view.steps or view.off or view.resumed or not self._continues_from_tool:
            return view.entries
        keeps = last.event.body.get("keeps")
        kept = [self.seq(keep) for keep in keeps if isinstance(keep, int)] if isinstance(keeps, list) else []
        summary = range(len(TOOL_COMPACTION.messages(last.event.body)))
        later = [ref for ref in view.entries if ref.seq > last.seq]
        return [*(Ref(last.seq, nth) for nth in summary), *(Ref(seq) for seq in kept), *later]

    @property
    def _continues_from_tool(self) -> bool:
        """Whether the session continues from what its tool left; that event follows all of the import."""
        return any(True for _ in self.of_kinds(RESUME.name))

    def tool_compaction_before(self, seq: int) -> StoredEvent | None:
        """Return the last compaction of the tool that wrote the session, up to an event."""
        earlier = [stored for stored in self.of_kinds(TOOL_COMPACTION.name) if stored.seq <= seq]
        return earlier[-1] if earlier else None

    def _shape(self, seq: int) -> None:
        """Compute the missing views after each event that changes the view, up to an event."""
        view = self._views[-1]
        for stored in self.of_kinds(*RESHAPING, after=view.seq):
            if stored.seq > seq:
                return
            shaped = apply_event(
                self._with_messages_up_to(view, stored.seq - 1), stored, KINDS[stored.event.kind]
            )
            view = replace(shaped, seq=stored.seq)
            self._views.append(view)

    def _with_messages_up_to(self, view: View, until: int) -> View:
        """Return a view with the messages up to an event added."""
        whole, compacted = view.whole, view.compacted
        first, end = (bisect_right(self._non_message_seqs, seq) for seq in (view.seq, until))
        skipped = frozenset(self._non_message_seqs[first:end])
        for seq in range(view.seq + 1, until + 1):
            if seq not in skipped:
                ref = Ref(seq)
                whole = whole.add(ref)
                compacted = None if compacted is None else compacted.add(ref)
        return replace(view, whole=whole, compacted=compacted, seq=until)


def reported_tokens(stored: StoredEvent) -> int:
    """Return the tokens of a call, request and reply; 0 if the provider did not report its input."""
    usage = as_object(stored.event.body.get("usage"))
    read = int_or_zero(usage.get("input_tokens"))
    return read + int_or_zero(usage.get("output_tokens")) if read else 0
