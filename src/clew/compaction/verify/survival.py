"""Checks *pins*, *open loops*, *decisions* and *values*: what must stay in the view, and what leaves it.

A rule (pin) must stay word for word, in its message or in a digest. An open item must stay too, but a long
one may be cut to its beginning or an excerpt. Decisions, goals and exact values may leave; the report
names them, and whether a line that stays leads to them (``Loss``).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence

from clew.compaction.ledger_claims import LedgerEntry
from clew.compaction.plan import Claim, ClaimKind, Digest, RuleQuote
from clew.compaction.verify.context import CUT, LEAST_BEGINNING, VerificationContext
from clew.compaction.verify.report import Finding, Level, Loss, LossKind, LostItem, SurvivalCount, short
from clew.compaction.verify.wording import Wording, is_elided, is_quote, occurs_in, plain
from clew.ledger.kinds import classify, value_words, with_punctuation
from clew.ledger.reported_failures import failure_spans
from clew.ledger.values import Value, values_of
from clew.message import Cite, Item, Message, Origin, Role, Text, Trust, words
from clew.message.text import contains_quote, contains_whole

HOLDS_LOOPS = (ClaimKind.OPEN, ClaimKind.GOAL, ClaimKind.NEXT)
"""Kinds of claims that may state an open item."""
ENOUGH_OF_A_LOOP = 300
"""Characters by which a long item is recognised; chosen by hand."""
LONGEST = 300
"""Characters that a report keeps of a lost item."""


# Rules -----------------------------------------------------------------------------------------------


def check_pins(case: VerificationContext) -> Iterator[Finding | Loss]:
    """Find rules that are no longer in the view word for word, and rules that the ledger does not have."""
    for digest in case.plan.digests:
        for pin in digest.pins:
            if all(pin.shown != known.shown for known in case.required.pins):
                yield Finding("pins", Level.REPAIR, pin.id, *_foreign(pin, case.required.pins))
    for pin in case.required.pins:
        if pin.trust < Trust.USER:
            why = f"it comes from {pin.trust.label} text; only people, developers and systems make rules"
            yield Finding("pins", Level.REFUSE, pin.id, f'"{pin.quote}" may not be a rule', why)
    missing = missing_pins(case)
    for pin in missing:
        level = _level_of_missing(case, pin.source)
        gone = (
            "was not in the view before either" if level is Level.NOTE else "would no longer be in the view"
        )
        what = f'the rule "{pin.quote}" {gone}'
        yield Finding("pins", level, pin.id, what, f"said in {pin.source.message}")
    collapsed = _not_shown(case, case.required.collapsed)
    if collapsed:
        what = f"{len(collapsed):,} found rules are not shown"
        why = "no room for their words; one line of the digest leads to them"
        yield Finding("pins", Level.NOTE, "", what, why)
    # Without a digest, a rule that the view did not show before, such as one set by hand, is sent beside it.
    lost = [pin for pin in missing if _level_of_missing(case, pin.source) is not Level.NOTE]
    entries = [LedgerEntry(pin.id, pin.quote, pin.source) for pin in (*lost, *collapsed)]
    total = len(case.required.pins) - (len(missing) - len(lost)) + len(case.required.collapsed)
    yield loss_of(case, LossKind.RULE, total, entries)


def missing_pins(case: VerificationContext) -> list[RuleQuote]:
    """Return the rules that must be in the view word for word and would be nowhere in it."""
    return _not_shown(case, case.required.pins)


def _not_shown(case: VerificationContext, rules: Iterable[RuleQuote]) -> list[RuleQuote]:
    shown = filter(None, case.read_back.values())
    rendered = {pin.shown for digest in shown for pin in digest.pins}
    return [
        pin
        for pin in rules
        if pin.shown not in rendered
        and not is_visible(case.shown_message(pin.source.message), pin.source, pin.quote)
    ]


def _foreign(pin: RuleQuote, ledger: Iterable[RuleQuote]) -> tuple[str, str]:
    """Describe what is wrong with a rule that the ledger does not have."""
    for known_quote in ledger:
        if known_quote.quote == pin.quote and known_quote.source.message == pin.source.message:
            return (
                f'the rule "{pin.quote}" has the label {pin.trust.label}',
                f"it is {known_quote.trust.label}",
            )
        if known_quote.quote == pin.quote:
            return f'the rule "{pin.quote}" is attributed to {pin.source.message}', (
                f"it is from {known_quote.source.message}"
            )
        if known_quote.id == pin.id:
            return f'the rule {pin.id} was reworded to "{pin.quote}"', f'it is "{known_quote.quote}"'
    return f'"{pin.quote}" is added as a rule', "the ledger has no such rule"


def ledger_pins(
    case: VerificationContext, digest: Digest, missing: Iterable[RuleQuote] = ()
) -> tuple[RuleQuote, ...]:
    """Return the digest's rules that the ledger has, plus the missing ones, in the ledger's order."""
    wanted = {*missing}
    shown = {rule.shown for rule in digest.pins}
    return tuple(pin for pin in case.required.pins if pin in wanted or pin.shown in shown)


# Open items ------------------------------------------------------------------------------------------


def check_loops(case: VerificationContext) -> Iterator[Finding | Loss]:
    """Find open items that would no longer be in the view."""
    missing = missing_loops(case)
    lost = [loop for loop in missing if _level_of_missing_loop(case, loop) is not Level.NOTE]
    for loop in missing:
        gone = "would no longer be in the view" if loop in lost else "was not in the view before either"
        what = f'"{short(loop.text)}" is open and {gone}'
        level = _level_of_missing_loop(case, loop)
        yield Finding("open loops", level, loop.id, what, f"opened in {loop.source.message}")
    absent = len(missing) - len(lost)
    yield loss_of(case, LossKind.OPEN, len(case.required.open_items) - absent, lost)


def _level_of_missing_loop(case: VerificationContext, loop: LedgerEntry) -> Level:
    if any(summaries_with(case, loop)):
        return Level.REPAIR
    return _level_of_missing(case, loop.source)


def summaries_with(case: VerificationContext, loop: LedgerEntry) -> Iterator[str]:
    """Yield the ids of other tools' summaries in the view before that quote an item whose message is gone."""
    if loop.source.message not in case.before:
        for name, message in case.before.items():
            if message.origin is Origin.SUMMARY and name not in case.shown_digests:
                yield from [name] if _contains(message, loop.text) else ()


