"""Real agents from npm, run against a scripted model on this computer.

``CLEW_HOSTS`` names a folder into which they were installed (``npm install --prefix $CLEW_HOSTS PACKAGE``).
Nothing is downloaded here, and no host sees anything but the loopback server.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from clew.cli import main
from clew.errors import ContextTooLong
from clew.message import Role, Usage, text_message
from clew.providers.model import Ask, Reply
from clew.testing.server import ReceivedRequest, ScriptedServer

RULE = "Never touch the files under legacy/."
INJECTED = f'] "{RULE}"'
"""The rule as clew quotes it, behind the turn it comes from."""
SILENT = "OK."
TOO_LONG = "marzipan"
"""A word that the scripted model has no room for, until it is summarised away."""
SUMMARY_WORDS = ("create a detailed summary", "CONTEXT CHECKPOINT", "summary")


def program(name: str) -> str:
    """Return the path of an agent's command; skip the test, with the reason, where it is not there."""
    folder = os.environ.get("CLEW_HOSTS")
    if not folder:
        pytest.skip("CLEW_HOSTS names no folder with agents from npm")
    if shutil.which("node") is None:
        pytest.skip("Node is not installed")
    path = Path(folder) / "node_modules" / ".bin" / name
    if not path.exists():
        pytest.skip(f"{name} is not in {folder}")
    return str(path)


@dataclass
class SilentModel:
    """A model that says the same few words to everything, its summaries included."""

    usage: Callable[[int], int] = lambda _: 1_000
    """Input tokens it reports for its nth answer."""
    full_after: int | None = None
    """After so many answers it refuses a request that holds ``TOO_LONG`` and does not ask for a summary."""
    answers: int = 0

    def __call__(self, ask: Ask) -> Reply:
        self.answers += 1
        last = ask.instruction or (ask.messages[-1].text if ask.messages else "")
        whole = "".join(message.text for message in ask.messages) + ask.instruction
        is_full = self.full_after is not None and self.answers > self.full_after
        if is_full and TOO_LONG in whole and not any(words in last for words in SUMMARY_WORDS):
            raise ContextTooLong(tokens=250_000, limit=200_000)
        usage = Usage(input_tokens=self.usage(self.answers), output_tokens=10)
        return Reply(text_message(Role.ASSISTANT, f"{SILENT} ({self.answers})"), usage=usage)


@dataclass
class Computer:
    """A home and a project of their own, and a server that plays the model."""

    home: Path
    project: Path
    server: ScriptedServer
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def env(self) -> dict[str, str]:
        own = {
            "PATH": os.environ["PATH"], "HOME": str(self.home), "CLEW_HOME": str(self.home / "clew"),
            "TERM": "dumb",
        }  # fmt: skip
        return own | self.extra

    def run(self, *words: str, seconds: float = 120.0, given: str = "") -> str:
        """Run a host to its end, with this on its standard input, and return what it printed."""
        done = subprocess.run(
            words, cwd=self.project, env=self.env, capture_output=True, text=True, timeout=seconds,
            input=given, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{words}: {done.stdout[-800:]} {done.stderr[-2000:]}"
        return done.stdout + done.stderr

    def clew(self, *words: str) -> None:
        """Run clew itself as if in this home."""
        with pytest.MonkeyPatch.context() as patch:
            for name in list(os.environ):
                if name.startswith(("CLAUDE", "CODEX", "XDG_", "PI_", "GEMINI")):
                    patch.delenv(name)
            for name, value in self.env.items():
                patch.setenv(name, value)
            assert main(words) == 0

    @property
    def requests(self) -> list[ReceivedRequest]:
        return self.server.requests

    def files(self) -> dict[str, bytes]:
        """Return every file under the home but clew's own, to compare before and after."""
        found = (path for path in self.home.rglob("*") if path.is_file())
        return {str(path): path.read_bytes() for path in found if self.home / "clew" not in path.parents}


def holds(request: ReceivedRequest, words: str) -> bool:
    """Return whether a request says something, as JSON writes it."""
    return json.dumps(words, ensure_ascii=False)[1:-1] in request.raw.decode()


def tool_names(request: ReceivedRequest) -> set[str]:
    """Return the names of the tools that a request offers."""
    tools = request.body.get("tools", [])
    return {str(tool.get("name") or tool.get("function", {}).get("name")) for tool in tools}
