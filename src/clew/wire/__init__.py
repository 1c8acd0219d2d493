"""Wire formats: read, write and check what each provider's API takes."""

from clew.errors import UnknownWire
from clew.wire.anthropic import ANTHROPIC
from clew.wire.rules import Finding, Level, Report, Rule, Unverified, Violation
from clew.wire.wire import Wire

WIRES: dict[str, Wire] = {wire.name: wire for wire in (ANTHROPIC,)}


def wire_named(name: str) -> Wire:
    """Return the wire format of that name."""
    try:
        return WIRES[name]
    except KeyError:
        raise UnknownWire(f"no wire format {name!r}") from None


__all__ = [
    "ANTHROPIC",
    "WIRES",
    "Finding",
    "Level",
    "Report",
    "Rule",
    "Unverified",
    "Violation",
    "Wire",
    "wire_named",
]
