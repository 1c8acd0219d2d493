"""The state that ``clew.compact`` keeps of a list between calls, so that a call parses only new entries.

A ``Record`` holds every entry as it was parsed; it only grows at its end, and several results share it. A
``ListView`` is the part that the model sees: the messages, and for each entry to send its *slot*, which says
where it comes from. After a compaction of the entries 0 to 40, the slots are
``[OwnEntry(digest, first=0, last=40), 41, 42, …]``. Record and view are extended in place by the newest
result, and copied if an older result is continued.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import is_
from threading import RLock
from typing import Any, NamedTuple

from clew.budget import FRESH, Region, State, region_of
from clew.compaction.plan import Digest
from clew.compaction.plan.plan import gc_paused
from clew.compaction.plan.render import mark_if_digest
from clew.ledger.ledger import Ledger
from clew.message import Item, Message, Role
from clew.providers.frameworks.codec import Codec
from clew.providers.marked_entries import common_prefix, leading, marks_in, place_marks, without_marks
from clew.session.digest_in_list import assign_ids, restore
from clew.session.parsed_input import ParsedInput, codec_of
from clew.tokens import Family, ModelInfo, TokenCounter

RECENT = 16
"""Known entries at the end of a list that every call checks for changes made in place..."""
ROTATING = 64
"""...and how many of the others, in rotation (both chosen by hand). A compaction checks all of them first."""


UNSENT = -2
"""The slot of messages that a format does not write at all; -1 is the slot of the system field."""


class OwnEntry(NamedTuple):
    """An entry to send that clew wrote: a digest or a shortened message."""

    entry: Any
    first: int
    """The first entry of the whole list that it replaces..."""
    last: int
    """...and the last."""
    continues: bool = False
    """It is part of the same message as the slot before it."""


@dataclass(slots=True)
class Record:
    """Every entry of a list as it was parsed."""

    codec: Codec
    certain: bool
    entries: list[Any] = field(default_factory=list)
    """The caller's objects, from the last call."""
    items: list[tuple[Item, ...]] = field(default_factory=list)
    """The messages of each entry."""
    shapes: list[tuple[Any, ...]] = field(default_factory=list)
    """The values of each entry when it was parsed: callers may add blocks to an entry later."""
    originals: dict[str, Message] = field(default_factory=dict)
    """Every message by id, the system prompt first."""
    ledger: Ledger = field(default_factory=Ledger)
    system_field: Any = None
    system: tuple[Item, ...] = ()
    digest: Digest | None = None
    """A digest of an earlier call that was found in the list itself."""
    last: int = 0
    """The highest message number in use."""
    looked: int = 0
    """Where the next rotating check for changes made in place begins."""
    counter: tuple[ModelInfo, TokenCounter] | None = None
    """The counter of the last call and its model: it remembers the sizes of texts."""
    lock: RLock = field(default_factory=RLock, repr=False)

    @gc_paused
    def extend(
        self, entries: Sequence[Any], system: Sequence[Message] = (), names: Sequence[str] = ()
    ) -> list[tuple[Item, ...]]:
        """Parse new entries; return their messages. ``names`` are their ids, if they are not counted."""
        count = len(self.entries)
        alone = count + len(entries) == 1
        parsed = [self.codec.read(item, None if alone else count + n) for n, item in enumerate(entries)]
        flat = [*system, *(message for messages in parsed for message in messages)]
        if self.originals:
            items = [Item(f"m{self.last + n}", mark_if_digest(item)) for n, item in enumerate(flat, start=1)]
        else:
            items, self.digest = assign_ids(flat, names)
        self.last = max([self.last, *(int(item.id[1:]) for item in items if item.id[0] == "m")])
        if self.digest:
            self.last = max(self.last, *(int(name[1:]) for name in self.digest.covers), 0)
        self._add_to_ledger(items)
        remaining = iter(items)
        self.system = self.system or tuple(next(remaining) for _ in system)
        grouped = [tuple(next(remaining) for _ in messages) for messages in parsed]
        self.entries.extend(entries)
        self.items.extend(grouped)
        self.shapes.extend(map(_shape, entries))
        return grouped

    def _add_to_ledger(self, items: Iterable[Item]) -> None:
        """Add messages to the ledger; a digest found in the list restores what it carries at its place."""
        digest = self.digest
        for is_digest, run in groupby(items, key=lambda item: digest is not None and item.id == digest.id):
            run_items = list(run)
            self.originals.update((item.id, item.message) for item in run_items)
            if is_digest and digest is not None:
                restore(self.ledger, digest)
            else:
                self.ledger.extend(run_items)

    def changed_at(self, count: int, whole: bool = False) -> int:
        """Return the index of the first entry that the caller changed in place; ``count`` if none was."""
        places: Iterable[int] = range(count)
        if not whole and count > RECENT + ROTATING:
            start = self.looked % (count - RECENT)
            self.looked = start + ROTATING
            places = (*range(start, min(start + ROTATING, count - RECENT)), *range(count - RECENT, count))
        for place in places:
            now, then = _shape(self.entries[place]), self.shapes[place]
            if len(now) != len(then) or not all(map(is_, now, then)):
                if not self._reads_the_same(place):
                    return place
                self.shapes[place] = now
        return count

    def _reads_the_same(self, place: int) -> bool:
        """Whether a changed entry still parses to the same messages, as when a cache mark was added."""
        messages = tuple(map(mark_if_digest, self.codec.read(self.entries[place], place)))
        return messages == tuple(item.message for item in self.items[place])

    def take(self, entries: Sequence[Any], count: int) -> None:
        """Hold the caller's current objects, which are equal apart from cache marks."""
        for place in range(count):
            if entries[place] is not self.entries[place]:
                self.entries[place] = entries[place]
                self.shapes[place] = _shape(entries[place])

    def until(self, count: int) -> Record:
        """Return a separate record of the first entries."""
        if count == len(self.entries):
            ledger = self.ledger.copy()
            twin = Record(self.codec, self.certain, ledger=ledger, originals=dict(self.originals))
        else:
            twin = Record(self.codec, self.certain)
        twin.entries, twin.items, twin.shapes = self.entries[:count], self.items[:count], self.shapes[:count]
        twin.system_field, twin.system, twin.digest = self.system_field, self.system, self.digest
        twin.last, twin.counter = self.last, self.counter
        if count < len(self.entries):
            twin._add_to_ledger((*twin.system, *(item for items in twin.items for item in items)))
        return twin


