"""Instruction files: AGENTS.md, CLAUDE.md, GEMINI.md, CLEW.md, and rules for paths."""

from clew.request.instructions.files import Disk, FileKind, Files, Roots, Scope, usual_roots
from clew.request.instructions.load import Instruction, Limits, Loaded, Refused, load
from clew.request.instructions.track import changes, pieces_of, settled_ids

__all__ = [
    "Disk",
    "FileKind",
    "Files",
    "Instruction",
    "Limits",
    "Loaded",
    "Refused",
    "Roots",
    "Scope",
    "changes",
    "load",
    "pieces_of",
    "settled_ids",
    "usual_roots",
]
