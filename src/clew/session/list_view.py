"""The part of a message list that the model sees, for ``clew.compact``: messages, and entries to send.

Each entry to send has a *slot* that says where it comes from: an index of the caller's list if it is sent
unchanged, an ``OwnEntry`` if clew wrote it. After a compaction of the entries 0 to 40 the slots are
``[OwnEntry(digest, first=0, last=40), 41, 42, …]``. One entry may hold several messages, and a message of
clew's own formats may be written as several entries.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from clew.budget import FRESH, Region, State, region_of
from clew.compaction.plan import Digest
from clew.message import Item, Message, Role
from clew.providers.frameworks import Codec
from clew.providers.marked_entries import marks_in, place_marks, without_marks
from clew.tokens import Family, TokenCounter

if TYPE_CHECKING:
    from clew.session.conversation import ListRecord

SYSTEM_FIELD = -1
"""The slot of the system prompt in a field of the request body: it is not sent in the list..."""
UNSENT = -2
"""...and of messages that a format does not write at all."""
_INSTRUCTING = (Role.SYSTEM, Role.DEVELOPER)


class OwnEntry(NamedTuple):
    """An entry to send that clew wrote: a digest or a shortened message."""

    entry: Any
    first: int
    """The first entry of the caller's list that it replaces..."""
    last: int
    """...and the last."""
    continues: bool = False
    """It is part of the same message as the slot before it."""


