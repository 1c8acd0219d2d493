"""Provenance: the sources of a line of the view (expand), and why something stayed or left (explain).

``expand(replay, "d1.4")`` has the text of this line of a digest and the words of the messages that it cites;
``explain(replay, "m12")`` begins "m12 is condensed into d1 since the compaction of 2026-11-15 09:30".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clew.compaction.plan import Claim, Condense, Digest, Drop, Shrink
from clew.compaction.plan.digest import spans
from clew.errors import NotFound
from clew.ledger.kinds import WORD
from clew.ledger.values import Value, values_of
from clew.log import COMPACTION
from clew.message import Cite
from clew.message.text import one_line
from clew.rules.rule import Pin
from clew.session.history import Compaction, read_compaction
from clew.session.replay import Replay

MOST_VALUES = 4
"""Exact values in a line of a digest that are listed, those mentioned most; chosen by hand."""
LONGEST_QUOTE = 120
"""Characters of a quotation in an explanation: about one line of a terminal."""
MOST_READ = 2_000
"""Messages of a digest that are read for the values of a claim, the latest."""
ADVICE = "m12 is a message, d1 a digest, d1.4 a line of it, p2 a rule, k1 a kept fact; see `clew trace`"


@dataclass(frozen=True, slots=True)
class Quote:
    """A cited place and the words found there."""

    cite: Cite
    words: str


@dataclass(frozen=True, slots=True)
class Expansion:
    """The sources of a message, a digest, a claim or a rule."""

    ref: str
    what: str
    """``message``, ``digest``, ``compaction`` (one that made no digest), ``claim``, ``rule`` or ``fact``."""
    text: str
    """The text of a claim, rule or fact; for a compaction what it did, one line each; otherwise empty."""
    ids: tuple[str, ...]
    """The messages that it covers or comes from, in order; ``Session.originals`` returns them."""
    quotes: tuple[Quote, ...] = ()
    """The words that it cites."""
    ended: str = ""
    """How a rule ended, and by which message; empty if it is in force."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why something is shown as it is, or why it left the view: a few sentences."""

    ref: str
    lines: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.lines)


# Expand ----------------------------------------------------------------------------------------------


def expand(replay: Replay, ref: str) -> Expansion:
    """Return the sources of a reference: m12, d1, d1.4, p2 or k1."""
    if ref.startswith("p") and ref[1:].isdecimal():
        pin = replay.ledger.pins.get(ref)
        cites: tuple[Cite, ...] = (pin.source,) if pin.source else ()
        return Expansion(ref, "rule", pin.quote, _messages(cites), _quotes(replay, cites), how_ended(pin))
    if ref.startswith("k") and ref[1:].isdecimal():
        fact = replay.ledger.facts.get(ref)
        return Expansion(ref, "fact", fact.quote, (fact.source.message,), _quotes(replay, (fact.source,)))
    if ref.startswith("d"):
        return _of_number(replay, ref)
    if replay.original(ref) is None:
        raise NotFound(f"there is no {ref!r} in session {replay.ctx.session!r}", ADVICE)
    return Expansion(ref, "message", "", (ref,))


def how_ended(pin: Pin) -> str:
    """Return how a rule ended, and by which message: ``lifted by m34``; empty if it is in force."""
    if pin.is_active:
        return ""
    return f"{pin.status.value} by {pin.ended_by.message}" if pin.ended_by else pin.status.value


def _of_number(replay: Replay, ref: str) -> Expansion:
    """Return the sources of a compaction, by its number, or of a line of its digest."""
    name, _, line = ref.partition(".")
    compaction = find_compaction(replay, name)
    digest = compaction.digest
    if digest is None:
        if line:
            raise NotFound(f"{name} made no digest, and so has no lines", f"`expand {name}` says what it did")
        return Expansion(ref, "compaction", "\n".join(_did(compaction)), _touched_ids(compaction))
    if not line:
        return Expansion(ref, "digest", "", digest.covers)
    claim = _claim(digest, ref)
    return Expansion(ref, "claim", claim.text, _messages(claim.sources), _quotes(replay, claim.sources))


def find_compaction(replay: Replay, name: str) -> Compaction:
    """Return a compaction by its number, undone or not: d2 is the second, and its digest, if it made one."""
    number = 0
    for number, stored in enumerate(replay.store.read(replay.ctx, kinds=[COMPACTION.name]), start=1):
        if name == f"d{number}":
            return read_compaction(COMPACTION.current(stored))
    known_names = {0: "nothing was ever compacted", 1: "there is d1"}.get(
        number, f"there are d1 to d{number}"
    )
    raise NotFound(
        f"there is no compaction {name!r} in session {replay.ctx.session!r}", f"{known_names}; {ADVICE}"
    )


def _did(compaction: Compaction) -> Iterator[str]:
    """Yield what a compaction without a digest did, one line for each operation."""
    for operation in compaction.plan.operations:
        if isinstance(operation, Shrink):
            yield f"{operation.id} is shown smaller: {operation.reason}"
        elif isinstance(operation, Drop):
            yield f"{spans(operation.ids)} left the view: {operation.reason}"


def _touched_ids(compaction: Compaction) -> tuple[str, ...]:
    return tuple(name for operation in compaction.plan.operations for name in operation.ids)


def _claim(digest: Digest, ref: str) -> Claim:
    for claim in digest.claims:
        if claim.id == ref:
            return claim
    raise NotFound(
        f"digest {digest.id} has no line {ref}", f"it has {len(digest.claims)}, from {digest.id}.1"
    )


