"""The kinds of events, and the fold of a log into a view or another state.

A kind says how its events change a view and which messages they hold: a ``message`` adds one reference, a
``compaction`` replaces some by references to its own messages, an ``undo`` takes that back, a ``pin`` changes
nothing. To add one, add a value to the mapping passed to ``fold``.

``Journal`` keeps a state that is folded from the events of one kind, and appends to it. The notes of a
workspace are such a state: ``Journal(store, ctx, NOTE, fold_notes, NO_NOTES)``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from clew.errors import HeadMoved, InputError, StoreBusy, StoreDamaged, StoreTooNew
from clew.log.chain import new_event
from clew.log.protocol import Ctx, Event, ReadsPositions, Store, StoredEvent
from clew.log.view import LogProblem, Ref, Splice, View
from clew.message import Json, JsonObject, Message
from clew.message.codec import message_from_json, message_to_json


@dataclass(frozen=True, slots=True)
class EventKind:
    """One kind of event."""

    name: str
    fold: Callable[[View, StoredEvent], View]
    """How it changes the view. A pure function: it returns a new view."""
    messages: Callable[[JsonObject], tuple[Message, ...]] = lambda _body: ()
    """The messages in its body, for a ``Ref`` to point at."""
    name_of: Callable[[StoredEvent, int], str | None] = lambda _stored, _nth: None
    """The name of each of these messages; None for those named by their number."""
    upcasts: tuple[Callable[[JsonObject], JsonObject], ...] = ()
    """From version 1 to 2, from 2 to 3, …: they convert old bodies to the current version."""

    @property
    def version(self) -> int:
        """Return the version of the bodies that ``fold`` and ``messages`` understand."""
        return len(self.upcasts) + 1

    def current(self, stored: StoredEvent) -> StoredEvent:
        """Return the event with its body converted to the current version."""
        event = stored.event
        if event.version == self.version:
            return stored
        if event.version > self.version:
            raise StoreTooNew(f"event {stored.seq} is a {self.name} of version {event.version}")
        body = event.body
        for upcast in self.upcasts[event.version - 1 :]:
            body = upcast(body)
        return replace(stored, event=replace(event, version=self.version, body=body))


# Messages --------------------------------------------------------------------------------------------


def message_event(message: Message, about: JsonObject | None = None) -> Event:
    """Create the event of a new message; ``about`` adds fields of the caller, such as usage."""
    return new_event(MESSAGE.name, {**(about or {}), "message": message_to_json(message)}, MESSAGE.version)


def _message_of(body: JsonObject) -> tuple[Message, ...]:
    value = body.get("message")
    if not isinstance(value, dict):
        raise StoreDamaged("an event of kind 'message' holds none")
    return (message_from_json(value),)


MESSAGE = EventKind("message", lambda view, stored: view.show(Ref(stored.seq)), _message_of)
"""A message: it is shown at the end of the view."""


# Compactions -----------------------------------------------------------------------------------------


def splices_to_json(splices: Sequence[Splice]) -> list[Json]:
    """Return the splices of a compaction as JSON for its body; ``shows`` indexes its own messages."""
    return [
        {
            "first": list[Json](splice.first),
            "last": list[Json](splice.last),
            "shows": [ref.nth for ref in splice.shows],
        }
        for splice in splices
    ]


def _splices(stored: StoredEvent) -> list[Splice]:
    body: dict[str, Any] = stored.event.body
    try:
        return [
            Splice(
                Ref(*item["first"]), Ref(*item["last"]), tuple(Ref(stored.seq, nth) for nth in item["shows"])
            )
            for item in body["splices"]
        ]
    except (KeyError, TypeError, ValueError) as cause:
        raise StoreDamaged(f"event {stored.seq} is not a compaction that clew wrote ({cause!r})") from cause


def _messages_of(body: JsonObject) -> tuple[Message, ...]:
    listed = body.get("messages")
    if not isinstance(listed, list) or not all(isinstance(value, dict) for value in listed):
        raise StoreDamaged("an event of kind 'compaction' has no list of messages")
    return tuple(message_from_json(value) for value in listed if isinstance(value, dict))


def _name_of(stored: StoredEvent, nth: int) -> str:
    try:
        return str(stored.event.body["names"][nth])  # type: ignore[index]
    except (KeyError, IndexError, TypeError) as cause:
        raise StoreDamaged(f"event {stored.seq} does not say what its messages are called") from cause


def _undo(view: View, stored: StoredEvent) -> View:
    seq = stored.event.body.get("compaction")
    if not isinstance(seq, int):
        raise StoreDamaged(f"event {stored.seq} does not say which compaction it undoes")
    return view.undo(seq)


COMPACTION = EventKind(
    "compaction", lambda view, stored: view.splice(stored.seq, _splices(stored)), _messages_of, _name_of
)
"""A compaction: its own messages are shown instead of those that it replaces."""
TOOL_COMPACTION = EventKind("tool_compaction", lambda view, _stored: view, _messages_of, _name_of)
"""A compaction by the tool that wrote an imported session: its summary, and the messages that it kept.

