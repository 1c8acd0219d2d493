"""What a rule refuses, next to the nearest thing that it accepts."""

from __future__ import annotations

from typing import NamedTuple

from clew.message import JsonObject
from clew.providers.rules import ApiRule, RuleLevel, Unverified, check_body


class Example(NamedTuple):
    """A body that breaks one rule and no other, and its near twin that breaks none."""

    rule: str
    broken: JsonObject
    sound: JsonObject


class Outcome(NamedTuple):
    """The ids of the rules that refuse a body, and of those that only warn."""

    refusing: set[str]
    warning: set[str]


def name_of(example: Example) -> str:
    """Name a test after its rule."""
    return example.rule


def judged(rules: tuple[ApiRule, ...], body: JsonObject) -> Outcome:
    """Check a body with every rule in force, the unverified ones too."""
    outcome = Outcome(set(), set())
    for violation in check_body(rules, body, Unverified.REFUSE).violations:
        (outcome.refusing if violation.level is RuleLevel.REFUSE else outcome.warning).add(violation.rule.id)
    return outcome


def assert_fires_alone(rules: tuple[ApiRule, ...], example: Example) -> None:
    """Assert that the rule, and no other refusal, meets the broken body and not its sound twin."""
    broken, sound = judged(rules, example.broken), judged(rules, example.sound)
    assert example.rule in broken.refusing | broken.warning
    assert broken.refusing <= {example.rule}
    assert sound.refusing == set()
    assert example.rule not in sound.warning
