"""OpenAI Chat Completions, and the many servers that speak it."""

from clew.wire.openai.calls import NAME
from clew.wire.openai.codec import ROLES, UNDERSTOOD, parse_item, parse_system, render_items, render_system
from clew.wire.openai.rules import RULES
from clew.wire.wire import Wire

OPENAI = Wire(
    name=NAME,
    title="OpenAI Chat Completions",
    list_key="messages",
    system_key=None,
    parse_item=parse_item,
    render_items=render_items,
    parse_system=parse_system,
    render_system=render_system,
    rules=RULES,
    roles=ROLES,
    understood=UNDERSTOOD,
)
