"""The rules that the finder found in a message, as the log records them.

Each version of the finder may find different rules, but what a person saw, pinned, edited and revoked must
not change with an upgrade. So the finder runs once, when a message is added, and its findings are logged with
the message. A rule is identified by its words and their position, never by its number alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from clew.errors import StoreDamaged
from clew.message import Cite, Item, Json, JsonObject, Origin, Role, Text, Trust, message_number
from clew.rules.codec import from_json, to_json
from clew.rules.rule import Force, How, Kind, Reason, Rule, RuleRef, Scope, Span, Strength
from clew.rules.speech import utterances

FINDER = 17
"""Version of the rule finder. Increment it with every change of what it finds or ends."""
SPEAKERS = frozenset((Role.USER, Role.DEVELOPER, Role.SYSTEM))
"""Roles whose messages can state rules."""


@dataclass(frozen=True, slots=True)
class Ending:
    """The end that a message puts to an earlier rule."""

    rule: RuleRef
    how: How
    at: Span
    """The words that end it."""
    why: str
    trust: Trust
    """The trust of these words: they end no rule with more."""
    certain: bool = True


Findings: TypeAlias = tuple[Rule | Ending, ...]
"""The rules that a message states and ends, in order; spans count from the start of the message's parts."""


# As JSON ---------------------------------------------------------------------------------------------


def ref_to_json(rule: RuleRef) -> JsonObject:
    """Return a rule reference as a log event holds it."""
    return {"quote": rule.quote, "source": list(rule.source) if rule.source else None}


def ref_from_json(value: Json) -> RuleRef:
    """Read back what ``ref_to_json`` wrote."""
    match value:
        case {"quote": str(quote), "source": None}:
            return RuleRef(quote, None)
        case {"quote": str(quote), "source": [str(message), int(part), int(start), int() | None as end]}:
            return RuleRef(quote, Cite(message, part, start, end))
    raise StoreDamaged("malformed reference to a rule")


def findings_to_json(findings: Findings, number: int, known: int) -> list[Json]:
    """Return the findings of message ``number``, which is about to be appended after ``known`` messages.

    If another process appends first, the message gets a higher number. So a rule of a message in the same
    append is referred to by distance: 0 is this message, -1 the one before it.
    """
    return [_step_to_json(step, number, known) for step in findings]


def _step_to_json(step: Rule | Ending, number: int, known: int) -> Json:
    if isinstance(step, Ending):
        rule = ref_to_json(step.rule)
        cited = message_number(step.rule.source.message) if step.rule.source else 0
        if step.rule.source and cited > known:
            rule["source"] = [cited - number, *step.rule.source[1:]]
        ends: JsonObject = {"ends": rule, "how": step.how.value, "at": [*step.at], "why": step.why}
        return ends if step.certain else {**ends, "certain": False}
    found: JsonObject = {
        "quote": step.quote,
        "at": [*step.span],
        "kind": step.kind.value,
        "strength": step.strength.value,
        "trust": step.trust.label,
        "confidence": step.confidence,
        "scope": to_json(step.scope),
        "reasons": to_json(step.reasons),
        "force": step.force.value,
    }
    more: JsonObject = {"lead": step.lead, "force_reason": step.because}
    return {**found, **{name: words for name, words in more.items() if words}}


def findings_from_json(value: Json, item: Item) -> Findings:
    """Read the findings of a message; ``StoreDamaged`` if they do not quote the message.

    A log may come from another machine: a rule must be in the message word for word, and cannot have more
    trust than the words that it quotes. Only words of a person or of the prompt end a rule.
    """
    if not isinstance(value, list):
        raise StoreDamaged("rule findings must be a list")
    try:
        return tuple(_step_from_json(one, item) for one in value)
    except (KeyError, IndexError, TypeError, ValueError, OverflowError, AttributeError) as cause:
        raise StoreDamaged(f"rule findings are malformed ({cause!r})") from cause


