"""Continue a conversation of ``clew.compact``: find which part of a list is known from the last call.

The caller passes either its own whole list, or the compacted list that the last call returned, each with new
entries at the end. For example, the last call compacted the first 41 of 50 entries into a digest, so that its
result had 10 entries (the digest and the last 9). The next list is recognised as

- the whole list, if it begins with the same 50 entries: new are ``entries[50:]``
- the compacted list, if it begins with the same 10 entries: new are ``entries[10:]``
- the whole list cut or changed at entry 47, if it begins with the same 47: the view continues from there.

Everything else is a different conversation, and parsed from its beginning. ``ListRecord`` holds every entry
as it was parsed, ``ListView`` what the model sees of them. Both are extended in place by the newest call, and
copied if an older result is continued.

Callers may change an entry in place, for example append a block to its content, so the record also holds the
*shape* of each entry, the objects in it, and compares some of them in every call::

    entry = {"role": "user", "content": [block]}      shape: ("user", [block], block)
    entry["content"].append(other)                    shape: ("user", [block, other], block, other)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby, islice
from operator import is_
from threading import RLock
from typing import Any, NamedTuple

from clew.compaction.plan import Digest
from clew.compaction.plan.plan import gc_paused
from clew.compaction.plan.render import mark_if_digest
from clew.ledger.ledger import Ledger
from clew.message import Item, Message
from clew.providers.frameworks import Codec
from clew.providers.marked_entries import common_prefix, leading
from clew.session.digest_in_list import assign_ids, restore
from clew.session.list_view import ListView, first_of, last_of
from clew.session.parsed_input import ParsedInput, codec_of
from clew.tokens import ModelInfo, TokenCounter

RECENT = 16
"""Known entries at the end of a list that every call checks for changes made in place..."""
ROTATING = 64
"""...and how many of the others, in rotation (both chosen by hand). A compaction checks all of them first."""


@dataclass(slots=True)
class ListRecord:
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
        flat = [*system, *chain.from_iterable(parsed)]
        if self.originals:
            items = [Item(f"m{self.last + n}", mark_if_digest(item)) for n, item in enumerate(flat, start=1)]
        else:
            items, self.digest = assign_ids(flat, names)
        self.last = max([self.last, *[int(item.id[1:]) for item in items if item.id[0] == "m"]])
        if self.digest:
            self.last = max(self.last, *(int(name[1:]) for name in self.digest.covers), 0)
        self._add_to_ledger(items)
        remaining = iter(items)
        self.system = self.system or tuple(islice(remaining, len(system)))
        grouped = [tuple(islice(remaining, len(messages))) for messages in parsed]
        self.entries.extend(entries)
        self.items.extend(grouped)
        self.shapes.extend(map(shape_of, entries))
        return grouped

    def _add_to_ledger(self, items: Iterable[Item]) -> None:
        """Add messages to the ledger; a digest found in the list restores what it carries at its place."""
        digest = self.digest
        for is_digest, run in groupby(items, key=lambda item: digest is not None and item.id == digest.id):
            run_items = list(run)
            self.originals.update([(item.id, item.message) for item in run_items])
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
            now, then = shape_of(self.entries[place]), self.shapes[place]
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
                self.shapes[place] = shape_of(entries[place])

    def until(self, count: int) -> ListRecord:
        """Return a separate record of the first entries."""
        if count == len(self.entries):
            ledger = self.ledger.copy()
            twin = ListRecord(self.codec, self.certain, ledger=ledger, originals=dict(self.originals))
        else:
            twin = ListRecord(self.codec, self.certain)
        twin.entries, twin.items, twin.shapes = self.entries[:count], self.items[:count], self.shapes[:count]
        twin.system_field, twin.system, twin.digest = self.system_field, self.system, self.digest
        twin.last, twin.counter = self.last, self.counter
        if count < len(self.entries):
            twin._add_to_ledger((*twin.system, *(item for items in twin.items for item in items)))
        return twin


_WITHOUT_MEMBERS = frozenset({str, int, float, bool, type(None), dict})


def shape_of(entry: Any) -> tuple[Any, ...]:  # noqa: ANN401  # dictionaries, or objects of SDKs
    """Return the values of an entry's fields and of the lists in them; the same objects mean no change."""
    fields = entry if isinstance(entry, dict) else getattr(entry, "__dict__", None)
    if not isinstance(fields, dict):
        return ()
    values = tuple(fields.values())
    if _WITHOUT_MEMBERS.issuperset(map(type, values)):
        return values  # most entries
    for value in values:
        if isinstance(value, list):
            values += tuple(value)  # a loop over the fields, not over what is added here
    return values


