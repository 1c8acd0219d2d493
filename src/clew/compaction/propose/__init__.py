"""Propose how to shrink a view that is too large. See README.md."""

from clew.compaction.propose.brief import Brief
from clew.compaction.propose.climb import outline, propose
from clew.compaction.propose.situation import Situation
from clew.compaction.propose.tail import Keep
from clew.compaction.propose.told import brief_of
from clew.compaction.propose.written import Outline, Written

__all__ = ["Brief", "Keep", "Outline", "Situation", "Written", "brief_of", "outline", "propose"]
