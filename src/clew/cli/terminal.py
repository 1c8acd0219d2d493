"""Output of commands: results go to standard output, notes and errors to standard error."""

from __future__ import annotations

import io
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, TextIO

from clew.cli.text import NARROW, as_typed, hanging, hanging_spans
from clew.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

DEFAULT_PAGER = "less -FRX"


@dataclass(frozen=True, slots=True)
class Terminal:
    """Writes to standard output and error; width and colours are those of the terminal at each call."""

    out: TextIO
    err: TextIO

    def write(self, text: str) -> None:
        """Write a line of machine-readable output."""
        self.out.write(f"{text}\n")

    def write_json(self, value: object) -> None:
        """Write a value as one line of JSON, its secrets masked."""
        from clew.secrets import mask_json  # imported only if JSON is written

        plain = json.loads(json.dumps(value, ensure_ascii=False))
        self.write(json.dumps(mask_json({"shown": plain})["shown"], ensure_ascii=False))

    def say(self, text: str) -> None:
        """Write lines for people: wrapped if the terminal is narrow."""
        self.write(hanging(as_typed(text), shutil.get_terminal_size((100, 24)).columns))

    def note(self, text: str) -> None:
        """Write a line to standard error."""
        self.err.write(f"{hanging(as_typed(text), shutil.get_terminal_size((100, 24)).columns)}\n")

    def console(self, out: IO[str] | None = None) -> Console:
        """Return a rich console on standard output, without colours if it does not support them."""
        from rich.console import Console

        paged = out is not None
        return Console(
            file=out or self.out,
            force_terminal=True if paged and not os.environ.get("NO_COLOR") else None,
            width=shutil.get_terminal_size((100, 24)).columns if paged or not self.out.isatty() else None,
            highlight=False,
            soft_wrap=False,
        )

    def print(self, *lines: Text | str) -> None:
        """Print styled lines."""
        console = self.console()
        for line in lines:
            if console.width < NARROW:
                print_wrapped(console, line)
            else:
                console.print(line, markup=False)

    @contextmanager
    def paged(self, wanted: bool = True) -> Iterator[Console]:
        """Yield a console that prints through the user's pager, if standard output is a terminal.

        Output is streamed: quitting the pager ends the command with ``BrokenPipeError``.
        """
        pager = os.environ.get("CLEW_PAGER") or os.environ.get("PAGER") or DEFAULT_PAGER
        command = _split(pager)
        if not wanted or not self.out.isatty() or not command or not shutil.which(command[0]):
            yield self.console()
            return
        with subprocess.Popen(command, stdin=subprocess.PIPE, text=True, encoding="utf-8") as reader:
            assert reader.stdin is not None
            try:
                yield self.console(reader.stdin)
            finally:
                with suppress(BrokenPipeError):  # the user quit the pager
                    reader.stdin.close()
                reader.wait()


def print_wrapped(console: Console, line: Text | str) -> None:
    """Print a line: on a narrow console wrapped below its last column, elsewhere left to the terminal."""
    from rich.text import Text

    text = Text(line) if isinstance(line, str) else line
    indent, spans = hanging_spans(text.plain, console.width)
    for number, (start, end) in enumerate(spans):
        row = Text(" " * indent if number else "") + text[start:end]
        console.print(row, markup=False, soft_wrap=True)


def _split(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return []  # unbalanced quotes: no pager


@contextmanager
def written_to(path: Path | None, term: Terminal, *, force: bool = False) -> Iterator[Terminal]:
    """Yield a terminal whose output goes to a file, if one is given.

    The file appears when the command has finished, and only its owner can read it.
    """
    if path is None:
        yield term
        return
    refuse_existing(path, force=force)
    with private_file(path) as file, io.TextIOWrapper(file, "utf-8", "backslashreplace") as out:
        yield Terminal(out, term.err)


@contextmanager
def private_file(path: Path) -> Iterator[IO[bytes]]:
    """Yield a file that takes the given name once it is complete; only its owner can read it."""
    try:
        handle, name = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".part", dir=path.parent)
    except OSError as cause:
        raise InputError(f"cannot write {path}: {cause.strerror}", "choose another file") from cause
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)


def refuse_existing(path: Path, *, force: bool) -> None:
    """Raise ``InputError`` if a file would be overwritten without ``--force``."""
    if path.exists() and not force:
        raise InputError(f"{path} already exists", "choose another name, or use --force")


def standard() -> Terminal:
    """Return the process's own streams, able to print any character; a closed stream discards its output."""
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115 - open until the process ends
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    return Terminal(sys.stdout, sys.stderr)
