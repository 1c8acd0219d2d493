"""Check *values*: what the model would no longer see. All of it stays in the log."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator

from clew.compaction.plan import Digest
from clew.compaction.verify.case import Case
from clew.compaction.verify.evidence import LedgerEntry
from clew.compaction.verify.quotes import plain, stands_in
from clew.compaction.verify.report import Finding, Kept, Level, Loss, Lost, Matter
from clew.compaction.verify.survival import LONGEST, is_visible, loss_of
from clew.ledger.kinds import KNOWN_WORDS, value_words, with_punctuation
from clew.ledger.values import Value
from clew.message import words

MOST_VALUES = 100
"""Values that a report lists; the others are only counted."""


def check_values(case: Case) -> Iterator[Finding | Loss]:
    """Report what becomes of exact values and decisions. Losing some is normal, so this is never an error."""
    decisions = case.evidence.decisions
    yield loss_of(case, Matter.DECISION, len(decisions), _missing_decisions(case))
    values = _values(case)
    yield values
    kept = values.kept
    if kept.before > kept.stand:
        what = f"{kept.before - kept.stand:,} of {kept.before:,} exact values would leave the view"
        why = f"{kept.reachable:,} of them can be reached through a line that stays, all through the log"
        yield Finding("values", Level.NOTE, "", what, why)


def _missing_decisions(case: Case) -> list[LedgerEntry]:
    said = "\n".join(plain(claim.text) for digest in case.standing for claim in digest.claims)
    return [
        one
        for one in case.evidence.decisions
        if not is_visible(case.shown_message(one.source.message), one.source, one.text)
        and not stands_in(plain(one.text), said)
    ]


# Values ----------------------------------------------------------------------------------------------


def _values(case: Case) -> Loss:
    """Follow every value in the view, by its first and last mention."""
    named_before = _named(_digest_texts(case.evidence.shown.values()))
    named_after = _named([*_digest_texts(case.standing), *_shrunk_texts(case)])
    shown, cited = case.before, case.cited
    whole = shown.keys() - case.removed - case.shrinks.keys()
    before = stand = reachable = 0
    gone: list[Value] = []
    for value in case.evidence.values:
        last = value.last_message
        if value.text in named_after or last in whole:
            before += 1
            stand += 1
            continue
        if last not in shown and value.text not in named_before:
            continue  # it left the view earlier
        before += 1
        first = value.first_message
        if first in whole:
            stand += 1
        elif first in cited or last in cited:
            reachable += 1
        else:
            gone.append(value)
    missed = heapq.nlargest(MOST_VALUES, gone, key=_worth)
    lost = tuple(
        Lost(Matter.VALUE, value.last_message, value.text[:LONGEST], value.last_message) for value in missed
    )
    return Loss(Kept(Matter.VALUE, before, stand, reachable), lost)


def _worth(value: Value) -> tuple[bool, bool, int]:
    """Rank a value by how likely it will be missed: named by people or the model, and recently."""
    return value.in_user_text, value.in_call_arguments, value.last_index


def _digest_texts(digests: Iterable[Digest]) -> Iterator[str]:
    for digest in digests:
        yield from (claim.text for claim in digest.claims)
        yield from (pin.quote for pin in digest.pins)


def _shrunk_texts(case: Case) -> Iterator[str]:
    for shrink in case.shrinks.values():
        yield from map(words, shrink.message.parts)


def _named(texts: Iterable[str]) -> frozenset[str]:
    """Return the values that texts name."""
    # Joined by a separator that no value spans: one search is faster than thousands.
    whole = "\n|\n".join(texts)
    marked = with_punctuation(whole, spoken=True)
    known = (*map(KNOWN_WORDS.__getitem__, value_words(whole)), *(value for value, _ in marked))
    return frozenset(value.value for value in known if value is not None)
