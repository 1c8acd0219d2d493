"""Parse what a sentence abandons by name, and its replacement: "drop the tabs, use spaces".

"Drop" can mean removing a thing, postponing it, or ending a rule about it. It ends a rule only if the words
name nothing but the rule's subject and a new choice follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, takewhile
from typing import NamedTuple

from clew.rules.active import Rule
from clew.rules.cues import Hit
from clew.rules.subject import Subject
from clew.rules.tables import words as known_words
from clew.rules.tokens import Token
from clew.rules.values import Kind

_BANS = frozenset((Kind.PROHIBITION, Kind.SCOPE))
_CHOOSING = frozenset(("use", "use_way", "only", "prefer", "prefer_weak", "terse"))
"""Cues of a rule that chooses one of several things."""
_WITHIN = 6
"""Words at the start of a clause that name its subject; chosen by hand."""


class LetGo(NamedTuple):
    """What is abandoned, ``start`` to ``end`` of the sentence, and the words after it."""

    start: int
    end: int
    verb: str
    rest: tuple[str, ...]


def let_go(words: Sequence[Token], hits: Sequence[Hit], cue: str) -> LetGo | None:
    """Return the clause that opens with this abandoning cue, and the words after it."""
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
    """Return True if abandoning its subject ends a rule and what follows replaces it."""
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
    """Return True if the number of a limit is named: "forget the 80 columns"."""
    return bool(rule.numbers) and all(number in subject.words for number, _ in rule.numbers)


def _chooses(rest: Sequence[str]) -> bool:
    return not known_words("letgo", "choosing").isdisjoint(rest[:_WITHIN])


def _orders(rest: Sequence[str]) -> bool:
    """Return True if words begin with an order, possibly after a conjunction."""
    joining = known_words("letgo", "joining")
    first = next((word for word in rest if word not in joining), "")
    return first in known_words("evidence", "orders")


def _suits(rest: Sequence[str]) -> bool:
    """Return True if words say that a named thing will do: "English is fine", not "they're fine"."""
    named = bool(rest) and rest[0] not in known_words("letgo", "told_of")
    suiting = known_words("letgo", "suiting")
    return named and any(f"{verb}_{word}" in suiting for verb, word in pairwise(rest))
