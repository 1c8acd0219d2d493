"""Propose how to shrink a view that is too large. See README.md."""

from clew.compaction.propose.brief import Brief, Outline, Written
from clew.compaction.propose.ladder import outline, propose
from clew.compaction.propose.ledger_claims import brief_of
from clew.compaction.propose.scene import Situation
from clew.compaction.propose.tail import Keep

__all__ = ["Brief", "Keep", "Outline", "Situation", "Written", "brief_of", "outline", "propose"]
