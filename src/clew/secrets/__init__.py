"""Find secrets (keys, tokens, passwords) in text and mask them. See README.md."""

from clew.secrets.find import FoundSecret, SecretRule, find, rules
from clew.secrets.mask import MaskedText, mask
from clew.secrets.messages import MessageSecret, find_in_message, mask_json, mask_message

__all__ = [
    "FoundSecret",
    "MaskedText",
    "MessageSecret",
    "SecretRule",
    "find",
    "find_in_message",
    "mask",
    "mask_json",
    "mask_message",
    "rules",
]
