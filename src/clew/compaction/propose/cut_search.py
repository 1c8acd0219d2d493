"""Find where to cut a view: what stays whole, what is shown smaller, and what goes into the digest.

Until it fits, these are given up one after the other: how many recent messages stay, thinking blocks, the
full text of open items, the names of changed files. Rules are never given up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeAlias

from clew.budget import Trigger
from clew.compaction.ledger_claims import MOST_DECISIONS, MOST_FAILURES
from clew.compaction.plan import Rung, Shrink
from clew.compaction.propose.digest_builder import DigestBuilder
from clew.compaction.propose.digest_content import CHANGES_SHARE
from clew.compaction.propose.digest_input import NEVER_LEFT_OUT, MandatoryLimits
from clew.compaction.propose.scene import Scene
from clew.compaction.propose.shrink import has_smaller, shorten
from clew.compaction.propose.shrink_context import ShrinkContext
from clew.compaction.propose.tail import (
    ALL_FADED_SHARE,
    MOST_VERBATIM,
    USUAL_MESSAGES,
    WHOLE_UNREAD_SHARE,
    allotments,
    between,
    last_cuts,
    part_level,
    unread_room,
    water_level,
)
from clew.compaction.propose.thinking import has_thinking, remove_thinking
from clew.errors import BudgetExceeded, NothingToGain, PinsDoNotFit
from clew.ledger.agent_findings import failure_spans
from clew.message import Cite, Item, Origin, Role, Text

LOWER_LEVELS = 5
"""How often the level is lowered by a quarter before everything is shown in its smallest form."""
MOST_FOR_UNREAD = 0.75
"""Share of the room that messages the model has not answered yet may take to stay whole."""
FEWER_TRIES, LEAST_STEP = 5, 0.95
"""How often recent messages are given less because excerpts exceed their estimates, and by what factor at
least; both chosen by hand."""
WELL_FILLED, MORE_TRIES = 0.95, 3
"""Share of the room from which it counts as used, and how often more is tried; chosen by hand."""
SHORTENED = (240, 80)
"""Characters of the goal and each open item, tried in turn if nothing else helps."""
LEAST = MandatoryLimits(longest=SHORTENED[-1])
LEAST_MESSAGES = 4
"""Recent messages that stay even if calls and sentences have to be cut; chosen by hand."""
SLIGHTLY_CUT = 1.05
"""How much larger than their room faded messages may be and still say nearly all they say; chosen by hand."""
MORE_SHARE = 0.1
"""Share of the recent messages' room that they get beyond their smallest forms if even those exceed it."""

Span: TypeAlias = tuple[int, int]
"""Indices into a view: first, and one past the last."""
Smaller: TypeAlias = tuple[list[Shrink], int]
"""Shrinks of recent messages, and the tokens of these messages with them."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A way to shrink a view: shrinks of recent messages, and the digest of the others."""

    stop: int
    """Index of the first recent message."""
    shrinks: Sequence[Shrink]
    tokens: int
    """Of the recent messages after shrinking."""
    assembly: DigestBuilder | None = None
    """None if nothing is condensed."""
    digest_room: int = 0
    fitter: TailFitter | None = None
    """What made the shrinks, with the excerpts it has computed; None if nothing is condensed."""


def find_cut(scene: Scene) -> tuple[Scene, Cut]:
    """Find where to cut; return the cut and the scene it applies to, perhaps one without thinking.

    If it does not fit, thinking blocks are removed first, then goal and open items are shortened, then the
    names of changed files become optional. Rules are never given up.
    """
    for_changes = int(scene.room * CHANGES_SHARE)
    tries = [TailFitter(scene)]
    cut = _cut(tries[0], MandatoryLimits(for_changes))
    if cut is not None:
        return scene, cut
    if any(has_thinking(item.message) for item in scene.view):
        tries.append(TailFitter(scene.derived(scene.task, drop_thinking=True)))
    terms = [*(MandatoryLimits(for_changes, longest) for longest in (None, *SHORTENED)), LEAST]
    for held, one in list(product(terms, tries))[1:]:
        cut = _cut(one, held)
        if cut is not None:
            return one.scene, _without_thoughts(one.scene, cut) if one.scene.drop_thinking else cut
    raise _too_large(tries[-1])