It does not change clew's view, which is the whole conversation, unless a ``resume`` event follows.
"""


def _resume(view: View, stored: StoredEvent) -> View:
    """Return the view after a resume: kept messages, the summary, other kept messages, what followed.

    ``{"compaction": 9, "messages": 1, "keeps": [1, 8], "system": 1}``: the tool's compaction is event 9 and
    has one message (the summary); it kept messages 1 and 8, of which the first comes before the summary: the
    system prompt, and with some tools the user's first message.
    """
    body: dict[str, Any] = stored.event.body
    try:
        at, first = body["compaction"], body["system"]
        keeps = [view.whole[number - 1] for number in body["keeps"] if number > 0]
        summary = [Ref(at, nth) for nth in range(body["messages"])]
        later = view.whole[view.number(at) :]
    except (KeyError, IndexError, TypeError) as cause:
        raise StoreDamaged(f"event {stored.seq} does not say what the tool left ({cause!r})") from cause
    return view.resume([*keeps[:first], *summary, *keeps[first:], *later])


RESUME = EventKind("resume", _resume)
"""The view continues from what the tool's last compaction left: its summary, what it kept, what followed."""
UNDO = EventKind("undo", _undo)
"""A compaction is taken back: what it replaced is shown again."""
SWITCH = EventKind("switch", lambda view, stored: replace(view, off=stored.event.body.get("off") is True))
"""Compaction is switched off or on again: the whole history is shown, or the compacted one."""


# Kinds that do not change the view -------------------------------------------------------------------


def record_only(name: str) -> EventKind:
    """Return a kind of event that does not change the view."""
    return EventKind(name, lambda view, _stored: view)


PIN = record_only("pin")
"""A manual change to a rule."""
RULES = record_only("rules")
"""Rules that a rule finder found in messages after the fact, or in a rerun."""
JUDGEMENT = record_only("judgement")
"""What a model said about sentences of the user: which are rules, and which rules are over."""
TOKEN_BUDGET = record_only("token_budget")
"""How the window was divided for a request."""
REFUSAL = record_only("refusal")
"""A compaction that was proposed and did not take effect."""
NOTE = record_only("note")
"""A change to a memory note."""
MEMORY_FILE = record_only("memory_file")
"""A change that a model made to a memory file."""

ABOUT = record_only("about")
"""Facts about the session: the model it talks to."""
LOOP = record_only("loop")
"""A manual change to open work."""
TIER = record_only("tier")
"""A move between memory tiers, and why."""
INSTRUCTION = record_only("instruction")
"""An instruction file that took effect or was removed, by id and hash."""
PROGRESS = record_only("progress")
"""A checkpoint of the progress log."""
APPROVAL = record_only("approval")
"""What the user allowed or refused."""
CALL = record_only("call")
"""A request to a model: its usage, and what its cache read, wrote and missed."""

_ALL = (
    *(MESSAGE, COMPACTION, UNDO, SWITCH, PIN, RULES, TOKEN_BUDGET, REFUSAL, NOTE, MEMORY_FILE),
    *(ABOUT, LOOP, TIER, INSTRUCTION, PROGRESS, APPROVAL, CALL, TOOL_COMPACTION, RESUME, JUDGEMENT),
)
RESHAPING = (COMPACTION.name, UNDO.name, SWITCH.name, RESUME.name)
"""Kinds of events that change how existing messages are shown to the model."""
KINDS: Mapping[str, EventKind] = MappingProxyType({kind.name: kind for kind in _ALL})


MAX_GAP = 16
"""The largest gap between references that is read through instead of starting another query; chosen by hand.
"""
MAX_RUN = 1_000
"""How many references are collected before reading: bounds memory, does not change the result."""


@dataclass(frozen=True, slots=True)
class VisibleMessage:
    """A message of a view, with its source event."""

    ref: Ref
    id: str
    """The id of its event."""
    own_name: str | None
    """Its own name, ``d3`` for a digest; None for a message that is named by its number."""
    message: Message


def named_messages(view: View, messages: Iterable[VisibleMessage]) -> Iterator[tuple[str, VisibleMessage]]:
    """Yield the messages of a view with their names in the session: ``m12``, ``d3``."""
    for visible in messages:
        yield visible.own_name or f"m{view.number(visible.ref.seq)}", visible


