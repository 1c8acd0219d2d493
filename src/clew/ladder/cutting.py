"""Where a view is cut: what stays as it is, what of that is shown smaller, and what goes into a digest.

One thing after the other is given up until it fits: how much stays verbatim, thoughts, how fully open work is
told, the names of changed files. Rules never are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from clew.budget import Trigger
from clew.errors import BudgetExceeded, NothingToGain, PinsDoNotFit
from clew.ladder.assemble import Assembly
from clew.ladder.choice import CHANGES_SHARE, NEVER_LEFT_OUT, Terms
from clew.ladder.situation import Scene
from clew.ladder.stubs import Page, shorten
from clew.ladder.tail import MOST_SHARE, last_cuts, water_level
from clew.ladder.thoughts import left_out, thinks
from clew.message import Cite, Text, ToolCall, ToolResult
from clew.plan import Shrink

TRIES = 6
UNREAD_SHARE = 0.75
"""Of the room for recent messages: up to here, what nobody has answered yet stays whole."""
SHORTENED = (240, 80)
"""Characters that are told of each open loop, and of the goal, where nothing else helps."""
LEAST = Terms(longest=SHORTENED[-1])
MORE_SHARE = 0.5
"""Of the room for recent messages: what they get beyond their smallest forms where even those exceed it."""


@dataclass(frozen=True, slots=True)
class Cut:
    """How a view is brought down: what of its recent messages is shown smaller, and what is condensed."""

    stop: int
    """Where the recent messages begin."""
    shrinks: Sequence[Shrink]
    tokens: int
    """Of the recent messages then."""
    assembly: Assembly | None = None
    """None where nothing is condensed."""
    digest_room: int = 0


def fitting(scene: Scene) -> tuple[Scene, Cut]:
    """Find where to cut, giving up one thing after the other until it fits; and in which scene that is.

    First thoughts are left out, then goal and open work are told by how they begin, then changed files may
    be left out. Rules are never given up.
    """
    for_changes = int(scene.room * CHANGES_SHARE)
    cut = _cut(scene, Terms(for_changes))
    if cut is not None:
        return scene, cut
    scenes = [scene]
    if any(thinks(item.message) for item in scene.view):
        scenes.append(Scene(scene.now, thoughtless=True))
    terms = [*(Terms(for_changes, longest) for longest in (None, *SHORTENED)), LEAST]
    for held, one in list(product(terms, scenes))[1:]:
        cut = _cut(one, held)
        if cut is not None:
            return one, _without_thoughts(one, cut) if one.thoughtless else cut
    raise _too_large(scenes[-1])


def _without_thoughts(scene: Scene, cut: Cut) -> Cut:
    """Return a cut that leaves out the thoughts of all that it keeps."""
    kept = scene.now.view[cut.stop if cut.assembly else scene.first :]
    return replace(cut, shrinks=left_out(kept, cut.shrinks))


def _cut(scene: Scene, terms: Terms) -> Cut | None:
    """Find where to cut: as much stays verbatim as usual, or less where that does not fit."""
    for stop in _stops(scene):
        span = scene.now.view[scene.first : stop]
        cut = _cut_at(scene, stop, Assembly(scene, span, terms) if span else None)
        if cut is not None:
            return cut
    return None


def _too_large(scene: Scene) -> BudgetExceeded:
    """Say what does not fit, where nothing more can be given up."""
    *_, stop = _stops(scene)
    span = scene.now.view[scene.first : stop]
    least = Assembly(scene, span, LEAST).least_tokens if span else 0
    there = scene.before - scene.fixed
    if least > scene.room and least >= there:
        told = f"rules and open work alone would take {least:,} tokens, and there are {there:,} in all"
        return NothingToGain(f"nothing to gain: {told}")
    asked = scene.now.trigger == Trigger.MANUAL
    if least > scene.room:
        what = f"rules and open work alone take {least:,} tokens of {scene.room:,}"
        return PinsDoNotFit(what, _ASK_FOR_MORE_THAN_RULES if asked else None)
    both = f"rules and open work take {least:,} tokens and the most recent messages {scene.tokens(stop):,}"
    what = f"{both}: together more than the {scene.room:,} that there is room for"
    return BudgetExceeded(what, _ASK_FOR_MORE if asked else None)


_ASK_FOR_MORE_THAN_RULES = "no pin is dropped silently; revoke or shorten some, or ask for more tokens"
_ASK_FOR_MORE = "nothing was changed; ask for more tokens"


def _stops(scene: Scene) -> Iterator[int]:
    """Yield where the recent messages may begin: as usual, with half of them, with the last atom alone."""
    yield scene.stop
    recent = scene.tokens(scene.stop)
    points = last_cuts(scene.view, scene.sizes, scene.floor, messages=1, tokens=recent)
    later = [point for point in points if point > scene.stop]
    if later:
        yield from dict.fromkeys((later[len(later) // 2], later[-1]))


def _cut_at(scene: Scene, stop: int, assembly: Assembly | None) -> Cut | None:
    """Return how a view is brought down with its recent messages beginning here; None where it is not."""
    span = scene.tokens(scene.first, stop)
    asked = scene.now.keep.tokens or 0
    least_for_tail = max(scene.tail_room, asked, _for_unread(scene, stop))
    if scene.room - span >= max(int(scene.room * MOST_SHARE), asked) and (cut := _kept(scene, stop, span)):
        return cut  # what is old is little: no digest is worth it
    if assembly is not None and assembly.least_tokens < min(span, scene.room + 1):
        most = scene.room - assembly.least_tokens
        room = min(most, max(least_for_tail, scene.room - span + 1))
        page = page_of(scene, held=False)
        shrinks, tokens = _fitted(scene, page, stop, room)
        if room < tokens <= most:
            room = min(most, tokens + int(scene.tail_room * MORE_SHARE))
            shrinks, tokens = _fitted(scene, page, stop, room)
        if tokens <= room:
            return Cut(stop, shrinks, tokens, assembly, min(scene.room - tokens, span - 1))
    return _kept(scene, stop, span)


def _for_unread(scene: Scene, stop: int) -> int:
    """Return the room in which what is still to be read stays whole; nothing where that is most of it.

    Where somebody asks for a size, what is old has its share first.
    """
    wanted = int(scene.tokens(max(stop, scene.unread)) / UNREAD_SHARE)
    return 0 if scene.now.trigger == Trigger.MANUAL or wanted > scene.room * UNREAD_SHARE else wanted


def _kept(scene: Scene, stop: int, span: int) -> Cut | None:
    """Leave what is old as it is, and show the recent messages smaller."""
    shrinks, tokens = _fitted(scene, page_of(scene, held=True), stop, scene.room - span)
    return Cut(stop, shrinks, tokens) if tokens <= scene.room - span else None


def _fitted(scene: Scene, page: Page, stop: int, room: int) -> tuple[list[Shrink], int]:
    """Show what is too large among the recent messages in excerpt; return that, and the tokens then."""
    if scene.tokens(stop) <= room:
        return [], scene.tokens(stop)
    unread = max(stop, scene.unread)
    if unread > stop and scene.tokens(unread) <= room * UNREAD_SHARE:
        shrinks, tokens = _levelled(scene, page, (stop, unread), room)
        if tokens <= room:
            return shrinks, tokens
    return _levelled(scene, page, (stop, len(scene.view)), room)


def _levelled(scene: Scene, page: Page, span: tuple[int, int], room: int) -> tuple[list[Shrink], int]:
    """Cut what is largest in a span of the recent messages down to one level; return that, and the tokens."""
    stop, end = span
    tokens = scene.tokens(stop)
    shrinks: list[Shrink] = []
    recent = range(stop, end)
    parts = [
        scene.now.counter.count_part(part)
        for item in scene.view[stop:end]
        for part in item.message.parts
        if isinstance(part, Text | ToolResult | ToolCall)
    ]
    level = water_level(parts, max(0, room - (tokens - sum(parts))))
    for tries_left in range(TRIES, -1, -1):
        shrinks = shorten(page, recent, level)
        tokens = scene.tokens_with(shrinks, stop)
        if tokens <= room:
            break
        level = level * 3 // 4 if tries_left > 1 else 0
    return shrinks, tokens


# What is looked at ----------------------------------------------------------------------------------


def page_of(scene: Scene, *, held: bool) -> Page:
    """Return the view to show less of; without a new digest, rules and open loops must stay readable."""
    return Page(scene.view, scene.now.counter, scene.original, _held(scene) if held else {})


def _held(scene: Scene) -> Mapping[str, Sequence[Cite]]:
    brief = scene.now.brief(())
    held: dict[str, list[Cite]] = {}
    for pin in brief.pins:
        held.setdefault(pin.source.message, []).append(pin.source)
    for claim in brief.claims:
        if claim.kind in NEVER_LEFT_OUT:
            held.setdefault(claim.sources[0].message, []).append(claim.sources[0])
    return held
