"""What a person does by hand to rules and open work: tried, put on record, and done again from the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.errors import StoreDamaged
from clew.ledger.ledger import Ledger
from clew.ledger.pins import Pin, Pins
from clew.log import LOOP, PIN, new_event
from clew.message import JsonObject

if TYPE_CHECKING:
    from clew.session.replay import Replay


def on_pin(replay: Replay, body: JsonObject) -> Pin:
    """Do something to a rule, durably; return the rule that stands then."""
    replay.catch_up()
    name = redo(replay.ledger.copy().pins, body)  # says now what is wrong with it
    replay.append(lambda: [new_event(PIN.name, body, PIN.version)])
    return replay.ledger.pins.get(name)


def on_loop(replay: Replay, body: JsonObject) -> None:
    """Do something to open work, durably."""
    replay.catch_up()
    redo_loop(replay.ledger.copy(), body)  # says now what is wrong with it
    replay.append(lambda: [new_event(LOOP.name, body, LOOP.version)])


def redo(pins: Pins, body: dict[str, Any]) -> str:
    """Do to the rules what a person did by hand, as the log tells it; return the id of the rule."""
    match body:
        case {"does": "pin", "quote": str(quote)}:
            return pins.pin(quote).id
        case {"does": "edit", "pin": str(name), "quote": str(quote)}:
            return pins.edit(name, quote).id
        case {"does": "revoke", "pin": str(name), "why": str(why)}:
            return pins.revoke(name, why).id
        case {"does": "expire", "pin": str(name), "why": str(why)}:
            return pins.expire(name, why).id
    raise StoreDamaged(f"nothing that can be done to a rule is called {body.get('does')!r}")


def redo_loop(ledger: Ledger, body: dict[str, Any]) -> None:
    """Do to open work what a person did by hand, as the log tells it."""
    match body:
        case {"does": "close", "loop": str(name), "why": str(why)}:
            ledger.close_loop(name, why)
        case {"does": "reopen", "loop": str(name)}:
            ledger.reopen_loop(name)
        case _:
            raise StoreDamaged(f"nothing that can be done to open work is called {body.get('does')!r}")
