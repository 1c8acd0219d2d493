"""The view is a fold of the log.

A view does not hold messages, it says which events hold them: a million visible messages are a million
small references, any earlier view is still at hand, and only what is really shown gets loaded.

Each kind of event is a value that knows how it changes a view and which messages it holds. A new kind is a
new value in the mapping given to ``fold``; nothing here changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple

from clew.errors import InputError, StoreDamaged, StoreTooNew
from clew.log.ids import new_event
from clew.log.messages import message_from_json, message_to_json
from clew.log.prefix import Prefix
from clew.message import JsonObject, Message
from clew.ports import Ctx, Event, Store, Stored

READ_THROUGH = 16
"""Events that are cheaper to read past than to ask for the next run anew."""
RUN = 1_000
"""References gathered before reading: bounds the memory, not the result."""


class Ref(NamedTuple):
    """Where a visible message stands: the event, and which of that event's messages."""

    seq: int
    nth: int = 0


@dataclass(frozen=True, slots=True)
class View:
    """What the model would see, as references into the log."""

    entries: Prefix[Ref] = field(default_factory=Prefix)
    seq: int = 0
    """The last event that it accounts for, once the fold is done."""
    skipped: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """How many events of kinds that this clew does not know were passed over."""

    def show(self, ref: Ref) -> View:
        """Return this view with one more message at its end."""
        return replace(self, entries=self.entries.add(ref))


@dataclass(frozen=True, slots=True)
class Visible:
    """A message of a view, with where it came from."""

    ref: Ref
    id: str
    """The id of its event."""
    message: Message


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of event."""

    name: str
    fold: Callable[[View, Stored], View]
    """How it changes the view. Pure: the view given stays as it is."""
    messages: Callable[[JsonObject], tuple[Message, ...]] = lambda _body: ()
    """The messages that its body holds, for a ``Ref`` to point at."""
    upcasts: tuple[Callable[[JsonObject], JsonObject], ...] = ()
    """From version 1 to 2, from 2 to 3, …: old bodies are read as if written today."""

    @property
    def version(self) -> int:
        """Return the version of the bodies that ``fold`` and ``messages`` understand."""
        return len(self.upcasts) + 1

    def current(self, stored: Stored) -> Stored:
        """Return the event as if it had been written today."""
        event = stored.event
        if event.version == self.version:
            return stored
        if event.version > self.version:
            raise StoreTooNew(f"event {stored.seq} is a {self.name} of version {event.version}")
        body = event.body
        for upcast in self.upcasts[event.version - 1 :]:
            body = upcast(body)
        return replace(stored, event=replace(event, version=self.version, body=body))


def _message_of(body: JsonObject) -> tuple[Message, ...]:
    value = body.get("message")
    if not isinstance(value, dict):
        raise StoreDamaged("an event of kind 'message' holds none")
    return (message_from_json(value),)


MESSAGE = Kind("message", lambda view, stored: view.show(Ref(stored.seq)), _message_of)
KINDS: Mapping[str, Kind] = MappingProxyType({MESSAGE.name: MESSAGE})


def message_event(message: Message, about: JsonObject | None = None) -> Event:
    """Make the event of a message that comes now; ``about`` adds fields of the caller's, such as usage."""
    return new_event(MESSAGE.name, {**(about or {}), "message": message_to_json(message)}, MESSAGE.version)


def fold(events: Iterable[Stored], view: View | None = None, kinds: Mapping[str, Kind] = KINDS) -> View:
    """Replay events into a view, or go on from an earlier one. Linear in the number of events."""
    view = view or View()
    seq = view.seq
    for stored in events:
        if stored.seq <= seq:
            raise InputError(f"event {stored.seq} is already in this view, which has reached {seq}")
        seq = stored.seq
        kind = kinds.get(stored.event.kind)
        view = kind.fold(view, kind.current(stored)) if kind else _skip(view, stored.event.kind)
    return replace(view, seq=seq)


def _skip(view: View, kind: str) -> View:
    skipped = {**view.skipped, kind: view.skipped.get(kind, 0) + 1}
    return replace(view, skipped=MappingProxyType(skipped))


def load(store: Store, ctx: Ctx, refs: Iterable[Ref], kinds: Mapping[str, Kind] = KINDS) -> Iterator[Visible]:
    """Yield the messages that references point at, in their order."""
    for run in _runs(refs):
        events = store.read(ctx, run[0].seq - 1, run[-1].seq)
        stored = next(events, None)
        for ref in run:
            while stored and stored.seq < ref.seq:
                stored = next(events, None)
            if stored is None or stored.seq != ref.seq or stored.event.kind not in kinds:
                raise StoreDamaged(f"the view shows event {ref.seq}, which holds no message")
            kind = kinds[stored.event.kind]
            message = kind.messages(kind.current(stored).event.body)[ref.nth]
            yield Visible(ref, stored.event.id, message)


def _runs(refs: Iterable[Ref]) -> Iterator[list[Ref]]:
    """Split references into stretches that one ascending read covers."""
    run: list[Ref] = []
    for ref in refs:
        if run and (len(run) == RUN or not 0 <= ref.seq - run[-1].seq <= READ_THROUGH):
            yield run
            run = []
        run.append(ref)
    if run:
        yield run
