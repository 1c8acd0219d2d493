"""The wire format of Anthropic Messages."""

from clew.providers.anthropic import codec
from clew.providers.wire import Wire

ANTHROPIC = Wire(
    name=codec.NAME,
    title="Anthropic Messages",
    list_key="messages",
    system_key="system",
    parse_item=codec.parse_item,
    render_items=codec.render_items,
    parse_system=codec.parse_system,
    render_system=codec.render_system,
    rules_module="clew.providers.anthropic.rules",
    roles=codec.ROLES,
    understood=codec.UNDERSTOOD,
)
