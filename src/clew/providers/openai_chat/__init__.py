"""The wire format of OpenAI Chat Completions and compatible servers."""

from clew.providers.openai_chat import codec
from clew.providers.wire import Wire

OPENAI = Wire(
    name=codec.NAME,
    title="OpenAI Chat Completions",
    list_key="messages",
    system_key=None,
    parse_item=codec.parse_item,
    render_items=codec.render_items,
    parse_system=codec.parse_system,
    render_system=codec.render_system,
    rules_module="clew.providers.openai_chat.rules",
    roles=codec.ROLES,
    understood=codec.UNDERSTOOD,
)
