"""Draw docs/guides/sessions.svg: what a terminal shows of the sessions on a computer, and of what one lost.

uv run python -m scripts.sessions_picture
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from io import StringIO
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text
from tests.cli.homes import MOVED, make_home

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "guides" / "sessions.svg"
COMMANDS = (["sessions", "--limit", "3"], ["lost", "3f2a9c10"], ["bill", "3f2a9c10"])
WIDTH = 88
# The default frame loads its font from the network; our pages load nothing.
FRAME = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.S)


def picture() -> str:
    """Return the picture as it should be."""
    screen = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True, legacy_windows=False)
    with tempfile.TemporaryDirectory() as folder:
        home = make_home(Path(folder, "home"))
        for command in COMMANDS:
            screen.print(Text.assemble(("$ ", "bold green"), f"clew {' '.join(command)}"))
            screen.print(Text.from_ansi(_printed(command, home)))
    return screen.export_svg(title="clew", code_format=FRAME)


def _printed(command: list[str], home: Path) -> str:
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM", *MOVED)}
    env = {**kept, "HOME": str(home), "COLUMNS": str(WIDTH), "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    ran = [sys.executable, "-m", "clew", *command]
    return subprocess.run(ran, cwd=home, env=env, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
