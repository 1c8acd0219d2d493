"""``clew rules`` and ``clew pin``: list, add, edit, disable, confirm and search again for rules."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from clew.cli.handoff import newest_session
from clew.cli.inputs import Input
from clew.cli.stored import Log, numbered, open_log_or_input, own_log
from clew.cli.terminal import Terminal
from clew.cli.text import count, one_line, printable
from clew.errors import InputError
from clew.ledger import Ledger
from clew.message import JsonObject
from clew.rules.rule import Pin, RuleStatus, Scope
from clew.session import Session

_ACTIONS = {"off": 1, "add": 1, "edit": 2}
"""The actions, and how many words each takes."""


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Change the rules if an action is given, and list them; or search the session again."""
    name, action = _split(args.words)
    args.file = name or newest_session()
    if args.rescan or args.apply:
        return _rescan(args, term, action)
    changed = ""
    if action:
        with own_log(args.file) as log, log.open() as session:
            changed = _change(session, *action).id
    with open_log_or_input(args) as source:
        ledger = _ledger(source, term)
    pins, waiting = ledger.pins, ledger.pins.waiting
    shown_rules = pins.all if args.all else pins.active
    if args.json:
        rules = [_to_json(pin) for pin in shown_rules]
        term.write_json({"changed": changed or None, "rules": rules})
        return 0
    for pin in shown_rules:
        for line in _lines(pin, sign="*" if pin.id == changed else " "):
            term.say(printable(line))
    ended = len(pins.all) - len(pins.active) - len(waiting)
    if not shown_rules:
        term.say("no rule is in force")
    if ended and not args.all:
        term.say(f"{count(ended, 'rule')} ended; --all lists them")
    for line in waiting_lines(waiting, args.file):
        term.say(printable(line))
    return 0


def _rescan(args: argparse.Namespace, term: Terminal, action: Sequence[str]) -> int:
    """Show what the installed rule finder changes in a session, and record it with ``--apply``."""
    if not args.rescan:
        raise InputError("--apply needs --rescan", "clew rules [SESSION] --rescan --apply")
    if action:
        raise InputError(f"--rescan cannot be combined with {action[0]}", "run them one after the other")
    with own_log(args.file) as log, log.open() as session:
        changes = session.rescan_rules(apply=args.apply)
    if args.json:
        added, removed = ([_to_json(pin) for pin in pins] for pins in (changes.added, changes.removed))
        result = {"finder": changes.finder, "applied": args.apply, "added": added, "removed": removed}
        term.write_json(result)
        return 0
    for sign, pins in (("+", changes.added), ("-", changes.removed)):
        for pin in pins:
            for line in _lines(pin, sign=sign):
                term.say(printable(line))
    if not changes:
        term.say(f"no difference: rule finder {changes.finder} finds the rules in force")
    elif args.apply:
        term.say(f"recorded: {len(changes.added)} added, {len(changes.removed)} removed")
    else:
        term.say(f"{len(changes.added)} to add, {len(changes.removed)} to remove; --apply records this")
    return 0