class ConversationState(NamedTuple):
    """A result's position in a record and a view that later calls may have extended."""

    record: ListRecord
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
    record = ListRecord(parsed.codec, parsed.certain, system_field=parsed.system_field)
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
        known = _known_part(conversation, parsed, thorough)
        if known is None:
            return None
        record, view = _extendable(conversation, entries, known)
        new = entries[known.entries if known.whole else known.slots :]
        if not _same_format(record, new):
            return None
        _hold_current_objects(record, view, entries, known)
        if view.family != counter.family:
            view.recount(counter)
        _renew_system(record, view, parsed, counter)
        parsed_before = len(record.entries) - known.entries  # by a call that this one repeats
        new_items = [*record.items[known.entries :], *record.extend(new[parsed_before:])]
        view.extend(new, new_items, known.entries, counter)
        return ConversationState(record, known.entries + len(new), view, len(view.slots), len(view.items))


class _KnownPart(NamedTuple):
    """How much of a list is known from the last call."""

    entries: int
    """Known entries of the record, that is, of the caller's whole list..."""
    slots: int
    """...and of the view, that is, of the compacted list."""
    whole: bool
    """The list is the caller's whole list, not the compacted one."""
    same_objects: bool
    """The known entries are the same objects as before, and not only equal."""


def _known_part(conversation: ConversationState, parsed: ParsedInput, thorough: bool) -> _KnownPart | None:
    """Return how much of a list is known; None if it is a different list.

    A list that was truncated is known up to the cut, unless the digest covers more than that.
    """
    record, count, view, slots, _ = conversation
    has_system_field = parsed.system_field is not None
    if parsed.codec.name != record.codec.name or has_system_field != (record.system_field is not None):
        return None
    digest_at = _digest_slot(view)
    whole, same_objects = _equal_entries(parsed.entries, record.entries, count)
    if whole < count:  # not the whole list: perhaps the compacted one that the last call returned
        shown, same_shown = _equal_entries(parsed.entries, view.shown, slots)
        if shown == slots or (view.digest and shown > digest_at):
            return _KnownPart(last_of(view.slots[shown - 1]) + 1, shown, whole=False, same_objects=same_shown)
    whole = min(whole, record.changed_at(whole, thorough))
    if whole == count:
        return _KnownPart(count, slots, whole=True, same_objects=same_objects)
    # The caller cut its list or changed an entry: continue from there, unless a slot or the digest is cut.
    kept = next((n for n in range(slots) if last_of(view.slots[n]) >= whole), slots)
    split = kept < slots and first_of(view.slots[kept]) < whole
    if not whole or split or kept <= digest_at:
        return None
    return _KnownPart(whole, kept, whole=True, same_objects=False)


def _equal_entries(entries: Sequence[Any], known: Sequence[Any], count: int) -> tuple[int, bool]:
    """Return how many known entries a list begins with, and whether they are the same objects."""
    if len(entries) >= count and leading(entries, count) == leading(known, count):
        return count, _are_same(entries, leading(known, count))
    return common_prefix(entries, known, count), False


def _are_same(entries: Sequence[Any], known: Sequence[Any]) -> bool:
    """Whether equal lists, of which the first may be longer, hold the same objects.

    Three samples decide: a caller who copies an entry copies all of them. What is kept of an entry that was
    not sampled is equal to the caller's, and changes to the caller's object show in the next comparison.
    """
    count = len(known)
    return all(entries[n] is known[n] for n in {0, count // 2, count - 1}) if count else True


def _digest_slot(view: ListView) -> int:
    """Return the slot of the digest; -1 if there is none."""
    if view.digest is None:
        return -1
    places = (slot for item, slot in zip(view.items, view.slot_of, strict=False) if item.id == view.digest.id)
    return next(places, -1)


def _hold_current_objects(
    record: ListRecord, view: ListView, entries: Sequence[Any], known: _KnownPart
) -> None:
    """Replace known entries by the caller's equal objects, whose cache marks may differ."""
    if not known.whole:
        view.marked = ()
    if known.same_objects:
        return
    if known.whole:
        record.take(entries, known.entries)
        view.renew(record.entries[: known.entries])
        return
    view.shown = list(entries[: len(view.slots)])
    for slot, entry in zip(view.slots, entries, strict=False):
        if isinstance(slot, int):
            record.entries[slot] = entry
            record.shapes[slot] = shape_of(entry)


def _extendable(
    conversation: ConversationState, entries: Sequence[Any], known: _KnownPart
) -> tuple[ListRecord, ListView]:
    """Return a record and view that may be extended: those of the result, or copies if they are shared."""
    record, view = conversation.record, conversation.view
    later = record.entries[known.entries :]
    if later:  # the result was continued before: by the same call, now repeated, or in another branch
        repeated = (
            known.whole
            and known.entries == conversation.entries
            and len(entries) == len(record.entries)
            and common_prefix(entries[known.entries :], later) == len(later)
        )
        record = record if repeated else record.until(known.entries)
    if len(view.slots) != known.slots:
        view = view.until(known.slots)
    return record, view


def _same_format(record: ListRecord, fresh: Sequence[Any]) -> bool:
    """Whether new entries are in the format that was guessed for an ambiguous list."""
    if record.certain or not fresh:
        return True
    codec, certain = codec_of(fresh)
    record.certain = certain and codec.name == record.codec.name
    return not certain or record.certain


def _renew_system(record: ListRecord, view: ListView, parsed: ParsedInput, counter: TokenCounter) -> None:
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
