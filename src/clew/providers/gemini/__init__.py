"""Gemini contents."""

from clew.providers.gemini.calls import NAME
from clew.providers.gemini.codec import (
    ROLES,
    UNDERSTOOD,
    parse_item,
    parse_system,
    render_items,
    render_system,
)
from clew.providers.wire import Wire

GEMINI = Wire(
    name=NAME,
    title="Gemini contents",
    list_key="contents",
    system_key="systemInstruction",
    parse_item=parse_item,
    render_items=render_items,
    parse_system=parse_system,
    render_system=render_system,
    rules_module="clew.providers.gemini.rules",
    roles=ROLES,
    understood=UNDERSTOOD,
    system_aliases=("system_instruction",),
)
