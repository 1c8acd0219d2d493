"""The rules in force, indexed by subject, so that a sentence is compared with few of many."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from clew.rules.leave import without_reason
from clew.rules.subject import Choice, Subject, choices, subject_of
from clew.rules.tokens import tokens
from clew.rules.values import Constraint, Found, Kind

_REMEMBERED = 8_192
"""Rules whose parsed subject is cached: a ledger that is copied or loaded has the same ones."""
MOST_NEAR = 200
"""Active rules on one subject that a sentence is compared with; chosen by hand."""
_UNPLACED, _PLACED = "word", "word of a place"
_QUANTITY = re.compile(r"(\d[\d.,]*)\s*([^\W\d_]{2,})")


@lru_cache(maxsize=_REMEMBERED)
def _matter(found: Found) -> tuple[Subject, tuple[Choice, ...]]:
    """Return the subject of a rule, and its choices among alternatives."""
    words = tokens(found.quote)
    subject = subject_of(found.quote, without_reason(words), found.scope)
    return subject, tuple(choices(words, subject))


class Rule:
    """A rule in force with everything it is compared by."""

    __slots__ = ("choices", "constraint", "numbers", "place", "subject")

    def __init__(self, constraint: Constraint, place: int) -> None:
        self.constraint = constraint
        self.place = place
        """Increases with time."""
        self.subject, self.choices = _matter(constraint.found)
        self.numbers = numbers(constraint.found.quote) if has_bound(constraint.found) else []
        """The numbers of a limit, each with its unit."""

    @property
    def keys(self) -> Iterator[str]:
        """Yield its index keys."""
        kind = _PLACED if self.subject.paths else _UNPLACED
        yield from (f"{kind} {word}" for word in self.subject.words)
        yield from (f"choice {choice.group}" for choice in self.choices)
        yield from (f"unit {unit.lower()}" for _, unit in self.numbers)
        for path in self.subject.paths:
            yield f"at {path}"
            yield from (f"in {folder}" for folder in _folders(path))


class ActiveRules:
    """The rules in force, oldest first."""

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
        """Add a rule; it replaces one with the same id."""
        before = self._rules.get(constraint.id)
        if before is not None:
            self._unindex(before)
        self._count += 1
        rule = Rule(constraint, before.place if before else self._count)
        self._rules[constraint.id] = rule
        for key in rule.keys:
            self._by_key.setdefault(key, {})[constraint.id] = rule

    def drop(self, id_: str) -> None:
        """Remove a rule, if it is there."""
        rule = self._rules.pop(id_, None)
        if rule is not None:
            self._unindex(rule)

    def _unindex(self, rule: Rule) -> None:
        for key in set(rule.keys):
            del self._by_key[key][rule.constraint.id]
            if not self._by_key[key]:
                del self._by_key[key]

    def latest(self) -> Iterator[Rule]:
        """Yield the rules, newest first."""
        return reversed(self._rules.values())

    def near(self, subject: Subject, chosen: Iterable[Choice] = (), units: Iterable[str] = ()) -> list[Rule]:
        """Return the rules that share a word, a path, a choice or a unit with a sentence, oldest first.

        At most the latest ``MOST_NEAR`` per key, so that a thousand rules cost no more.
        """
        # Two rules that both name paths are about the same subject only if their paths overlap.
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
    """Return True if a rule sets a numeric limit."""
    cues = {reason.cue for reason in found.reasons}
    return found.kind is Kind.LIMIT or not cues.isdisjoint(("limit", "limit_number", "measure"))
