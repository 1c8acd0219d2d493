"""Write what ``clew compact`` draws: ``python -m tests.cli.golden.make``, then read the diff."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from clew.message import Role, text_message
from clew.providers import convert
from tests.session.talk import talk

SCREEN = Path(__file__).parent / "compact.txt"
COMMAND = ("compact", "talk.json", "--target-tokens", "3000")


def body(wire: str = "anthropic") -> dict[str, object]:
    """Return a session of 86 messages, with a rule in its second turn, as a request body."""
    messages = [*talk()][:-1]
    return convert(
        [*messages, text_message(Role.USER, "Now run the tests and tell me what fails.")], wire
    ).body


def screen() -> str:
    """Return what a terminal of 100 columns shows of its compaction."""
    env = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "PYTHONUTF8": "1"}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "talk.json").write_text(json.dumps(body()))
        done = subprocess.run(
            [sys.executable, "-m", "clew", *COMMAND], cwd=folder, env=env, capture_output=True, check=True
        )
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.decode().splitlines())


if __name__ == "__main__":
    SCREEN.write_text(screen(), encoding="utf-8")
