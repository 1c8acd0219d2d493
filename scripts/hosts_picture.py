"""Draw docs/guides/hosts.svg: clew in Claude Code, from installing it to a rule that a summary dropped.

CLEW_HOSTS=FOLDER uv run python scripts/hosts_picture.py

FOLDER is where Claude Code was installed with npm (see tests/hosts/real.py). The model is scripted and runs
on this computer; Claude Code, its compaction and all that clew prints are real.
"""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
import tempfile
from io import StringIO
from pathlib import Path

from compaction_picture import FRAME
from rich.console import Console
from rich.text import Text

from clew.message import Message, Role, ToolCall, Usage, text_message
from clew.providers.model import Ask, Reply, Stop
from clew.testing.server import ScriptedServer

PICTURE = Path(__file__).parent.parent / "docs" / "guides" / "hosts.svg"
CLAUDE = Path(os.environ.get("CLEW_HOSTS", ".")) / "node_modules" / ".bin" / "claude"
WIDTH = 104
RULE = "Never touch the files under legacy/."
TURNS = ("Fix the parser: floats fail", f"Good. {RULE} Now negative numbers", "And then?")
FILES = {
    "src/parser.py": "from lexer import lex\n\n\ndef parse(text):\n    return list(lex(text))\n",
    "src/lexer.py": "import re\n\n\ndef lex(text):\n    return re.findall(r'[0-9]+', text)\n",
    "tests/check.py": "print('2 passed, 1 failed: test_floats expected 1.5, got 1 and 5')\n",
    "legacy/grammar.py": "PORT = 8123\n",
}
FIXED = "import re\n\n\ndef lex(text):\n    return re.findall(r'[0-9.]+', text)\n"
WORK = (
    ("Read", {"file_path": "src/parser.py"}),
    ("Read", {"file_path": "src/lexer.py"}),
    ("Read", {"file_path": "tests/check.py"}),
    ("Bash", {"command": "python3 tests/check.py"}),
    ("Read", {"file_path": "legacy/grammar.py"}),
    ("Write", {"file_path": "src/lexer.py", "content": FIXED}),
    ("Bash", {"command": "python3 -c \"print('3 passed')\""}),
    ("Bash", {"command": "ls src tests"}),
)
REPORT = "src/lexer.py stopped at the point of a float; it reads fractions now. 3 passed."


def model(ask: Ask) -> Reply:
    """Work through the calls of a turn, then report; summarise the session in words that say little."""
    usage = Usage(input_tokens=9_000, output_tokens=20)
    if "detailed summary" in ask.instruction:
        return Reply(
            text_message(Role.ASSISTANT, "<summary>Work on the parser goes on.</summary>"), usage=usage
        )
    turn = itertools.takewhile(lambda one: one.role is not Role.USER or one.results, reversed(ask.messages))
    done = sum(len(list(message.calls)) for message in turn)
    if done == len(WORK):
        return Reply(text_message(Role.ASSISTANT, REPORT), usage=usage)
    name, given = WORK[done]
    call = ToolCall(f"t{len(ask.messages)}", name, dict(given))
    return Reply(Message(Role.ASSISTANT, (call,)), usage=usage, stop=Stop.TOOL_CALL)


class Recording:
    """Commands and what they print, on one screen."""

    def __init__(self, home: Path, url: str) -> None:
        """Begin with a project in a home of its own; ``url`` is where the model is."""
        self.screen = Console(
            record=True, width=WIDTH, file=StringIO(), force_terminal=True, legacy_windows=False
        )
        self.project = home / "project"
        for name, text in FILES.items():
            path = self.project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "CLEW_HOME": str(home / ".clew"),
            "TERM": "xterm-256color",
            "COLUMNS": str(WIDTH),
            "FORCE_COLOR": "1",
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }

    def run(self, shown: str, *command: str, most: int = 40) -> None:
        """Run a command, and show at most so many lines of what it prints."""
        done = subprocess.run(
            command, cwd=self.project, env=self.env, capture_output=True, text=True, check=True, input=""
        )
        self.screen.print(Text.assemble(("$ ", "bold green"), shown))
        lines = done.stdout.replace(self.env["HOME"], "~").rstrip().splitlines()
        more = len(lines) - most
        cut = [*lines[:1], f"… {more} more …", *lines[more + 1 :]] if more > 0 else lines
        self.screen.print(Text.from_ansi("\n".join(cut)))

    def say(self, text: str) -> None:
        """Say something to Claude Code, in the session that is open if there is one."""
        resumed = ("--continue",) if list(Path(self.env["HOME"]).glob(".claude/projects/*/*.jsonl")) else ()
        words = ("-p", text, *resumed, "--model", "claude-sonnet-4-5", "--permission-mode", "acceptEdits")
        shown = f'claude -p {"--continue " if resumed else ""}"{text}"'
        self.run(shown, str(CLAUDE), *words, "--allowedTools", "Bash")

    def note(self, text: str) -> None:
        """Show a remark."""
        self.screen.print(Text(text, style="italic dim"))


def picture() -> str:
    """Return the current picture."""
    clew = (sys.executable, "-m", "clew")
    with tempfile.TemporaryDirectory() as folder, ScriptedServer.always(model, strict=False) as server:
        here = Recording(Path(folder), server.url)
        here.run("clew install claude-code", *clew, "install", "claude-code", most=3)
        for text in TURNS[:2]:
            here.say(text)
        here.say("/compact")
        here.say(TURNS[2])
        here.note("# the first request after the compaction, as the model got it:")
        found = (
            re.search(r"<clew-reminder>.*?</clew-reminder>", one.raw.decode()) for one in server.requests
        )
        text = next(one[0] for one in found if one).replace("\\n", "\n").replace('\\"', '"')
        here.screen.print(Text(text, style="cyan"))
        here.run("clew lost", *clew, "lost")
    return here.screen.export_svg(title="clew in Claude Code", code_format=FRAME)


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
