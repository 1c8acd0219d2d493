"""Compact a range of messages that a person chose; all others stay as they are.

A view has one digest, at its beginning. So a range that begins with the oldest messages becomes a digest,
into which an earlier one is folded; any other range is shortened in place.
"""

from __future__ import annotations

from clew.compaction.plan import Rung, Shrink
from clew.compaction.propose.digest_builder import DigestBuilder
from clew.compaction.propose.digest_content import CHANGES_SHARE
from clew.compaction.propose.digest_input import MandatoryLimits
from clew.compaction.propose.protected_places import context_for
from clew.compaction.propose.prune import prune_repeated
from clew.compaction.propose.scene import Scene
from clew.compaction.propose.shrink import shorten
from clew.compaction.propose.tail import faded_part, part_level
from clew.errors import NothingToGain

DIGEST_SHARE = 0.3
"""Share of a range's tokens that its digest may take; chosen by hand."""


def range_digest(scene: Scene, stop: int) -> tuple[DigestBuilder, int]:
    """Return the digest of the messages up to an index, before it is filled, and the tokens it may take."""
    tokens = scene.tokens(scene.first, stop)
    limits = MandatoryLimits(for_changes=int(tokens * DIGEST_SHARE * CHANGES_SHARE))
    builder = DigestBuilder(scene, scene.task.view[scene.first : stop], limits)
    least = builder.least_tokens
    if least >= tokens:
        what = f"rules and open work alone would take {least:,} tokens, and the range has {tokens:,}"
        raise NothingToGain(f"nothing to gain: {what}")
    return builder, max(least, int(tokens * DIGEST_SHARE))


def faded_range(scene: Scene, start: int, stop: int) -> list[Shrink]:
    """Return the shrinks that prune and fade the messages between two indices."""
    # There is no digest to state rules and open work, so their places stay readable in the excerpts.
    context = context_for(scene, protect=True)
    shrinks = prune_repeated(context, start, stop)
    pruned = {shrink.id for shrink in shrinks}
    count = scene.task.counter.count_part
    for i in range(start, stop):
        message = scene.view[i].message
        if scene.view[i].id not in pruned:
            tokens = sum(faded_part(message, part, count(part)) for part in message.parts)
            most_per_part = part_level(message, tokens, count)
            shrinks += shorten(context, (i,), most_per_part, Rung.PRUNE)
    return shrinks
