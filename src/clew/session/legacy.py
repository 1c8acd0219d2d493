"""Resolve rules that logs of an earlier clew version name by number only.

That version's rule finder no longer exists, and the installed one may number rules differently: p2 must not
revoke the wrong rule. Digests of the session name rules by number and quote. A number is accepted if a digest
has it, or if a digest has a higher one and all rules up to that get the same numbers when searched again.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from clew.errors import InputError, StoreDamaged
from clew.ledger.exchange import Reading
from clew.ledger.findings import RuleRef, number_of
from clew.ledger.pins import Pins
from clew.ledger.speech import said
from clew.log import COMPACTION, MESSAGE, PIN
from clew.log.events import Stored
from clew.message import Item, Message
from clew.rules.find import find_candidates
from clew.rules.values import Found
from clew.session.by_hand import FACT_ACTS, redo
from clew.session.record import read_compaction

KINDS = (MESSAGE.name, PIN.name, COMPACTION.name)
"""The kinds of events needed to resolve the numbers."""


def names_by_number(body: dict[str, Any]) -> bool:
    """Whether an event names a rule by its number only."""
    return "pin" in body and "rule" not in body and body.get("does") not in FACT_ACTS


class _Candidates(Pins):
    """Numbers every candidate sentence, as earlier rule finders did."""

    def _search(self, message: Message) -> list[Found]:
        return find_candidates(message)


def rules_meant(events: Iterable[Stored]) -> dict[int, RuleRef]:
    """Return the rule meant by each event; events that cannot be resolved are omitted."""
    pins, messages = _Candidates(), 0
    meant: dict[int, tuple[str, RuleRef | None]] = {}
    quotes: dict[str, str] = {}
    for stored in events:
        if stored.event.kind == MESSAGE.name:
            messages += 1
            (message,) = MESSAGE.messages(MESSAGE.current(stored).event.body)
            item = Item(f"m{messages}", message)
            pins.add(Reading(messages, item, said(item), [], []))
        elif stored.event.kind == PIN.name:
            body: dict[str, Any] = stored.event.body
            named = pins.held.get(str(body.get("pin")))
            rule = named.ref if named else None
            if names_by_number(body):
                meant[stored.seq] = str(body["pin"]), rule
            with suppress(InputError, StoreDamaged):
                redo(pins, body, rule)
        else:
            digest = read_compaction(COMPACTION.current(stored)).digest
            quotes |= {pin.id: pin.quote for pin in digest.pins} if digest else {}
    upto = _numbered_alike(pins, quotes)
    named_there = {name: _ref(pins, quote) for name, quote in quotes.items()}
    found = {
        seq: named_there.get(name) or (rule if 0 < _number(name) <= upto else None)
        for seq, (name, rule) in meant.items()
    }
    return {seq: rule for seq, rule in found.items() if rule}


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
    return number_of(f"m{name.removeprefix('p')}")
