"""The log's record of which rules were found in which message.

A message event written by a session holds the rules found in the message. Imported messages and those of
earlier versions do not: the installed rule finder searches them, and the next change of the session appends a
``rules`` event with the findings. A ``rules`` event with ``rescan`` replaces all findings before it::

    {"finder": 9, "upto": 12, "messages": {"m3": […]}}                  what was found in messages up to m12
    {"finder": 9, "upto": 40, "messages": {…}, "rescan": true}          the same, in place of all before

For example, of a log with these events::

    message m1, without a record (imported)
    message m2, with its own record
    rules   upto 2                      m1: this event; m2: its own record
    message m3, with its own record
    rules   upto 2, rescan              m1 and m2: the rescan; m3: its own record

Messages are read before the ``rules`` event that records them. A process that follows the log has searched
them by then; ``agrees`` compares what it found with the event. If they differ, ``Replay`` reads the session
again from the beginning, with all ``rules`` events known in advance (``RecordedRules.of``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from clew.errors import StoreDamaged
from clew.ledger.ledger import Ledger
from clew.log import RULES, message_event, new_event
from clew.log.protocol import Event, StoredEvent
from clew.message import Item, Json, JsonObject, Message, message_number
from clew.rules.findings import FINDER, Findings, findings_from_json, findings_to_json
from clew.rules.rule import Pin
from clew.session.digest_in_list import digest_in, restore


@dataclass(frozen=True, slots=True)
class RuleChanges:
    """The rules that a new search adds and removes."""

    added: tuple[Pin, ...]
    removed: tuple[Pin, ...]
    finder: int = FINDER

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)


def changes(before: Iterable[Pin], after: Iterable[Pin]) -> RuleChanges:
    """Return the difference between two sets of rules, compared by wording and place."""
    old, new = {pin.ref: pin for pin in before}, {pin.ref: pin for pin in after}
    return RuleChanges(
        tuple(pin for ref, pin in new.items() if ref not in old),
        tuple(pin for ref, pin in old.items() if ref not in new),
    )


def recorded_messages(messages: Sequence[Message], ledger: Ledger, known: int) -> list[Event]:
    """Return the events of new messages, each with the rules found in it."""
    items = [Item(f"m{number}", message) for number, message in enumerate(messages, known + 1)]
    for digest in filter(None, map(digest_in, items)):
        ledger = ledger.copy()  # later messages may end a rule that an earlier digest quotes
        restore(ledger, digest)
    events = []
    for number, (item, result) in enumerate(zip(items, ledger.look(items), strict=True), known + 1):
        rules: JsonObject = {"finder": FINDER}
        if result:
            # Messages after ``known`` get their numbers when they are appended: refer to them by distance.
            rules["found"] = findings_to_json(result, number, known)
        events.append(message_event(item.message, {"rules": rules}))
    return events


@dataclass(slots=True)
class RecordedRules:
    """The findings recorded in the log, and those not recorded yet."""

    ignored: bool = False
    """Ignore the log's findings: every message is searched again."""
    seq: int = 0
    """The position of the last ``rules`` event read."""
    to_record: dict[str, list[Json]] = field(default_factory=dict)
    """Findings of the installed rule finder in messages without a record."""
    unrecorded: int = 0
    """The number of messages without a record."""
    _kept: dict[str, list[Json]] = field(default_factory=dict)
    """Findings of ``rules`` events in messages up to ``_kept_upto``, for those without a record."""
    _kept_upto: int = 0
    _rescan: dict[str, list[Json]] = field(default_factory=dict)
    """Findings of the last rescan, for all messages up to ``_rescan_upto``."""
    _rescan_upto: int = 0

    def findings(self, item: Item, body: dict[str, Any]) -> Findings | None:
        """Return the recorded findings of a message; None if there is no record."""
        number, own = message_number(item.id), body.get("rules")
        if self.ignored:
            return None
        if number <= self._rescan_upto:
            return findings_from_json(self._rescan.get(item.id, []), item)
        if isinstance(own, dict):
            return findings_from_json(own.get("found", []), item)
        if number <= self._kept_upto:
            return findings_from_json(self._kept.get(item.id, []), item)
        return None

    def found(self, item: Item, findings: Findings) -> None:
        """Remember what the installed rule finder found in a message without a record."""
        self.unrecorded += 1
        if findings:
            number = message_number(item.id)  # it is in the log, so no number can change: known == number
            self.to_record[item.id] = findings_to_json(findings, number, number)

    def event(self, upto: int, *, rescan: bool = False) -> Event:
        """Return the ``rules`` event with the findings in the messages up to a number."""
        messages: JsonObject = {name: [*values] for name, values in self.to_record.items()}
        body: JsonObject = {"finder": FINDER, "upto": upto, "messages": messages}
        return new_event(RULES.name, {**body, "rescan": True} if rescan else body, RULES.version)

    def agrees(self, stored: StoredEvent, messages: int) -> bool:
        """Apply a ``rules`` event that follows ``messages`` messages; False if these must be read again.

        It is applied as it is if this process found the same in all of them. A rescan, other findings, and
        an event about only the first of them change the rules of messages that were read already.
        """
        if self.ignored or stored.seq <= self.seq:
            return True
        body = stored.event.body
        upto = body.get("upto")
        is_about_all = isinstance(upto, int) and upto >= messages
        if body.get("rescan") or body.get("messages") != self.to_record or not is_about_all:
            return False
        self._take(stored)
        self.to_record, self.unrecorded = {}, 0
        return True

    @classmethod
    def of(cls, events: Iterable[StoredEvent]) -> RecordedRules:
        """Return the record that the ``rules`` events of a log describe."""
        rules = cls()
        for stored in events:
            rules._take(stored)
        return rules

    def _take(self, stored: StoredEvent) -> None:
        match stored.event.body:
            case {"upto": int(upto), "messages": dict(messages), **rest}:
                result: Any = messages
                if rest.get("rescan"):
                    self._rescan, self._rescan_upto = result, upto
                else:
                    self._kept, self._kept_upto = {**result, **self._kept}, max(upto, self._kept_upto)
        self.seq = stored.seq

    def to_json(self) -> JsonObject:
        """Return the record as JSON, for a snapshot.

        What ``rules`` events hold is left out: the messages that they are about come before the snapshot and
        are not read again. If they must be, the events are read again too.
        """
        fresh: JsonObject = {name: [*values] for name, values in self.to_record.items()}
        return {"seq": self.seq, "fresh": fresh, "unrecorded": self.unrecorded}

    @classmethod
    def from_json(cls, value: Any) -> RecordedRules:  # noqa: ANN401  # JSON on its way in
        """Read what ``to_json`` wrote; snapshots of earlier versions have None."""
        match value:
            case None:
                return cls()
            case {"seq": int(seq), "fresh": dict(fresh), "unrecorded": int(unrecorded)}:
                return cls(seq=seq, to_record=fresh, unrecorded=unrecorded)
        raise StoreDamaged("the recorded rule findings cannot be read")
