"""Memory tiers: working, recall, archive, and the moves between them. See README.md."""

from clew.memory.tiers.archive import archive_digest
from clew.memory.tiers.codec import move_from_json, move_to_json
from clew.memory.tiers.fold import NOTHING_LEFT, after, fold_tiers, tiers_of
from clew.memory.tiers.moves import Moment, moves_due, moves_for
from clew.memory.tiers.tier import DEFAULT, Excerpt, Guest, Left, Move, Span, Stub, Tier, TierPolicy, Tiers

__all__ = [
    "DEFAULT",
    "NOTHING_LEFT",
    "Excerpt",
    "Guest",
    "Left",
    "Moment",
    "Move",
    "Span",
    "Stub",
    "Tier",
    "TierPolicy",
    "Tiers",
    "after",
    "archive_digest",
    "fold_tiers",
    "move_from_json",
    "move_to_json",
    "moves_due",
    "moves_for",
    "tiers_of",
]
