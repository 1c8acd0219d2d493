"""Instruction files: AGENTS.md, CLAUDE.md, GEMINI.md, CLEW.md, and rules for paths."""

from clew.context.instructions.disk import Disk, usual_roots
from clew.context.instructions.files import FileKind, Files
from clew.context.instructions.include import Limits
from clew.context.instructions.load import Instruction, Loaded, Refused, load
from clew.context.instructions.places import Roots, Scope
from clew.context.instructions.track import changes, pieces_of, settled

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
    "settled",
    "usual_roots",
]
