"""The ladder: prune, then condense, gentlest first, until the view fits. Needs no model.

``propose`` returns a plan and changes nothing. It always ends: every step either fits or takes away a
bounded share of what is left, and rules that do not fit are an error, never a quiet loss.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from clew.compact.brief import Brief, numbered, user_words
from clew.compact.facts import choose_lines
from clew.compact.prune import prune, shorten
from clew.compact.tail import AS_USUAL, Keep, leading_system, tail_start, water_level
from clew.errors import PinsDoNotFit
from clew.ledger.values import Values
from clew.message import Item
from clew.plan import Claim, ClaimKind, Condense, Digest, Freed, Operation, Plan, Rung, Shrink
from clew.plan.digest import checksum
from clew.plan.render import digest_message
from clew.tokens import TokenCounter

USER_SHARE = 0.35
"""Of a digest's room, for what people said."""
BRIEF_SHARE = 0.5
"""Of a digest's room, for what the ledger says, beyond what may never be left out."""
NEVER_LEFT_OUT = (ClaimKind.GOAL, ClaimKind.OPEN)
SMALLEST_DIGEST = 120
TRIES = 6


@dataclass(frozen=True, slots=True)
class Situation:
    """A view that is too large, and what is known about it."""

    view: Sequence[Item]
    counter: TokenCounter
    target_tokens: int
    """For the whole view, system prompt included."""
    values: Values
    brief: Callable[[Sequence[Item]], Brief]
    """What must be in a digest of these messages."""
    keep: Keep = AS_USUAL
    shown: tuple[str, Digest] | None = None
    """The digest in the view and the id of its message, if there was a compaction before."""
    digest_id: str = "d1"
    trigger: str = "manual"
    reason: str = "asked for"


def propose(now: Situation) -> Plan:
    """Propose how to bring a view down to its target; an empty plan where it is there already."""
    sizes = [now.counter.count(item.message) for item in now.view]
    before = sum(sizes)
    if before <= now.target_tokens:
        return _plan(now, [], before, before)
    stop = tail_start(now.view, sizes, now.target_tokens, now.keep)
    shrinks = prune(now.view, stop, now.counter, before - now.target_tokens)
    after = _after(now, sizes, shrinks)
    if after <= now.target_tokens:
        return _plan(now, shrinks, before, after)
    return _condensed(now, sizes, stop)


def _condensed(now: Situation, sizes: Sequence[int], stop: int) -> Plan:
    """Condense everything before the tail, and show the tail no larger than its room."""
    first = leading_system(now.view)
    fixed = sum(sizes[:first])
    span = now.view[first:stop]
    room = now.target_tokens - fixed
    brief = now.brief(span)
    least = _least_tokens(now, span, brief)
    if least > room:
        raise PinsDoNotFit(f"rules and open work alone take {least:,} tokens of {room:,}")
    tail = _fitted_tail(now, sizes, stop, room - least)
    tail_tokens = _after(now, sizes, tail, since=stop)
    digest = _digest(now, span, brief, room - tail_tokens)
    operations: list[Operation] = [*tail]
    if span:
        rung = Rung.FOLD if digest.folds else Rung.SUMMARISE
        operations.insert(0, Condense(tuple(item.id for item in span), digest, rung))
    after = fixed + tail_tokens + (now.counter.count(digest_message(digest)) if span else 0)
    return _plan(now, operations, sum(sizes), after)


def _fitted_tail(now: Situation, sizes: Sequence[int], stop: int, room: int) -> list[Shrink]:
    """Show what is too large in the tail in excerpt; nothing where it fits as it is."""
    if sum(sizes[stop:]) <= room:
        return []
    tail = now.view[stop:]
    parts = [now.counter.count_part(part) for item in tail for part in item.message.parts]
    framing = sum(sizes[stop:]) - sum(parts)
    level = water_level(parts, max(0, room - framing))
    for _ in range(TRIES):
        shrinks = shorten(tail, now.counter, level)
        if _after(now, sizes, shrinks, since=stop) <= room:
            break
        level = level * 3 // 4
    return shrinks


