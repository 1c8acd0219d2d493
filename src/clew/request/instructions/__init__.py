"""Instruction files: AGENTS.md, CLAUDE.md, GEMINI.md, CLEW.md, and rules for paths.

``load(Disk(), usual_roots(project, trusted=True), touched=["src/app.py"])`` returns the files that apply to
work on ``src/app.py``: the user's own, the project's, those of ``src``, and rules whose patterns match.
"""

from clew.request.instructions.files import Disk, FileKind, InstructionScope, Roots, usual_roots
from clew.request.instructions.load import Instruction, LoadedInstructions, LoadLimits, Refused, load
from clew.request.instructions.pieces import changes, pieces_of, settled_ids

__all__ = [
    "Disk",
    "FileKind",
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