def missing_loops(case: VerificationContext) -> list[LedgerEntry]:
    """Return the open items that no digest in the view states and no message in it shows."""
    holders = [claim for digest in case.digests_after for claim in digest.claims if claim.kind in HOLDS_LOOPS]
    line = "\n".join(plain(claim.text) for claim in holders)
    cut: dict[str, list[str]] = {}
    for claim in holders:
        for cite in claim.sources:
            cut.setdefault(cite.message, []).append(claim.text)
    return [
        loop
        for loop in case.required.open_items
        if loop.text.strip()
        and not occurs_in(plain(loop.text), line)
        and not any(_holds_cut(text, loop) for text in cut.get(loop.source.message, ()))
        and not _is_shown(case, loop)
    ]


def _holds_cut(text: str, loop: LedgerEntry) -> bool:
    """Whether a claim from the same turn states a long item by an excerpt or by its beginning."""
    elided = is_elided(text)
    if elided and is_quote(text, Wording(loop.text)):
        return True
    if (elided or text.endswith(CUT)) and loop.text[:LEAST_BEGINNING] in text:
        return len(loop.text) > LEAST_BEGINNING
    return len(loop.text) > ENOUGH_OF_A_LOOP and loop.text[:ENOUGH_OF_A_LOOP] in text


def _is_shown(case: VerificationContext, loop: LedgerEntry) -> bool:
    name = loop.source.message
    if name not in case.before:
        kept = (case.shown_message(name) for name in summaries_with(case, loop))
        return any(_contains(message, loop.text) for message in kept if message)
    if name not in case.shrinks:
        return case.is_shown(name)
    if is_visible(case.shrinks[name].message, loop.source, loop.text[:ENOUGH_OF_A_LOOP]):
        return True
    # If it is shown smaller because a later message repeats it, that message states it.
    return any(_contains(message, loop.text) for _, message in case.after)


# Rules and open items --------------------------------------------------------------------------------


def is_visible(message: Message | None, cite: Cite, quote: str) -> bool:
    """Whether a shown message still contains these words at the cited part."""
    if message is None or not 0 <= cite.part < len(message.parts):
        return False
    return contains_quote(words(message.parts[cite.part]), quote)


def _contains(message: Message, quote: str) -> bool:
    return any(contains_quote(words(part), quote) for part in message.parts)


