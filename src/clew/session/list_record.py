"""Every entry of a message list as it was parsed, for ``clew.compact``.

A call parses only the entries that are new since the last one. Callers may change an entry in place, for
example append a block to its content, so the record also holds the *shape* of each entry, the objects in it,
and compares some of them in every call::

    entry = {"role": "user", "content": [block]}      shape: ("user", [block], block)
    entry["content"].append(other)                    shape: ("user", [block, other], block, other)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from operator import is_
from threading import RLock
from typing import Any

from clew.compaction.plan import Digest
from clew.compaction.plan.plan import gc_paused
from clew.compaction.plan.render import mark_if_digest
from clew.ledger.ledger import Ledger
from clew.message import Item, Message
from clew.providers.frameworks import Codec
from clew.session.digest_in_list import assign_ids, restore
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
