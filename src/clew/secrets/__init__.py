"""Find secrets (keys, tokens, passwords) in text and mask them. See README.md.

``mask("export GITHUB_TOKEN=ghp_16C7…").text`` is ``export GITHUB_TOKEN=[secret:github-token:cef6]``.
"""

from clew.secrets.find import FoundSecret, find, mask, rules
from clew.secrets.messages import MessageSecret, find_in_message, mask_json, mask_message

__all__ = [
    "FoundSecret",
    "MessageSecret",
    "find",
    "find_in_message",
    "mask",
    "mask_json",
    "mask_message",
    "rules",
]