def fuller(cut: Cut, spare: int) -> Cut:
    """Return the cut with more of its recent messages shown: the digest left some of its room."""
    if cut.fitter is None:
        return cut
    room = cut.tokens + spare
    shrinks, tokens = cut.fitter.fitted(cut.stop, room, held=False)
    return replace(cut, shrinks=shrinks, tokens=tokens) if cut.tokens < tokens <= room else cut


def _without_thoughts(scene: Scene, cut: Cut) -> Cut:
    """Return a cut that also removes the thinking blocks of the messages it keeps."""
    start = cut.stop if cut.assembly else scene.first
    return replace(
        cut, shrinks=remove_thinking(scene.task.view[start:], scene.with_pruned(cut.shrinks, start))
    )


def _cut(tries: TailFitter, terms: MandatoryLimits) -> Cut | None:
    """Find where to cut, keeping the usual number of recent messages, or fewer if they do not fit."""
    scene = tries.scene
    if not scene.task.needs_digest and (cut := _all_faded(tries)) is not None:
        return cut
    whole_ids = {item.id for item in scene.view[scene.verbatim :]}
    second_best = None
    for usual in _stops(scene):
        assembly = _digest(scene, usual, terms)
        most = scene.room - assembly.least_tokens if assembly else scene.room
        stop = _with_whole_calls(scene, usual, most)
        cut = _cut_at(tries, stop, assembly if stop == usual else _digest(scene, stop, terms))
        if cut is not None and not any(shrink.id in whole_ids for shrink in cut.shrinks):
            return cut
        second_best = second_best or cut
    return second_best


def _digest(scene: Scene, stop: int, terms: MandatoryLimits) -> DigestBuilder | None:
    """Return the builder of a digest of the messages before an index; None if there are none."""
    span = scene.task.view[scene.first : stop]
    return DigestBuilder(scene, span, terms) if span else None


def _with_whole_calls(scene: Scene, stop: int, room: int) -> int:
    """Return a later index if recent messages exceed their room even when faded.

    Cutting them further would leave pieces of sentences and of calls: fewer messages help more.
    """
    if scene.task.keep.messages > USUAL_MESSAGES or scene.task.keep.tokens:
        return stop
    room = min(room, scene.tail_room)
    unread = max(stop, scene.unread)
    for_unread = max(sum(scene.faded[unread:]), unread_room(sum(scene.whole[unread:]), room))
    cuts = last_cuts(scene.view, scene.faded, scene.floor, messages=LEAST_MESSAGES, tokens=room)
    last = len(scene.view) - LEAST_MESSAGES
    fitting = (
        cut
        for cut in dict.fromkeys((stop, *cuts))
        if stop <= cut <= last and sum(scene.faded[cut:unread]) + for_unread <= room * SLIGHTLY_CUT
    )
    return next(fitting, stop)


def _too_large(tries: TailFitter) -> BudgetExceeded:
    """Return the error that says what does not fit when nothing more can be given up."""
    scene = tries.scene
    *_, stop = _stops(scene)
    span = scene.task.view[scene.first : stop]
    least = DigestBuilder(scene, span, LEAST).least_tokens if span else 0
    there = scene.before - scene.fixed
    if least > scene.room and least >= there:
        told = f"rules and open work alone would take {least:,} tokens, and there are {there:,} in all"
        return NothingToGain(f"nothing to gain: {told}")
    asked = _is_asked(scene)
    if least > scene.room:
        what = f"rules and open work alone take {least:,} tokens of {scene.room:,}"
        return PinsDoNotFit(what, _ASK_FOR_MORE_THAN_RULES if asked else None)
    _, recent = tries.fitted(stop, 0, held=least >= scene.tokens(scene.first, stop))
    what = f"the most recent messages take {recent:,} tokens even in excerpt"
    if least:
        what += f", and rules and open work {least:,}"
    what += f": more than the {scene.room:,} that there is room for"
    return BudgetExceeded(what, _ASK_FOR_MORE if asked else _SEND_LESS if recent > least else _FEWER_RULES)


