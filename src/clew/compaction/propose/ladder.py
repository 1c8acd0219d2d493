"""The compaction ladder: prune, then condense, gentlest step first, until the view fits. Needs no model.

``propose`` returns a plan and changes nothing. It always ends: the plan fits, or a typed error says what does
not. Rules that do not fit are an error, never a silent loss.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from clew.budget import Trigger
from clew.compaction.plan import Condense, Digest, Freed, Plan, Rung, Shrink, Topic
from clew.compaction.plan.plan import gc_paused
from clew.compaction.propose.brief import Outline, Written
from clew.compaction.propose.chosen_range import faded_range, range_digest
from clew.compaction.propose.cut_search import Cut, find_cut, fuller, no_room, replaced_tokens
from clew.compaction.propose.digest_builder import DigestBuilder, SizedDigest
from clew.compaction.propose.legend import LEGEND_TOKENS, with_legend
from clew.compaction.propose.protected_places import context_for
from clew.compaction.propose.prune import (
    OVERSIZED_TOKENS,
    prune,
    prune_cycles,
    prune_repeated,
    prune_repeated_outputs,
)
from clew.compaction.propose.scene import Scene
from clew.compaction.propose.shown_again import Shown, shown_once, whole_in
from clew.compaction.propose.shrink import shorten, with_true_pointers
from clew.compaction.propose.shrink_context import ShrinkContext
from clew.compaction.propose.steps import WORTH_OF_PROSE
from clew.compaction.propose.tail import CHARACTERS_PER_TOKEN, between, unread_room, water_level
from clew.compaction.task import CompactionTask
from clew.errors import BudgetExceeded
from clew.message import Message, Role, ToolResult

GIANT_SHARE = 0.5
"""Share of the room from which a single recent message is excerpted before anything is condensed."""
LARGE_SHARE = 0.06
"""Share of the room from which a repetition among the last messages is pruned: of eight equal ones, each has
about twice as much. Chosen by hand."""
SHORT_VIEW = 2
"""A view of so many times the last messages is short: hardly anything in it is older. Chosen by hand."""
PRUNED_BEFORE = 2
"""Messages pruned before the recent ones, per recent one: pruned ones leave room for more of them."""
LEAST_AFTER_PRUNING = 0.35
"""Share of a view below which pruning alone is not tried: it rarely frees a tenth of a session."""
SPARE_SHARE = 0.1
"""Share of the room: if more is left after the digest is complete, more recent messages stay..."""
SHORTENED_SHARE = 0.9
"""Part of its share that a summary is shortened to: the excerpt may be larger than asked for."""
TEXT_SHARE = (0.2, 0.1)
"""Share of a small and of a large room for text of files that the work is about. From 0 to 0.3 a reading
model continues as well (``bench/results/reader.md``); people who had to continue asked for it first."""
LEAST_SPARE_SHARE = 0.02
"""...and if at least this is left, more of each is shown."""
TRIES = 2
"""Plans that leave out what later results show, before one that does not: it bounds the time."""


@gc_paused
def propose(task: CompactionTask, written: Written | None = None) -> Plan:
    """Propose how to bring a view down to its target; return an empty plan if it already fits.

    ``written`` is a model's prose about the span of ``outline``; it goes into the digest after the ledger's
    claims and before story and facts.
    """
    scene = Scene(task)
    if task.chosen is not None:
        return _of_range(scene, *task.chosen, written)
    gentle = _prune_only(scene)
    plan = _plan(scene, gentle) if gentle is not None else _fitted(scene, written)
    return propose(replace(task, states_open=True), written) if _hides_open(task, plan) else plan


def _hides_open(task: CompactionTask, plan: Plan) -> bool:
    """Whether an open item that only the summary of another tool quotes is no longer in it."""
    if plan.digests or not plan.operations or not task.unseen_open or task.states_open:
        return False
    smaller = {op.id: op.message for op in plan.operations if isinstance(op, Shrink)}
    summary = (task.view[index] for index in task.tool_summary)
    text = "\n".join(smaller.get(item.id, item.message).text for item in summary)
    return not all(words in text for words in task.unseen_open)


def _fitted(scene: Scene, written: Written | None) -> Plan:
    """Return the plan, mostly with a digest; what the last results show is left out elsewhere."""
    cut_short: set[Shown] = set()
    for _ in range(TRIES):
        found, cut, relied_on = _find_cut(scene, for_prose=written is not None, cut_short=cut_short)
        plan = _with_digest(found, cut, written)
        more = relied_on - whole_in(plan, scene.task.view, relied_on)
        if not more:
            break
        cut_short |= more
    else:
        plan = _with_digest(*_find_cut(scene, for_prose=written is not None, cut_short=None)[:2], written)
    return plan


def _find_cut(
    scene: Scene, *, for_prose: bool, cut_short: Collection[Shown] | None = ()
) -> tuple[Scene, Cut, set[Shown]]:
    """Find where to cut; if nothing else fits, the summary of another tool is condensed with the rest.

    Lines that the last results show again are left out; these results are returned, too. Those in
    ``cut_short`` do not stay whole; None means all.
    """
    try:
        pruned = _pruned(scene, for_prose=for_prose)
        relied_on: set[Shown] = set()
        if cut_short is not None:
            pruned, relied_on = shown_once(pruned, _prunable(scene), cut_short)
        return *find_cut(pruned), relied_on
    except BudgetExceeded:
        if not scene.task.tool_summary or not scene.task.keep.summary_share:
            raise
        keep = replace(scene.task.keep, summary_share=0.0)
        return _find_cut(Scene(replace(scene.task, keep=keep)), for_prose=for_prose, cut_short=cut_short)


def _pruned(scene: Scene, *, for_prose: bool) -> Scene:
    """Return the scene with recent repetitions pruned, and room for what a model writes.

    The last messages, those that the model has not answered and those to be kept verbatim are left alone.
    """
    stop = _prunable(scene)
    context = context_for(scene, protect=True)
    recent = len(scene.view) - scene.stop
    start = max(scene.floor, scene.stop - PRUNED_BEFORE * recent)  # a digest covers what is before
    pruned = prune_repeated(context, start, stop, scene.verbatim)
    known = {shrink.id for shrink in pruned}
    pruned += [shrink for shrink in _repeated_in_short_view(scene, context) if shrink.id not in known]
    known = {shrink.id for shrink in pruned}
    pruned += [one for one in prune_cycles(context, start, scene.verbatim) if one.id not in known]
    pruned += _shortened_summary(scene, context)
    keep = replace(scene.task.keep, for_prose=for_prose, for_text=_room_for_text(scene))
    task = scene.task.with_keep(keep, scene.sizes_now)
    return Scene(task, pruned=pruned, protected=context.protected, shared=scene.shared)


def _repeated_in_short_view(scene: Scene, context: ShrinkContext) -> list[Shrink]:
    """Prune large outputs of a short view that later ones repeat, which would be cut by size otherwise.

    In a longer view, older messages make room for the last ones.
    """
    if len(scene.view) - scene.floor > SHORT_VIEW * scene.task.keep.messages:
        return []
    stop = min(scene.unread, scene.verbatim)
    return prune_repeated_outputs(context, scene.floor, stop, int(scene.room * LARGE_SHARE))


def _room_for_text(scene: Scene) -> int:
    """Return the tokens for text of files that the work is about and that leaves the view."""
    unread = scene.tokens(scene.unread)
    if scene.stop <= scene.floor or scene.focus or unread > unread_room(unread, scene.tail_room):
        return 0  # what the model has not read yet comes before what it has read
    covered = scene.task.shown[1].covers if scene.task.shown else ()
    shortened = [
        item.id
        for item, whole, faded in zip(scene.view, scene.whole, scene.faded, strict=True)
        if faded < whole and any(item.message.results)
    ]
    found = scene.file_passages({*covered, *[item.id for item in scene.view[: scene.stop]], *shortened})
    most = int(scene.room * between(TEXT_SHARE, scene.room))
    fitting = [
        passage.size for passage in found if passage.is_needed and passage.size <= most * CHARACTERS_PER_TOKEN
    ]
    return min(sum(fitting) // CHARACTERS_PER_TOKEN, most)


def _shortened_summary(scene: Scene, context: ShrinkContext) -> list[Shrink]:
    """Return what shortens the summary of another tool to its share of the room; nothing if it fits."""
    summary, share = scene.task.tool_summary, scene.task.keep.summary_share
    if scene.first == summary.stop or not share:
        return []
    return shorten(context, summary, int(scene.room * share * SHORTENED_SHARE) // len(summary))


def _prunable(scene: Scene) -> int:
    """Return the index up to which recent messages may be pruned."""
    return min(len(scene.view) - scene.task.keep.messages, scene.unread, scene.verbatim)


def _of_range(scene: Scene, start: int, stop: int, written: Written | None) -> Plan:
    """Compact the messages between two indices only."""
    if start > scene.floor:
        return _plan(scene, faded_range(scene, start, stop))
    builder, room = range_digest(scene, stop)
    digest, tokens = builder.fullest(room, written)
    return _condensed(scene, Cut(stop, (), 0), digest, tokens)


def _with_digest(scene: Scene, cut: Cut, written: Written | None) -> Plan:
    """Condense the messages before the cut."""
    builder = cut.builder
    if builder is None:
        return _plan(scene, scene.with_pruned(cut.shrinks, scene.first))
    builder.state_hidden(scene.with_pruned(cut.shrinks, cut.stop))
    digest, tokens = builder.fullest(cut.digest_room, written)
    spare = scene.room - cut.tokens - tokens
    if written is None and not scene.drop_thinking and spare > scene.room * SPARE_SHARE:
        longer = _with_longer_tail(scene, cut.tokens + spare)
        if longer is not None:
            return longer
    if not scene.drop_thinking and spare > scene.room * LEAST_SPARE_SHARE:
        cut = fuller(cut, spare)
        quotes_files = any(claim.topic is Topic.FILE_TEXT for claim in digest.claims)
        if quotes_files or scene.room - cut.tokens - tokens > scene.room * LEAST_SPARE_SHARE:
            digest, tokens = _for_shown(scene, cut, builder, written)
    return _condensed(scene, cut, digest, tokens)


def _for_shown(scene: Scene, cut: Cut, builder: DigestBuilder, written: Written | None) -> SizedDigest:
    """Return the digest for what is shown of recent messages now: it quotes none of it, and other files."""
    builder.state_hidden(scene.with_pruned(cut.shrinks, cut.stop))
    most = min(scene.room - cut.tokens, replaced_tokens(scene, cut.stop) - 1)
    return builder.fullest(most, written, is_last=True)


def _with_longer_tail(scene: Scene, tokens: int) -> Plan | None:
    """Return a plan that keeps more recent messages, if the digest has nothing more to say; else None."""
    wider = scene.with_longer_tail(tokens)
    plan = _with_digest(*find_cut(wider), None) if wider.stop < scene.stop else None
    return plan if plan and plan.fits else None


def _condensed(scene: Scene, cut: Cut, digest: Digest, tokens: int) -> Plan:
    ids = tuple(item.id for item in scene.view[scene.first : cut.stop])
    rung = Rung.FOLD if digest.folds else Rung.SUMMARISE
    condense = Condense(ids, digest, rung)
    freed = sum(scene.sizes_now[scene.first : cut.stop]) + scene.task.beside_tokens - tokens
    return _plan(scene, scene.with_pruned(cut.shrinks, cut.stop), condense, freed)


def outline(task: CompactionTask) -> Outline | None:
    """Return what a model is asked to write; None if ``propose`` would make no digest."""
    scene = Scene(task)
    if task.chosen is not None:
        start, stop = task.chosen
        builder, room = range_digest(scene, stop)
        return builder.outline(room) if start <= scene.floor else None
    if _prune_only(scene) is not None:
        return None
    _, cut, _ = _find_cut(scene, for_prose=True)
    return cut.builder.outline(cut.digest_room) if cut.builder else None


# Without a digest ------------------------------------------------------------------------------------


def _prune_only(scene: Scene) -> list[Shrink] | None:
    """Return the shrinks that suffice without a digest: none, or pruning; None if more is needed."""
    target = scene.view_target
    if scene.before <= target:
        return []
    if scene.room <= 0:
        raise no_room(scene)
    if scene.task.needs_digest:
        return None
    if scene.task.trigger is Trigger.OVERSIZED and (shortened := _shortened_results(scene)):
        return shortened
    excess = scene.before - target
    if target < scene.before * LEAST_AFTER_PRUNING:
        return None
    most = max(OVERSIZED_TOKENS, int(scene.room * GIANT_SHARE))
    giants = [i for i in range(scene.stop, len(scene.view)) if scene.sizes[i] > most]
    if _may_free(scene) + sum(scene.sizes[i] for i in giants) < excess:
        return None
    context = context_for(scene, protect=True)
    shrinks = _pruning(scene, context)
    for some in ([i for i in giants if i < scene.unread], [i for i in giants if i >= scene.unread]):
        if some and scene.tokens_with(shrinks) > target:
            shrinks += shorten(context, some, most, Rung.PRUNE)
    return shrinks if scene.tokens_with(shrinks) <= target else None


def _shortened_results(scene: Scene) -> list[Shrink]:
    """Shorten only the results that the model has not read yet, the largest most; empty if that is no use."""
    target, count = scene.view_target, scene.task.counter.count_part
    new = range(scene.unread, len(scene.view))
    sizes = [count(part) for i in new for part in scene.view[i].message.parts if isinstance(part, ToolResult)]
    level = water_level(sizes, sum(sizes) - (scene.before - target))
    places = [i for i in new if any(scene.view[i].message.results)]
    context = context_for(scene, protect=True)
    shrinks = shorten(context, places, level, Rung.PRUNE)
    spare = target - scene.tokens_with(shrinks)
    longer = (
        shorten(context, places, level + spare, Rung.PRUNE) if spare > 0 else []
    )  # excerpts end up smaller
    best = longer if longer and scene.tokens_with(longer) <= target else shrinks
    return best if scene.tokens_with(best) <= target else []


@gc_paused
def pruned_size(task: CompactionTask) -> tuple[int, int] | None:
    """Return the tokens of the view if it were only pruned, and those before its first change.

    Old output is also shortened where ``propose`` would do that instead of making a digest. None if nothing
    can be pruned, or if the view already fits.
    """
    scene = Scene(task)
    if scene.before <= scene.view_target or scene.room <= 0:
        return None
    shrinks = _pruning(scene, context_for(scene, protect=True))
    if scene.tokens_with(shrinks) > scene.view_target:
        shrinks = _without_digest(task) or shrinks
    if not shrinks:
        return None
    changed = {shrink.id for shrink in shrinks}
    first = next(i for i, item in enumerate(scene.view) if item.id in changed)
    return scene.tokens_with(shrinks), scene.tokens(0, first)


def _without_digest(task: CompactionTask) -> list[Shrink]:
    """Return what ``propose`` shortens if it makes no digest; empty if it makes one, or nothing fits."""
    try:
        plan = propose(task) if outline(task) is None else None
    except BudgetExceeded:
        return []
    shrinks = [op for op in plan.operations if isinstance(op, Shrink)] if plan else []
    return shrinks if plan and len(shrinks) == len(plan.operations) else []


def _pruning(scene: Scene, context: ShrinkContext) -> list[Shrink]:
    """Prune old messages as far as needed, then repetitions among recent ones."""
    shrinks = prune(context, scene.stop, scene.before - scene.view_target + LEGEND_TOKENS)
    if scene.tokens_with(shrinks) > scene.view_target and _prunable(scene) > scene.stop:
        shrinks += prune_repeated(context, scene.stop, _prunable(scene), scene.verbatim)
    return shrinks


def _may_free(scene: Scene) -> int:
    """Return the most that pruning could free: the tokens of the agent's messages and of tool results."""
    stop = max(scene.stop, _prunable(scene))
    old = zip(scene.view[scene.first : stop], scene.sizes[scene.first : stop], strict=True)
    return sum([size for item, size in old if size >= WORTH_OF_PROSE and _may_be_pruned(item.message)])


