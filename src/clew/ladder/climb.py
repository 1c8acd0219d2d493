"""The ladder: prune, then condense, gentlest first, until the view fits. Needs no model.

``propose`` returns a plan and changes nothing. It always ends: it fits, or says with a typed error what does
not. Rules that do not fit are an error, never a quiet loss.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from clew.budget import Trigger
from clew.errors import BudgetExceeded, NothingToGain, PinsDoNotFit
from clew.ladder.assemble import Assembly
from clew.ladder.choice import CHANGES_SHARE, NEVER_LEFT_OUT, Terms
from clew.ladder.prune import WORTH_TOKENS, prune
from clew.ladder.rules import OVERSIZED_TOKENS
from clew.ladder.situation import Scene, Situation
from clew.ladder.stubs import Page, shorten
from clew.ladder.tail import MOST_SHARE, last_cuts, water_level
from clew.ladder.thoughts import left_out, thinks
from clew.ladder.written import Outline, Written
from clew.message import Cite, Message, Role, Text, ToolCall, ToolResult
from clew.plan import Condense, Digest, Freed, Plan, Rung, Shrink

__all__ = ["Situation", "outline", "propose"]

GIANT_SHARE = 0.5
"""Of the room: a recent message that takes more is shown in excerpt before anything is condensed."""
SPARE_SHARE = 0.1
"""Of the room: where more than this is left when all is said, more recent messages stay as they are."""
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


def propose(now: Situation, written: Written | None = None) -> Plan:
    """Propose how to bring a view down to its target; an empty plan where it is there already.

    With ``written``, what somebody wrote about the span of ``outline`` goes into the digest, after what
    the ledger has to say and before people's words and facts.
    """
    scene = Scene(now)
    gentle = _gentle(scene)
    return _plan(scene, gentle) if gentle is not None else _with_digest(scene, written)


def _with_digest(scene: Scene, written: Written | None) -> Plan:
    scene, cut = _fitting(scene)
    if cut.assembly is None:
        return _plan(scene, cut.shrinks)
    digest, tokens = cut.assembly.fullest(cut.digest_room, written)
    spare = scene.room - cut.tokens - tokens
    if written is None and not scene.thoughtless and spare > scene.room * SPARE_SHARE:
        longer = _with_longer_tail(scene, cut.tokens + spare)
        if longer is not None:
            return longer
    return _condensed(scene, cut, digest, tokens)


def _with_longer_tail(scene: Scene, tokens: int) -> Plan | None:
    """Return the plan that keeps more recent messages, where a digest has nothing more to say."""
    wider = scene.with_longer_tail(tokens)
    plan = _with_digest(wider, None) if wider.stop < scene.stop else None
    return plan if plan and plan.fits else None


def _condensed(scene: Scene, cut: Cut, digest: Digest, tokens: int) -> Plan:
    ids = tuple(item.id for item in scene.view[scene.first : cut.stop])
    rung = Rung.FOLD if digest.folds else Rung.SUMMARISE
    condense = Condense(ids, digest, rung)
    freed = sum(scene.sizes_now[scene.first : cut.stop]) - tokens
    return _plan(scene, cut.shrinks, condense, freed)


def outline(now: Situation) -> Outline | None:
    """Return what a digest is to be written about; None where ``propose`` would make none."""
    scene = Scene(now)
    if _gentle(scene) is not None:
        return None
    _, cut = _fitting(scene)
    return cut.assembly.outline(cut.digest_room) if cut.assembly else None


# Without a digest ------------------------------------------------------------------------------------


def _gentle(scene: Scene) -> list[Shrink] | None:
    """Return what is enough without a digest: nothing, or pruning; None where it takes more."""
    target = scene.now.target_tokens
    if scene.before <= target:
        return []
    if scene.room <= 0:
        raise BudgetExceeded(f"the system prompt alone takes {scene.fixed:,} tokens of {target:,}")
    excess = scene.before - target
    most = max(OVERSIZED_TOKENS, int(scene.room * GIANT_SHARE))
    giants = [i for i in range(scene.stop, len(scene.view)) if scene.sizes[i] > most]
    if _may_free(scene) + sum(scene.sizes[i] for i in giants) < excess:
        return None
    page = _page(scene, held=True)
    shrinks = prune(page, scene.stop, excess)
    unread = _unread(scene)
    for some in ([i for i in giants if i < unread], [i for i in giants if i >= unread]):
        if some and scene.tokens_with(shrinks) > target:
            shrinks += shorten(page, some, most, Rung.PRUNE)
    return shrinks if scene.tokens_with(shrinks) <= target else None


def _unread(scene: Scene) -> int:
    """Return where the messages begin that no reply has followed yet: the model is still to read them."""
    last = (i for i in reversed(range(len(scene.view))) if scene.view[i].message.role is Role.ASSISTANT)
    return next(last, -1) + 1


def _may_free(scene: Scene) -> int:
    """Return what pruning could free at most: of what tools were asked and answered."""
    old = zip(scene.view[scene.first : scene.stop], scene.sizes[scene.first : scene.stop], strict=True)
    return sum([size for item, size in old if size >= WORTH_TOKENS and _is_of_tools(item.message)])


def _is_of_tools(message: Message) -> bool:
    return any(isinstance(part, ToolCall | ToolResult) for part in message.parts)


def _page(scene: Scene, *, held: bool) -> Page:
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


# With one --------------------------------------------------------------------------------------------


def _fitting(scene: Scene) -> tuple[Scene, Cut]:
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
        page = _page(scene, held=False)
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
    wanted = int(scene.tokens(max(stop, _unread(scene))) / UNREAD_SHARE)
    return 0 if scene.now.trigger == Trigger.MANUAL or wanted > scene.room * UNREAD_SHARE else wanted


def _kept(scene: Scene, stop: int, span: int) -> Cut | None:
    """Leave what is old as it is, and show the recent messages smaller."""
    shrinks, tokens = _fitted(scene, _page(scene, held=True), stop, scene.room - span)
    return Cut(stop, shrinks, tokens) if tokens <= scene.room - span else None


def _fitted(scene: Scene, page: Page, stop: int, room: int) -> tuple[list[Shrink], int]:
    """Show what is too large among the recent messages in excerpt; return that, and the tokens then."""
    if scene.tokens(stop) <= room:
        return [], scene.tokens(stop)
    unread = max(stop, _unread(scene))
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


# The plan --------------------------------------------------------------------------------------------


def _plan(
    scene: Scene, shrinks: Sequence[Shrink], condense: Condense | None = None, condensed: int = 0
) -> Plan:
    """Return the plan, with what each rung frees; ``condensed`` is what the digest does."""
    now = scene.now
    freed = {rung: Freed(rung, 0, 0) for rung in Rung}
    sizes = scene.size_by_id if shrinks else {}
    for shrink in shrinks:
        saved = sizes[shrink.id] - now.counter.count(shrink.message)
        freed[shrink.rung] = _with(freed[shrink.rung], saved)
    if condense is not None:
        freed[condense.rung] = _with(freed[condense.rung], condensed)
    used = tuple(one for one in freed.values() if one.operations)
    after = scene.before - sum(one.tokens for one in used)
    operations = (*([condense] if condense else ()), *shrinks)
    return Plan(operations, scene.before, after, now.target_tokens, now.trigger, now.reason, used)


def _with(freed: Freed, tokens: int) -> Freed:
    """Return what a rung frees with one more operation."""
    return replace(freed, operations=freed.operations + 1, tokens=freed.tokens + tokens)
