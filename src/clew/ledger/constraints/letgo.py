"""Reads what a sentence lets go of by name, and what it chooses instead: "drop the tabs, use spaces".

To let go of a thing is to remove it, to leave it for later, or to end a rule on it. Only what follows tells:
so the words must name nothing but what the rule is about, and a new choice must stand beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, takewhile
from typing import NamedTuple

from clew.ledger.constraints.active import Rule
from clew.ledger.constraints.cues import Hit
from clew.ledger.constraints.subject import Subject
from clew.ledger.constraints.tables import words as known_words
from clew.ledger.constraints.tokens import Token
from clew.ledger.constraints.values import Kind

_BANS = frozenset((Kind.PROHIBITION, Kind.SCOPE))
_CHOOSING = frozenset(("use", "use_way", "only", "prefer", "prefer_weak", "terse"))
"""Cues of a rule that settles on one of several things."""
_WITHIN = 6
"""Words within which a clause begins with what it is about."""


class LetGo(NamedTuple):
    """What is let go of, from ``start`` to ``end`` of the sentence, and the words that follow it."""

    start: int
    end: int
    verb: str
    rest: tuple[str, ...]


def let_go(words: Sequence[Token], hits: Sequence[Hit], cue: str) -> LetGo | None:
    """Return the clause that opens with a cue by which something is let go of, and what stands behind it."""
    start = next((hit.start for hit in hits if hit.cue == cue), -1)
    first = next((i for i, token in enumerate(words) if token.start == start), -1)
    if first < 0 or not words[first].opens:
        return None
    joining = known_words("letgo", "joining")
    clause = list(takewhile(lambda token: not (token.opens or token.word in joining), words[first + 1 :]))
    if not clause:
        return None
    rest = words[first + 1 + len(clause) :]
    return LetGo(start, clause[-1].end, words[first].word, tuple(token.word for token in rest))


def ends_by(gone: LetGo, subject: Subject, rule: Rule) -> bool:
    """Tell whether a rule is over when its subject is let go of so, and what follows stands in its place."""
    if not subject.words or subject.paths or not subject.words <= rule.subject.words:
        return False
    if gone.verb in known_words("letgo", "of_mind") and _names_bound(subject, rule):
        return True
    opening = known_words("letgo", "pointing").intersection(gone.rest[:_WITHIN])
    if rule.constraint.found.kind in _BANS and opening and _orders(gone.rest):
        return True  # "never mind the schema, just change it"
    settles = rule.choices or any(reason.cue in _CHOOSING for reason in rule.constraint.found.reasons)
    return bool(settles) and (_chooses(gone.rest) or _suits(gone.rest))


def _names_bound(subject: Subject, rule: Rule) -> bool:
    """Tell whether the number of a limit is named itself: "forget the 80 columns"."""
    return bool(rule.numbers) and all(number in subject.words for number, _ in rule.numbers)


def _chooses(rest: Sequence[str]) -> bool:
    return not known_words("letgo", "choosing").isdisjoint(rest[:_WITHIN])


def _orders(rest: Sequence[str]) -> bool:
    """Tell whether words begin with an order, at most behind others that join it on."""
    joining = known_words("letgo", "joining")
    first = next((word for word in rest if word not in joining), "")
    return first in known_words("evidence", "orders")


def _suits(rest: Sequence[str]) -> bool:
    """Tell whether words say that something named will do: "English is fine", not "they're fine"."""
    named = bool(rest) and rest[0] not in known_words("letgo", "told_of")
    suiting = known_words("letgo", "suiting")
    return named and any(f"{verb}_{word}" in suiting for verb, word in pairwise(rest))
