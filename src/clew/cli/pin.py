"""``clew pin``: pin, change, remove and confirm rules of a session in clew's log."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence

from clew.cli.stored import own_log
from clew.cli.terminal import Terminal
from clew.cli.text import count, one_line, printable
from clew.errors import InputError
from clew.message import JsonObject
from clew.rules.rule import Pin
from clew.session import Session


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Change the rules, and list those in force."""
    if args.confirm and args.rule:
        raise InputError("--confirm takes no rule", "leave out the text")
    if args.off and args.rule:
        raise InputError(
            "--off takes no new rule", "leave out the text, or use --in-place-of to change a rule"
        )
    if args.in_place_of and not args.rule:
        raise InputError("--in-place-of needs the new text", "give the new text of the rule")
    with own_log(args.file) as log, log.open() as session:
        changed = _change(session, args)
        standing, waiting = session.pins, session.ledger.pins.waiting
    if args.json:
        rules: JsonObject = {"pins": [_to_json(pin) for pin in standing]}
        if waiting:
            rules["waiting"] = [_to_json(pin) for pin in waiting]
        told: JsonObject = {"changed": changed[0].id if changed else None, **rules}
        term.write(json.dumps(told, ensure_ascii=False))
        return 0
    for pin in standing:
        mark = "*" if pin in changed else " "
        term.write(printable(f"{mark} {pin.id:<5}{one_line(pin.quote, 100)}"))
    if not standing:
        term.write(printable(f"no rule is in force in {log.name}"))
    for line in waiting_lines(waiting, log.name):
        term.write(printable(line))
    return 0


def waiting_lines(waiting: Sequence[Pin], name: str) -> Iterator[str]:
    """Yield lines on the rules of an imported file that wait for confirmation."""
    if waiting:
        yield f"{count(len(waiting), 'rule')} set by hand in the imported file, not in force here:"
        yield from (f"? {pin.id:<5}{one_line(pin.quote, 100)}" for pin in waiting)
        yield f"`clew pin {name} --confirm` puts them in force"


def _change(session: Session, args: argparse.Namespace) -> tuple[Pin, ...]:
    if args.confirm:
        return session.confirm_rules()
    meant = args.off or args.in_place_of
    if meant and not (pin := session.ledger.pins.get(meant)).is_active:
        advice = "`clew pin SESSION` lists those in force"
        raise InputError(f"{meant} is no longer in force: {pin.status.value}", advice)
    if args.off:
        return (session.unpin(args.off),)
    if args.in_place_of:
        return (session.edit_pin(args.in_place_of, args.rule),)
    return (session.pin(args.rule),) if args.rule else ()


def _to_json(pin: Pin) -> JsonObject:
    return {"id": pin.id, "quote": pin.quote, "kind": pin.kind.value, "trust": pin.trust.label}
