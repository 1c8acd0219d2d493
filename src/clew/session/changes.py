"""Changes that a person makes to rules, kept facts and open work.

A change is an event. ``change_…`` appends one; ``LoggedChanges.apply`` makes it in the ledger when the event
is read, in this process and in others. The ids p1 and t2 are for people, and another version of clew may
number differently, so an event also identifies its subject by wording and place::

    {"does": "revoke", "pin": "p2", "why": "…", "rule": {"quote": "never push", "source": …}}

Logs of an earlier version have no ``rule``; ``numbered_rules`` finds out which rule such an event means.
"""

from __future__ import annotations

import unicodedata
from collections import OrderedDict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from clew.errors import InputError, NotFound, StoreDamaged
from clew.ledger.kept_facts import KeptFact, KeptFacts
from clew.ledger.ledger import Ledger
from clew.ledger.loop import Loop, LoopRef
from clew.log import LOOP, PIN, new_event
from clew.log.protocol import Ctx, Event, Store, StoredEvent
from clew.log.transfer import ImportedEvents, imported_events
from clew.message import Cite, Json, JsonObject, Trust, words
from clew.rules.findings import FINDER, ref_from_json, ref_to_json
from clew.rules.pins import Pins
from clew.rules.rule import MadeBy, Pin, RuleRef

if TYPE_CHECKING:
    from clew.session.replay import Replay


ADVICE = "nothing was changed; `clew pin SESSION` lists the rules in force"
REMEMBERED = 256
"""Changes whose subject is remembered, the newest; chosen by hand, the caller asks right after the append."""


# Append a change --------------------------------------------------------------------------------------


def change_rule(replay: Replay, body: JsonObject, shown: str | None = None) -> Pin:
    """Append a change of a rule; return the rule after the change.

    ``shown`` is the wording that a person saw under the id: rules that were searched again have other ids.
    """
    if "quote" in body and not any(map(_is_visible, str(body["quote"]))):
        raise InputError("this rule has no words", "write what should hold")
    named = body.get("pin")
    shown_rule = replay.ledger.pins.held.get(str(named))  # the rule that the caller means by this id
    if shown is not None and (shown_rule is None or shown_rule.quote != shown):
        shown_rule = replay.ledger.pins.worded(shown)
        if shown_rule is None:
            raise InputError(f"the rule shown as {named} is no longer in force", ADVICE)

    def decide() -> list[Event]:
        if named is None:
            return [new_event(PIN.name, body, PIN.version)]
        pins = replay.ledger.pins
        pin = pins.match(shown_rule.ref, shown_rule.id) if shown_rule else pins.get(str(named))
        if pin is None or not pin.is_active:
            why = f"{pin.status.value}: {pin.why}" if pin else "the rules were searched again"
            raise InputError(f"{named} is no longer in force ({why})", ADVICE)
        rule: JsonObject = {**ref_to_json(pin.ref), "finder": FINDER}
        return [new_event(PIN.name, {**body, "pin": pin.id, "rule": rule}, PIN.version)]

    return replay.ledger.pins.get(replay.changed_rule(replay.append(decide)))


def _is_visible(character: str) -> bool:
    """Whether a character shows something: no space, control, format character or mark on nothing."""
    return unicodedata.category(character)[0] in "LNPS"


def change_loop(replay: Replay, body: JsonObject) -> None:
    """Append a change of open work."""
    name, closes = str(body["loop"]), body["does"] == "close"
    shown_loops = _loops_seen(replay.ledger, name, closes)

    def decide() -> list[Event]:
        loops = replay.ledger.loops
        open_loops = loops.open if closes else loops.closed_by_hand
        target = [loop for item in shown_loops if (loop := LoopRef.of(item).among(open_loops))]
        if not target:
            target = [*loops.open_under(name)] if closes else [loops.closed_under(name)]
        refs: list[Json] = [LoopRef.of(loop)._asdict() for loop in target]
        return [new_event(LOOP.name, {**body, "loops": refs}, LOOP.version)]

    replay.changed_rule(replay.append(decide))


def _loops_seen(ledger: Ledger, name: str, closes: bool) -> tuple[Loop, ...]:
    """Return the open items that the caller means by this id; empty if it appeared since."""
    try:
        return ledger.loops.open_under(name) if closes else (ledger.loops.closed_under(name),)
    except NotFound:
        return ()


