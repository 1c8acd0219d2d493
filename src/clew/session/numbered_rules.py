"""Find out which rule an event of an earlier version means, which names it by number only.

Such an event is ``{"does": "revoke", "pin": "p2"}``. The installed rule finder may number differently, and
must not revoke the wrong rule. The digests of the session help, because they show each rule with number and
quote. A number is accepted if a digest shows it, or if a digest shows a higher one and all rules up to that
get the same numbers when searched for again.

``rules_meant`` takes the events of a log and returns the rule that each of them means. ``LoggedChanges``
calls it once, when it meets the first such event.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from clew.errors import InputError, StoreDamaged
from clew.ledger.exchange import Reading
from clew.log import COMPACTION, MESSAGE, PIN
from clew.log.protocol import StoredEvent
from clew.message import Item, Message, message_number
from clew.rules.find import find_candidates
from clew.rules.pins import Pins
from clew.rules.rule import Rule, RuleRef
from clew.rules.speech import utterances
from clew.session.changes import apply_rule_change, names_by_number
from clew.session.history import read_compaction

NEEDED_KINDS = (MESSAGE.name, PIN.name, COMPACTION.name)
"""The kinds of events that ``rules_meant`` reads."""


class _Candidates(Pins):
    """Numbers every candidate sentence, as earlier rule finders did."""

    def _search(self, message: Message) -> list[Rule]:
        return find_candidates(message)


def rules_meant(events: Iterable[StoredEvent]) -> dict[int, RuleRef]:
    """Return the rule meant by each event, by its position; events that cannot be resolved are omitted."""
    pins, messages = _Candidates(), 0
    changes: list[_NumberedChange] = []
    quotes: dict[str, str] = {}  # what the digests say: {"p2": "never push"}
    for stored in events:
        if stored.event.kind == MESSAGE.name:
            messages += 1
            (message,) = MESSAGE.messages(MESSAGE.current(stored).event.body)
            item = Item(f"m{messages}", message)
            pins.add(Reading(messages, item, utterances(item), [], []))
        elif stored.event.kind == PIN.name:
            body: dict[str, Any] = stored.event.body
            named_rule = pins.held.get(str(body.get("pin")))
            rule = named_rule.ref if named_rule else None
            if names_by_number(body):
                changes.append(_NumberedChange(stored.seq, str(body["pin"]), rule))
            with suppress(InputError, StoreDamaged):
                apply_rule_change(pins, body, rule)
        else:
            digest = read_compaction(COMPACTION.current(stored)).digest
            quotes |= {pin.id: pin.quote for pin in digest.pins} if digest else {}
    upto = _numbered_alike(pins, quotes)
    meant: dict[int, RuleRef] = {}
    for change in changes:
        if change.name in quotes:
            meant[change.seq] = _ref(pins, quotes[change.name])
        elif change.rule and 0 < _number(change.name) <= upto:
            meant[change.seq] = change.rule
    return meant


class _NumberedChange(NamedTuple):
    """An event that names a rule by number."""

    seq: int
    name: str
    """The number: p2."""
    rule: RuleRef | None
    """The rule that has this number when the messages before the event are searched again."""


def _numbered_alike(pins: Pins, quotes: dict[str, str]) -> int:
    """Return the number up to which digests and pins agree."""
    upto = 0
    for name in sorted(quotes, key=_number):
        if name not in pins.held or pins.held[name].quote != quotes[name]:
            break
        upto = _number(name)
    return upto


def _ref(pins: Pins, quote: str) -> RuleRef:
    alike = [pin.ref for pin in pins.all if pin.quote == quote]
    return alike[-1] if alike else RuleRef(quote, None)


def _number(name: str) -> int:
    return message_number(f"m{name.removeprefix('p')}")