@dataclass(slots=True)
class ListView:
    """The part of a record that the model sees."""

    items: list[Item]
    sizes: list[int]
    """Token count of each message."""
    slot_of: list[int]
    """The slot that each message belongs to; below 0 if none."""
    slots: list[int | OwnEntry]
    """What to send: indices of entries of the record, or entries that clew wrote."""
    shown: list[Any]
    """The entries to send, without cache marks on clew's own entries."""
    regions: dict[Region, int]
    """Tokens by region."""
    family: Family | None
    digest: Digest | None = None
    recovered: bool = False
    """The beginning of the session is known only from a digest found in the list."""
    state: State = FRESH
    marked: tuple[int, ...] = ()
    """Entries that are not sent unchanged but hold cache marks."""
    replies: int = 0
    """How many of the messages are the model's."""

    @classmethod
    def whole(cls, record: Record, counter: TokenCounter, hidden: range = range(0)) -> ListView:
        """Return the view of all entries except those at the indices ``hidden``."""
        digest = record.digest
        if digest and any(item.id == digest.id for n in hidden for item in record.items[n]):
            digest = None
        view = cls([], [], [], [], [], {}, counter.family, digest, digest is not None)
        for item in record.system:
            view.add(item, -1, counter)
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
        twin = ListView(
            self.items[:count],
            self.sizes[:count],
            self.slot_of[:count],
            self.slots[:slots],
            self.shown[:slots],
            {},
            self.family,
            self.digest,
            self.recovered,
            self.state,
            self.marked,
        )
        twin.sum_up()
        return twin

    def sum_up(self) -> None:
        """Compute the tokens of each region from the sizes."""
        self.regions, self.replies = {}, 0
        for item, size in zip(self.items, self.sizes, strict=True):
            self._sum(item.message, size)

    def _sum(self, message: Message, size: int) -> None:
        leads = not self.regions or (len(self.regions) == 1 and Region.SYSTEM in self.regions)
        region = region_of(message, at_start=leads)
        self.regions[region] = self.regions.get(region, 0) + size
        self.replies += message.role is Role.ASSISTANT

    def recount(self, counter: TokenCounter) -> None:
        """Count all messages again with another tokenizer."""
        self.sizes = [counter.count(item.message) for item in self.items]
        self.family = counter.family
        self.sum_up()

    def replaced(self, items: Sequence[Item], codec: Codec, counter: TokenCounter) -> ListView:
        """Return the view after a compaction, which consists of ``items``."""
        places = {item.id: n for n, item in enumerate(self.items)}
        slots = [self.slot_of[places[item.id]] if item.id in places else None for item in items]
        new = ListView([], [], [], [], [], {}, self.family, self.digest, self.recovered, self.state)
        members: dict[int, list[Item]] = {}
        for item, slot in zip(self.items, self.slot_of, strict=True):
            members.setdefault(slot, []).append(item)
        # Messages of one entry stay together; each message that the plan inserts is a group of its own.
        for (slot, _), run in groupby(range(len(items)), key=lambda n: (slots[n], slots[n] is None and n)):
            group = [items[n] for n in run]
            following = next(
                (slot for slot in slots[len(new.items) + len(group) :] if slot is not None), None
            )
            self._move(new, group, slot, following, members, codec)
            for entry in group:
                known = places.get(entry.id)
                same = known is not None and self.items[known].message is entry.message
                size = self.sizes[known] if same and known is not None else counter.count(entry.message)
                new.items.append(entry)
                new.sizes.append(size)
        new.sum_up()
        return new

    def _move(
        self,
        new: ListView,
        group: Sequence[Item],
        slot: int | None,
        following: int | None,
        members: Mapping[int, Sequence[Item]],
        codec: Codec,
    ) -> None:
        """Move the messages of one entry to another view: unchanged, or as clew rewrites them."""
        if slot is not None and slot < 0:
            new.slot_of.extend(slot for _ in group)
            return
        before = members[slot] if slot is not None else ()
        same = len(before) == len(group) and all(
            old.message is item.message for old, item in zip(before, group, strict=True)
        )
        start = len(new.slots)
        if slot is not None and same:
            end = next(
                (n for n in range(slot + 1, len(self.slots)) if not _continues(self.slots[n])),
                len(self.slots),
            )
            new.slots.extend(self.slots[slot:end])
            new.shown.extend(self.shown[slot:end])
        else:
            first, last = self._range(new, slot, following)
            for written in codec.write([item.message for item in group]):
                entry = without_marks(written) if isinstance(written, dict) and marks_in(written) else written
                new.slots.append(OwnEntry(entry, first, last, len(new.slots) > start))
                new.shown.append(entry)
        new.slot_of.extend(start if len(new.slots) > start else UNSENT for _ in group)

    def _range(self, new: ListView, slot: int | None, following: int | None) -> tuple[int, int]:
        """Return the first and last entry of the record that a new entry replaces."""
        if slot is not None:
            return _first(self.slots[slot]), _last(self.slots[slot])
        first = _last(new.slots[-1]) + 1 if new.slots else 0
        if following is not None and following >= 0:
            return first, max(first, _first(self.slots[following]) - 1)
        return first, max(first, _last(self.slots[-1]) if self.slots else first)

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
        """Return the entries to send, with the cache marks of the caller's current list."""
        if not self.marked:
            return list(self.shown)
        starts = [_first(slot) for slot in self.slots]
        marks = [
            (max(0, bisect_right(starts, n) - 1), mark) for n in self.marked for mark in marks_in(entries[n])
        ]
        return place_marks(self.shown, marks)