def change_fact(replay: Replay, body: JsonObject) -> KeptFact:
    """Append that a passage is kept, or no longer kept; return it."""

    def decide() -> list[Event]:
        if body["does"] == "drop":
            fact = replay.ledger.facts.get(str(body["fact"]))
            return [new_event(PIN.name, {**body, "quote": fact.quote, "source": [*fact.source]}, PIN.version)]
        return [new_event(PIN.name, body, PIN.version)]

    known_fact = replay.ledger.facts.held.get(str(body.get("fact")))
    name = replay.changed_rule(replay.append(decide))
    return known_fact or replay.ledger.facts.get(name)


def keep_passage(replay: Replay, quote: str, source: str) -> KeptFact:
    """Append that a passage of a message is kept; return it."""
    message = replay.original(source)
    if message is None:
        raise NotFound(f"there is no message {source:.40}", "message ids are m1, m2, …")
    for place, part in enumerate(message.parts):
        start = words(part).find(quote)
        if quote.strip() and start >= 0:
            cite: list[Json] = [source, place, start, start + len(quote)]
            body: JsonObject = {"does": "keep", "quote": quote, "source": cite, "trust": part.trust.label}
            return change_fact(replay, body)
    raise InputError(f"{source} does not contain this passage", "quote its exact words")


def confirm_imported(replay: Replay, shown: Iterable[str] | None) -> tuple[Pin, ...]:
    """Append that imported rules apply, of those waiting the ones with these wordings; return them.

    Without ``shown``, those that wait as far as this process has read the log.
    """
    seen = {pin.quote for pin in replay.ledger.pins.waiting} if shown is None else {*shown}
    confirmed: list[str] = []

    def decide() -> list[Event]:
        waiting = [pin for pin in replay.ledger.pins.waiting if pin.quote in seen]
        confirmed[:] = [pin.id for pin in waiting]
        body: JsonObject = {"does": "confirm", "quotes": [pin.quote for pin in waiting]}
        return [new_event(PIN.name, body, PIN.version)] if waiting else []

    replay.append(decide)
    return tuple(map(replay.ledger.pins.get, confirmed))


# Apply a change from the log --------------------------------------------------------------------------


class LoggedChanges:
    """Applies the changes of one log to its ledger, and knows what each of them changed."""

    def __init__(self, store: Store, ctx: Ctx) -> None:
        self._store, self._ctx = store, ctx
        self.subjects: OrderedDict[int, str] = OrderedDict()
        """The id of the rule or fact that was changed, by the position of the event."""
        self._rules_by_number: dict[int, RuleRef] | None = None
        """The rule meant by each event that names one by number; None until the first such event."""
        self._imported: ImportedEvents | None = None
        """Which events came with an imported file, known up to ``_imported_upto``."""
        self._imported_upto = 0

    def apply(self, stored: StoredEvent, ledger: Ledger) -> str:
        """Apply a change; return a remark for the person if only a part of it could be applied.

        Raises ``InputError`` or ``StoreDamaged`` if it no longer applies.
        """
        body, remark, name = stored.event.body, "", ""
        if stored.event.kind == LOOP.name:
            apply_loop_change(ledger, body)
        elif body.get("does") in FACT_ACTS:
            name = apply_fact_change(ledger.facts, body)
        else:
            rule = self._rule_meant(stored)
            change = apply_imported_rule_change if self.is_imported(stored.seq) else apply_rule_change
            name = change(ledger.pins, body, rule)
            if names_by_number(body) and not rule:
                remark = f"the log does not say which rule {body['pin']} was: only the new words apply"
        self.subjects[stored.seq] = name
        while len(self.subjects) > REMEMBERED:
            self.subjects.popitem(last=False)
        return remark

    def is_imported(self, seq: int) -> bool:
        """Whether an event came with an imported file; an import is recorded before its events."""
        if self._imported is None or seq > self._imported_upto:
            self._imported_upto = self._store.head(self._ctx).seq
            self._imported = imported_events(self._store, self._ctx)
        return seq in self._imported

    def _rule_meant(self, stored: StoredEvent) -> RuleRef | None:
        """Return the rule that an event of an earlier version names by number, if it can be determined."""
        if not names_by_number(stored.event.body):
            return None
        if self._rules_by_number is None:
            from clew.session.numbered_rules import NEEDED_KINDS, rules_meant  # rarely needed

            self._rules_by_number = rules_meant(self._store.read(self._ctx, kinds=NEEDED_KINDS))
        return self._rules_by_number.get(stored.seq)


FACT_ACTS = ("keep", "drop")


def names_by_number(body: dict[str, Any]) -> bool:
    """Whether an event names a rule by its number only."""
    return "pin" in body and "rule" not in body and body.get("does") not in FACT_ACTS


