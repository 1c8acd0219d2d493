"""What an API refuses, as named rules.

A rule is an object: an id that error messages and docs share, how hard it is, where we know it from, and
a function that finds what breaks it. Rules look at the request body as it would be sent, not at our own
messages, so they judge what others build as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from clew.message import JsonObject


class Level(StrEnum):
    """How hard a rule is."""

    REFUSE = "refuse"
    """The API answers with an error."""
    WARN = "warn"
    """The API accepts it, but it is not what its documentation asks for."""


class Unverified(StrEnum):
    """What to do with rules that are widely reported but not recorded or read in a source."""

    OFF = "off"
    WARN = "warn"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class Finding:
    """One place where a rule is broken."""

    where: str
    """A path into the body: ``messages.3.content.1``."""
    problem: str


Finder = Callable[[JsonObject], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing an API refuses."""

    id: str
    name: str
    level: Level
    source: str
    """Where we know it from: a recorded exchange, a specification, an issue."""
    advice: str
    """What to do about it."""
    find: Finder
    verified: bool = True


@dataclass(frozen=True, slots=True)
class Violation:
    """A finding with the rule that made it and how it counts in this check."""

    rule: Rule
    finding: Finding
    level: Level

    def __str__(self) -> str:
        """Return one line a person can act on."""
        return f"{self.rule.id} {self.finding.where}: {self.finding.problem} ({self.rule.advice})"


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of a check."""

    violations: tuple[Violation, ...]

    @property
    def refused(self) -> bool:
        """Tell whether the API would refuse the request."""
        return any(violation.level is Level.REFUSE for violation in self.violations)

    @property
    def rule_ids(self) -> tuple[str, ...]:
        """Return the ids of the rules that refuse, each once, in order."""
        refusing = (v.rule.id for v in self.violations if v.level is Level.REFUSE)
        return tuple(dict.fromkeys(refusing))


def check_body(rules: Iterable[Rule], body: JsonObject, unverified: Unverified) -> Report:
    """Run every rule over a request body."""
    return Report(tuple(_violations(rules, body, unverified)))


def _violations(rules: Iterable[Rule], body: JsonObject, unverified: Unverified) -> Iterator[Violation]:
    for rule in rules:
        if not rule.verified and unverified is Unverified.OFF:
            continue
        level = rule.level if rule.verified or unverified is Unverified.REFUSE else Level.WARN
        for finding in rule.find(body):
            yield Violation(rule, finding, level)
