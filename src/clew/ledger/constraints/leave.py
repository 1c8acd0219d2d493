"""Reads how leave is given: for now or for good, and with what reason; and with what reason a rule is."""

from __future__ import annotations

from collections.abc import Sequence

from clew.ledger.constraints.cues import Hit
from clew.ledger.constraints.model import model
from clew.ledger.constraints.tables import words as known_words
from clew.ledger.constraints.tokens import Token

LEAVE = frozenset(("permit", "may"))
"""Cues by which something is allowed."""
_OF_LEAVE = frozenset(("permit", "use_way"))
"""What makes a rule of other sentences, and here says what is allowed: "you can answer in English again"."""


def is_passing(words: Sequence[Token], hits: Sequence[Hit]) -> bool:
    """Tell leave that only undoes a rule, "you can push again", from leave that is a rule of its own.

    It speaks of now as against before, or says first what has changed: "I reviewed it, you can commit". Leave
    that is meant to last, comes with a rule or holds something back is not passing.
    """
    cues = {hit.cue for hit in hits}
    if cues.isdisjoint(LEAVE) or any(model().cues[cue].kind for cue in cues - _OF_LEAVE):
        return False
    said = {token.word for token in words}
    if not said.isdisjoint(known_words("leave", "holding_back")):
        return False
    return not said.isdisjoint(known_words("leave", "undoing")) or bool(_behind_reason(words, hits))


def clause_of_leave(words: Sequence[Token], hits: Sequence[Hit]) -> int:
    """Return the index at which leave begins behind a clause that only says why: "Friday is over, deploy".

    It is 0 where no such clause stands before it, and where leave points back to something in that clause:
    "the fix is ready, you can push it".
    """
    begin = _behind_reason(words, hits)
    pointing = known_words("leave", "pointing")
    return 0 if any(token.word in pointing for token in words[begin:]) else begin


def _behind_reason(words: Sequence[Token], hits: Sequence[Hit]) -> int:
    """Return the index of the clause of leave behind one that tells how things are, not in which case."""
    given = next((hit.start for hit in hits if hit.cue in LEAVE), 0)
    begin = max((i for i, token in enumerate(words) if token.opens and token.start <= given), default=0)
    if not begin or words[0].word in known_words("leave", "cases"):
        return 0
    told = known_words("leave", "told")
    return begin if any(token.word in told for token in words[:begin]) else 0


def without_reason(words: Sequence[Token]) -> Sequence[Token]:
    """Return the words of a rule without a last clause that only says why: "..., I want to review first"."""
    last = max((i for i, token in enumerate(words) if token.opens), default=0)
    return words[:last] if last and words[last].word in known_words("leave", "why") else words
