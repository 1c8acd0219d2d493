"""What must stay readable when a view is shortened: rules, goal, open items, decisions, failures.

A digest states these. Without one, the places in the messages that say them are protected instead: excerpts
show them in any case. ``context_for`` returns the ``ShrinkContext`` of a scene with or without these places.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clew.compaction.ledger_claims import MOST_DECISIONS
from clew.compaction.propose.digest_input import NEVER_LEFT_OUT
from clew.compaction.propose.scene import Scene
from clew.compaction.propose.shrink_context import ShrinkContext
from clew.compaction.work_claims import MOST_FAILURES
from clew.ledger.reported_failures import failure_spans
from clew.message import Cite, Item, Role, Text


def context_for(scene: Scene, *, protect: bool) -> ShrinkContext:
    """Return the view to shorten; if ``protect``, with what a digest would state kept readable."""
    places = (scene.protected or _protected_places(scene)) if protect else {}
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


def _protected_places(scene: Scene) -> dict[str, list[Cite]]:
    """Return the places of rules, open items, decisions and failures that were not fixed, by message."""
    brief = scene.task.mandatory(())
    ledger = scene.task.ledger
    cites = [
        *(pin.source for pin in brief.pins),
        *(claim.sources[0] for claim in brief.claims if claim.kind in NEVER_LEFT_OUT),
        *(decision.source for decision in ledger.decisions[-MOST_DECISIONS:]),
        *(cite for one in ledger.failures[-MOST_FAILURES:] if not one.is_fixed for cite in one.sources),
    ]
    places: dict[str, list[Cite]] = {}
    for cite in (*cites, *_reported_failures(scene.view)):
        places.setdefault(cite.message, []).append(cite)
    return places


def _reported_failures(view: Sequence[Item]) -> Iterator[Cite]:
    """Yield the sentences of long texts of the agent that state a failure."""
    for item in view:
        for number, part in enumerate(item.message.parts if item.message.role is Role.ASSISTANT else ()):
            if isinstance(part, Text):
                yield from (Cite(item.id, number, *span) for span in failure_spans(part.text))
