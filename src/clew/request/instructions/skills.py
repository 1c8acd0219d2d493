"""The index of a project's skills: the name, description and path of each SKILL.md, never its content.

The agent opens a skill when it needs it, with its own tool for reading files. A file that may not become an
instruction, because of a link, another repository or invisible characters, is not listed; secrets are masked.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from unicodedata import normalize

from clew.message import Trust
from clew.message.text import ellipsize, one_line
from clew.request.instructions.files import Disk, why_not_followed
from clew.request.instructions.load import LoadLimits, hides_text
from clew.request.instructions.parse import front_matter
from clew.request.sections import SKILLS, Piece
from clew.secrets import mask

FOLDERS = (".claude/skills", ".agents/skills", "skills")
"""Where skills are looked for, below the project."""
MOST_SKILLS = 100
"""Skills that are listed (chosen by hand)."""
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
    root = root.resolve()
    for folder in FOLDERS:
        for path in sorted(root.glob(f"{folder}/*/SKILL.md")):
            text = "" if _fold(path) in ignored else _text(path, root)
            header = mask(front_matter(text)[0]).text
            fields = {name: _flat(value) for name, value in _FIELD.findall(header)}
            if fields.get("description"):
                name = fields.get("name") or path.parent.name
                yield f"- {name}: {fields['description']} ({path.relative_to(root).as_posix()})"


def _text(path: Path, root: Path) -> str:
    """Return the beginning of a skill's file; empty if it may not be listed."""
    disk, name = Disk(), path.as_posix()
    if not path.parent.name.isprintable() or why_not_followed(name, root.as_posix(), disk):
        return ""
    content = disk.read(name, LoadLimits().one_file) or b""
    text = content.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    return "" if hides_text(text) else text


def _fold(path: Path) -> str:
    return normalize("NFC", path.resolve().as_posix()).casefold()


def _flat(text: str) -> str:
    return ellipsize(one_line(text).strip("\"'"), _LONGEST_DESCRIPTION)