def _level_of_missing(case: VerificationContext, source: Cite) -> Level:
    """Return the severity: without a digest to hold it, only what the view showed before can be lost."""
    if case.condenses or source.message in case.shrinks:
        return Level.REPAIR
    return Level.REFUSE if source.message in case.removed else Level.NOTE


def loss_of(case: VerificationContext, matter: LossKind, before: int, missing: Iterable[LedgerEntry]) -> Loss:
    """Return what becomes of the entries of one sort."""
    lost = tuple(
        LostItem(
            matter, entry.id, entry.text[:LONGEST], entry.source.message, entry.source.message in case.cited
        )
        for entry in missing
    )
    return Loss(
        SurvivalCount(matter, before, before - len(lost), sum(entry.reachable for entry in lost)), lost
    )


# Decisions and goals ---------------------------------------------------------------------------------

MOST_VALUES = 100
"""Values that a report lists; the others are only counted."""


def check_decisions(case: VerificationContext) -> Iterator[Loss]:
    """Report what becomes of decisions and goals. Losing some is normal, so this is no error."""
    missing = _missing_decisions(case)
    # Without a digest, what the view did not show before cannot be lost.
    lost = [one for one in missing if case.condenses or one.source.message in case.before]
    total = len(case.required.decisions) - (len(missing) - len(lost))
    yield loss_of(case, LossKind.DECISION, total, lost)
    shown_before = [goal for goal in case.required.goals if _was_stated(case, goal)]
    lost_goals = [goal for goal in shown_before if not _is_stated(case, goal)]
    if lost_goals:
        yield loss_of(case, LossKind.GOAL, len(shown_before), lost_goals)


def check_failures(case: VerificationContext) -> Iterator[Loss]:
    """Report the failures that shortened texts of the agent stated, and nothing in the view states now."""
    digests = "\n".join(plain(text) for text in _digest_texts(case.digests_after))
    stated: list[LedgerEntry] = []
    lost: list[LedgerEntry] = []
    for name in case.shrinks:
        message = case.before.get(name)
        for number, part in enumerate(message.parts if message and message.role is Role.ASSISTANT else ()):
            for start, end in failure_spans(part.text) if isinstance(part, Text) else ():
                sentence = words(part)[start:end]
                entry = LedgerEntry(name, sentence, Cite(name, number, start, end))
                stated.append(entry)
                shown = is_visible(case.shown_message(name), entry.source, sentence)
                if not shown and not occurs_in(plain(sentence), digests):
                    lost.append(entry)
    if lost:
        yield loss_of(case, LossKind.FAILURE, len(stated), lost)


def check_instructions(case: VerificationContext) -> Iterator[Loss]:
    """Report the lines of system and developer messages behind the prompt that leave the view."""
    claims = (claim for digest in case.digests_after for claim in digest.claims)
    kept = "\n".join(claim.text for claim in claims if claim.kind is ClaimKind.INSTRUCTION)
    stated = {line.strip() for line in kept.split("\n")}
    lost = []
    for claim in case.task.instructions:
        cite = claim.sources[0]
        shown = case.shown_message(cite.message)
        missing = [
            line
            for line in claim.text.split("\n")
            if line.strip() and line.strip() not in stated and not is_visible(shown, cite, line.strip())
        ]
        if missing:
            lost.append(LedgerEntry(cite.message, "\n".join(missing), cite))
    if lost:
        yield loss_of(case, LossKind.INSTRUCTION, len(case.task.instructions), lost)


def check_values(case: VerificationContext, most: int = MOST_VALUES) -> Iterator[Finding | Loss]:
    """Report what becomes of exact values, at most so many by name; losing some is never an error either."""
    values = _values(case, most)
    yield values
    count = values.kept
    if count.before > count.stand:
        what = f"{count.before - count.stand:,} of {count.before:,} exact values would leave the view"
        why = f"{count.reachable:,} of them can be reached through a line that stays, all through the log"
        yield Finding("values", Level.NOTE, "", what, why)


def _was_stated(case: VerificationContext, goal: LedgerEntry) -> bool:
    """Whether the view before states a goal: in its message, or in a digest."""
    claims = (claim for digest in case.shown_digests.values() for claim in digest.claims)
    return goal.source.message in case.before or any(_states(claim, goal) for claim in claims)


def _is_stated(case: VerificationContext, goal: LedgerEntry) -> bool:
    """Whether the view after states a goal, or its beginning."""
    message = case.shown_message(goal.source.message)
    if is_visible(message, goal.source, goal.text[:LEAST_BEGINNING]):
        return True
    return any(_states(claim, goal) for digest in case.digests_after for claim in digest.claims)


