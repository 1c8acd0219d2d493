"""Named rules for what a provider's API refuses, and the check that runs them.

A rule has an id that error messages and docs share, a level, a source that documents it, and a function that
finds violations: ``A1 messages.3.content.1: tool_use t1 has no tool_result in the next message``. Rules look
at the request body as it would be sent, not at clew's messages, so that they can also check requests built by
others. Each is a function below its description::

    @RULES.add("G0b: a request has a content", "Error text 'contents is not specified'.", "add a content")
    def _missing_contents(body: JsonObject) -> Iterator[RuleFinding]:
        if body.get("contents") == []:
            yield RuleFinding("contents", "at least one content is required")
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import wraps
from typing import Any, TypeVar, cast

from clew.message import Json, JsonObject
from clew.providers.shapes import as_list, as_number, as_text, objects

ViewT = TypeVar("ViewT")


class RuleLevel(StrEnum):
    """How the API treats a violation."""

    REFUSE = "refuse"
    """The API answers with an error."""
    WARN = "warn"
    """The API accepts it, against its own documentation."""


class Unverified(StrEnum):
    """How to treat rules that are widely reported but neither recorded nor documented in a source."""

    OFF = "off"
    WARN = "warn"
    REFUSE = "refuse"


class CheckScope(StrEnum):
    """How much of a request is being checked."""

    BODY = "body"
    """A whole request: absent fields are missing."""
    MESSAGES = "messages"
    """A message list, perhaps with a model or tools: absent fields may be added later."""


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """One violation of a rule, with its place."""

    where: str
    """A path into the body: ``messages.3.content.1``."""
    problem: str
    api_where: str | None = None
    """The place in the API's own error message, if it differs: Anthropic counts merged messages."""


Finder = Callable[[JsonObject], Iterable[RuleFinding]]


@dataclass(frozen=True, slots=True)
class ApiRule:
    """One requirement of an API."""

    id: str
    name: str
    level: RuleLevel
    source: str
    """The evidence: a recorded exchange, a specification, an issue."""
    advice: str
    """What to do about it."""
    find: Finder = field(repr=False)
    """Yields the violations. Accepts any JSON object and never raises."""
    verified: bool = True
    """False if it is widely reported but neither recorded nor documented in a source."""
    scope: CheckScope = CheckScope.MESSAGES
    """The part of a request that the rule needs."""

    @property
    def number(self) -> str:
        """Return the id without its letter suffix: ``A12`` for ``A12b``."""
        return self.id.rstrip("abcdefghijklmnopqrstuvwxyz")


