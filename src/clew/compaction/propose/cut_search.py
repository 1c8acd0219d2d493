"""Find where to cut a view: what stays whole, what is shown shorter, and what goes into the digest.

In goes a ``Scene`` (a task whose view is too large); out comes a ``Cut``: the index from which messages stay,
how these are shortened, and a builder for the digest of all others. ``ladder.py`` makes a plan of it. Of a
view of 200 messages, for example, 1 to 170 are condensed, 171 to 192 shortened, and 193 to 200 stay whole.

Until it fits, these are given up one after the other: how many recent messages stay, thinking blocks, the
full text of open items, the names of changed files. Rules are never given up: if they do not fit, the error
says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from clew.budget import Trigger
from clew.compaction.plan import Shrink
from clew.compaction.propose.digest_builder import DigestBuilder
from clew.compaction.propose.digest_content import CHANGES_SHARE
from clew.compaction.propose.digest_input import MandatoryLimits
from clew.compaction.propose.scene import Scene
from clew.compaction.propose.tail import (
    ALL_FADED_SHARE,
    USUAL_MESSAGES,
    between,
    last_cuts,
    unread_room,
)
from clew.compaction.propose.tail_fitter import TailFitter
from clew.compaction.propose.thinking import has_thinking, remove_thinking
from clew.errors import BudgetExceeded, NothingToGain, PinsDoNotFit

SHORTENED = (240, 80)
"""Characters of the goal and each open item, tried in turn if nothing else helps."""
LEAST = MandatoryLimits(longest=SHORTENED[-1])
LEAST_MESSAGES = 4
"""Recent messages that stay even if calls and sentences have to be cut; chosen by hand."""
SLIGHTLY_CUT = 1.05
"""How much larger than their room faded messages may be and still say nearly all they say; chosen by hand."""
MOST_FOR_UNREAD = 0.75
"""Share of the room that messages the model has not answered yet may take to stay whole."""
MORE_SHARE = 0.1
"""Share of the recent messages' room that they get beyond their smallest forms if even those exceed it."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A way to shrink a view: shrinks of recent messages, and the digest of the others."""

    stop: int
    """Index of the first recent message."""
    shrinks: Sequence[Shrink]
    tokens: int
    """Of the recent messages after shrinking."""
    builder: DigestBuilder | None = None
    """None if nothing is condensed."""
    digest_room: int = 0
    fitter: TailFitter | None = None
    """What made the shrinks, with the excerpts it has computed; None if nothing is condensed."""


def find_cut(scene: Scene) -> tuple[Scene, Cut]:
    """Find where to cut; return the cut and the scene it applies to, perhaps one without thinking.

    If it does not fit, thinking blocks are removed first, then goal and open items are shortened, then the
    names of changed files become optional. Rules are never given up. Thinking that would take most of the
    room is removed at once.
    """
    for_changes = int(scene.room * CHANGES_SHARE)
    if scene.is_mostly_thinking:
        scene = scene.derived(scene.task, drop_thinking=True)
    fitters = [TailFitter(scene)]
    cut = _cut(fitters[0], MandatoryLimits(for_changes))
    if cut is not None:
        return scene, _without_thoughts(scene, cut) if scene.drop_thinking else cut
    if not scene.drop_thinking and any(has_thinking(item.message) for item in scene.view):
        fitters.append(TailFitter(scene.derived(scene.task, drop_thinking=True)))
    limits = [*(MandatoryLimits(for_changes, longest) for longest in (None, *SHORTENED)), LEAST]
    for limit, fitter in list(product(limits, fitters))[1:]:
        cut = _cut(fitter, limit)
        if cut is not None:
            scene = fitter.scene
            return scene, _without_thoughts(scene, cut) if scene.drop_thinking else cut
    raise _too_large(fitters[-1])


def _cut(fitter: TailFitter, limits: MandatoryLimits) -> Cut | None:
    """Find where to cut, keeping the usual number of recent messages, or fewer if they do not fit."""
    scene = fitter.scene
    if not scene.task.needs_digest and (cut := _all_faded(fitter)) is not None:
        return cut
    whole_ids = {item.id for item in scene.view[scene.verbatim :]}
    second_best = None
    for usual in _stops(scene):
        builder = _digest(scene, usual, limits)
        most = scene.room - builder.least_tokens if builder else scene.room
        stop = _with_whole_calls(scene, usual, most)
        cut = _cut_at(fitter, stop, builder if stop == usual else _digest(scene, stop, limits))
        if cut is not None and not any(shrink.id in whole_ids for shrink in cut.shrinks):
            return cut
        second_best = second_best or cut
    return second_best