def _messages(cites: tuple[Cite, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(cite.message for cite in cites))


def _quotes(replay: Replay, cites: tuple[Cite, ...]) -> tuple[Quote, ...]:
    quotes = []
    for cite in cites:
        message = replay.original(cite.message)
        if message is not None and cite.part < len(message.parts):
            quotes.append(Quote(cite, cite.quote(message)))
    return tuple(quotes)


# Explain ---------------------------------------------------------------------------------------------


def explain(replay: Replay, ref: str) -> Explanation:
    """Return why something is shown as it is, or why it left the view."""
    reasons = {
        "message": _of_message,
        "digest": _of_digest,
        "compaction": _of_digest,
        "claim": _of_claim,
        "rule": _of_rule,
        "fact": _of_fact,
    }
    return Explanation(ref, tuple(reasons[expand(replay, ref).what](replay, ref)))


def _of_message(replay: Replay, ref: str) -> Iterator[str]:
    """Yield why a message is shown as it is, or where it went."""
    if replay.view.off:
        yield f"{ref} is shown as it was said: compaction is switched off."
        return
    for compaction in reversed(replay.in_force()):
        for operation in compaction.plan.operations:
            if isinstance(operation, Shrink) and operation.id == ref:
                yield f"{ref} is shown smaller since {_when(compaction)}: {operation.reason}."
                return
            if isinstance(operation, Drop) and ref in operation.ids:
                yield f"{ref} left the view with {_when(compaction)}: {operation.reason}."
                return
            if isinstance(operation, Condense) and ref in operation.digest.covers:
                yield from _digest_history(ref, operation.digest, compaction)
                return
    yield f"{ref} is shown as it was said; no compaction in force touches it."


def _digest_history(ref: str, digest: Digest, compaction: Compaction) -> Iterator[str]:
    """Yield what became of a message; an earlier digest that covered it was folded into this one."""
    yield f"{ref} is condensed into {digest.id} since {_when(compaction)}."
    lines = [claim for claim in digest.claims if any(cite.message == ref for cite in claim.sources)]
    rules = [pin for pin in digest.pins if pin.source.message == ref]
    if not lines and not rules:
        yield f"No line of {digest.id} comes from it; `expand {ref}` shows it whole."
    for pin in rules:
        yield f'Rule {pin.id} comes from it, word for word: "{pin.quote}".'
    for claim in lines:
        yield f"{claim.id} ({claim.kind.value}) comes from it: {one_line(claim.text, LONGEST_QUOTE)}"


def _of_digest(replay: Replay, ref: str) -> Iterator[str]:
    compaction = find_compaction(replay, ref)
    digest, plan = compaction.digest, compaction.plan
    if digest:
        covered = _messages_of(digest.covers)
        yield f"{ref} covers {covered}, written by {digest.author} on {_when(compaction)}."
    else:
        touched = _messages_of(_touched_ids(compaction))
        yield f"{ref} is {_when(compaction)}; it made no digest, and touched {touched}."
    yield f"The view went from {plan.tokens_before:,} to {plan.tokens_after:,} tokens."
    if digest and digest.folds:
        yield f"It took in {', '.join(digest.folds)}."
    in_force = any(step.seq == compaction.seq for step in replay.view.steps)
    yield "It is in force." if in_force else "It was undone, or a later digest took it in."


def _messages_of(ids: tuple[str, ...]) -> str:
    return "1 message" if len(ids) == 1 else f"{len(ids):,} messages"


def _of_claim(replay: Replay, ref: str) -> Iterator[str]:
    digest = find_compaction(replay, ref.partition(".")[0]).digest
    if digest is None:
        return
    claim = _claim(digest, ref)
    turns = ", ".join(_messages(claim.sources))
    how = "quotes" if claim.verbatim else "comes from"
    yield f"{ref} ({claim.kind.value}) {how} {turns}; as {claim.trust.label} text."
    yield f"Written by {digest.author}; every claim was checked against its sources before it took effect."
    values = values_of(replay.originals(digest.covers[-MOST_READ:]))
    named = filter(None, (values.get(word) for word in dict.fromkeys(WORD.findall(claim.text))))
    for value in sorted(named, key=lambda value: -value.mentions)[:MOST_VALUES]:
        yield f"It names {_value_line(value)}."


def _value_line(value: Value) -> str:
    times = "once" if value.mentions == 1 else f"{value.mentions} times"
    by_user = ", by the user too" if value.in_user_text else ""
    return f"{value.text} ({value.kind.value}, named {times}, last in {value.last_message}{by_user})"


def _of_rule(replay: Replay, ref: str) -> Iterator[str]:
    pin = replay.ledger.pins.get(ref)
    where = f"said in {pin.source.message}" if pin.source else "set by hand"
    yield f'{ref} is a rule, {where}: "{pin.quote}".'
    if pin.reasons:
        text = ", ".join(f'"{reason.words}"' for reason in pin.reasons if reason.weight > 0 and reason.words)
        yield f"What makes it a rule: it says {text}." if text else "What makes it a rule: its position."
    if pin.is_active:
        yield "It is in force, and no compaction may touch it."
    else:
        yield f"It is no longer in force: {how_ended(pin)}. {pin.why}"


def _of_fact(replay: Replay, ref: str) -> Iterator[str]:
    fact = replay.ledger.facts.get(ref)
    quote = one_line(fact.quote, LONGEST_QUOTE)
    yield f'{ref} is a passage of {fact.source.message} that a person chose to keep: "{quote}".'
    yield "Every digest quotes it word for word until it is unkept."


def _when(compaction: Compaction) -> str:
    return f"the compaction of {compaction.time[:16].replace('T', ' ')} ({compaction.plan.reason})"
