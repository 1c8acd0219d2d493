"""The rules in force, indexed by what they are about, so that a sentence is compared with few of many.

``ActiveRules`` holds them for ``Pins``; ``retire.py`` asks it for the rules ``near`` a sentence. "You can
push now" finds "never push to main" by the word "push", and a sentence about ``src/web/a.ts`` finds a rule
about ``src/web``.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from clew.message.text import lazy_pattern
from clew.rules.go_ahead import is_provisional
from clew.rules.permission import without_reason
from clew.rules.rule import Kind, Rule, Scope
from clew.rules.subject import Choice, Subject, choices, subject_of
from clew.rules.words import tokens

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
        """Yield its index keys.

        A rule about ``src/web`` has ``at src/web``, ``in src/web`` and ``in src``. A sentence about ``src``
        looks for ``in src`` (rules about something in it), and one about ``src/web/a.ts`` for ``at src/web``
        (rules about a folder above it); both find the rule.
        """
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
