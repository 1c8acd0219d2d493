"""Whether a line of a document gives an order, by the cues of the language it is in.

Unlike ``find``, this says nothing about who gives it and whether it binds: a skill or a task file is data.
"""

from __future__ import annotations

from clew.message.text import LINE_NUMBER, lazy_pattern
from clew.rules.languages import guess, language
from clew.rules.words import tokens

STRICT = frozenset(
    (
        *("ban", "ban_you", "ban_word", "ban_noun", "policy_ban"),
        *("must", "always", "always_do", "gate_you", "consent"),
    )
)
"""Cues that forbid something or require it always..."""
ORDERS = STRICT | {"avoid", "not_yet", "without", "gate", "sure_you", "ensure", "only"}
"""...and those that say how something is to be done."""
LONGEST = 1_000
"""Characters of a line that are read."""
_MARKER = lazy_pattern(rf"[\s>|]*(?:{LINE_NUMBER})?[\s>|]*(?:[-*+•]\s|\d+[.)]\s)?\s*(?:\[[ xX]\]\s)?[\s*_`]*")
"""Line numbers, quotes, bullets and marks of emphasis before the words of a line."""
_STRESSED = lazy_pattern(r"\b(?:MUST|NEVER|ALWAYS|FIRST|CRITICAL|REQUIRED|MANDATORY)\b")
_EMPHASIS = lazy_pattern(r"[*_`]{1,3}")


def gives_order(line: str, *, strict: bool = False) -> bool:
    """Return True if a line forbids or requires something: "- **Never** push.", "Du darfst nicht …".

    With ``strict``, what only says how something is to be done does not count.
    """
    marker = _MARKER.match(line)
    text = _EMPHASIS.sub("", line[marker.end() if marker else 0 :][:LONGEST])
    if _STRESSED.search(text):
        return True
    said = tokens(text)
    if not said:
        return False
    spoken = language(guess(text, [token.word for token in said]))
    wanted = STRICT if strict else ORDERS
    return any(hit.cue in wanted for hit in spoken.hits(text, said))
