"""The rules in force, indexed by subject, so that a sentence is compared with few of many.

Also what a sentence abandons by name ("drop the tabs, use spaces"). "Drop" can mean removing a thing,
postponing it, or ending a rule about it. It ends a rule only if the words name nothing but the rule's subject
and a new choice follows.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise, takewhile
from typing import NamedTuple

from clew.message.patterns import lazy_pattern
from clew.rules.cues import Hit
from clew.rules.permission import is_provisional, without_reason
from clew.rules.rule import Kind, Rule, Scope
from clew.rules.subject import Choice, Subject, choices, subject_of
from clew.rules.words import Token, tokens
from clew.rules.words import words as known_words

_REMEMBERED = 8_192
"""Rules whose parsed subject is cached: a ledger that is copied or loaded has the same ones."""
MOST_NEAR = 200
"""Active rules on one subject that a sentence is compared with; chosen by hand."""
_UNPLACED, _PLACED = "word", "word of a place"
_WORD = lazy_pattern(r"\w+")
_QUANTITY = lazy_pattern(r"(\d[\d.,]*)\s*([^\W\d_]{2,})")


@lru_cache(maxsize=_REMEMBERED)
def _matter(quote: str, scope: Scope) -> tuple[Subject, tuple[Choice, ...]]:
    """Return the subject of a rule, and its choices among alternatives."""
    words = tokens(quote)
    subject = subject_of(quote, without_reason(words), scope)
    return subject, tuple(choices(words, subject))


class IndexedRule:
    """A rule in force with everything it is compared by."""

    __slots__ = ("choices", "numbers", "place", "rule", "subject")

    def __init__(self, rule: Rule, place: int) -> None:
        self.rule = rule
        self.place = place
        """Increases with time."""
        self.subject, self.choices = _matter(rule.quote, rule.scope)
        self.numbers = numbers(rule.quote) if has_bound(rule) else []
        """The numbers of a limit, each with its unit."""

    @property
    def keys(self) -> Iterator[str]:
        """Yield its index keys."""
        kind = _PLACED if self.subject.paths else _UNPLACED
        yield from (f"{kind} {word}" for word in self.subject.words)
        yield from (f"choice {choice.group}" for choice in self.choices)
        yield from (f"unit {unit.lower()}" for _, unit in self.numbers)
        yield from (f"named {word}" for word in _WORD.findall(self.rule.quote.casefold()))
        for path in self.subject.paths:
            yield f"at {path}"
            yield from (f"in {folder}" for folder in _folders(path))


class ActiveRules:
    """The rules in force, oldest first."""

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self._rules: dict[str, IndexedRule] = {}
        self._by_key: dict[str, dict[str, IndexedRule]] = {}
        self.provisional: set[str] = set()
        """The ids of the rules that hold only until the user gives the go-ahead."""
        self._count = 0
        for rule in rules:
            self.put(rule)

    def __len__(self) -> int:
        return len(self._rules)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the ids, oldest first."""
        return iter(self._rules)

    def put(self, rule: Rule) -> None:
        """Add a rule; it replaces one with the same id."""
        before = self._rules.get(rule.id)
        if before is not None:
            self._unindex(before)
        self._count += 1
        entry = self._rules[rule.id] = IndexedRule(rule, before.place if before else self._count)
        if is_provisional(rule):
            self.provisional.add(rule.id)
        for key in entry.keys:
            self._by_key.setdefault(key, {})[rule.id] = entry

    def drop(self, id_: str) -> None:
        """Remove a rule, if it is there."""
        entry = self._rules.pop(id_, None)
        if entry is not None:
            self._unindex(entry)

    def _unindex(self, entry: IndexedRule) -> None:
        self.provisional.discard(entry.rule.id)
        for key in set(entry.keys):
            del self._by_key[key][entry.rule.id]
            if not self._by_key[key]:
                del self._by_key[key]

    def latest(self) -> Iterator[IndexedRule]:
        """Yield the rules, newest first."""
        return reversed(self._rules.values())

    def naming(self, name: str) -> Iterator[IndexedRule]:
        """Yield the rules that contain a name, newest first, at most ``MOST_NEAR`` of them."""
        name = name.casefold()
        key = max(_WORD.findall(name), key=len, default="")
        whole = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
        latest = itertools.islice(reversed(self._by_key.get(f"named {key}", {}).values()), MOST_NEAR)
        return (entry for entry in latest if whole.search(entry.rule.quote.casefold()))

    def near(
        self, subject: Subject, chosen: Iterable[Choice] = (), units: Iterable[str] = ()
    ) -> list[IndexedRule]:
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
            entry.place: entry
            for key in keys
            for entry in itertools.islice(reversed(self._by_key.get(key, {}).values()), MOST_NEAR)
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


def has_bound(rule: Rule) -> bool:
    """Return True if a rule sets a numeric limit."""
    cues = {reason.cue for reason in rule.reasons}
    return rule.kind is Kind.LIMIT or not cues.isdisjoint(("limit", "limit_number", "measure"))


_BANS = frozenset((Kind.PROHIBITION, Kind.SCOPE))
_CHOOSING = frozenset(("use", "use_way", "only", "prefer", "prefer_weak", "terse"))
"""Cues of a rule that chooses one of several things."""
_WITHIN = 6
"""Words at the start of a clause that name its subject; chosen by hand."""


class Abandonment(NamedTuple):
    """What is abandoned, ``start`` to ``end`` of the sentence, and the words after it."""

    start: int
    end: int
    verb: str
    rest: tuple[str, ...]


def find_abandonment(words: Sequence[Token], hits: Sequence[Hit], cue: str) -> Abandonment | None:
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
    return Abandonment(start, clause[-1].end, words[first].word, tuple(token.word for token in rest))


def ends_rule(abandonment: Abandonment, subject: Subject, entry: IndexedRule) -> bool:
    """Return True if abandoning its subject ends a rule and what follows replaces it."""
    if not subject.words or subject.paths or not subject.words <= entry.subject.words:
        return False
    if abandonment.verb in known_words("letgo", "of_mind") and _names_bound(subject, entry):
        return True
    opening = known_words("letgo", "pointing").intersection(abandonment.rest[:_WITHIN])
    if entry.rule.kind in _BANS and opening and _orders(abandonment.rest):
        return True  # "never mind the schema, just change it"
    settles = entry.choices or any(reason.cue in _CHOOSING for reason in entry.rule.reasons)
    return bool(settles) and (_chooses(abandonment.rest) or _suits(abandonment.rest))


def _names_bound(subject: Subject, entry: IndexedRule) -> bool:
    """Return True if the number of a limit is named: "forget the 80 columns"."""
    return bool(entry.numbers) and all(number.rstrip(".,") in subject.words for number, _ in entry.numbers)


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
