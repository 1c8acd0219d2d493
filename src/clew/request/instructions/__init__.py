"""Instruction files: AGENTS.md, CLAUDE.md, GEMINI.md, CLEW.md, and rules for paths."""

from clew.request.instructions.disk import Disk, usual_roots
from clew.request.instructions.files import FileKind, Files
from clew.request.instructions.include import Limits
from clew.request.instructions.load import Instruction, Loaded, Refused, load
from clew.request.instructions.places import Roots, Scope
from clew.request.instructions.track import changes, pieces_of, settled

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