def _split(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the named session, if any, and the action with its words."""
    name = "" if not words or words[0] in _ACTIONS else words[0]
    action = words[1:] if name else words
    if not action:
        return name, ()
    needed = _ACTIONS.get(action[0])
    if needed is None:
        raise InputError(f"unknown action {action[0]!r}", "use off PIN, add TEXT or edit PIN TEXT")
    if len(action) - 1 != needed:
        usage = {"off": "off PIN", "add": 'add "TEXT"', "edit": 'edit PIN "TEXT"'}[action[0]]
        raise InputError(f"{action[0]} takes {count(needed, 'word')}", f"clew rules [SESSION] {usage}")
    return name, action


def _change(session: Session, action: str, *words: str) -> Pin:
    if action == "add":
        return session.pin(words[0])
    pin = session.ledger.pins.get(words[0])
    if not pin.is_active:
        raise InputError(f"{pin.id} is no longer in force: {pin.status.value}", "`clew rules --all` lists it")
    return session.unpin(words[0]) if action == "off" else session.edit_pin(*words)


def _ledger(source: Log | Input, term: Terminal) -> Ledger:
    if isinstance(source, Log):
        with source.open() as session:
            return session.ledger
    ledger = Ledger()
    ledger.extend(numbered(source.single_session(term)))
    return ledger


def _lines(pin: Pin, *, sign: str) -> Iterator[str]:
    """Yield a rule, and under it its source, certainty and reason."""
    state = "" if pin.is_active else f" ({pin.status.value})"
    yield f"{sign} {pin.id:<5}{one_line(pin.readable, 200)}{state}"
    source = f"said in {pin.source.message}" if pin.source else "set by hand"
    yield f"       {source} · {pin.certainty} · {pin.found_because}"
    if pin.judgement:
        yield f"       {pin.judgement}"
    if not pin.is_active and pin.status is not RuleStatus.DISMISSED:
        yield f"       ended by {pin.ended_by.message if pin.ended_by else 'hand'}: {one_line(pin.why, 200)}"
    elif not pin.end_is_certain and pin.ended_by:
        yield f"       uncertain, still in force: {pin.ended_by.message} {one_line(pin.why, 160)}"


def _to_json(pin: Pin) -> JsonObject:
    return {
        "id": pin.id,
        "quote": pin.quote,
        "status": pin.status.value,
        "source": pin.source.message if pin.source else None,
        "certainty": pin.certainty,
        "because": pin.found_because,
        "judged": pin.verdict.value if pin.verdict else None,
        "judged_by": pin.judged_by or None,
        "ended_by": pin.ended_by.message if pin.ended_by else None,
        "certain": pin.end_is_certain,
        "why": pin.why,
        "kind": pin.kind.value,
        "scope": _scope_json(pin.scope),
        "trust": pin.trust.label,
    }


def _scope_json(scope: Scope) -> JsonObject:
    """Return what a rule is about, in the speaker's words, and how long it lasts."""
    words: JsonObject = {name: [*getattr(scope, name)] for name in ("paths", "tools", "names", "topics")}
    duration: JsonObject = {"lasts": scope.duration.lasts.value, "words": scope.duration.words}
    return {**words, "duration": duration}


def run_pin(args: argparse.Namespace, term: Terminal) -> int:
    """Change the rules, and list those in force."""
    if args.confirm and args.rule:
        raise InputError("--confirm takes no rule", "leave out the text")
    if args.off and args.rule:
        advice = "leave out the text, or use --in-place-of to change a rule"
        raise InputError("--off takes no new rule", advice)
    if args.in_place_of and not args.rule:
        raise InputError("--in-place-of needs the new text", "give the new text of the rule")
    with own_log(args.file) as log, log.open() as session:
        changed = _change_pins(session, args)
        active, waiting = session.pins, session.ledger.pins.waiting
    if args.json:
        rules: JsonObject = {"pins": [_pins_json(pin) for pin in active]}
        if waiting:
            rules["waiting"] = [_pins_json(pin) for pin in waiting]
        data: JsonObject = {"changed": changed[0].id if changed else None, **rules}
        term.write_json(data)
        return 0
    for pin in active:
        mark = "*" if pin in changed else " "
        term.say(printable(f"{mark} {pin.id:<5}{one_line(pin.readable, 100)}"))
    if not active:
        term.say(printable(f"no rule is in force in {log.name}"))
    for line in waiting_lines(waiting, log.name):
        term.say(printable(line))
    return 0


def waiting_lines(waiting: Sequence[Pin], name: str) -> Iterator[str]:
    """Yield lines on the rules of an imported file that wait for confirmation."""
    if waiting:
        yield f"{count(len(waiting), 'rule')} set by hand in the imported file, not in force here:"
        yield from (f"? {pin.id:<5}{one_line(pin.readable, 100)}" for pin in waiting)
        yield f"`clew pin {name} --confirm` puts them in force"


def _change_pins(session: Session, args: argparse.Namespace) -> tuple[Pin, ...]:
    if args.confirm:
        return session.confirm_rules()
    target = args.off or args.in_place_of
    if target and not (pin := session.ledger.pins.get(target)).is_active:
        advice = "`clew pin SESSION` lists those in force"
        raise InputError(f"{target} is no longer in force: {pin.status.value}", advice)
    if args.off:
        return (session.unpin(args.off),)
    if args.in_place_of:
        return (session.edit_pin(args.in_place_of, args.rule),)
    return (session.pin(args.rule),) if args.rule else ()


def _pins_json(pin: Pin) -> JsonObject:
    return {"id": pin.id, "quote": pin.quote, "kind": pin.kind.value, "trust": pin.trust.label}
