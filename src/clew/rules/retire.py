"""Find which active rules a message ends, by withdrawing or by contradicting them.

In: the rules in force and a message. Out: a ``Retirement`` for each rule that it ends, with the words that
do. "You can push now" lifts "never push"; "use tabs" supersedes "use spaces"; "go ahead" ends "don't write
code yet" (``go_ahead.py``). ``Pins`` applies them. What only resembles a permission is recognised in
``permission.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from clew.message import Message, Origin, Text, Trust
from clew.message.text import lazy_pattern
from clew.rules.abandon import ends_rule, find_abandonment
from clew.rules.active import ActiveRules, IndexedRule, has_bound, numbers
from clew.rules.cues import Hit
from clew.rules.evidence import Evidence
from clew.rules.find import found_in, rule_sentences
from clew.rules.go_ahead import ends_provisional, go_ahead, is_provisional
from clew.rules.permission import (
    PERMITS,
    is_directed,
    is_false_lift,
    is_false_permission,
    permission_start,
    reminds,
)
from clew.rules.rule import Force, How, Kind, Retirement, Rule, Span
from clew.rules.sentences import Sentence
from clew.rules.subject import Choice, Subject, choices, scope_of, subject_of
from clew.rules.words import model, tokens, words

_LIFTS = frozenset(("lift", "lift_that"))
_LETS_GO = "let_go"
"""The cue of words that drop something: "forget the tabs"."""
_TAKES_BACK = _LIFTS | PERMITS | {"needless"}
_BANS = frozenset((Kind.PROHIBITION, Kind.SCOPE))
_DUTIES = frozenset((Kind.REQUIREMENT, Kind.LIMIT, Kind.PREFERENCE))
_ON_CONDITION = frozenset(("consent", "ask", "gate", "gate_you", "not_yet"))
_ANY_WORK = frozenset(("edit",))
"""The generic act on a thing; its synonyms are mapped to it."""
_OMITS = frozenset(("skip", "omit", "bypass"))
"""Acts whose permission ends a duty: "you may skip the linter"."""
_FORBIDS_OMITTING = lazy_pattern(r"\b(?:without|skip\w*|omit\w*|bypass\w*)\b", re.IGNORECASE)
"""A ban that states a duty: "never commit without running the tests"."""
_LASTING = frozenset(("lasting", "leave_now"))
_ENOUGH_ALIKE = 0.75
"""Share of the shorter subject from which on two rules are about the same; chosen by hand."""


def retire(active: Sequence[Rule] | ActiveRules, message: Message) -> list[Retirement]:
    """Return the ends that a message puts to active rules, in the order of its sentences.

    ``active`` is oldest first. A speaker can end only rules with at most their own trust. Words that name no
    rule ("ignore that") end the most recent one, marked as uncertain.
    """
    if message.origin is not Origin.SPOKEN:
        return []
    rules = active if isinstance(active, ActiveRules) else ActiveRules(active)
    ended: dict[str, Retirement] = {}
    for index, part in enumerate(message.parts):
        if not isinstance(part, Text) or part.trust < Trust.USER:
            continue

        def may_end(entry: IndexedRule, trust: Trust = part.trust) -> bool:
            return entry.rule.trust <= trust and entry.rule.id not in ended

        for end in _ends_by_go_ahead(rules, may_end, part.text, index):
            ended.setdefault(end.rule, end)
        for sentence, seen in rule_sentences(part.text, part.trust):
            for end in _ends(rules, may_end, _SaidSentence(sentence, seen, index, part.trust)):
                ended.setdefault(end.rule, end)
    return list(ended.values())


def _ends_by_go_ahead(rules: ActiveRules, may_end: MayEnd, text: str, part: int) -> Iterator[Retirement]:
    """Yield the provisional rules that end because the speaker gives the go-ahead."""
    if not rules.provisional or not (words := go_ahead(text)):
        return
    start = text.find(words)
    span = Span(part, start, start + len(words))
    for entry in filter(may_end, rules.latest()):
        if entry.rule.id in rules.provisional and ends_provisional(entry.rule, text):
            yield Retirement(entry.rule.id, How.EXPIRED, words, span, "the go-ahead was given")


class _SaidSentence(NamedTuple):
    """A sentence with its evidence and position."""

    sentence: Sentence
    seen: Evidence
    part: int
    trust: Trust


class _Withdrawn(NamedTuple):
    """A rule that a sentence withdraws."""

    rule: Rule
    certain: bool
    why: str


MayEnd = Callable[[IndexedRule], bool]
"""Whether the speaker may end a rule that has not ended yet."""


def _ends(rules: ActiveRules, may_end: MayEnd, said: _SaidSentence) -> Iterator[Retirement]:
    sentence, seen, part, _ = said
    cues = {hit.cue for hit in seen.hits}
    if cues & _TAKES_BACK and _withdraws_nothing(sentence.text, cues):
        cues -= _TAKES_BACK
    if not rules or (cues.isdisjoint(_TAKES_BACK | {_LETS_GO}) and not model().is_rule(cues)):
        return
    span = Span(part, sentence.start, sentence.end)
    subject = _subject(sentence.text, seen)
    if cues & _TAKES_BACK and (lifted := _lifted_by(rules, may_end, cues, subject, said)):
        certain = lifted.certain and is_directed(sentence.text, seen.language, lifted.rule)
        yield Retirement(lifted.rule.id, How.LIFTED, sentence.text, span, lifted.why, certain)
    elif _LETS_GO in cues and (abandoned := _abandoned_rule(rules, may_end, said)):
        why = f"it drops the subject of {abandoned.quote!r} and chooses something else"
        yield Retirement(abandoned.id, How.LIFTED, sentence.text, span, why)
    else:
        yield from _contradicted_rules(rules, may_end, cues, subject, said)
        yield from _replaced_choices(rules, may_end, said)


def _replaced_choices(rules: ActiveRules, may_end: MayEnd, said: _SaidSentence) -> Iterator[Retirement]:
    """Yield the rules that chose what a sentence replaces: "vitest instead of jest"."""
    sentence, _, part, _ = said
    instead = _INSTEAD.search(sentence.text)
    if instead is None or sentence.text.endswith("?"):
        return
    span = Span(part, sentence.start, sentence.end)
    chosen = instead[1].casefold()
    for entry in filter(may_end, rules.naming(instead[2])):
        old = entry.rule
        if old.kind is not Kind.PROHIBITION and chosen not in old.quote.casefold():
            why = f"{instead[1]} replaces {instead[2]}"
            yield Retirement(entry.rule.id, How.SUPERSEDED, sentence.text, span, why)


_INSTEAD = lazy_pattern(
    r"\b(?:use|using|go with|switch to|take|prefer|with"
    r"|do)\s+[`'\"]?([\w.+#-]{2,30})[`'\"]?(?:\s+\w+){0,3}?\s+"
    r"(?:instead of|rather than)\s+(?:the |using )?[`'\"]?([\w.+#-]{2,30})",
    re.IGNORECASE,
)


def _contradicted_rules(
    rules: ActiveRules, may_end: MayEnd, cues: set[str], subject: Subject, said: _SaidSentence
) -> Iterator[Retirement]:
    """Yield the rules that a sentence contradicts, or replaces by another choice."""
    sentence, seen, part, trust = said
    if reminds(sentence.text):
        return  # "don't drop the rule on tests" is a ban, and holds with that rule
    span = Span(part, sentence.start, sentence.end)
    chosen = tuple(choices(seen.words, subject))
    if (found := found_in(sentence, seen, part, trust)) is not None:
        counted = numbers(found.quote) if has_bound(found) else []
        near = rules.near(subject, chosen, [unit for _, unit in counted])
        for entry in filter(may_end, near):
            if why := _contradiction(found, subject, entry, chosen, counted):
                yield Retirement(entry.rule.id, How.SUPERSEDED, sentence.text, span, why)
    elif (cues & PERMITS and "leave_now" in cues) or (cues & _LIFTS and "use_way" in cues):
        # "You can answer in English again" states no rule, but ends the one about Spanish.
        how = How.LIFTED if cues & PERMITS else How.SUPERSEDED
        for entry in filter(may_end, rules.near(subject, chosen)):
            if why := _other_choice(chosen, entry.choices):
                yield Retirement(entry.rule.id, how, sentence.text, span, why)


def _withdraws_nothing(text: str, cues: set[str]) -> bool:
    """Return True if a sentence with withdrawing cues withdraws nothing."""
    leave = bool(cues & PERMITS) and not cues & _LIFTS
    return (leave and is_false_permission(text)) or is_false_lift(text) or reminds(text)


def _subject(text: str, seen: Evidence) -> Subject:
    about = seen.about(text)
    return subject_of(about, seen.words, scope_of(about, seen.words, seen.hits))


def _lifted_by(
    rules: ActiveRules, may_end: MayEnd, cues: set[str], subject: Subject, said: _SaidSentence
) -> _Withdrawn | None:
    """Return the rule that a sentence withdraws, or the sentence without the reason it begins with."""
    text, seen = said.sentence.text, said.seen
    said_words = {token.word for token in seen.words}
    lifted = _rule_withdrawn_by(rules, may_end, cues, subject, said_words)
    if lifted is None and (gone := find_abandonment(seen.words, seen.hits, "lift")):
        # "Forget the staging thing, use production": the first clause says what is over.
        clause = _subject_within(said, gone.start, gone.end)
        return _rule_withdrawn_by(rules, may_end, cues - {"lift_that"}, clause, said_words)
    begin = permission_start(seen.words, seen.hits) if lifted is None and cues & PERMITS else 0
    if not begin:
        return lifted
    rest = _subject_within(said, seen.words[begin].start, len(text))
    return _rule_withdrawn_by(rules, may_end, cues, rest, said_words)


def _subject_within(said: _SaidSentence, start: int, end: int) -> Subject:
    """Return the subject of a part of a sentence."""
    text = said.sentence.text[start:end]
    hits = (Hit(cue, a - start, b - start) for cue, a, b in said.seen.hits if start <= a and b <= end)
    return _subject(text, Evidence(tuple(hits), tuple(tokens(text))))


def _abandoned_rule(rules: ActiveRules, may_end: MayEnd, said: _SaidSentence) -> Rule | None:
    """Return the latest rule whose subject is abandoned in favour of something else."""
    gone = find_abandonment(said.seen.words, said.seen.hits, _LETS_GO)
    if gone is None or _withdraws_nothing(said.sentence.text, {_LETS_GO}):
        return None
    subject = _subject_within(said, gone.start, gone.end)
    near = [entry for entry in filter(may_end, rules.near(subject)) if ends_rule(gone, subject, entry)]
    return near[-1].rule if near else None


def _rule_withdrawn_by(
    rules: ActiveRules, may_end: MayEnd, cues: set[str], subject: Subject, said_words: set[str]
) -> _Withdrawn | None:
    """Return the rule that a sentence with these cues and this subject withdraws."""
    omits = bool(said_words & _OMITS and cues & PERMITS and not cues & _LIFTS)
    if omits:
        subject = replace(subject, words=subject.words - _OMITS)
    kinds = _withdrawable_kinds(cues, said_words, omits=omits)
    # The best match is the rule with the largest share of common words, of equal ones the newest.
    matches = [
        ((subject.likeness(entry.subject), subject.closeness(entry.subject)), entry.place, entry.rule)
        for entry in filter(may_end, rules.near(subject))
        if (entry.rule.kind in kinds or (omits and _FORBIDS_OMITTING.search(entry.rule.quote)))
        and subject.matches(entry.subject)
        and not _is_for_a_part(subject, entry.subject)
        and (omits or cues & _LIFTS or not (_narrower(subject, entry.subject) or _wider(subject, entry)))
    ]
    if not matches:
        return _unnamed_rule(rules, may_end, cues, subject, said_words)
    likeness, _, rule = max(matches, key=lambda match: match[:2])
    alone = sum(other == likeness for other, _, _ in matches) == 1
    certain = alone and not (omits and (cues.isdisjoint(_LASTING) or rule.kind not in kinds))
    return _Withdrawn(rule, certain, f"it is about the same subject as {rule.quote!r}")


def _withdrawable_kinds(cues: set[str], said_words: set[str], *, omits: bool) -> frozenset[Kind]:
    """Return the kinds of rules that a sentence can withdraw: a permission ends bans, "no need to" duties."""
    if omits:
        kinds = _DUTIES
    elif cues & _LIFTS:
        kinds = frozenset(Kind)
    else:
        kinds = _BANS if cues & PERMITS else _DUTIES
    return kinds | {Kind.LIMIT} if said_words & words("subject", "beyond") else kinds


def _unnamed_rule(
    rules: ActiveRules, may_end: MayEnd, cues: set[str], subject: Subject, said_words: set[str]
) -> _Withdrawn | None:
    """Return the newest rule that words without its subject may withdraw: "ignore that", "edit anything"."""
    newest_first = (entry.rule for entry in filter(may_end, rules.latest()))
    if "lift_that" in cues and not (subject.words or subject.paths):
        for last in newest_first:
            return _Withdrawn(last, False, "it names no rule, so the most recent one was taken")
    if said_words & words("subject", "widening") and cues & (_LIFTS | PERMITS):
        for limit in (rule for rule in newest_first if rule.kind is Kind.SCOPE):
            return _Withdrawn(limit, False, "it allows what the rule had left out")
    return None


def _is_for_a_part(subject: Subject, old: Subject) -> bool:
    """Return True if a sentence names files within the paths of a rule, or not all of its paths.

    "You can edit legacy/README.md" leaves "never modify files under legacy/" in force for the rest.
    """
    return bool(subject.paths and old.paths) and not _covers(subject.paths, old.paths)


def _narrower(subject: Subject, old: Subject) -> bool:
    """Return True for an exception: permission to push to staging does not end "don't push".

    Permission to edit a thing that was off limits is not an exception: a rule need not name the act.
    """
    if subject.paths and not old.paths:
        return old.words.isdisjoint(word for path in subject.paths for word in path.split("/"))
    return subject.words - _ANY_WORK > old.words - _ANY_WORK and not subject.paths


def _wider(subject: Subject, entry: IndexedRule) -> bool:
    """Return True if permission is wider than a ban: "you can commit" does not allow committing secrets."""
    banned = entry.rule.kind in _BANS and not subject.paths
    return banned and subject.words - _ANY_WORK < entry.subject.words - _ANY_WORK


def _contradiction(
    found: Rule,
    subject: Subject,
    entry: IndexedRule,
    chosen: Sequence[Choice],
    counted: Sequence[tuple[str, str]],
) -> str:
    """Return how a newer rule contradicts an active one; empty if it does not."""
    old = entry.rule
    if old.quote == found.quote or bool(subject.paths) != bool(entry.subject.paths):
        return ""
    likeness = subject.likeness(entry.subject)
    if subject.paths and not likeness:
        return ""
    why = _other_choice(chosen, entry.choices) or _other_number(counted, entry.numbers)
    # "Could you write the code of this one test" asks for an exception, if at all.
    is_rule = found.force is not Force.REQUEST
    opposed = (
        is_rule
        and _are_opposed(found, old)
        and likeness >= _ENOUGH_ALIKE
        and _same_act(subject, entry.subject)
    )
    if not why and opposed:
        why = f"it is {found.kind} where the older one is {old.kind}"
    return why


def _same_act(new: Subject, old: Subject) -> bool:
    """Return True if rules on one path are about one act: running the tests in lib/ is not editing lib/.

    A rule on part of the path is an exception and contradicts nothing.
    """
    if not new.paths:
        return True
    return _covers(new.paths, old.paths) and not (new.words or _ANY_WORK).isdisjoint(old.words or _ANY_WORK)


def _covers(wider: Iterable[str], paths: Iterable[str]) -> bool:
    """Return True if each path is one of the wider ones or below one of them."""
    return all(any(f"{path}/".startswith(f"{folder}/") for folder in wider) for path in paths)


def _other_choice(chosen: Iterable[Choice], olds: Iterable[Choice]) -> str:
    """Return how a choice replaces the choice of an older rule."""
    by_group = {choice.group: choice for choice in olds}
    for new in chosen:
        before = by_group.get(new.group)
        if before is not None and new.beside == before.beside and _replaces(new, before):
            return f"{_named(new.chosen) or 'something else'} replaces {_named(before.chosen)}"
    return ""


def _replaces(new: Choice, old: Choice) -> bool:
    return bool(old.chosen and (new.chosen or new.refused & old.chosen) and not new.chosen & old.chosen)


def _named(values: frozenset[str]) -> str:
    return ", ".join(sorted(values))


def _other_number(news: Iterable[tuple[str, str]], olds: Iterable[tuple[str, str]]) -> str:
    """Return how a limit differs from an older one with the same unit: 80 columns, 100 columns."""
    by_unit = {unit.lower(): number for number, unit in news}
    for number, unit in olds:
        if by_unit.get(unit.lower(), number) != number:
            return f"{by_unit[unit.lower()]} {unit} replaces {number} {unit}"
    return ""


def _are_opposed(new: Rule, old: Rule) -> bool:
    """Return True if one rule forbids and the other requires.

    Permissions are excluded: they lift rules by name. A conditional rule ("if the tests fail, ask me")
    contradicts no unconditional one.
    """
    if new.kind is Kind.PERMISSION or any(reason.cue == "if" for reason in new.reasons):
        return False
    if is_provisional(new) or any(reason.cue in _ON_CONDITION for reason in old.reasons):
        return False  # "show me the plan before you write code" and "don't write code" hold together
    return (new.kind is Kind.PROHIBITION) != (old.kind is Kind.PROHIBITION)
