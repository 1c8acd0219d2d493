"""Find secrets (keys, tokens, passwords) in text and mask them. See README.md."""

from clew.secrets.find import Found, find
from clew.secrets.mask import Masked, mask
from clew.secrets.messages import Sighting, look, mask_json, mask_message
from clew.secrets.rules import Rule, rules

__all__ = [
    "Found",
    "Masked",
    "Rule",
    "Sighting",
    "find",
    "look",
    "mask",
    "mask_json",
    "mask_message",
    "rules",
]