@dataclass(frozen=True, slots=True)
class Violation:
    """A finding with its rule and its level in this check."""

    rule: ApiRule
    finding: RuleFinding
    level: RuleLevel

    def __str__(self) -> str:
        """Return one line with the rule, the place, the problem and what to do."""
        text = f" [the API says {self.finding.api_where}]" if self.finding.api_where else ""
        return f"{self.rule.id} {self.finding.where}{text}: {self.finding.problem} ({self.rule.advice})"


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The result of a check."""

    violations: tuple[Violation, ...]

    @property
    def refused(self) -> bool:
        """Whether the API would refuse the request."""
        return any(violation.level is RuleLevel.REFUSE for violation in self.violations)

    @property
    def rule_ids(self) -> tuple[str, ...]:
        """Return the ids of the violated rules that refuse, each once, in order."""
        refusing = (v.rule.id for v in self.violations if v.level is RuleLevel.REFUSE)
        return tuple(dict.fromkeys(refusing))


class RuleBook(list[ApiRule]):
    """The rules of an API, sorted by id in natural order: A2, A2b, A10."""

    def add(  # the fields of a rule
        self,
        title: str,
        source: str,
        advice: str,
        *,
        level: RuleLevel = RuleLevel.REFUSE,
        verified: bool = True,
        scope: CheckScope = CheckScope.MESSAGES,
    ) -> Callable[[Finder], Finder]:
        """Make a rule of the function below, which yields its violations.

        ``title`` is the id and the name: ``A2: every tool result answers a call of the previous message``.
        """

        def register(find: Finder) -> Finder:
            id_, _, name = title.partition(": ")
            self.append(ApiRule(id_, name, level, source, advice, find, verified, scope))
            self.sort(key=_rule_order)
            return find

        return register


def _rule_order(rule: ApiRule) -> tuple[int, str]:
    return int("".join(filter(str.isdigit, rule.id))), rule.id


def check_body(
    rules: Iterable[ApiRule],
    body: JsonObject,
    unverified: Unverified = Unverified.WARN,
    scope: CheckScope = CheckScope.BODY,
) -> CheckReport:
    """Run every rule that applies to this scope."""
    return CheckReport(tuple(_violations(rules, _Checked(body), unverified, scope)))


def _violations(
    rules: Iterable[ApiRule], body: JsonObject, unverified: Unverified, scope: CheckScope
) -> Iterator[Violation]:
    for rule in rules:
        if rule.scope is CheckScope.BODY and scope is CheckScope.MESSAGES:
            continue
        if not rule.verified and unverified is Unverified.OFF:
            continue
        level = rule.level if rule.verified or unverified is Unverified.REFUSE else RuleLevel.WARN
        for finding in rule.find(body):
            yield Violation(rule, finding, level)


class _Checked(dict[str, Json]):
    """The body during one check, with views computed from it that rules share."""

    __slots__ = ("views",)

    def __init__(self, body: JsonObject) -> None:
        super().__init__(body)
        self.views: dict[Callable[..., Any], Any] = {}


def once_per_check(make: Callable[[JsonObject], ViewT]) -> Callable[[JsonObject], ViewT]:
    """Cache a function of the body for the duration of one check, because many rules use it."""

    @wraps(make)
    def look(body: JsonObject) -> ViewT:
        if not isinstance(body, _Checked):
            return make(body)
        if make not in body.views:
            body.views[make] = make(body)
        return cast(ViewT, body.views[make])

    return look


@once_per_check
def messages(body: JsonObject) -> list[tuple[int, str, JsonObject]]:
    """Return the entries of ``messages`` that are objects (Anthropic, OpenAI Chat): index, role, message."""
    return [(i, as_text(item.get("role")), item) for i, item in objects(body.get("messages"))]


Shape = type | tuple[type, ...]

_TYPE_NAMES: dict[type, str] = {str: "a string", dict: "an object", list: "a list", type(None): "null"}


def misfits(where: str, value: JsonObject, wanted: Mapping[str, Shape]) -> Iterator[RuleFinding]:
    """Yield each field of an object that does not have its type: ``content must be a string or a list``."""
    for field_, shape in wanted.items():
        if not isinstance(value.get(field_), shape):
            names = [_TYPE_NAMES[type_] for type_ in (shape if isinstance(shape, tuple) else (shape,))]
            yield RuleFinding(f"{where}.{field_}", f"must be {' or '.join(names)}")


def misfit_numbers(
    body: JsonObject, whole: Iterable[str], any_number: Iterable[str] = ("temperature", "top_p")
) -> Iterator[RuleFinding]:
    """Yield each given field of the body that is not a number of its type."""
    for name in whole:
        if (value := body.get(name)) is not None and (not isinstance(value, int) or isinstance(value, bool)):
            yield RuleFinding(name, "must be a whole number")
    for name in any_number:
        if body.get(name) is not None and as_number(body[name]) is None:
            yield RuleFinding(name, "must be a number")


def temperature_up_to(most: int, body: JsonObject) -> Iterator[RuleFinding]:
    """Yield the temperature if it is outside its range."""
    temperature = as_number(body.get("temperature"))
    if temperature is not None and not 0 <= temperature <= most:
        yield RuleFinding("temperature", f"must be from 0 to {most}")


def malformed_entries(
    where: str, listed: Json, check: Callable[[str, JsonObject], Iterable[RuleFinding]]
) -> Iterator[RuleFinding]:
    """Yield what ``check`` finds in each entry of a list, and entries that are not objects."""
    if not isinstance(listed, list):
        yield RuleFinding(where, "must be a list")
    for i, entry in enumerate(as_list(listed)):
        if isinstance(entry, dict):
            yield from check(f"{where}.{i}", entry)
        else:
            yield RuleFinding(f"{where}.{i}", "must be an object")


# gpt-5.2, openai/gpt-4o, o3-mini, chatgpt-4o-latest, codex-mini; not gpt-oss, which other vendors serve.
_OPENAI = re.compile(r"(?:openai[/.])?(?:gpt-(?!oss)|o\d(?:-|$)|chatgpt-|codex-|computer-use-)")
_DEEPSEEK = re.compile(r"(?:deepseek[/.])?deepseek-")


def may_be_openai(body: JsonObject) -> bool:
    """Whether the request is for one of OpenAI's models, or names no model."""
    model = as_text(body.get("model")).lower()
    return not model or _OPENAI.match(model) is not None


def is_deepseek(body: JsonObject) -> bool:
    """Whether the request is for one of DeepSeek's models."""
    return _DEEPSEEK.match(as_text(body.get("model")).lower()) is not None