@dataclass(slots=True)
class ListView:
    """The part of a record that the model sees."""

    family: Family | None
    """The tokenizer family of the sizes."""
    items: list[Item] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    """Token count of each message."""
    slot_of: list[int] = field(default_factory=list)
    """The index in ``slots`` of each message's entry; ``SYSTEM_FIELD`` or ``UNSENT`` if it has none."""
    slots: list[int | OwnEntry] = field(default_factory=list)
    """What to send: indices of entries of the record, or entries that clew wrote."""
    shown: list[Any] = field(default_factory=list)
    """The entries to send, without cache marks on clew's own entries."""
    regions: dict[Region, int] = field(default_factory=dict)
    """Tokens by region."""
    digest: Digest | None = None
    recovered: bool = False
    """The beginning of the session is known only from a digest found in the list."""
    state: State = FRESH
    marked: tuple[int, ...] = ()
    """Entries of the record that are not sent unchanged but hold cache marks."""
    replies: int = 0
    """How many of the messages are the model's."""

    @classmethod
    def whole(cls, record: ListRecord, counter: TokenCounter, hidden: range = range(0)) -> ListView:
        """Return the view of all entries except those at the indices ``hidden``."""
        digest = record.digest
        if digest and any(item.id == digest.id for n in hidden for item in record.items[n]):
            digest = None
        view = cls(counter.family, digest=digest, recovered=digest is not None)
        for item in record.system:
            view.add(item, SYSTEM_FIELD, counter)
        for part in (slice(hidden.start), slice(hidden.stop, None)):
            view.extend(record.entries[part], record.items[part], part.start or 0, counter)
        return view

    def extend(
        self, entries: Sequence[Any], items: Sequence[tuple[Item, ...]], start: int, counter: TokenCounter
    ) -> None:
        """Append entries of the record to the view; the first has index ``start``."""
        for number, group in enumerate(items, start=start):
            for item in group:
                self.add(item, len(self.slots), counter)
            self.slots.append(number)
        self.shown.extend(entries)

    def add(self, item: Item, slot: int, counter: TokenCounter) -> None:
        """Append one message that belongs to a slot."""
        size = counter.count(item.message)
        self._sum(item.message, size)
        self.items.append(item)
        self.sizes.append(size)
        self.slot_of.append(slot)

    @property
    def tokens(self) -> int:
        """Return the number of tokens of all messages."""
        return sum(self.regions.values())

    def until(self, slots: int) -> ListView:
        """Return a separate view of the first slots."""
        count = next((n for n, slot in enumerate(self.slot_of) if slot >= slots), len(self.slot_of))
        twin = replace(
            self,
            items=self.items[:count],
            sizes=self.sizes[:count],
            slot_of=self.slot_of[:count],
            slots=self.slots[:slots],
            shown=self.shown[:slots],
        )
        twin.sum_up()
        return twin

    def sum_up(self) -> None:
        """Compute the tokens of each region from the sizes."""
        self.regions, self.replies = {}, 0
        for item, size in zip(self.items, self.sizes, strict=True):
            self._sum(item.message, size)

    def _sum(self, message: Message, size: int) -> None:
        leads = message.role in _INSTRUCTING and self.regions.keys() <= {Region.SYSTEM}
        region = region_of(message, at_start=leads)
        self.regions[region] = self.regions.get(region, 0) + size
        self.replies += message.role is Role.ASSISTANT

    def recount(self, counter: TokenCounter) -> None:
        """Count all messages again with another tokenizer."""
        self.sizes = [counter.count(item.message) for item in self.items]
        self.family = counter.family
        self.sum_up()

    # After a compaction ----------------------------------------------------------------------------------

    def replaced(self, items: Sequence[Item], codec: Codec, counter: TokenCounter) -> ListView:
        """Return the view after a compaction, which consists of ``items``.

        An entry whose messages are all unchanged is sent as before; any other is written by the codec.
        """
        new = ListView(self.family, digest=self.digest, recovered=self.recovered, state=self.state)
        index = {item.id: n for n, item in enumerate(self.items)}
        slots = [self.slot_of[index[item.id]] if item.id in index else None for item in items]
        messages_before: dict[int, list[Message]] = {slot: [] for slot in slots if slot is not None}
        for item, place in zip(self.items, self.slot_of, strict=True):
            if place in messages_before:
                messages_before[place].append(item.message)
        for group, slot, following in _groups(items, slots):
            messages = [item.message for item in group]
            first_new = len(new.slots)
            if slot is not None and slot < 0:  # in no entry of the list: SYSTEM_FIELD or UNSENT
                place = slot
            else:
                if slot is not None and _same_objects(messages_before[slot], messages):
                    new._copy_slot(self, slot)
                else:
                    new._write(codec, messages, *self._range(new, slot, following))
                place = first_new if len(new.slots) > first_new else UNSENT
            for item in group:
                known = index.get(item.id)
                is_same = known is not None and self.items[known].message is item.message
                size = self.sizes[known] if known is not None and is_same else counter.count(item.message)
                new.items.append(item)
                new.sizes.append(size)
                new.slot_of.append(place)
        new.sum_up()
        return new

    def _copy_slot(self, old: ListView, slot: int) -> None:
        """Append an entry of another view as it is, with the entries that continue its message."""
        end = slot + 1
        while end < len(old.slots) and _continues(old.slots[end]):
            end += 1
        self.slots.extend(old.slots[slot:end])
        self.shown.extend(old.shown[slot:end])

    def _write(self, codec: Codec, messages: Sequence[Message], first: int, last: int) -> None:
        """Append entries that clew writes, in place of the entries ``first`` to ``last`` of the record."""
        start = len(self.slots)
        for written in codec.write(messages):
            entry = without_marks(written) if isinstance(written, dict) and marks_in(written) else written
            self.slots.append(OwnEntry(entry, first, last, continues=len(self.slots) > start))
            self.shown.append(entry)

    def _range(self, new: ListView, slot: int | None, following: int | None) -> tuple[int, int]:
        """Return the first and last entry of the record that a new entry replaces."""
        if slot is not None:
            return first_of(self.slots[slot]), last_of(self.slots[slot])
        first = last_of(new.slots[-1]) + 1 if new.slots else 0
        if following is not None and following >= 0:
            return first, max(first, first_of(self.slots[following]) - 1)
        return first, max(first, last_of(self.slots[-1]) if self.slots else first)

    # Cache marks -----------------------------------------------------------------------------------------

    def renew(self, entries: Sequence[Any]) -> None:
        """Use the caller's current objects: equal entries, possibly other cache marks."""
        self.shown = [entries[slot] if isinstance(slot, int) else slot.entry for slot in self.slots]
        self.find_marks(entries)

    def find_marks(self, entries: Sequence[Any]) -> None:
        """Find cache marks on entries that are not sent unchanged."""
        shown = {slot for slot in self.slots if isinstance(slot, int)}
        unsent = range(len(entries)) if len(shown) < len(entries) else ()
        self.marked = tuple(n for n in unsent if n not in shown and marks_in(entries[n]))

    def sent(self, entries: Sequence[Any]) -> list[Any]:
        """Return the entries to send, with the cache marks of the caller's current list.

        A mark on an entry that a digest replaces is set on the digest.
        """
        if not self.marked:
            return list(self.shown)
        starts = [first_of(slot) for slot in self.slots]
        marks = [
            (max(0, bisect_right(starts, n) - 1), mark) for n in self.marked for mark in marks_in(entries[n])
        ]
        return place_marks(self.shown, marks)


class _Group(NamedTuple):
    """Messages that one entry holds."""

    items: list[Item]
    slot: int | None
    """Its slot in the view before; None for a message that the compaction inserts."""
    following: int | None
    """The slot of the next message that has one; None if there is none."""


def _groups(items: Sequence[Item], slots: Sequence[int | None]) -> list[_Group]:
    """Group successive messages of the same slot; a message without one is a group of its own."""
    groups: list[_Group] = []
    following: int | None = None
    for item, slot in zip(reversed(items), reversed(slots), strict=True):
        if groups and slot is not None and groups[-1].slot == slot:
            groups[-1].items.insert(0, item)
            continue
        groups.append(_Group([item], slot, following))
        following = following if slot is None else slot
    return groups[::-1]


def _same_objects(before: Sequence[Message], after: Sequence[Message]) -> bool:
    return len(before) == len(after) and all(old is new for old, new in zip(before, after, strict=True))


def _continues(slot: int | OwnEntry) -> bool:
    return isinstance(slot, OwnEntry) and slot.continues


def first_of(slot: int | OwnEntry) -> int:
    """Return the first entry of the record that a slot stands for."""
    return slot if isinstance(slot, int) else slot.first


def last_of(slot: int | OwnEntry) -> int:
    """Return the last entry of the record that a slot stands for."""
    return slot if isinstance(slot, int) else slot.last
