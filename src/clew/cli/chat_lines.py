"""Input of ``clew chat``: lines typed at a terminal, with history and completion, or piped in."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import IO, TextIO

from clew.chat.commands import COMMANDS
from clew.secrets import mask
from clew.settings import clew_home

HISTORY = "chat_history"
MOST_HISTORY = 1_000
PRIVATE = 0o600


class Lines:
    """Lines, one at a time."""

    is_tty = False

    def __init__(self, source: IO[str]) -> None:
        self._source = source
        self._waiting: list[str] = []

    @classmethod
    def of(cls, source: IO[str], out: TextIO) -> Lines:
        """Return the lines of a stream; at a terminal, with history and completion."""
        return TypedLines(source) if source.isatty() and out.isatty() else cls(source)

    def read(self, prompt: str) -> str | None:
        """Return the next line, or None at the end of input."""
        if self._waiting:
            return self._waiting.pop()
        return self._next(prompt)

    def put_back(self, line: str) -> None:
        """Push a line back, to be returned next."""
        self._waiting.append(line)

    def _next(self, _prompt: str) -> str | None:
        line = self._source.readline()
        return line.rstrip("\n") if line else None


class TypedLines(Lines):
    """Lines typed at a terminal."""

    is_tty = True

    def __init__(self, source: IO[str]) -> None:
        super().__init__(source)
        with suppress(ImportError):  # not every Python has readline; typing works without
            _prepare_readline()

    def _next(self, prompt: str) -> str | None:
        try:
            line = input(prompt)
        except EOFError:
            return None
        with suppress(ImportError, OSError):
            _keep_history(line)
        return line


def _prepare_readline() -> None:
    import readline

    with suppress(OSError):
        readline.read_history_file(_history())
    readline.set_history_length(MOST_HISTORY)
    readline.set_completer_delims(" \n")
    readline.set_completer(completed)
    readline.parse_and_bind("tab: complete")


def completed(text: str, state: int) -> str | None:
    """Return the ``state``-th command that begins with a text."""
    names = (
        [f"/{command.name}" for command in COMMANDS if f"/{command.name}".startswith(text)] if text else []
    )
    return names[state] if state < len(names) else None


def _keep_history(line: str = "") -> None:
    import readline

    last = readline.get_current_history_length() - 1
    if last >= 0 and (kept := mask(line).text) != line:
        readline.replace_history_item(
            last, kept
        )  # secrets that were typed are not written to the history file
    path = _history()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=PRIVATE)
    readline.write_history_file(path)


def _history() -> Path:
    return clew_home() / HISTORY