def no_room(scene: Scene) -> BudgetExceeded:
    """Return the error that says why no message fits at all."""
    what = f"the system prompt alone takes {scene.fixed:,} tokens of {scene.task.target_tokens:,}"
    if not _is_asked(scene):
        return BudgetExceeded(
            what if scene.fixed else "everything else in the request leaves no room for messages"
        )
    if scene.room == 0:  # a caller who asks for a size does not count the prompt
        return BudgetExceeded("no message fits in 0 tokens", _ASK_FOR_MORE)
    return BudgetExceeded(what, f"{_ASK_FOR_MORE}, or shorten the system prompt")


def _is_asked(scene: Scene) -> bool:
    """Whether a person or caller set the target; otherwise the window did."""
    return scene.task.trigger == Trigger.MANUAL


_ASK_FOR_MORE_THAN_RULES = "no pin is dropped silently; revoke or shorten some, or ask for more tokens"
_ASK_FOR_MORE = "nothing was changed; ask for more tokens"
_FEWER_RULES = PinsDoNotFit.__doc__
_SEND_LESS = (
    "nothing was sent; make the last messages smaller, make fewer calls at once, "
    "or use a model with a larger window"
)


def _stops(scene: Scene) -> Iterator[int]:
    """Yield where the recent messages may begin: as usual, with half of them, with only the last atom."""
    yield scene.stop
    recent = scene.tokens(scene.stop)
    points = last_cuts(scene.view, scene.sizes, scene.floor, messages=1, tokens=recent)
    later = [point for point in points if point > scene.stop]
    if later:
        yield from dict.fromkeys((later[len(later) // 2], later[-1]))


def _cut_at(tries: TailFitter, stop: int, assembly: DigestBuilder | None) -> Cut | None:
    """Return the cut whose recent messages begin here; None if it does not fit."""
    scene = tries.scene
    span = scene.tokens(scene.first, stop)
    asked = scene.task.keep.room or 0
    least_for_tail = max(scene.tail_room, asked, _for_unread(scene, stop))
    if assembly is not None and assembly.least_tokens < min(span, scene.room + 1):
        most = scene.room - assembly.least_tokens
        room = min(most, max(least_for_tail, scene.room - span + 1))
        shrinks, tokens = tries.fitted(stop, room, held=False)
        if room < tokens <= most:
            room = min(most, tokens + int(scene.tail_room * MORE_SHARE))
            shrinks, tokens = tries.fitted(stop, room, held=False)
        if tokens <= room:
            return Cut(stop, shrinks, tokens, assembly, min(scene.room - tokens, span - 1), tries)
    return None if scene.task.needs_digest else _kept(tries, stop, span)


def _all_faded(tries: TailFitter) -> Cut | None:
    """Fade all messages after prompt and earlier digest, if enough of the newest then stay whole."""
    scene = tries.scene
    before = scene.tokens(scene.first, scene.floor)
    room = scene.room - before
    if sum(scene.faded[scene.floor :]) > room * between(ALL_FADED_SHARE, room):
        return None
    return _kept(tries, scene.floor, before)


def _for_unread(scene: Scene, stop: int) -> int:
    """Return the room that keeps unanswered messages whole; 0 if that would be most of the room.

    If the caller asked for a size, older messages get their share first.
    """
    wanted = int(scene.tokens(max(stop, scene.unread)) / MOST_FOR_UNREAD)
    return 0 if _is_asked(scene) or wanted > scene.room * MOST_FOR_UNREAD else wanted


def _kept(tries: TailFitter, stop: int, span: int) -> Cut | None:
    """Keep the older messages as they are, and show the recent ones smaller."""
    room = tries.scene.room - span
    shrinks, tokens = tries.fitted(stop, room, held=True)
    return Cut(stop, shrinks, tokens) if tokens <= room else None


# The recent messages ---------------------------------------------------------------------------------


class TailFitter:
    """Tries out smaller forms of a scene's recent messages, remembering the smallest."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self._contexts: dict[bool, ShrinkContext] = {}
        self._least: dict[tuple[Span, bool], Smaller] = {}
        self._made: dict[tuple[int, int, bool], list[Shrink]] = {}
        """Smaller forms by index, tokens given, and whether places are held."""
        self._too_small: dict[tuple[int, bool], int] = {}
        """Rooms in which the messages from an index on do not fit even faded."""

    def fitted(self, stop: int, room: int, *, held: bool) -> Smaller:
        """Fade messages until they fit; return shrinks and tokens, or the smallest forms if none fit."""
        scene = self.scene
        if scene.tokens(stop) <= room:
            return [], scene.tokens(stop)
        wanted, before = room, scene.tokens(stop)
        for _ in range(FEWER_TRIES if room > self._too_small.get((stop, held), 0) else 0):
            given = self._given(stop, wanted)
            found = self._faded(stop, given, held) if given is not None else ([], before)
            if found[1] <= room:
                return self._filled(stop, room, held, found)
            if found[1] == before:  # no smaller form is left
                break
            wanted, before = int(wanted * min(LEAST_STEP, room / found[1])), found[1]
        self._too_small[stop, held] = max(room, self._too_small.get((stop, held), 0))
        for first, share in ((scene.verbatim, MOST_VERBATIM), (scene.unread, WHOLE_UNREAD_SHARE)):
            if stop < first < len(scene.view) and scene.tokens(first) <= room * share:
                found = self._levelled((stop, first), room, held)
                if found[1] <= room:
                    return found
        return self._levelled((stop, len(scene.view)), room, held)

    def _filled(self, stop: int, room: int, held: bool, found: Smaller) -> Smaller:
        """Use the room that excerpts smaller than their estimates left."""
        asked, wanted = room, room * room // max(1, found[1])
        for _ in range(MORE_TRIES):
            if found[1] >= room * WELL_FILLED or not found[0]:
                break
            given = self._given(stop, wanted)
            more = self._faded(stop, given, held) if given is not None else found
            if more[1] > room:
                wanted = (asked + wanted) // 2
            elif more[1] > found[1]:
                found, asked = more, wanted
                wanted = wanted * room // max(1, found[1])
            else:
                break
        return found

    def _given(self, stop: int, room: int) -> list[int] | None:
        """Divide a room among the messages from an index on."""
        scene = self.scene
        unread, verbatim = max(0, scene.unread - stop), max(0, scene.verbatim - stop)
        current = {i - stop: weight for i, weight in scene.current.items() if i >= stop}
        return allotments(scene.whole[stop:], scene.faded[stop:], room, unread, verbatim, current)

    def _faded(self, stop: int, given: Sequence[int], held: bool) -> Smaller:
        """Shrink each recent message to the tokens it is given."""
        scene, context = self.scene, self._context(held)
        shrinks: list[Shrink] = []
        for i, tokens in enumerate(given, start=stop):
            if tokens < scene.whole[i]:
                made = self._made.get((i, tokens, held))
                if made is None:
                    made = self._made[i, tokens, held] = _shortened(context, i, tokens)
                shrinks += made
        spared = scene.opens_loop(stop)
        older = [scene.view[i] for i in range(stop, scene.thinking) if i != spared]
        if any(has_thinking(item.message) for item in older) and not scene.drop_thinking:
            past = {item.id for item in older}
            shrinks = [
                *remove_thinking(older, shrinks, of_earlier_turns=True),
                *(one for one in shrinks if one.id not in past),
            ]
        return shrinks, scene.tokens_with(shrinks, stop)

    def _levelled(self, span: Span, room: int, held: bool) -> Smaller:
        """Cut the largest parts of these messages down to one common size."""
        least = self._least.get((span, held))
        if least and least[1] > room:
            return least
        sizes = self._sizes_in(span)
        level = water_level(sizes, max(0, room - (self.scene.tokens(span[0]) - sum(sizes))))
        found = self._at(span, level, held)
        if found[1] <= room:
            return found
        least = self._least[span, held] = self._at(span, 0, held) if level else found
        for _ in range(LOWER_LEVELS if least[1] <= room else 0):
            level = level * 3 // 4
            found = self._at(span, level, held)
            if found[1] <= room:
                return found
        return least

    def _sizes_in(self, span: Span) -> list[int]:
        """Return the tokens of every part that has a smaller form."""
        parts = (part for item in self.scene.view[slice(*span)] for part in item.message.parts)
        return [self.scene.task.counter.count_part(part) for part in parts if has_smaller(part)]

    def _at(self, span: Span, level: int, held: bool) -> Smaller:
        shrinks = shorten(self._context(held), range(*span), level)
        return shrinks, self.scene.tokens_with(shrinks, span[0])

    def _context(self, held: bool) -> ShrinkContext:
        if held not in self._contexts:
            self._contexts[held] = shrink_context(self.scene, held=held)
        return self._contexts[held]


def _shortened(context: ShrinkContext, index: int, tokens: int) -> list[Shrink]:
    """Return how a message is shown in so many tokens."""
    count, message = context.counter.count_part, context.view[index].message
    level = part_level(message, tokens, count)
    prose = (part for part in message.parts if isinstance(part, Text) and message.origin is Origin.SPOKEN)
    # What a tool or a harness wrote is pruned; of what people and the agent said, the rest is cut off.
    rung = Rung.TRUNCATE if any(count(part) > level for part in prose) else Rung.PRUNE
    return shorten(context, (index,), level, rung)


# The view to excerpt ---------------------------------------------------------------------------------


def shrink_context(scene: Scene, *, held: bool) -> ShrinkContext:
    """Return the view to shorten; if ``held``, with what a digest would state kept readable."""
    places = (scene.held or _held(scene)) if held else {}
    if scene.focus:
        places = {name: [*cites] for name, cites in places.items()}
        for cite in scene.lines_in_focus:
            places.setdefault(cite.message, []).append(cite)
    excerpt_sources = scene.shared.excerpt_sources.setdefault(tuple(scene.terms.items()), {})
    return ShrinkContext(
        scene.view,
        scene.task.counter,
        scene.original,
        places,
        scene.terms,
        excerpt_sources,
        scene.sizes,
        guides=scene.guides,
        names=scene.names,
        folds=scene.shared.folds,
        unpruned=scene.task.view if scene.pruned else None,
    )


def _held(scene: Scene) -> dict[str, list[Cite]]:
    """Return the places of rules, open items, decisions and failures that were not fixed, by message."""
    brief = scene.task.mandatory(())
    ledger = scene.task.ledger
    cites = [
        *(pin.source for pin in brief.pins),
        *(claim.sources[0] for claim in brief.claims if claim.kind in NEVER_LEFT_OUT),
        *(decision.source for decision in ledger.decisions[-MOST_DECISIONS:]),
        *(cite for one in ledger.failures[-MOST_FAILURES:] if not one.is_fixed for cite in one.sources),
    ]
    held: dict[str, list[Cite]] = {}
    for cite in (*cites, *_reported_failures(scene.view)):
        held.setdefault(cite.message, []).append(cite)
    return held


def _reported_failures(view: Sequence[Item]) -> Iterator[Cite]:
    """Yield the sentences of long texts of the agent that state a failure."""
    for item in view:
        for number, part in enumerate(item.message.parts if item.message.role is Role.ASSISTANT else ()):
            if isinstance(part, Text):
                yield from (Cite(item.id, number, *span) for span in failure_spans(part.text))
