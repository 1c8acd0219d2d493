"""Draw docs/concepts/compaction.svg: what a terminal shows of a real compaction.

uv run python scripts/compaction_picture.py
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "concepts" / "compaction.svg"
COMMAND = ["compact", "examples/sphinx-9229.traj.json.zst", "--target-tokens", "2000", "--stats"]
WIDTH = 100
# The default frame loads its font from the network; our pages load nothing.
FRAME = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.S)


def picture() -> str:
    """Return the picture as it should be."""
    screen = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True, legacy_windows=False)
    screen.print(Text.assemble(("$ ", "bold green"), f"clew {' '.join(COMMAND)}"))
    screen.print(Text.from_ansi(_printed()))
    return screen.export_svg(title="clew compact", code_format=FRAME)


def _printed() -> str:
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM")}
    env = {**kept, "COLUMNS": str(WIDTH), "FORCE_COLOR": "1", "TERM": "xterm-256color", "PYTHONUTF8": "1"}
    command = [sys.executable, "-m", "clew", *COMMAND]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
