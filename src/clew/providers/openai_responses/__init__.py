"""The wire format of OpenAI Responses."""

from clew.providers.openai_responses.calls import NAME
from clew.providers.openai_responses.codec import (
    ROLES,
    UNDERSTOOD,
    parse_item,
    parse_system,
    render_items,
    render_system,
)
from clew.providers.wire import Wire

RESPONSES = Wire(
    name=NAME,
    title="OpenAI Responses",
    list_key="input",
    system_key="instructions",
    parse_item=parse_item,
    render_items=render_items,
    parse_system=parse_system,
    render_system=render_system,
    rules_module="clew.providers.openai_responses.rules",
    roles=ROLES,
    understood=UNDERSTOOD,
    takes_plain_text=True,
)