def _step_from_json(value: Any, item: Item) -> Rule | Ending:  # noqa: ANN401  # JSON on its way in
    at = Span(*map(int, value["at"]))
    if "ends" in value:
        rule = value["ends"]
        if rule["source"] and isinstance(rule["source"][0], int):
            distance, *place = rule["source"]
            rule = {**rule, "source": [f"m{message_number(item.id) + distance}", *place]}
        said_with = _trust_of_words(item, at)
        if said_with is None or said_with < Trust.USER:
            raise StoreDamaged(f"no words at {[*at]} of message {item.id} may end a rule")
        certain = value.get("certain") is not False
        return Ending(ref_from_json(rule), How(value["how"]), at, str(value["why"]), said_with, certain)
    trust = Trust[str(value["trust"]).upper().replace("-", "_")]
    found = Rule(
        str(value["quote"]),
        Cite(item.id, *at),
        _one_of(Kind, value["kind"], Kind.REQUIREMENT),
        _scope(value.get("scope")),
        _one_of(Strength, value["strength"], Strength.MUST),
        trust,
        _confidence(value["confidence"]),
        tuple(Reason(str(cue), str(words), float(weight)) for cue, words, weight in value["reasons"]),
        str(value.get("lead", "")),
        _one_of(Force, value.get("force"), Force.STANDING),
        str(value.get("force_reason", "")),
    )
    if not _is_said(found, item):
        raise StoreDamaged(f"the recorded rule {found.quote[:60]!r} is not in message {item.id}")
    return found


def _confidence(value: Any) -> float:  # noqa: ANN401  # JSON on its way in
    confidence = float(value)
    if not 0 <= confidence <= 1:  # also for NaN
        raise ValueError(f"a confidence of {confidence}")
    return confidence


def _is_said(found: Rule, item: Item) -> bool:
    """Return whether a message has these words at this position, with at least this trust."""
    trust = _trust_of_words(item, found.span)
    return (
        trust is not None
        and found.trust <= trust
        and Cite(item.id, *found.span).quote(item.message) == found.quote
    )


def is_of_user(item: Item, span: Span) -> bool:
    """Return whether the words at a place of a message are the user's own, not of a prompt or a tool.

    A message with the role of a tool has such words if the person answered instead of the tool, as in a form:
    its reader then labelled them with the trust of the user, which text of a tool never gets.
    """
    return _trust_of_words(item, span) is Trust.USER and item.message.role in (Role.USER, Role.TOOL)


def _trust_of_words(item: Item, span: Span) -> Trust | None:
    """Return the trust of words that may state or end rules; None if there are no such words.

    They are text of a speaker, or what the person answered in the result of a call.
    """
    part, start, end = span
    if not 0 <= part < len(item.message.parts) or not 0 <= start < end:
        return None
    spoken = item.message.parts[part]
    if isinstance(spoken, Text) and item.message.role in SPEAKERS:
        said = item.message.origin is Origin.SPOKEN and end <= len(spoken.text)
        return spoken.trust if said else None
    answers = (one for one in utterances(item) if one.aside and one.part == part)
    around = (one.trust for one in answers if one.start <= start and end <= one.start + len(one.text))
    return next(around, None)  # answers do not overlap: at most one contains the words


def _one_of(kind: Any, value: Any, default: Any) -> Any:  # noqa: ANN401  # an enum that may have grown since
    return kind(value) if value in [one.value for one in kind] else default


def _scope(value: Any) -> Scope:  # noqa: ANN401  # JSON on its way in
    """Read a scope, ignoring fields that another version wrote, and words that are none."""
    names = Scope.__dataclass_fields__.keys()
    fields = {name: one for name, one in (value or {}).items() if name in names}
    for name, words in fields.items():
        if isinstance(words, list):
            fields[name] = [word for word in words if isinstance(word, str)]
    return from_json(Scope, fields)


# Matching --------------------------------------------------------------------------------------------


def in_whole_message(found: Rule, source: Cite) -> Rule:
    """Return a finding in a piece of a message with its position in the whole message."""
    return replace(found, source=Cite(source.message, *span_in(found.span, source)))


def span_in(span: Span, source: Cite) -> Span:
    """Return the position in the message of a span that was counted from ``source``."""
    return Span(source.part + span.part, source.start + span.start, source.start + span.end)


def overlapping(source: Cite, sources: Iterable[Cite]) -> list[Cite]:
    """Return the places that share characters with ``source``; finder versions cut sentences differently."""

    def meets(other: Cite) -> bool:
        ends = [one.end if one.end is not None else float("inf") for one in (source, other)]
        return source[:2] == other[:2] and max(source.start, other.start) < min(ends)

    return [other for other in sources if meets(other)]