def _continues(slot: int | OwnEntry) -> bool:
    return isinstance(slot, OwnEntry) and slot.continues


def _first(slot: int | OwnEntry) -> int:
    return slot if isinstance(slot, int) else slot.first


def _last(slot: int | OwnEntry) -> int:
    return slot if isinstance(slot, int) else slot.last


def _shape(entry: Any) -> tuple[Any, ...]:  # noqa: ANN401  # dictionaries, or objects of SDKs
    """Return the values of an entry's fields and of the lists in them; the same objects mean no change."""
    fields = entry if isinstance(entry, dict) else getattr(entry, "__dict__", None)
    if not isinstance(fields, dict):
        return ()
    values = tuple(fields.values())
    for value in values:
        if isinstance(value, list):
            values += tuple(value)  # a loop over the fields, not over what is added here
    return values


def _are_same(entries: Sequence[Any], known: Sequence[Any]) -> bool:
    """Whether equal lists, of which the first may be longer, hold the same objects.

    Three samples decide: a caller who copies an entry copies all of them. What is kept of an entry that was
    not sampled is equal to the caller's, and changes to the caller's object show in the next comparison.
    """
    count = len(known)
    return all(entries[n] is known[n] for n in {0, count // 2, count - 1}) if count else True


class ConversationState(NamedTuple):
    """A result's position in a record and a view that later calls may have extended."""

    record: Record
    entries: int
    """How many entries of the record belong to this result..."""
    view: ListView
    slots: int
    """...and how many slots of the view..."""
    messages: int
    """...with this many messages."""


def start(
    parsed: ParsedInput, counter: TokenCounter, hidden: range = range(0), names: Sequence[str] = ()
) -> ConversationState:
    """Parse a list from its beginning; the view leaves out the entries at the indices ``hidden``."""
    record = Record(parsed.codec, parsed.certain, system_field=parsed.system_field)
    record.extend(parsed.entries, parsed.system(), names)
    view = ListView.whole(record, counter, hidden)
    return ConversationState(record, len(record.entries), view, len(view.slots), len(view.items))


def advance(
    parsed: ParsedInput, conversation: ConversationState, counter: TokenCounter, thorough: bool = False
) -> ConversationState | None:
    """Continue an earlier call with the new entries of a list; None if it is a different list.

    With ``thorough`` every known entry is checked for changes made in place, otherwise the recent ones and a
    rotating part of the others.
    """
    entries = parsed.entries
    with conversation.record.lock:
        place = _place(conversation, parsed, thorough)
        if place is None:
            return None
        count, slots, is_whole, exact = place
        record, view = _exclusive(conversation, entries if is_whole else None, count, slots)
        new = entries[count:] if is_whole else entries[slots:]
        if not _same_format(record, new):
            return None
        if not exact:
            _hold(record, view, entries, count if is_whole else None)
        elif not is_whole:
            view.marked = ()
        if view.family != counter.family:
            view.recount(counter)
        _renew_system(record, view, parsed, counter)
        known = len(record.entries) - count
        groups = [*record.items[count:], *record.extend(new[known:])]
        view.extend(new, groups, count, counter)
        return ConversationState(record, count + len(new), view, len(view.slots), len(view.items))


class _Place(NamedTuple):
    """How much of a list is known."""

    entries: int
    slots: int
    whole: bool
    """It is the caller's uncompacted list."""
    exact: bool
    """The known entries are the same objects as before."""


def _place(conversation: ConversationState, parsed: ParsedInput, thorough: bool) -> _Place | None:
    """Return how much of a list is known; None if it is a different list.

    A list that was truncated is known up to the cut, unless the digest covers more than that.
    """
    record, count, view, slots, _ = conversation
    if parsed.codec.name != record.codec.name or (parsed.system_field is None) != (
        record.system_field is None
    ):
        return None
    digest_at = _digest_slot(view)
    whole, exact = _known_part(parsed.entries, record.entries, count)
    if whole < count:  # not the uncompacted list: perhaps the compacted one that the last call returned
        shown, exact_shown = _known_part(parsed.entries, view.shown, slots)
        if shown == slots or (view.digest and shown > digest_at):
            kept = _last(view.slots[shown - 1]) + 1
            return _Place(kept, shown, False, exact_shown)
    whole = min(whole, record.changed_at(whole, thorough))
    if whole == count:
        return _Place(count, slots, True, exact)
    # The caller cut its list or changed an entry: continue from there, unless a slot or the digest is cut.
    kept = next((n for n in range(slots) if _last(view.slots[n]) >= whole), slots)
    split = kept < slots and _first(view.slots[kept]) < whole
    return _Place(whole, kept, True, exact=False) if whole and not split and kept > digest_at else None


def _known_part(entries: Sequence[Any], known: Sequence[Any], count: int) -> tuple[int, bool]:
    """Return how many entries are known, and whether all of them are the objects that are known."""
    if len(entries) >= count and leading(entries, count) == leading(known, count):
        return count, _are_same(entries, leading(known, count))
    return common_prefix(entries, known, count), False


def _digest_slot(view: ListView) -> int:
    """Return the slot of the digest; -1 if there is none."""
    if view.digest is None:
        return -1
    places = (slot for item, slot in zip(view.items, view.slot_of, strict=False) if item.id == view.digest.id)
    return next(places, -1)


def _hold(record: Record, view: ListView, entries: Sequence[Any], count: int | None) -> None:
    """Hold the current objects and cache marks of a caller: of the whole list, or of the compacted one."""
    if count is not None:
        record.take(entries, count)
        view.renew(record.entries[:count])
        return
    view.marked = ()
    view.shown = list(entries[: len(view.slots)])
    for slot, entry in zip(view.slots, entries, strict=False):
        if isinstance(slot, int):
            record.entries[slot] = entry
            record.shapes[slot] = _shape(entry)


def _exclusive(
    conversation: ConversationState, entries: Sequence[Any] | None, count: int, slots: int
) -> tuple[Record, ListView]:
    """Return a record and view that may be extended: those of the result, or copies if they are shared."""
    record, view = conversation.record, conversation.view
    more = record.entries[count:]
    if more:  # the same result was continued before, by a repeated call or in another branch
        repeated = (
            entries is not None and count == conversation.entries and len(entries) == len(record.entries)
        )
        if not repeated or common_prefix(entries[count:], more) < len(more):  # type: ignore[index]
            record = record.until(count)
    if len(view.slots) != slots:
        view = view.until(slots)
    return record, view


def _same_format(record: Record, fresh: Sequence[Any]) -> bool:
    """Whether new entries are in the format that was guessed for an ambiguous list."""
    if record.certain or not fresh:
        return True
    codec, certain = codec_of(fresh)
    record.certain = certain and codec.name == record.codec.name
    return not certain or record.certain


def _renew_system(record: Record, view: ListView, parsed: ParsedInput, counter: TokenCounter) -> None:
    """Replace a changed system prompt; what the old one said stays in the ledger."""
    if parsed.system_field is None or parsed.system_field == record.system_field:
        return
    record.system_field = parsed.system_field
    messages = parsed.system()
    record.system = tuple(Item(old.id, new) for old, new in zip(record.system, messages, strict=True))
    view.items[: len(record.system)] = record.system
    for place, item in enumerate(record.system):
        record.originals[item.id] = item.message
        view.sizes[place] = counter.count(item.message)
    view.sum_up()


def known_entries(messages: Iterable[Any] | Mapping[str, Any]) -> list[Any]:
    """Return the entries of a list, or of the list in a request body, without parsing them."""
    if isinstance(messages, Mapping):
        lists = (messages.get(key) for key in ("messages", "input", "contents"))
        messages = next((item for item in lists if isinstance(item, list)), [])
    return list(messages)
