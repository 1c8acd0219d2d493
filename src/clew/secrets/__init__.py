"""Find secrets (keys, tokens, passwords) in text and mask them. See README.md."""

from clew.secrets.find import Found, Rule, find, rules
from clew.secrets.mask import Masked, mask
from clew.secrets.messages import Sighting, look, mask_json, mask_message

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
