"""What a model said about sentences of the user: which are rules, and which rules later words ended.

A model answers by number only. ``Pins.judge`` applies a judgement, and is the only place where a model's word
changes a rule. The log records a judgement, and it is replayed without asking the model again::

    {"by": "anthropic/claude-sonnet-4-5", "prompt": "judge-2", "upto": 41, "asked": 57,
     "judged": [{"rule": {"quote": …, "source": …}, "is": "request"}],
     "added": [{"message": "m3", "rule": {…}}],
     "decided": [["m4", 0, 0, 38]],
     "ended": [{"rule": {"quote": …, "source": …}, "by": ["m9", 0, 0, 31]}]}

Sentences that bind nothing are only counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from clew.errors import StoreDamaged
from clew.message import Cite, Item, JsonObject, Message, message_number, words
from clew.rules.findings import (
    findings_from_json,
    findings_to_json,
    is_of_user,
    ref_from_json,
    ref_to_json,
)
from clew.rules.rule import Rule, RuleRef, Span, Verdict

MessageNamed = Callable[[str], Message | None]
"""Return a message of the session by its id; None if there is none."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The answer of a model about sentences of the user, checked by code."""

    by: str
    """The model."""
    prompt: str
    """The version of the prompt."""
    upto: int
    """The number of the last message that it was asked about; these are not asked about again."""
    asked: int
    """How many sentences it was asked about."""
    judged: tuple[tuple[RuleRef, Verdict], ...] = ()
    """What it said about rules that were found without it."""
    added: tuple[Rule, ...] = ()
    """Sentences that it calls standing rules and that were not found."""
    ended: tuple[tuple[RuleRef, Cite], ...] = ()
    """Rules, and the later words of the user that end them."""
    decided: tuple[RuleRef, ...] = ()
    """Sentences that it calls decisions and that were no rules: the ledger lists them."""


# As JSON ---------------------------------------------------------------------------------------------


def judgement_to_json(judgement: Judgement) -> JsonObject:
    """Return a judgement as the body of its event."""
    judged: list[Any] = [
        {"rule": ref_to_json(rule), "is": verdict.value} for rule, verdict in judgement.judged
    ]
    added: list[Any] = [
        {"message": rule.source.message, "rule": findings_to_json((rule,), 0, 0)[0]}
        for rule in judgement.added
        if rule.source
    ]
    ended: list[Any] = [{"rule": ref_to_json(rule), "by": [*by]} for rule, by in judgement.ended]
    about: JsonObject = {
        "by": judgement.by,
        "prompt": judgement.prompt,
        "upto": judgement.upto,
        "asked": judgement.asked,
    }
    decided: list[Any] = [[*one.source] for one in judgement.decided if one.source]
    return {**about, "judged": judged, "added": added, "ended": ended, "decided": decided}


def judgement_from_json(body: JsonObject, message_named: MessageNamed) -> Judgement:
    """Read back a judgement; ``StoreDamaged`` if it adds or ends a rule by other words than the user's."""
    value: dict[str, Any] = body
    try:
        return Judgement(
            by=str(value["by"]),
            prompt=str(value["prompt"]),
            upto=int(value["upto"]),
            asked=int(value["asked"]),
            judged=tuple((ref_from_json(one["rule"]), Verdict(one["is"])) for one in value["judged"]),
            added=tuple(_added(one, message_named) for one in value["added"]),
            ended=tuple(_ended(one, message_named) for one in value["ended"]),
            decided=tuple(_decided(one, message_named) for one in value.get("decided", ())),
        )
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as cause:
        raise StoreDamaged(f"the judgement of rules is malformed ({cause!r})") from cause


def _added(value: Any, message_named: MessageNamed) -> Rule:  # noqa: ANN401  # JSON on its way in
    item = _item(str(value["message"]), message_named)
    (rule,) = findings_from_json([value["rule"]], item)
    if not isinstance(rule, Rule) or not is_of_user(item, rule.span):
        raise StoreDamaged(f"a sentence that was judged a rule is not the user's in message {item.id}")
    return rule


def _ended(value: Any, message_named: MessageNamed) -> tuple[RuleRef, Cite]:  # noqa: ANN401  # JSON on its way in
    item, span = _users_place(value["by"], message_named)
    return ref_from_json(value["rule"]), Cite(item.id, *span)


def _decided(value: Any, message_named: MessageNamed) -> RuleRef:  # noqa: ANN401  # JSON on its way in
    item, span = _users_place(value, message_named)
    part, start, end = span
    return RuleRef(words(item.message.parts[part])[start:end], Cite(item.id, *span))


def _users_place(value: Any, message_named: MessageNamed) -> tuple[Item, Span]:  # noqa: ANN401  # as above
    """Return the message and the span of words; ``StoreDamaged`` if they are not the user's."""
    message, *place = value
    span = Span(*map(int, place))
    item = _item(str(message), message_named)
    if not is_of_user(item, span):
        raise StoreDamaged(f"the words of a judgement are not the user's in message {item.id}")
    return item, span


def _item(name: str, message_named: MessageNamed) -> Item:
    message = message_named(name) if message_number(name) else None
    if message is None:
        raise StoreDamaged(f"there is no message {name[:20]!r}")
    return Item(name, message)
