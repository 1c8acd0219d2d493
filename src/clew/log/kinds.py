"""The kinds of events: how each changes a view, and which messages it holds.

A new kind is a new value in the mapping given to ``fold``; nothing there changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from clew.errors import StoreDamaged, StoreTooNew
from clew.log.ids import new_event
from clew.log.messages import message_from_json, message_to_json
from clew.log.view import Ref, Splice, View
from clew.message import Json, JsonObject, Message
from clew.ports import Event, Stored


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of event."""

    name: str
    fold: Callable[[View, Stored], View]
    """How it changes the view. Pure: the view given stays as it is."""
    messages: Callable[[JsonObject], tuple[Message, ...]] = lambda _body: ()
    """The messages that its body holds, for a ``Ref`` to point at."""
    name_of: Callable[[Stored, int], str | None] = lambda _stored, _nth: None
    """What each of these messages is called; None for those that are called by their number."""
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


# Messages --------------------------------------------------------------------------------------------


def message_event(message: Message, about: JsonObject | None = None) -> Event:
    """Make the event of a message that comes now; ``about`` adds fields of the caller's, such as usage."""
    return new_event(MESSAGE.name, {**(about or {}), "message": message_to_json(message)}, MESSAGE.version)


def _message_of(body: JsonObject) -> tuple[Message, ...]:
    value = body.get("message")
    if not isinstance(value, dict):
        raise StoreDamaged("an event of kind 'message' holds none")
    return (message_from_json(value),)


TOOL_COMPACTION = "tool_compaction"
"""The field of a message's body that says that the tool which wrote the session compacted before it."""
MESSAGE = Kind("message", lambda view, stored: view.show(Ref(stored.seq)), _message_of)


# Compactions -----------------------------------------------------------------------------------------


def splices_to_json(splices: Sequence[Splice]) -> list[Json]:
    """Return what a compaction does to a view, for its body; what is shown is among its own messages."""
    return [
        {
            "first": list[Json](one.first),
            "last": list[Json](one.last),
            "shows": [ref.nth for ref in one.shows],
        }
        for one in splices
    ]


def _splices(stored: Stored) -> list[Splice]:
    body: dict[str, Any] = stored.event.body
    try:
        return [
            Splice(Ref(*one["first"]), Ref(*one["last"]), tuple(Ref(stored.seq, nth) for nth in one["shows"]))
            for one in body["splices"]
        ]
    except (KeyError, TypeError, ValueError) as cause:
        raise StoreDamaged(f"event {stored.seq} is no compaction that clew wrote ({cause!r})") from cause


def _messages_of(body: JsonObject) -> tuple[Message, ...]:
    listed = body.get("messages")
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise StoreDamaged("an event of kind 'compaction' has no list of messages")
    return tuple(message_from_json(one) for one in listed if isinstance(one, dict))


def _name_of(stored: Stored, nth: int) -> str:
    try:
        return str(stored.event.body["names"][nth])  # type: ignore[index]
    except (KeyError, IndexError, TypeError) as cause:
        raise StoreDamaged(f"event {stored.seq} does not say what its messages are called") from cause


def _undo(view: View, stored: Stored) -> View:
    seq = stored.event.body.get("compaction")
    if not isinstance(seq, int):
        raise StoreDamaged(f"event {stored.seq} does not say which compaction it undoes")
    return view.without(seq)


COMPACTION = Kind(
    "compaction", lambda view, stored: view.spliced(stored.seq, _splices(stored)), _messages_of, _name_of
)
UNDO = Kind("undo", _undo)
SWITCH = Kind("switch", lambda view, stored: replace(view, off=stored.event.body.get("off") is True))


# What is on record and shows nothing -----------------------------------------------------------------


def on_record(name: str) -> Kind:
    """Return a kind of event that leaves every view as it is."""
    return Kind(name, lambda view, _stored: view)


PIN = on_record("pin")
"""What a person did to a rule by hand."""
RULES = on_record("rules")
"""What a rule finder found in messages that do not say so themselves, or finds when it is run again."""
TOKEN_BUDGET = on_record("token_budget")
"""How the window was split for a request."""
REFUSAL = on_record("refusal")
"""A compaction that was proposed and did not take effect."""
NOTE = on_record("note")
"""What became of a note of the memory."""
MEMORY_FILE = on_record("memory_file")
"""What a model did to a file of its memory."""

ABOUT = on_record("about")
"""What the session is: the model that it talks to."""
LOOP = on_record("loop")
"""What a person did to open work by hand."""
TIER = on_record("tier")
"""What moved between the tiers of the memory, and why."""
INSTRUCTION = on_record("instruction")
"""An instruction file that came into force, or left, by its id and hash."""
PROGRESS = on_record("progress")
"""A checkpoint of the progress log."""
APPROVAL = on_record("approval")
"""What a person allowed or refused."""
CALL = on_record("call")
"""A request to a model: what it used, and what its cache read, wrote and missed."""

_ALL = (
    *(MESSAGE, COMPACTION, UNDO, SWITCH, PIN, RULES, TOKEN_BUDGET, REFUSAL, NOTE, MEMORY_FILE),
    *(ABOUT, LOOP, TIER, INSTRUCTION, PROGRESS, APPROVAL, CALL),
)
RESHAPING = (COMPACTION.name, UNDO.name, SWITCH.name)
"""Kinds of events after which the model sees the same messages in another way."""
KINDS: Mapping[str, Kind] = MappingProxyType({kind.name: kind for kind in _ALL})
