"""The wire formats that clew speaks, by name."""

from __future__ import annotations

from clew.errors import UnknownWire
from clew.wire.anthropic import ANTHROPIC
from clew.wire.gemini import GEMINI
from clew.wire.openai import OPENAI
from clew.wire.responses import RESPONSES
from clew.wire.wire import Wire

WIRES: dict[str, Wire] = {wire.name: wire for wire in (ANTHROPIC, OPENAI, RESPONSES, GEMINI)}


def wire_named(name: str) -> Wire:
    """Return the wire format of that name."""
    try:
        return WIRES[name]
    except KeyError:
        raise UnknownWire(f"no wire format {name!r}") from None