def apply_fact_change(facts: KeptFacts, body: dict[str, Any]) -> str:
    """Apply a logged change to the kept facts; return the id of the fact."""
    match body:
        case {
            "does": "keep",
            "quote": str(quote),
            "source": [str(), int(), int(), int()],
            "trust": str(label),
        }:
            trust = next((trust for trust in Trust if trust.label == label), Trust.UNTRUSTED)
            return facts.keep(quote, Cite(*body["source"]), trust).id
        case {"does": "drop", "quote": str(quote), "source": [str(), *_] as source}:
            candidates = [fact.id for fact in facts.all if (fact.quote, [*fact.source]) == (quote, source)]
            if not candidates:
                raise NotFound(f"{quote[:60]!r} is not kept")
            return facts.drop(candidates[0]).id
    raise StoreDamaged(f"unknown change of a kept fact: {body.get('does')!r}")


def apply_imported_rule_change(pins: Pins, body: dict[str, Any], rule: RuleRef | None = None) -> str:
    """Apply a change of rules that came with an imported file.

    Rules from the file wait for confirmation. Rules set or confirmed here are never changed.
    """
    match body:
        case {"does": "pin", "quote": str(quote)}:
            return pins.import_pin(quote).id
        case {"does": "confirm"}:
            return ""
        case {"does": str(), "pin": str(name)}:
            pin = _target_rule(pins, body, name, rule)
            if pin and (pin.made_by is MadeBy.PERSON or (pin.made_by is MadeBy.IMPORTED and pin.is_active)):
                raise InputError(f"an imported event changes {pin.id}, which was set or confirmed here")
            if body["does"] == "edit" and isinstance(body.get("quote"), str):
                if pin:
                    pins.revoke(pin.id, "edited in an imported file")
                return pins.import_pin(body["quote"]).id
    return apply_rule_change(pins, body, rule)


def apply_rule_change(pins: Pins, body: dict[str, Any], rule: RuleRef | None = None) -> str:
    """Apply a logged change to the rules; return the id of the rule.

    ``rule`` identifies the rule of an event that has only its number, if it can be determined.
    """
    match body:
        case {"does": "pin", "quote": str(quote)}:
            return pins.pin(quote).id
        case {"does": "confirm"}:
            quotes = body.get("quotes")  # an earlier version recorded none, and confirmed all
            return ",".join(pin.id for pin in pins.confirm(quotes if isinstance(quotes, list) else None))
        case {"does": "edit", "pin": str(name), "quote": str(quote)}:
            old = _target_rule(pins, body, name, rule)
            edited = pins.edit(old.id, quote) if old else pins.pin(quote)  # it applies in any case
            return edited.id
        case {"does": "revoke" | "expire" as does, "pin": str(name), "why": str(why)}:
            pin = _target_rule(pins, body, name, rule)
            if pin is None and ("rule" in body or rule):
                raise NotFound(f"the rule that it revokes, {name}, is not found in this session")
            if pin is None:
                what = f"an earlier version recorded only the number {name}"
                raise NotFound(f"{what}, and no digest says which rule that was")
            return (pins.revoke if does == "revoke" else pins.expire)(pin.id, why).id
    raise StoreDamaged(f"unknown change of a rule: {body.get('does')!r}")


def _target_rule(pins: Pins, body: dict[str, Any], name: str, rule: RuleRef | None) -> Pin | None:
    """Return the rule that an event changes."""
    rule = ref_from_json(body["rule"]) if "rule" in body else rule
    return pins.match(rule, name) if rule else None


def apply_loop_change(ledger: Ledger, body: dict[str, Any]) -> None:
    """Apply a logged change to open work."""
    match body:
        case {"does": "close", "loop": str(name), "why": str(why)}:
            for ref in _refs(body, name):
                loop = ref.among(ledger.loops.open) if isinstance(ref, LoopRef) else None
                ledger.close_loop(_id_of(loop, ref), why)
        case {"does": "reopen", "loop": str(name)}:
            for ref in _refs(body, name):
                loop = ref.among(ledger.loops.closed_by_hand) if isinstance(ref, LoopRef) else None
                ledger.reopen_loop(_id_of(loop, ref))
        case _:
            raise StoreDamaged(f"unknown change of open work: {body.get('does')!r}")


def _refs(body: dict[str, Any], name: str) -> list[LoopRef | str]:
    """Return the open items that an event changes; an earlier version recorded only the id."""
    if "loops" not in body:
        return [name]
    try:
        return [LoopRef(**item) for item in body["loops"]]
    except TypeError as cause:
        raise StoreDamaged(f"its reference to open work cannot be read ({cause})") from cause


def _id_of(loop: Loop | None, target: LoopRef | str) -> str:
    if isinstance(target, str):
        return target
    if loop is None:
        raise NotFound(f"there is no open item {target.text[:60]!r} of {target.message}")
    return loop.id
