"""Instruction files: AGENTS.md, CLAUDE.md, GEMINI.md, CLEW.md, and rules for paths."""

from clew.request.instructions.files import Disk, FileKind, FileSource, InstructionScope, Roots, usual_roots
from clew.request.instructions.load import Instruction, LoadedInstructions, LoadLimits, Refused, load
from clew.request.instructions.track import changes, pieces_of, settled_ids

__all__ = [
    "Disk",
    "FileKind",
    "FileSource",
    "Instruction",
    "InstructionScope",
    "LoadLimits",
    "LoadedInstructions",
    "Refused",
    "Roots",
    "changes",
    "load",
    "pieces_of",
    "settled_ids",
    "usual_roots",
]
