"""Propose how to shrink a view that is too large. See README.md."""

from clew.ladder.brief import Brief
from clew.ladder.climb import outline, propose
from clew.ladder.situation import Situation
from clew.ladder.tail import Keep
from clew.ladder.told import brief_of
from clew.ladder.written import Outline, Written

__all__ = ["Brief", "Keep", "Outline", "Situation", "Written", "brief_of", "outline", "propose"]
