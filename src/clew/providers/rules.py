"""What an API refuses, as named rules.

A rule is an object: an id that error messages and docs share, how hard it is, where we know it from, and
a function that finds what breaks it. Rules look at the request body as it would be sent, not at our own
messages, so they judge what others build as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import wraps
from typing import Any, TypeVar, cast

from clew.message import Json, JsonObject

View = TypeVar("View")


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


class Scope(StrEnum):
    """How much of a request is there to be judged."""

    BODY = "body"
    """A whole request: what it does not say is missing."""
    MESSAGES = "messages"
    """A message list, perhaps with a model or tools: what it does not say may come later."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One place where a rule is broken."""

    where: str
    """A path into the body: ``messages.3.content.1``."""
    problem: str
    api_where: str | None = None
    """The place as the API's own error names it, where that differs: Anthropic counts merged messages."""


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
    find: Finder = field(repr=False)
    """Yield what breaks the rule. Takes any JSON object and never raises."""
    verified: bool = True
    """False where it is widely reported but neither recorded nor read in a source."""
    scope: Scope = Scope.MESSAGES
    """The least that must be there for the rule to judge."""

    @property
    def number(self) -> str:
        """Return the number it shares with its sister rules: ``A12`` of ``A12b``."""
        return self.id.rstrip("abcdefghijklmnopqrstuvwxyz")


@dataclass(frozen=True, slots=True)
class Violation:
    """A finding with the rule that made it and how it counts in this check."""

    rule: Rule
    finding: Finding
    level: Level

    def __str__(self) -> str:
        """Return one line a person can act on."""
        told = f" [the API says {self.finding.api_where}]" if self.finding.api_where else ""
        return f"{self.rule.id} {self.finding.where}{told}: {self.finding.problem} ({self.rule.advice})"


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


def in_order(*groups: Iterable[Rule]) -> tuple[Rule, ...]:
    """Return rules sorted by id as people count: A2, A2b, A10."""
    return tuple(sorted((rule for group in groups for rule in group), key=_counted))


def _counted(rule: Rule) -> tuple[str, int, str]:
    digits = "".join(filter(str.isdigit, rule.id))
    letter, _, part = rule.id.partition(digits)
    return letter, int(digits), part


def check_body(
    rules: Iterable[Rule],
    body: JsonObject,
    unverified: Unverified = Unverified.WARN,
    scope: Scope = Scope.BODY,
) -> Report:
    """Run every rule that can judge this much of a request."""
    return Report(tuple(_violations(rules, _Checked(body), unverified, scope)))


def _violations(
    rules: Iterable[Rule], body: JsonObject, unverified: Unverified, scope: Scope
) -> Iterator[Violation]:
    for rule in rules:
        if rule.scope is Scope.BODY and scope is Scope.MESSAGES:
            continue
        if not rule.verified and unverified is Unverified.OFF:
            continue
        level = rule.level if rule.verified or unverified is Unverified.REFUSE else Level.WARN
        for finding in rule.find(body):
            yield Violation(rule, finding, level)


class _Checked(dict[str, Json]):
    """The body for as long as one check lasts, with what rules have worked out from it."""

    __slots__ = ("views",)

    def __init__(self, body: JsonObject) -> None:
        super().__init__(body)
        self.views: dict[Callable[..., Any], Any] = {}


def once_per_check(make: Callable[[JsonObject], View]) -> Callable[[JsonObject], View]:
    """Work a view of the body out once per check, however many rules look at it."""

    @wraps(make)
    def look(body: JsonObject) -> View:
        if not isinstance(body, _Checked):
            return make(body)
        if make not in body.views:
            body.views[make] = make(body)
        return cast(View, body.views[make])

    return look