def _stops(scene: Scene) -> Iterator[int]:
    """Yield where the recent messages may begin: as usual, with half of them, with only the last atom."""
    yield scene.stop
    recent = scene.tokens(scene.stop)
    points = last_cuts(scene.view, scene.sizes, scene.floor, messages=1, tokens=recent)
    later = [point for point in points if point > scene.stop]
    if later:
        yield from dict.fromkeys((later[len(later) // 2], later[-1]))


def _digest(scene: Scene, stop: int, limits: MandatoryLimits) -> DigestBuilder | None:
    """Return the builder of a digest of the messages before an index; None if there are none."""
    span = scene.task.view[scene.first : stop]
    return DigestBuilder(scene, span, limits) if span else None


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


def _cut_at(fitter: TailFitter, stop: int, builder: DigestBuilder | None) -> Cut | None:
    """Return the cut whose recent messages begin here; None if it does not fit."""
    scene = fitter.scene
    span = scene.tokens(scene.first, stop)
    replaced = replaced_tokens(scene, stop)
    asked = scene.task.keep.room or 0
    least_for_tail = max(scene.tail_room, asked, _for_unread(scene, stop))
    if builder is not None and builder.least_tokens < min(replaced, scene.room + 1):
        most = scene.room - builder.least_tokens
        room = min(most, max(least_for_tail, scene.room - replaced + 1))
        shrinks, tokens = fitter.fit(stop, room, protect=False)
        if room < tokens <= most:
            room = min(most, tokens + int(scene.tail_room * MORE_SHARE))
            shrinks, tokens = fitter.fit(stop, room, protect=False)
        if tokens <= room:
            return Cut(stop, shrinks, tokens, builder, min(scene.room - tokens, replaced - 1), fitter)
    return None if scene.task.needs_digest else _kept(fitter, stop, span)


def replaced_tokens(scene: Scene, stop: int) -> int:
    """Return the tokens that a digest replaces: messages up to an index, and rules beside the view."""
    return scene.tokens(scene.first, stop) + scene.task.beside_tokens


def _for_unread(scene: Scene, stop: int) -> int:
    """Return the room that keeps unanswered messages whole; 0 if that would be most of the room.

    If the caller asked for a size, older messages get their share first.
    """
    wanted = int(scene.tokens(max(stop, scene.unread)) / MOST_FOR_UNREAD)
    return 0 if _is_asked(scene) or wanted > scene.room * MOST_FOR_UNREAD else wanted


def _all_faded(fitter: TailFitter) -> Cut | None:
    """Fade all messages after prompt and earlier digest, if enough of the newest then stay whole."""
    scene = fitter.scene
    before = scene.tokens(scene.first, scene.floor)
    room = scene.room - scene.task.beside_tokens - before
    if sum(scene.faded[scene.floor :]) > room * between(ALL_FADED_SHARE, room):
        return None
    return _kept(fitter, scene.floor, before)


def _kept(fitter: TailFitter, stop: int, span: int) -> Cut | None:
    """Keep the older messages as they are, and show the recent ones smaller."""
    room = fitter.scene.room - fitter.scene.task.beside_tokens - span
    shrinks, tokens = fitter.fit(stop, room, protect=True)
    return Cut(stop, shrinks, tokens) if tokens <= room else None


def _without_thoughts(scene: Scene, cut: Cut) -> Cut:
    """Return a cut that also removes the thinking blocks of the messages it keeps."""
    start = cut.stop if cut.builder else scene.first
    return replace(
        cut, shrinks=remove_thinking(scene.task.view[start:], scene.with_pruned(cut.shrinks, start))
    )


def fuller(cut: Cut, spare: int) -> Cut:
    """Return the cut with more of its recent messages shown: the digest left some of its room."""
    if cut.fitter is None:
        return cut
    room = cut.tokens + spare
    shrinks, tokens = cut.fitter.fit(cut.stop, room, protect=False)
    return replace(cut, shrinks=shrinks, tokens=tokens) if cut.tokens < tokens <= room else cut


def _too_large(fitter: TailFitter) -> BudgetExceeded:
    """Return the error that says what does not fit when nothing more can be given up."""
    scene = fitter.scene
    *_, stop = _stops(scene)
    span = scene.task.view[scene.first : stop]
    least = DigestBuilder(scene, span, LEAST).least_tokens if span else 0
    there = scene.before - scene.fixed + scene.task.beside_tokens
    if least > scene.room and least >= there:
        told = f"rules and open work alone would take {least:,} tokens, and there are {there:,} in all"
        return NothingToGain(f"nothing to gain: {told}")
    asked = _is_asked(scene)
    if least > scene.room:
        what = f"rules and open work alone take {least:,} tokens of {scene.room:,}"
        return PinsDoNotFit(what, _ASK_FOR_MORE_THAN_RULES if asked else None)
    _, recent = fitter.fit(stop, 0, protect=least >= scene.tokens(scene.first, stop))
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
