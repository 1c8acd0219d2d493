"""Memory tiers: working, recall, archive, and the moves between them. See README.md."""

from clew.memory.tiers.events import (
    NOTHING_LEFT,
    apply_moves,
    archive_digest,
    fold_tiers,
    move_from_json,
    move_to_json,
    tiers_of,
)
from clew.memory.tiers.moves import Moment, moves_due, moves_for
from clew.memory.tiers.tier import DEFAULT, EvictedSpan, Excerpt, Tier, TierMove, TierPolicy, Tiers

__all__ = [
    "DEFAULT",
    "NOTHING_LEFT",
    "EvictedSpan",
    "Excerpt",
    "Moment",
    "Tier",
    "TierMove",
    "TierPolicy",
    "Tiers",
    "apply_moves",
    "archive_digest",
    "fold_tiers",
    "move_from_json",
    "move_to_json",
    "moves_due",
    "moves_for",
    "tiers_of",
]
