"""Write docs/reference/cli.md from the commands' own help.

uv run python scripts/cli_page.py
"""

from __future__ import annotations

import contextlib
import io
import os
from pathlib import Path

from clew.cli import main
from clew.cli.commands import COMMANDS

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "cli.md"
HEAD = """\
# Commands

Written by `scripts/cli_page.py` from each command's `--help`. Exit status: 0 success, 1 the answer is no
(refused, damaged), 2 an error, 130 interrupted. Results go to standard output, notes and errors to standard
error. `NO_COLOR` turns colour off; `CLEW_PAGER` or `PAGER` names the pager; `CLEW_HOME` moves clew's
files.
"""


def page() -> str:
    """Return the page as it should be."""
    sections = [f"## clew {name}\n\n```text\n{_help(name)}```\n" for name in COMMANDS]
    return "\n".join([HEAD, f"```text\n{_help()}```\n", *sections])


def _help(*command: str) -> str:
    out = io.StringIO()
    os.environ["COLUMNS"] = "100"
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        main([*command, "--help"])
    return out.getvalue()


if __name__ == "__main__":
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
