"""The progress log: what a session got done, derived by code and kept outside the prompt."""

from clew.request.progress.checkpoint import Checkpoint, Point, checkpoint_from_json, checkpoint_to_json
from clew.request.progress.show import as_text, progress_piece
from clew.request.progress.take import checkpoint_from, checkpoints, next_checkpoint

__all__ = [
    "Checkpoint",
    "Point",
    "as_text",
    "checkpoint_from",
    "checkpoint_from_json",
    "checkpoint_to_json",
    "checkpoints",
    "next_checkpoint",
    "progress_piece",
]