def _may_be_pruned(message: Message) -> bool:
    if message.role is Role.ASSISTANT:
        return True
    for part in message.parts:  # noqa: SIM110  # ``any`` would create thousands of generators
        if isinstance(part, ToolResult):
            return True
    return False


# The plan --------------------------------------------------------------------------------------------


def _plan(
    scene: Scene, shrinks: Sequence[Shrink], condense: Condense | None = None, condensed: int = 0
) -> Plan:
    """Return the plan, with what each rung frees; ``condensed`` is the digest's share."""
    task = scene.task
    shrinks = with_true_pointers(shrinks, task.view)
    freed = {rung: Freed(rung, 0, 0) for rung in Rung}
    sizes = scene.size_by_id if shrinks else {}
    if shrinks and condense is None and task.shown is None:
        saved = sum([sizes[shrink.id] - task.counter.count(shrink.message) for shrink in shrinks])
        spare = scene.view_target - scene.before + saved
        shrinks = with_legend(shrinks, task.view, task.counter, spare)
    for shrink in shrinks:
        saved = sizes[shrink.id] - task.counter.count(shrink.message)
        freed[shrink.rung] = _with(freed[shrink.rung], saved)
    if condense is not None:
        freed[condense.rung] = _with(freed[condense.rung], condensed)
    used = tuple(one for one in freed.values() if one.operations)
    operations = (*([condense] if condense else ()), *shrinks)
    before = scene.before + (task.beside_tokens if condense else 0)
    target = task.target_tokens if condense else scene.view_target
    after = before - sum(one.tokens for one in used)
    return Plan(operations, before, after, target, str(task.trigger), task.reason, used)


def _with(freed: Freed, tokens: int) -> Freed:
    """Return a rung's total with one more operation."""
    return replace(freed, operations=freed.operations + 1, tokens=freed.tokens + tokens)
