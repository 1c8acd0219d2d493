"""The wire formats that clew supports, by name."""

from __future__ import annotations

from clew.errors import UnknownWire
from clew.providers.anthropic import ANTHROPIC
from clew.providers.gemini import GEMINI
from clew.providers.openai import OPENAI
from clew.providers.responses import RESPONSES
from clew.providers.wire import Wire

WIRES: dict[str, Wire] = {wire.name: wire for wire in (ANTHROPIC, OPENAI, RESPONSES, GEMINI)}


def wire_named(name: str) -> Wire:
    """Return the wire format with this name."""
    try:
        return WIRES[name]
    except KeyError:
        raise UnknownWire(f"no wire format {name!r}") from None
