"""The wire format of OpenAI Responses."""

from clew.providers.openai_responses import calls, codec
from clew.providers.wire import Wire

RESPONSES = Wire(
    name=calls.NAME,
    title="OpenAI Responses",
    list_key="input",
    system_key="instructions",
    parse_item=codec.parse_item,
    render_items=codec.render_items,
    parse_system=codec.parse_system,
    render_system=codec.render_system,
    rules_module="clew.providers.openai_responses.rules",
    roles=codec.ROLES,
    understood=codec.UNDERSTOOD,
    takes_plain_text=True,
)
