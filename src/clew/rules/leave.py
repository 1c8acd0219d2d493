"""Parse permissions: temporary or lasting, and the reason given with them."""

from __future__ import annotations

from collections.abc import Sequence

from clew.rules.cues import Hit
from clew.rules.model import model
from clew.rules.tables import words as known_words
from clew.rules.tokens import Token

LEAVE = frozenset(("permit", "may"))
"""Cues that permit something."""
_OF_LEAVE = frozenset(("permit", "use_way"))
"""Cues that make rules of other sentences, but describe a permission here: "you can answer in English
again"."""


def is_passing(words: Sequence[Token], hits: Sequence[Hit]) -> bool:
    """Return True if a permission only undoes a rule ("you can push again") and is not a rule itself.

    It contrasts now with before, or first names what has changed: "I reviewed it, you can commit". A
    permission that is meant to last, comes with a rule or has an exception is excluded.
    """
    cues = {hit.cue for hit in hits}
    if cues.isdisjoint(LEAVE) or any(model().cues[cue].kind for cue in cues - _OF_LEAVE):
        return False
    said = {token.word for token in words}
    if not said.isdisjoint(known_words("leave", "holding_back")):
        return False
    return not said.isdisjoint(known_words("leave", "undoing")) or bool(_behind_reason(words, hits))


def clause_of_leave(words: Sequence[Token], hits: Sequence[Hit]) -> int:
    """Return the index where a permission begins after its reason: "Friday is over, deploy".

    0 if no such clause precedes it, or if the permission refers back to that clause: "the fix is ready, you
    can push it".
    """
    begin = _behind_reason(words, hits)
    pointing = known_words("leave", "pointing")
    return 0 if any(token.word in pointing for token in words[begin:]) else begin


def _behind_reason(words: Sequence[Token], hits: Sequence[Hit]) -> int:
    """Return the index of the permission after a clause that states a fact, not a condition."""
    given = next((hit.start for hit in hits if hit.cue in LEAVE), 0)
    begin = max((i for i, token in enumerate(words) if token.opens and token.start <= given), default=0)
    if not begin or words[0].word in known_words("leave", "cases"):
        return 0
    told = known_words("leave", "told")
    return begin if any(token.word in told for token in words[:begin]) else 0


def without_reason(words: Sequence[Token]) -> Sequence[Token]:
    """Return the words of a rule without a last clause with the reason: "..., I want to review first"."""
    last = max((i for i, token in enumerate(words) if token.opens), default=0)
    return words[:last] if last and words[last].word in known_words("leave", "why") else words
