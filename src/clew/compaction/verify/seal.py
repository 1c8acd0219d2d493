"""What a digest must state about the messages it replaces, computed from the view."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from clew.compaction.plan import Condense, Digest
from clew.compaction.plan.digest import checksum
from clew.compaction.verify.case import Case


@dataclass(frozen=True, slots=True)
class Seal:
    """The span of a digest: level, covered messages, folded digests, checksum."""

    level: int
    covers: tuple[str, ...]
    folds: tuple[str, ...]
    checksum: str


def seal_of(case: Case, condense: Condense) -> Seal:
    """Return what the digest of an operation must state."""
    folded = [case.evidence.shown[name] for name in condense.ids if name in case.evidence.shown]
    condensed = frozenset(condense.ids).difference(case.evidence.shown)
    own = [item for item in case.evidence.view if item.id in condensed]
    return Seal(
        level=1 + max((digest.level for digest in folded), default=-1),
        covers=_covers(case, condense),
        folds=tuple(digest.id for digest in folded),
        checksum=checksum(own, "".join(digest.checksum for digest in folded)),
    )


def _covers(case: Case, condense: Condense) -> tuple[str, ...]:
    shown = case.evidence.shown
    if shown.keys().isdisjoint(condense.ids):
        return tuple(condense.ids)
    spans: Iterable[Sequence[str]] = (
        shown[name].covers if name in shown else (name,) for name in condense.ids
    )
    return tuple(name for span in spans for name in span)


def told_by(digest: Digest) -> Seal:
    """Return what a digest does state."""
    return Seal(digest.level, digest.covers, digest.folds, digest.checksum)
