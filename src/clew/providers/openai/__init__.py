"""The wire format of OpenAI Chat Completions and compatible servers."""

from clew.providers.openai.calls import NAME
from clew.providers.openai.codec import (
    ROLES,
    UNDERSTOOD,
    parse_item,
    parse_system,
    render_items,
    render_system,
)
from clew.providers.openai.rules import RULES
from clew.providers.wire import Wire

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
