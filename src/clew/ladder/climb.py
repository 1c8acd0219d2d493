"""The ladder: prune, then condense, gentlest first, until the view fits. Needs no model.

``propose`` returns a plan and changes nothing. It always ends: it fits, or says with a typed error what does
not. Rules that do not fit are an error, never a quiet loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from clew.ladder.cutting import Cut, fitting, no_room, page_of
from clew.ladder.prune import WORTH_TOKENS, prune
from clew.ladder.rules import OVERSIZED_TOKENS
from clew.ladder.situation import Scene, Situation
from clew.ladder.stubs import shorten
from clew.ladder.written import Outline, Written
from clew.message import Message, ToolCall, ToolResult
from clew.plan import Condense, Digest, Freed, Plan, Rung, Shrink
from clew.plan.undisturbed import undisturbed

__all__ = ["Situation", "outline", "propose"]

GIANT_SHARE = 0.5
"""Of the room: a recent message that takes more is shown in excerpt before anything is condensed."""
SPARE_SHARE = 0.1
"""Of the room: where more than this is left when all is said, more recent messages stay as they are."""


@undisturbed
def propose(now: Situation, written: Written | None = None) -> Plan:
    """Propose how to bring a view down to its target; an empty plan where it is there already.

    With ``written``, what somebody wrote about the span of ``outline`` goes into the digest, after what
    the ledger has to say and before people's words and facts.
    """
    scene = Scene(now)
    gentle = _gentle(scene)
    return _plan(scene, gentle) if gentle is not None else _with_digest(scene, written)


def _with_digest(scene: Scene, written: Written | None) -> Plan:
    """Condense what is old, as much of it as leaves room for the rest."""
    scene, cut = fitting(scene)
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
    _, cut = fitting(scene)
    return cut.assembly.outline(cut.digest_room) if cut.assembly else None


# Without a digest ------------------------------------------------------------------------------------


def _gentle(scene: Scene) -> list[Shrink] | None:
    """Return what is enough without a digest: nothing, or pruning; None where it takes more."""
    target = scene.now.target_tokens
    if scene.before <= target:
        return []
    if scene.room <= 0:
        raise no_room(scene)
    excess = scene.before - target
    most = max(OVERSIZED_TOKENS, int(scene.room * GIANT_SHARE))
    giants = [i for i in range(scene.stop, len(scene.view)) if scene.sizes[i] > most]
    if _may_free(scene) + sum(scene.sizes[i] for i in giants) < excess:
        return None
    page = page_of(scene, held=True)
    shrinks = prune(page, scene.stop, excess)
    for some in ([i for i in giants if i < scene.unread], [i for i in giants if i >= scene.unread]):
        if some and scene.tokens_with(shrinks) > target:
            shrinks += shorten(page, some, most, Rung.PRUNE)
    return shrinks if scene.tokens_with(shrinks) <= target else None


def _may_free(scene: Scene) -> int:
    """Return what pruning could free at most: of what tools were asked and answered."""
    old = zip(scene.view[scene.first : scene.stop], scene.sizes[scene.first : scene.stop], strict=True)
    return sum([size for item, size in old if size >= WORTH_TOKENS and _is_of_tools(item.message)])


def _is_of_tools(message: Message) -> bool:
    for part in message.parts:  # noqa: SIM110  # ``any`` would make a generator for each of thousands
        if isinstance(part, _OF_TOOLS):
            return True
    return False


_OF_TOOLS = (ToolCall, ToolResult)


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
