"""All rules of Anthropic's API, in order of their ids."""

from clew.providers.anthropic import (
    rules_compaction,
    rules_content,
    rules_images,
    rules_request,
    rules_server,
    rules_turns,
)
from clew.providers.rules import in_order

_FILES = (rules_compaction, rules_content, rules_images, rules_request, rules_server, rules_turns)

RULES = in_order(*(file.RULES for file in _FILES))