def _states(claim: Claim, goal: LedgerEntry) -> bool:
    if all(cite.message != goal.source.message for cite in claim.sources):
        return False
    is_excerpt = claim.kind in (ClaimKind.GOAL, ClaimKind.NEXT) and claim.topic is None
    return is_excerpt or plain(goal.text)[:LEAST_BEGINNING] in plain(claim.text)


def _missing_decisions(case: VerificationContext) -> list[LedgerEntry]:
    text = "\n".join(plain(claim.text) for digest in case.digests_after for claim in digest.claims)
    return [
        decision
        for decision in case.required.decisions
        if not is_visible(case.shown_message(decision.source.message), decision.source, decision.text)
        and not occurs_in(plain(decision.text), text)
    ]


# Values ----------------------------------------------------------------------------------------------


def _values(case: VerificationContext, most: int) -> Loss:
    """Follow every value in the view, by its first and last mention."""
    texts = "\n|\n".join((*_digest_texts(case.digests_after), *_shrunk_texts(case)))
    named_after = _values_in(texts)
    whole = case.before.keys() - case.removed - case.shrinks.keys()
    before = stand = reachable = 0
    values: list[Value] = []
    carried: list[Value] = []
    for value in values_of(_messages_with_values(case)):
        before += 1
        stays = value.text in named_after or (" " in value.text and value.text in texts)  # a quoted sentence
        if stays or value.last_message in whole:
            stand += 1
            if value.last_message not in whole:
                carried.append(value)
        elif value.first_message in whole:
            stand += 1
        elif value.first_message in case.cited or value.last_message in case.cited:
            reachable += 1
        elif _is_of_a_note(case, value):
            before -= 1
        else:
            values.append(value)
    missed = heapq.nlargest(most, values, key=_worth)
    lost = tuple(
        LostItem(LossKind.VALUE, source, value.text[:LONGEST], source)
        for value, source in zip(missed, _told_in(case, missed), strict=True)
    )
    kept = tuple(value.text[:LONGEST] for value in heapq.nlargest(most, carried, key=_worth))
    return Loss(SurvivalCount(LossKind.VALUE, before, stand, reachable), lost, kept)


def _told_in(case: VerificationContext, values: Sequence[Value]) -> Iterator[str]:
    """Yield where each value is from: the user's last message with it, or else the last message."""
    users = [
        (item.id, "\n".join(map(words, item.message.parts)))
        for item in reversed(case.task.view)
        if item.message.role is Role.USER and item.message.origin is Origin.SPOKEN
    ]
    for value in values:
        yield next((name for name, text in users if contains_whole(text, value.text)), value.last_message)


def _is_of_a_note(case: VerificationContext, value: Value) -> bool:
    """Whether only clew's own note has a value: "113 characters" of "[… 113 characters]"."""
    original = case.task.originals(value.last_message) if case.task.originals else None
    shown = case.before.get(value.last_message)
    if original is None or shown is None or shown == original:
        return False
    return not any(value.text in words(part) for part in original.parts)


def _messages_with_values(case: VerificationContext) -> Iterator[Item]:
    """Yield the lines of the digests in view as messages that they cite, then the other messages."""
    for digest in case.shown_digests.values():
        for claim in digest.claims:
            text = Text(claim.text, trust=claim.trust)
            yield from (Item(cite.message, Message(Role.ASSISTANT, (text,))) for cite in claim.sources[:1])
    yield from (item for item in case.task.view if item.id not in case.shown_digests)


def _worth(value: Value) -> tuple[bool, bool, int]:
    """Rank a value by how likely it will be missed: named by people or the model, and recently."""
    return value.in_user_text, value.in_call_arguments, value.last_index


def _digest_texts(digests: Iterable[Digest]) -> Iterator[str]:
    for digest in digests:
        yield from (claim.text for claim in digest.claims)
        yield from (pin.quote for pin in digest.pins)


def _shrunk_texts(case: VerificationContext) -> Iterator[str]:
    for shrink in case.shrinks.values():
        yield from map(words, shrink.message.parts)


def _values_in(whole: str) -> frozenset[str]:
    """Return the values in texts, joined by a separator that no value spans: one search beats thousands."""
    marked = with_punctuation(whole, spoken=True)
    known = (*map(classify, value_words(whole)), *(value for value, _ in marked))
    return frozenset(value.value for value in known if value is not None)
