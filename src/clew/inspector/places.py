"""Where the messages of a session stand in its log, and what the model saw at any time.

A log of a million messages is not read to show forty of them. What is read, once, are the events that are
no messages: the store finds those without passing over the rest, and the place of every message follows.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from clew.log import ABOUT, KINDS, MESSAGE, REFUSAL, RESHAPING, Ref, View, apply
from clew.log.protocol import Ctx, Store, Stored

OTHERS = tuple(name for name in KINDS if name != MESSAGE.name)
AT_HAND = frozenset({*RESHAPING, REFUSAL.name, ABOUT.name})
"""Kinds whose events are few and asked for again and again; of all others only the place is remembered."""


@dataclass(slots=True)
class Places:
    """The order of a session's log, kept up to date. Use it from one thread at a time."""

    store: Store
    ctx: Ctx
    upto: int = 0
    """The last event that is taken into account."""
    at_hand: list[Stored] = field(default_factory=list)
    """The events of the kinds that are kept at hand, oldest first."""
    _seqs: list[int] = field(default_factory=list)
    """Every event that is no message."""
    _before: list[int] = field(default_factory=list)
    """How many messages stand before each of them."""
    _views: list[View] = field(default_factory=lambda: [View()])
    """The view right after each event that shapes it."""
    _latest: View = field(default_factory=View)
    """The one that was asked for last: the next question is often about the same, or a little later."""

    _kinds: tuple[str, ...] | None = OTHERS

    def catch_up(self) -> int:
        """Take in what was appended since; return the last event."""
        head = self.store.head(self.ctx).seq
        if head > self.upto:
            for stored in self.store.read(self.ctx, self.upto, head, self._kinds):
                if stored.event.kind != MESSAGE.name:
                    self._before.append(stored.seq - 1 - len(self._seqs))
                    self._seqs.append(stored.seq)
                if stored.event.kind in AT_HAND:
                    self.at_hand.append(stored)
            self.upto = head
        return head

    def read_all(self) -> None:
        """Begin anew, reading every event: the log holds kinds that only a later clew knows by name."""
        self._kinds = None
        self.upto = 0
        for known in (self.at_hand, self._seqs, self._before):
            known.clear()
        self._views, self._latest = [View()], View()
        self.catch_up()

    @property
    def messages(self) -> int:
        """Return how many messages there are."""
        return self.upto - len(self._seqs)

    def seq(self, number: int) -> int:
        """Return the event that holds a message, by its number."""
        return number + bisect_left(self._before, number)

    def number(self, seq: int) -> int:
        """Return how many messages there were at a place of the log."""
        return seq - bisect_right(self._seqs, seq)

    def is_message(self, seq: int) -> bool:
        """Tell whether an event is a message."""
        return self.number(seq) > self.number(seq - 1)

    def of_kinds(self, *kinds: str, after: int = 0) -> Iterator[Stored]:
        """Yield the events of kinds that are at hand, oldest first, as they would be written today."""
        first = bisect_right(self.at_hand, after, key=lambda stored: stored.seq)
        for stored in self.at_hand[first:]:
            if stored.event.kind in kinds:
                yield KINDS[stored.event.kind].current(stored)

    # What the model saw ----------------------------------------------------------------------------------

    @property
    def is_shaped(self) -> bool:
        """Tell whether anything but messages ever changed what the model sees."""
        return any(stored.event.kind in RESHAPING for stored in self.at_hand)

    def view(self, seq: int) -> View:
        """Return the view as it was right after an event."""
        self._shape(seq)
        known = self._views[bisect_right(self._views, seq, key=lambda view: view.seq) - 1]
        if known.seq <= self._latest.seq <= seq:
            known = self._latest
        self._latest = self._grown(known, seq)
        return self._latest

    def _shape(self, seq: int) -> None:
        """Work out the views after each shaping event up to a place, as far as that was not done."""
        view = self._views[-1]
        for stored in self.of_kinds(*RESHAPING, after=view.seq):
            if stored.seq > seq:
                return
            shaped = apply(self._grown(view, stored.seq - 1), stored, KINDS[stored.event.kind])
            view = replace(shaped, seq=stored.seq)
            self._views.append(view)

    def _grown(self, view: View, until: int) -> View:
        """Return a view with the messages up to an event at its end."""
        whole, compacted = view.whole, view.compacted
        between = self._seqs[bisect_right(self._seqs, view.seq) : bisect_right(self._seqs, until)]
        skipped = frozenset(between)
        for seq in range(view.seq + 1, until + 1):
            if seq not in skipped:
                ref = Ref(seq)
                whole = whole.add(ref)
                compacted = None if compacted is None else compacted.add(ref)
        return replace(view, whole=whole, compacted=compacted, seq=until)
