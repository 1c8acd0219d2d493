"""Which entries of a session file the log has already, when the file is imported again.

An imported message holds the fingerprint of its entry. A tool may write one reply as several lines, so the
last reply of a file that is still written may be longer the next time: what it has more is appended as a
message of its own, with the number of the entry that it extends. So an entry may be several messages.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from clew.errors import SessionDiverged
from clew.log import MESSAGE, canonical, message_event, message_to_json
from clew.log.protocol import Ctx, Event, Store
from clew.message import JsonObject, Message, Part, Role
from clew.secrets import mask_message
from clew.transcripts import Entry

EXTENDS = "extends"
"""The field of a message event that names the entry, by its number from 1, which the message continues."""


@dataclass(slots=True)
class _Known:
    """An entry as the log has it."""

    role: Role
    fingerprint: str
    parts: tuple[Part, ...]
    numbers: list[int]


@dataclass(slots=True)
class KnownEntries:
    """The entries of a file that the log has, in order."""

    entries: list[_Known] = field(default_factory=list)
    messages: int = 0
    """How many messages the log has."""

    @classmethod
    def of(cls, store: Store, ctx: Ctx) -> KnownEntries:
        """Read them from a log."""
        known = cls()
        for stored in store.read(ctx, kinds=[MESSAGE.name]):
            known.messages += 1
            (message,) = MESSAGE.messages(MESSAGE.current(stored).event.body)
            fingerprint, extends = (stored.event.body.get(name) for name in ("fingerprint", EXTENDS))
            if isinstance(extends, int) and 0 < extends <= len(known.entries):
                entry = known.entries[extends - 1]
                entry.fingerprint, entry.parts = str(fingerprint), (*entry.parts, *message.parts)
                entry.numbers.append(known.messages)
            else:
                one = _Known(message.role, str(fingerprint), message.parts, [known.messages])
                known.entries.append(one)
        return known

    def extension(self, entries: Sequence[Entry], ctx: Ctx, *, keep_secrets: bool) -> Event | None:
        """Return the event for what the last reply has more than the log; None if it is the same.

        Raise ``SessionDiverged`` if any entry differs in another way.
        """
        last = max((n for n, one in enumerate(self.entries) if one.role is Role.ASSISTANT), default=-1)
        extension: Event | None = None
        for number, (known, entry) in enumerate(zip(self.entries, entries, strict=False)):
            if known.fingerprint == fingerprint(entry.message):
                continue
            if number != last or not _begins(entry.message, known.parts):
                what = f"message {number + 1} of the file differs from the imported one"
                raise SessionDiverged(f"{ctx.session}: {what}")
            self.messages += 1
            known.numbers.append(self.messages)
            rest = replace(entry.message, parts=entry.message.parts[len(known.parts) :], native=None)
            about = entry_about(entry) | {EXTENDS: number + 1}
            extension = message_event(rest if keep_secrets else mask_message(rest), about)
        return extension

    def numbers(self, entries: Sequence[Entry]) -> dict[str, list[int]]:
        """Return the numbers that the messages of each entry have in the log, or will have, by its id."""
        known = [one.numbers for one in self.entries[: len(entries)]]
        new = ([self.messages + n] for n in range(1, len(entries) - len(known) + 1))
        return {entry.id: own for entry, own in zip(entries, [*known, *new], strict=True)}


def entry_about(entry: Entry) -> JsonObject:
    """Return what the event of an entry says beside its message: its place, and the fingerprint."""
    place: JsonObject = {"id": entry.id, "line": entry.line, "time": entry.time}
    return {"source": place, "fingerprint": fingerprint(entry.message)}


def fingerprint(message: Message) -> str:
    """Return a short hash of a message as the file has it, secrets included."""
    return hashlib.sha256(canonical(message_to_json(message))).hexdigest()[:32]


def _begins(message: Message, parts: tuple[Part, ...]) -> bool:
    """Whether a message begins with these parts, which may be masked, and has more."""
    if not 0 < len(parts) < len(message.parts):
        return False
    start = replace(message, parts=message.parts[: len(parts)], native=None)
    known = message_to_json(replace(start, parts=parts))
    return known in (message_to_json(start), message_to_json(mask_message(start)))
