"""The index of a project's skills: the name, description and path of each SKILL.md, never its content.

The agent opens a skill when it needs it, with its own tool for reading files.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from unicodedata import normalize

from clew.message import Trust
from clew.message.text import ellipsize, one_line
from clew.request.instructions.files import Disk
from clew.request.instructions.parse import front_matter
from clew.request.sections import SKILLS, Piece

FOLDERS = (".claude/skills", ".agents/skills", "skills")
"""Where skills are looked for, below the project."""
MOST_SKILLS = 100
"""Skills that are listed (chosen by hand)."""
_MOST_BYTES = 8_192
"""Bytes of a SKILL.md that are searched for its header (chosen by hand)."""
_LONGEST_DESCRIPTION = 400
"""Characters of a description (chosen by hand)."""
_FIELD = re.compile(
    r"^(name|description):[ \t]*(?:[|>][-+1-9]{0,2}[ \t]*$)?(.*(?:\n[ \t]+.*)*)", re.MULTILINE
)
"""A field of the header with its value, without a YAML block indicator such as ``|`` or ``>-``."""


def skill_index(root: Path, ignored: Collection[str] = ()) -> Piece | None:
    """Return the skills below a trusted folder as one piece; None if there are none.

    ``ignored`` are files that do not count (case-folded), such as those that the session itself wrote.
    """
    lines = list(_lines(root, ignored))[:MOST_SKILLS]
    if not lines:
        return None
    text = "\n".join(["Before work that one of them is about, read its file.", *lines])
    return Piece(SKILLS, text, "skills", Trust.USER, cuttable=True)


def _lines(root: Path, ignored: Collection[str]) -> Iterator[str]:
    disk = Disk()
    for folder in FOLDERS:
        for path in sorted(root.glob(f"{folder}/*/SKILL.md")):
            content = None if _fold(path) in ignored else disk.read(path.as_posix(), _MOST_BYTES)
            text = content.decode("utf-8-sig", "replace").replace("\r\n", "\n") if content else ""
            fields = {name: _flat(value) for name, value in _FIELD.findall(front_matter(text)[0])}
            if fields.get("description"):
                name = fields.get("name") or path.parent.name
                yield f"- {name}: {fields['description']} ({path.relative_to(root).as_posix()})"


def _fold(path: Path) -> str:
    return normalize("NFC", path.resolve().as_posix()).casefold()


def _flat(text: str) -> str:
    return ellipsize(one_line(text).strip("\"'"), _LONGEST_DESCRIPTION)
