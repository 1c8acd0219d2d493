"""The wire format of OpenAI Chat Completions and compatible servers."""

from clew.providers.openai_chat.codec import (
    NAME,
    ROLES,
    UNDERSTOOD,
    parse_item,
    parse_system,
    render_items,
    render_system,
)
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
    rules_module="clew.providers.openai_chat.rules",
    roles=ROLES,
    understood=UNDERSTOOD,
)
