"""Propose how to shrink a view that is too large. See README.md."""

from clew.compaction.propose.brief import MandatoryContent, Outline, Written
from clew.compaction.propose.ladder import outline, propose
from clew.compaction.propose.ledger_claims import mandatory_content
from clew.compaction.propose.scene import Situation
from clew.compaction.propose.tail import Keep

__all__ = [
    "Keep",
    "MandatoryContent",
    "Outline",
    "Situation",
    "Written",
    "mandatory_content",
    "outline",
    "propose",
]