def _least_tokens(now: Situation, span: Sequence[Item], brief: Brief) -> int:
    """Return what a digest of the span takes that holds only what may never be left out."""
    must = [claim for claim in brief.claims if claim.kind in NEVER_LEFT_OUT]
    return now.counter.count(digest_message(_made(now, span, brief, must))) if span else 0


def _digest(now: Situation, span: Sequence[Item], brief: Brief, room: int) -> Digest:
    """Build the fullest digest that fits the room."""
    allowed = room
    for _ in range(TRIES):
        digest = _made(now, span, brief, _claims(now, span, brief, allowed))
        over = now.counter.count(digest_message(digest)) - room
        if over <= 0:
            return digest
        allowed -= over + over // 8 + 8
    must = [claim for claim in brief.claims if claim.kind in NEVER_LEFT_OUT]
    return _made(now, span, brief, must)


def _claims(now: Situation, span: Sequence[Item], brief: Brief, room: int) -> list[Claim]:
    """Choose claims: what may never be left out, then the ledger's, then people's words, then facts."""
    must = [claim for claim in brief.claims if claim.kind in NEVER_LEFT_OUT]
    left = (
        room - SMALLEST_DIGEST - _cost(now, must) - sum(now.counter.count_text(p.quote) for p in brief.pins)
    )
    rest = [claim for claim in brief.claims if claim.kind not in NEVER_LEFT_OUT]
    known = _fill(now, rest, int(left * BRIEF_SHARE))
    earlier = now.shown[1].claims if now.shown else ()
    said = [*(claim for claim in earlier if claim.kind is ClaimKind.USER), *user_words(span)]
    # The first request and the latest ones say most; what is between them gives way first.
    quoted = _fill(now, [*said[:1], *reversed(said[1:])], int(left * USER_SHARE))
    left -= _cost(now, known) + _cost(now, quoted)
    told = [claim.text for claim in (*must, *known, *quoted)]
    facts = [claim for claim in earlier if claim.kind is ClaimKind.FACT]
    lines = choose_lines(span, facts, now.values, left, now.counter, told)
    order = {id(claim): i for i, claim in enumerate(said)}
    quoted.sort(key=lambda claim: order[id(claim)])
    return [
        *must,
        *known,
        *quoted,
        *(Claim("", ClaimKind.FACT, line.text, line.sources, line.trust, verbatim=True) for line in lines),
    ]


def _fill(now: Situation, claims: Sequence[Claim], room: int) -> list[Claim]:
    """Take claims in order as long as they fit."""
    taken = []
    for claim in claims:
        cost = now.counter.count_text(claim.text) + 6
        if cost <= room:
            taken.append(claim)
            room -= cost
    return taken


def _cost(now: Situation, claims: Sequence[Claim]) -> int:
    return sum(now.counter.count_text(claim.text) + 6 for claim in claims)


def _made(now: Situation, span: Sequence[Item], brief: Brief, claims: Sequence[Claim]) -> Digest:
    earlier = now.shown[1] if now.shown and any(item.id == now.shown[0] for item in span) else None
    own = [item for item in span if not now.shown or item.id != now.shown[0]]
    covers = (*(earlier.covers if earlier else ()), *(item.id for item in own))
    return Digest(
        now.digest_id,
        earlier.level + 1 if earlier else 0,
        covers,
        checksum(own, earlier.checksum if earlier else ""),
        numbered(claims, now.digest_id),
        brief.pins,
        folds=(earlier.id,) if earlier else (),
    )


def _after(now: Situation, sizes: Sequence[int], shrinks: Sequence[Shrink], since: int = 0) -> int:
    """Return the tokens of the view from an index on, with these shrinks in place."""
    smaller = {shrink.id: now.counter.count(shrink.message) for shrink in shrinks}
    view = now.view[since:]
    return sum(smaller.get(item.id, size) for item, size in zip(view, sizes[since:], strict=True))


def _plan(now: Situation, operations: Sequence[Operation], before: int, after: int) -> Plan:
    freed = []
    for rung in Rung:
        count = sum(op.rung is rung for op in operations)
        if count:
            freed.append(Freed(rung, count, before - after if len(operations) == count else 0))
    return Plan(tuple(operations), before, after, now.target_tokens, now.trigger, now.reason, tuple(freed))
