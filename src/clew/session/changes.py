"""Changes that a person makes to rules, kept facts and open work: append them, and replay them from the log.

``on_pin``, ``on_loop`` and ``on_fact`` append a change; ``redo``, ``redo_loop`` and ``redo_fact`` apply it
when the log is read. The ids p1 and t2 are for people, and another version of clew may number differently, so
an event also identifies its subject by wording and place::

    {"does": "revoke", "pin": "p2", "why": "…", "rule": {"quote": "never push", "source": …}}

Logs of an earlier version have no ``rule``; ``rule_numbers`` finds out which rule such an event means.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.errors import InputError, NotFound, StoreDamaged
from clew.ledger.kept_facts import KeptFact, KeptFacts
from clew.ledger.ledger import Ledger
from clew.ledger.loop import Loop, LoopRef
from clew.log import LOOP, PIN, new_event
from clew.log.protocol import Event
from clew.message import Cite, Json, JsonObject, Trust
from clew.rules.findings import FINDER, ref_from_json, ref_to_json
from clew.rules.pins import Pins
from clew.rules.rule import MadeBy, Pin, RuleRef

if TYPE_CHECKING:
    from clew.session.replay import Replay


def on_pin(replay: Replay, body: JsonObject, shown: str | None = None) -> Pin:
    """Append a change of a rule; return the rule after the change.

    ``shown`` is the wording that a person saw under the id: rules that were searched again have other ids.
    """
    named = body.get("pin")
    shown_rule = replay.ledger.pins.held.get(str(named))  # the rule that the caller means by this id
    if shown is not None and (shown_rule is None or shown_rule.quote != shown):
        shown_rule = replay.ledger.pins.worded(shown)
        if shown_rule is None:
            advice = "nothing was changed; `clew pin SESSION` lists the rules in force"
            raise InputError(f"the rule shown as {named} is no longer in force", advice)

    def decide() -> list[Event]:
        if named is None:
            return [new_event(PIN.name, body, PIN.version)]
        pins = replay.ledger.pins
        pin = pins.match(shown_rule.ref, shown_rule.id) if shown_rule else pins.get(str(named))
        if pin is None or not pin.is_active:
            why = f"{pin.status.value}: {pin.why}" if pin else "the rules were searched again"
            advice = "nothing was changed; `clew pin SESSION` lists the rules in force"
            raise InputError(f"{named} is no longer in force ({why})", advice)
        rule: JsonObject = {**ref_to_json(pin.ref), "finder": FINDER}
        return [new_event(PIN.name, {**body, "pin": pin.id, "rule": rule}, PIN.version)]

    return replay.ledger.pins.get(replay.changed_rule(replay.append(decide)))


def on_loop(replay: Replay, body: JsonObject) -> None:
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


def on_fact(replay: Replay, body: JsonObject) -> KeptFact:
    """Append that a passage is kept, or no longer kept; return it."""

    def decide() -> list[Event]:
        if body["does"] == "drop":
            fact = replay.ledger.facts.get(str(body["fact"]))
            return [new_event(PIN.name, {**body, "quote": fact.quote, "source": [*fact.source]}, PIN.version)]
        return [new_event(PIN.name, body, PIN.version)]

    known_fact = replay.ledger.facts.held.get(str(body.get("fact")))
    name = replay.changed_rule(replay.append(decide))
    return known_fact or replay.ledger.facts.get(name)


FACT_ACTS = ("keep", "drop")


def redo_fact(facts: KeptFacts, body: dict[str, Any]) -> str:
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


def redo_imported(pins: Pins, body: dict[str, Any], rule: RuleRef | None = None) -> str:
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
    return redo(pins, body, rule)


def redo(pins: Pins, body: dict[str, Any], rule: RuleRef | None = None) -> str:
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
            return (
                pins.edit(old.id, quote) if old else pins.pin(quote)
            ).id  # the new wording applies in any case
        case {"does": "revoke" | "expire" as does, "pin": str(name), "why": str(why)}:
            pin = _target_rule(pins, body, name, rule)
            if pin is None:
                raise NotFound(_unknown(body, name, rule))
            return (pins.revoke if does == "revoke" else pins.expire)(pin.id, why).id
    raise StoreDamaged(f"unknown change of a rule: {body.get('does')!r}")


def _target_rule(pins: Pins, body: dict[str, Any], name: str, rule: RuleRef | None) -> Pin | None:
    """Return the rule that an event changes."""
    rule = ref_from_json(body["rule"]) if "rule" in body else rule
    return pins.match(rule, name) if rule else None


def _unknown(body: dict[str, Any], name: str, rule: RuleRef | None) -> str:
    if "rule" in body or rule:
        return f"the rule that it revokes, {name}, is not found in this session"
    return f"an earlier version recorded only the number {name}, and no digest says which rule that was"


def redo_loop(ledger: Ledger, body: dict[str, Any]) -> None:
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


def names_by_number(body: dict[str, Any]) -> bool:
    """Whether an event names a rule by its number only."""
    return "pin" in body and "rule" not in body and body.get("does") not in FACT_ACTS
