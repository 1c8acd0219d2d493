"""Propose how to shrink a view: the ladder. See README.md."""

from clew.compact.brief import Brief
from clew.compact.ladder import outline, propose
from clew.compact.situation import Situation
from clew.compact.tail import Keep
from clew.compact.told import brief_of
from clew.compact.written import Outline, Written

__all__ = ["Brief", "Keep", "Outline", "Situation", "Written", "brief_of", "outline", "propose"]