def fold(
    events: Iterable[StoredEvent], view: View | None = None, kinds: Mapping[str, EventKind] = KINDS
) -> View:
    """Replay events into a view, or continue an earlier one. Linear in the number of events.

    An event that does not fit the view, such as a second undo of one compaction, is skipped and listed in
    ``View.problems``; the log still opens.
    """
    view = view or View()
    seq = view.seq
    for stored in events:
        if stored.seq <= seq:
            raise InputError(f"event {stored.seq} is already in this view, which has reached {seq}")
        seq = stored.seq
        name = stored.event.kind
        if kind := kinds.get(name):
            view = apply_event(view, kind.current(stored), kind)
        else:
            skipped = {**view.skipped, name: view.skipped.get(name, 0) + 1}
            view = replace(view, skipped=MappingProxyType(skipped))
    return replace(view, seq=seq)


def apply_event(view: View, stored: StoredEvent, kind: EventKind) -> View:
    """Return the view after one event of a known kind; an event that does not fit is listed as a problem."""
    try:
        return kind.fold(view, stored)
    except StoreDamaged as cause:
        problem = LogProblem(stored.seq, stored.event.kind, cause.detail)
        return replace(view, problems=view.problems.add(problem))


def load_messages(
    store: Store, ctx: Ctx, refs: Iterable[Ref], kinds: Mapping[str, EventKind] = KINDS
) -> Iterator[VisibleMessage]:
    """Yield the messages that references point at, in their order."""
    read_at = store.read_at if isinstance(store, ReadsPositions) else None
    for run in _runs(refs, sys.maxsize if read_at else MAX_GAP):
        seqs = [ref.seq for ref in run]
        events = read_at(ctx, seqs) if read_at else store.read(ctx, seqs[0] - 1, seqs[-1])
        stored = next(events, None)
        for ref in run:
            while stored and stored.seq < ref.seq:
                stored = next(events, None)
            if stored is None or stored.seq != ref.seq or stored.event.kind not in kinds:
                raise StoreDamaged(f"the view shows event {ref.seq}, which holds no message")
            kind = kinds[stored.event.kind]
            current = kind.current(stored)
            message = kind.messages(current.event.body)[ref.nth]
            yield VisibleMessage(ref, stored.event.id, kind.name_of(current, ref.nth), message)


def _runs(refs: Iterable[Ref], max_gap: int) -> Iterator[list[Ref]]:
    """Split references into runs that one ascending read covers."""
    run: list[Ref] = []
    for ref in refs:
        if run and (len(run) == MAX_RUN or not 0 <= ref.seq - run[-1].seq <= max_gap):
            yield run
            run = []
        run.append(ref)
    if run:
        yield run


TRIES = 16
"""Attempts to append while other processes append to the same session."""

State = TypeVar("State")
Fold = Callable[[Iterable[StoredEvent], State], State]
"""Returns a state with further events applied."""
Clock = Callable[[], int]
"""Returns the current time in milliseconds."""


def unix_ms() -> int:
    """Return the current time in milliseconds."""
    return time.time_ns() // 1_000_000


class Journal(Generic[State]):
    """Keeps a state up to date with its log. Several processes may write to the same log."""

    def __init__(
        self, store: Store, ctx: Ctx, kind: EventKind, fold: Fold[State], empty: State, clock: Clock = unix_ms
    ) -> None:
        self._store = store
        self._ctx = ctx
        self._kind = kind
        self._fold = fold
        self._state = empty
        self._read = 0
        self._clock = clock

    @property
    def state(self) -> State:
        """Return the current state, including what other processes appended."""
        return self._catch_up(self._store.head(self._ctx).seq)

    def _catch_up(self, seq: int) -> State:
        if seq > self._read:
            events = self._store.read(self._ctx, self._read, seq, [self._kind.name])
            self._state = self._fold(map(self._kind.current, events), self._state)
            self._read = seq
        return self._state

    def append(self, decide: Callable[[State], JsonObject]) -> tuple[State, int]:
        """Append the event that ``decide`` makes of the state; return the new state and the event's number.

        If another process appends first, ``decide`` is called again with the updated state. If it raises, the
        log is not changed.
        """
        for _ in range(TRIES):
            head = self._store.head(self._ctx)
            body = decide(self._catch_up(head.seq))
            event = new_event(self._kind.name, body, self._kind.version, self._clock())
            with suppress(HeadMoved):
                seq = self._store.append(self._ctx, [event], head).seq
                return self._catch_up(seq), seq
        raise StoreBusy(f"other processes keep appending to {self._ctx.session!r}")
