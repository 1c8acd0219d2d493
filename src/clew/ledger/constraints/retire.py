"""Finds which active constraints a message ends: by taking them back, or by a rule that contradicts them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from clew.ledger.constraints.evidence import Evidence
from clew.ledger.constraints.find import found_in, spoken
from clew.ledger.constraints.scope import scope_of
from clew.ledger.constraints.sentences import Sentence
from clew.ledger.constraints.subject import Choice, Subject, choices, subject_of
from clew.ledger.constraints.tokens import Token, tokens
from clew.ledger.constraints.values import Constraint, Found, How, Kind, Retirement, Span
from clew.message import Message, Origin, Text, Trust

_LIFTS = frozenset(("lift", "lift_that"))
_ALLOWS = frozenset(("permit", "may"))
_BANS = frozenset((Kind.PROHIBITION, Kind.SCOPE))
_DUTIES = frozenset((Kind.REQUIREMENT, Kind.LIMIT, Kind.PREFERENCE))
_ANY_WORK = frozenset(("edit",))
"""What is done to a thing, whatever it is; the words that mean the same count as this one."""
_ALIKE = 0.75
_REMEMBERED = 1_024
_QUANTITY = re.compile(r"(\d[\d.,]*)\s*([^\W\d_]{2,})")


def retire(active: Sequence[Constraint], message: Message) -> list[Retirement]:
    """Return the ends that a message puts to active constraints, in the order of its sentences.

    ``active`` is oldest first. A speaker may end only what is no more trusted than they are. Words that
    name no rule ("ignore that") end the most recent one, and the retirement says so.
    """
    if message.origin is not Origin.SPOKEN:
        return []
    ended: dict[str, Retirement] = {}
    for index, part in enumerate(message.parts):
        if not isinstance(part, Text) or part.trust < Trust.USER:
            continue
        for sentence, seen in spoken(part.text, part.trust):
            open_ones = [c for c in active if c.found.trust <= part.trust and c.id not in ended]
            for end in _ends(open_ones, sentence, seen, index, part.trust):
                ended.setdefault(end.constraint, end)
    return list(ended.values())


def _ends(
    active: Sequence[Constraint], sentence: Sentence, seen: Evidence, part: int, trust: Trust
) -> Iterator[Retirement]:
    if not active:
        return
    span = Span(part, sentence.start, sentence.end)
    cues = {hit.cue for hit in seen.hits}
    subject = subject_of(sentence.text, seen.words, scope_of(sentence.text, seen.words, seen.hits))
    if cues & (_LIFTS | _ALLOWS | {"needless"}) and (lifted := _lifted(active, cues, subject)):
        constraint, certain, why = lifted
        yield Retirement(constraint.id, How.LIFTED, sentence.text, span, why, certain)
    elif (found := found_in(sentence, seen, part, trust)) is not None:
        for constraint, why in _contradicted(active, found, subject, seen.words):
            yield Retirement(constraint.id, How.SUPERSEDED, sentence.text, span, why)


def _lifted(
    active: Sequence[Constraint], cues: set[str], subject: Subject
) -> tuple[Constraint, bool, str] | None:
    """Return the constraint that a sentence takes back, whether that is certain, and why it is this one."""
    kinds = frozenset(Kind) if cues & _LIFTS else _BANS if cues & _ALLOWS else _DUTIES
    scores = [
        (subject.likeness(old), subject.closeness(old), i)
        for i, old in enumerate(about(c.found) for c in active)
        if active[i].found.kind in kinds
        and subject.matches(old)
        and (cues & _LIFTS or not _narrower(subject, old))
    ]
    if scores:
        best = max(scores)
        alone = sum(score[:2] == best[:2] for score in scores) == 1
        quote = active[best[2]].found.quote
        return active[best[2]], alone, f"it speaks of the same matter as {quote!r}"
    if "lift_that" in cues and not (subject.words or subject.paths):
        return active[-1], False, "it names no rule, so the most recent one was taken"
    return None


def _narrower(subject: Subject, old: Subject) -> bool:
    """Tell an exception from the end of a rule: leave to push to staging does not end "don't push".

    To edit a thing that was off limits is no exception: a rule need not say what must not be done to it.
    """
    return subject.words - _ANY_WORK > old.words - _ANY_WORK and not subject.paths


def _contradicted(
    active: Sequence[Constraint], found: Found, subject: Subject, words: Sequence[Token]
) -> Iterator[tuple[Constraint, str]]:
    """Yield the constraints that a newer one contradicts, and how."""
    chosen = tuple(choices(words, subject))
    numbers = _numbers(found.quote) if _has_bound(found) else ()
    for constraint in active:
        old = constraint.found
        old_subject = about(old)
        if old.quote == found.quote or bool(subject.paths) != bool(old_subject.paths):
            continue
        if subject.paths and not subject.likeness(old_subject):
            continue
        why = _other_choice(chosen, old) if chosen else ""
        why = why or (_other_number(numbers, old) if numbers else "")
        if not why and _opposed(found.kind, old.kind) and subject.likeness(old_subject) >= _ALIKE:
            why = f"it is {found.kind} where the older one is {old.kind}"
        if why:
            yield constraint, why


def _other_choice(chosen: Iterable[Choice], old: Found) -> str:
    """Return how what was chosen replaces what an older rule chose."""
    olds = {choice.group: choice for choice in _choices_of(old)}
    for new in chosen:
        before = olds.get(new.group)
        if before is not None and new.beside == before.beside and _replaces(new, before):
            return f"{_named(new.chosen) or 'something else'} replaces {_named(before.chosen)}"
    return ""


def _replaces(new: Choice, old: Choice) -> bool:
    return bool(old.chosen and (new.chosen or new.refused & old.chosen) and not new.chosen & old.chosen)


def _named(values: frozenset[str]) -> str:
    return ", ".join(sorted(values))


def _other_number(news: Iterable[tuple[str, str]], old: Found) -> str:
    """Return how a limit differs from an older one on the same unit: 80 columns, 100 columns."""
    if not _has_bound(old):
        return ""
    by_unit = {unit.lower(): number for number, unit in news}
    for number, unit in _numbers(old.quote):
        if by_unit.get(unit.lower(), number) != number:
            return f"{by_unit[unit.lower()]} {unit} replaces {number} {unit}"
    return ""


def _numbers(quote: str) -> list[tuple[str, str]]:
    """Return the numbers of a sentence, each with its unit."""
    return _QUANTITY.findall(quote)


def _has_bound(found: Found) -> bool:
    cues = {reason.cue for reason in found.reasons}
    return found.kind is Kind.LIMIT or not cues.isdisjoint(("limit", "limit_number", "measure"))


def _opposed(new: Kind, old: Kind) -> bool:
    """Tell a ban from a duty; leave to do something is no duty, and lifts what it lifts by name."""
    return new is not Kind.PERMISSION and (new is Kind.PROHIBITION) != (old is Kind.PROHIBITION)


@lru_cache(maxsize=_REMEMBERED)
def about(found: Found) -> Subject:
    """Return what a found constraint is about; active ones are asked for again and again."""
    return subject_of(found.quote, tokens(found.quote), found.scope)


@lru_cache(maxsize=_REMEMBERED)
def _choices_of(found: Found) -> tuple[Choice, ...]:
    """Return what a found constraint chooses among alternatives."""
    return tuple(choices(tokens(found.quote), about(found)))
