"""The wire format of Gemini: the ``contents`` of a request."""

from clew.providers.gemini import codec
from clew.providers.wire import Wire

GEMINI = Wire(
    name=codec.NAME,
    title="Gemini contents",
    list_key="contents",
    system_key="systemInstruction",
    parse_item=codec.parse_item,
    render_items=codec.render_items,
    parse_system=codec.parse_system,
    render_system=codec.render_system,
    rules_module="clew.providers.gemini.rules",
    roles=codec.ROLES,
    understood=codec.UNDERSTOOD,
    system_aliases=("system_instruction",),
)
