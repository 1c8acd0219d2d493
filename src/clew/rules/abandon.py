"""Find what a sentence abandons by name ("drop the tabs, use spaces"), and whether that ends a rule.

"Drop" can mean removing a thing, postponing it, or ending a rule about it. It ends a rule only if the words
name nothing but the rule's subject and a new choice follows. ``retire.py`` calls this.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, takewhile
from typing import NamedTuple

from clew.rules.active import IndexedRule
from clew.rules.cues import Hit
from clew.rules.rule import Kind
from clew.rules.subject import Subject
from clew.rules.words import Token, words

_JOINING = "letgo", "joining"
"""Words that join two clauses: and, then, instead. These names are keys of ``words.toml``."""
_OF_MIND = "letgo", "of_mind"
"""Verbs that drop a thought, not a thing: forget, nevermind, disregard."""
_POINTING = "letgo", "pointing"
"""Words that point back at what was abandoned: it, them, those."""
_NEW_CHOICE = "letgo", "choosing"
"""Words that name a new choice: use, switch, pick."""
_TOLD_OF = "letgo", "told_of"
"""Words that are no name of a new choice: it, they're, because."""
_SUITING = "letgo", "suiting"
"""Pairs of words that say a thing will do: is_fine, are_fine, be_fine."""
_ORDERS = "evidence", "orders"
"""Verbs that order work: abort, accept, add."""
_BANS = frozenset((Kind.PROHIBITION, Kind.SCOPE))
_CHOOSING_CUES = frozenset(("use", "use_way", "only", "prefer", "prefer_weak", "terse"))
"""Cues of a rule that chooses one of several things."""
_WITHIN = 6
"""Words at the start of a clause that name its subject; chosen by hand."""


class Abandonment(NamedTuple):
    """What is abandoned, ``start`` to ``end`` of the sentence, and the words after it."""

    start: int
    end: int
    verb: str
    rest: tuple[str, ...]


def find_abandonment(sentence: Sequence[Token], hits: Sequence[Hit], cue: str) -> Abandonment | None:
    """Return the clause that opens with this abandoning cue, and the words after it."""
    start = next((hit.start for hit in hits if hit.cue == cue), -1)
    first = next((i for i, token in enumerate(sentence) if token.start == start), -1)
    if first < 0 or not sentence[first].opens:
        return None
    # ``opens``: the word begins a clause, as "use" in "drop the tabs, use spaces".
    joining = words(*_JOINING)
    clause = list(takewhile(lambda token: not (token.opens or token.word in joining), sentence[first + 1 :]))
    if not clause:
        return None
    rest = sentence[first + 1 + len(clause) :]
    return Abandonment(start, clause[-1].end, sentence[first].word, tuple(token.word for token in rest))


def ends_rule(abandonment: Abandonment, subject: Subject, entry: IndexedRule) -> bool:
    """Return True if abandoning its subject ends a rule and what follows replaces it."""
    if not subject.words or subject.paths or not subject.words <= entry.subject.words:
        return False
    if abandonment.verb in words(*_OF_MIND) and _names_bound(subject, entry):
        return True
    opening = words(*_POINTING).intersection(abandonment.rest[:_WITHIN])
    if entry.rule.kind in _BANS and opening and _orders(abandonment.rest):
        return True  # "never mind the schema, just change it"
    settles = entry.choices or any(reason.cue in _CHOOSING_CUES for reason in entry.rule.reasons)
    return bool(settles) and (_chooses(abandonment.rest) or _suits(abandonment.rest))


def _names_bound(subject: Subject, entry: IndexedRule) -> bool:
    """Return True if the number of a limit is named: "forget the 80 columns"."""
    return bool(entry.numbers) and all(number.rstrip(".,") in subject.words for number, _ in entry.numbers)


def _chooses(rest: Sequence[str]) -> bool:
    return not words(*_NEW_CHOICE).isdisjoint(rest[:_WITHIN])


def _orders(rest: Sequence[str]) -> bool:
    """Return True if words begin with an order, possibly after a conjunction."""
    joining = words(*_JOINING)
    first = next((word for word in rest if word not in joining), "")
    return first in words(*_ORDERS)


def _suits(rest: Sequence[str]) -> bool:
    """Return True if words say that a named thing will do: "English is fine", not "they're fine"."""
    named = bool(rest) and rest[0] not in words(*_TOLD_OF)
    suiting = words(*_SUITING)
    return named and any(f"{verb}_{word}" in suiting for verb, word in pairwise(rest))
