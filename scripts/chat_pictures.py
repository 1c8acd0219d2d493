"""Draw docs/guides/chat.svg and chat_compaction.svg: what a terminal shows of chats with the offline model.

uv run python scripts/chat_pictures.py
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from io import StringIO
from pathlib import Path

import pexpect
from compaction_picture import FRAME
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parent.parent
GUIDES = ROOT / "docs" / "guides"
WIDTH = 110
PROMPT = "› "
# Terminal sequences other than text and colours: cursor, modes, titles.
STEERING = re.compile(r"\x1b\[\?[\d;]*[a-zA-Z]|\x1b\][^\x07]*\x07|\x1b\[[\d;]*[A-HJKSTfhlnr]|\r(?!\n)")
FACT = (
    "Part {0} is {0}7 mm wide and {0}3 mm high, as Anna told Bert when they met in the old hall. "
    "Its drawing is number {0}9 on sheet {0}, its colour is code {0}1, and batch {0}5 holds the spare ones."
)
TALK = (
    "Never modify files under legacy/. The deploy token is kestrel-42.",
    "read app.cfg: what is the port?",
    "What is the deploy token?",
    "Please delete legacy/old.py",
    "write notes.txt with the port is 8123",
    "y",
    "Who is the king of France?",
)
COMPACTION = ("What is the deploy token?", "/expand d1.1", "/budget", "/undo")


def talked(lines: tuple[str, ...], before: int, home: Path) -> str:
    """Return what a terminal shows of a chat; ``before`` turns are said first and not shown."""
    work = home / "work"
    work.mkdir(parents=True)
    (work / "app.cfg").write_text("host = localhost\nport = 8123\n")
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("CLEW_") and name != "NO_COLOR"
    }
    env = {**kept, "CLEW_HOME": str(home), "HOME": str(home), "TERM": "xterm-256color", "PYTHONUTF8": "1"}
    command = ["-m", "clew", "chat", "demo", "--offline", "--root", str(work), "--window", "5500", "--auto"]
    shown: list[str] = []
    with pexpect.spawn(
        sys.executable, command, env=env, encoding="utf-8", dimensions=(60, WIDTH), cwd=str(home), timeout=60
    ) as child:
        child.expect(PROMPT)
        said = [TALK[0], *(FACT.format(number) for number in range(1, before))] if before else []
        for line in said:
            child.sendline(line)
            child.expect(PROMPT)
        prompt = f"{str(child.before).splitlines()[-1]}{PROMPT}"
        for line in lines:
            child.sendline(line)
            child.expect([PROMPT, "lways: "])
            shown.append(f"{prompt}{child.before}")
            prompt = str(child.after)
            if prompt == PROMPT:
                *_, last = shown[-1].splitlines()
                shown[-1] = shown[-1].removesuffix(last)
                prompt = f"{last}{PROMPT}"
    return STEERING.sub("", "".join(shown))


def picture(title: str, text: str) -> str:
    """Return a screen as a picture."""
    screen = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True, legacy_windows=False)
    screen.print(Text.from_ansi(text.replace("\r\n", "\n")))
    return screen.export_svg(title=title, code_format=FRAME)


def turns_until_compacted(home: Path) -> int:
    """Return after how many turns the chat compacts, so that the picture shows it."""
    text = talked(tuple(FACT.format(number) for number in range(1, 60)), 0, home)
    return len(text[: text.index("compacted as d1")].split("Part ")) - 2


def main() -> None:
    """Draw both."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (GUIDES / "chat.svg").write_text(picture("clew chat", talked(TALK, 0, home / "a")), encoding="utf-8")
        number = turns_until_compacted(home / "b")
        lines = (FACT.format(number), FACT.format(number + 1), FACT.format(number + 2), *COMPACTION)
        text = talked(lines, number, home / "c")
        (GUIDES / "chat_compaction.svg").write_text(picture("clew chat --auto", text), encoding="utf-8")


if __name__ == "__main__":
    main()
