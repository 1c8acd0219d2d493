"""Propose how to shrink a view that is too large. See README.md."""

from clew.compaction.propose.brief import Outline, Written
from clew.compaction.propose.ladder import outline, propose, pruned_size

__all__ = ["Outline", "Written", "outline", "propose", "pruned_size"]
