"""The active constraints, found again by what they are about: a sentence is held against a few of many."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from clew.ledger.constraints.leave import without_reason
from clew.ledger.constraints.subject import Choice, Subject, choices, subject_of
from clew.ledger.constraints.tokens import tokens
from clew.ledger.constraints.values import Constraint, Found, Kind

_REMEMBERED = 8_192
"""Constraints of which the matter is remembered: a ledger that is copied or read back has the same ones."""
MOST_NEAR = 200
"""Active constraints on one thing that a sentence is held against."""
_UNPLACED, _PLACED = "word", "word of a place"
_QUANTITY = re.compile(r"(\d[\d.,]*)\s*([^\W\d_]{2,})")


@lru_cache(maxsize=_REMEMBERED)
def _matter(found: Found) -> tuple[Subject, tuple[Choice, ...]]:
    """Return what a constraint is about, and what it chooses among alternatives."""
    words = tokens(found.quote)
    subject = subject_of(found.quote, without_reason(words), found.scope)
    return subject, tuple(choices(words, subject))


class Rule:
    """An active constraint with all that it is compared by."""

    __slots__ = ("choices", "constraint", "numbers", "place", "subject")

    def __init__(self, constraint: Constraint, place: int) -> None:
        self.constraint = constraint
        self.place = place
        """The later it came, the higher."""
        self.subject, self.choices = _matter(constraint.found)
        self.numbers = numbers(constraint.found.quote) if has_bound(constraint.found) else []
        """Each number of a limit with its unit."""

    @property
    def keys(self) -> Iterator[str]:
        """Yield what it is found by."""
        kind = _PLACED if self.subject.paths else _UNPLACED
        yield from (f"{kind} {word}" for word in self.subject.words)
        yield from (f"choice {choice.group}" for choice in self.choices)
        yield from (f"unit {unit.lower()}" for _, unit in self.numbers)
        for path in self.subject.paths:
            yield f"at {path}"
            yield from (f"in {folder}" for folder in _folders(path))


class ActiveRules:
    """The active constraints, oldest first."""

    def __init__(self, constraints: Iterable[Constraint] = ()) -> None:
        self._rules: dict[str, Rule] = {}
        self._by_key: dict[str, dict[str, Rule]] = {}
        self._count = 0
        for constraint in constraints:
            self.put(constraint)

    def __len__(self) -> int:
        return len(self._rules)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the ids, oldest first."""
        return iter(self._rules)

    def put(self, constraint: Constraint) -> None:
        """Take in a constraint; one of the same id gives its place to it."""
        before = self._rules.get(constraint.id)
        if before is not None:
            self._unindex(before)
        self._count += 1
        rule = Rule(constraint, before.place if before else self._count)
        self._rules[constraint.id] = rule
        for key in rule.keys:
            self._by_key.setdefault(key, {})[constraint.id] = rule

    def drop(self, id_: str) -> None:
        """Leave out a constraint that is no longer active, if it was."""
        rule = self._rules.pop(id_, None)
        if rule is not None:
            self._unindex(rule)

    def _unindex(self, rule: Rule) -> None:
        for key in set(rule.keys):
            del self._by_key[key][rule.constraint.id]
            if not self._by_key[key]:
                del self._by_key[key]

    def latest(self) -> Iterator[Rule]:
        """Yield the constraints, newest first."""
        return reversed(self._rules.values())

    def near(self, subject: Subject, chosen: Iterable[Choice] = (), units: Iterable[str] = ()) -> list[Rule]:
        """Return those that share a word, a path, a choice or a unit with a sentence, oldest first.

        Of those that share one thing the latest ``MOST_NEAR``: so a thousand rules cost no more than these.
        """
        # Two that name places speak of the same matter only where their places meet.
        kinds = (_UNPLACED,) if subject.paths else (_UNPLACED, _PLACED)
        keys = [
            *(f"{kind} {word}" for kind in kinds for word in subject.words),
            *(f"in {path}" for path in subject.paths),
            *(f"at {folder}" for path in subject.paths for folder in _folders(path)),
            *(f"choice {choice.group}" for choice in chosen),
            *(f"unit {unit.lower()}" for unit in units),
        ]
        found = {
            rule.place: rule
            for key in keys
            for rule in itertools.islice(reversed(self._by_key.get(key, {}).values()), MOST_NEAR)
        }
        return [found[place] for place in sorted(found)]


def _folders(path: str) -> Iterator[str]:
    """Yield a path and every folder above it."""
    while path:
        yield path
        path = path.rpartition("/")[0]


def numbers(quote: str) -> list[tuple[str, str]]:
    """Return the numbers of a sentence, each with its unit."""
    return _QUANTITY.findall(quote)


def has_bound(found: Found) -> bool:
    """Tell whether a constraint sets a limit in numbers."""
    cues = {reason.cue for reason in found.reasons}
    return found.kind is Kind.LIMIT or not cues.isdisjoint(("limit", "limit_number", "measure"))
