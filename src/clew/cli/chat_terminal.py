"""Input and output of ``clew chat`` on a terminal or in a script."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple, TextIO

from rich.console import Console
from rich.markdown import Markdown
from rich.text import Text

from clew.chat import (
    OFFLINE,
    ApprovalRequested,
    Chat,
    ChatEvent,
    ChatWarning,
    CommandOutput,
    Delta,
    ToolFinished,
    ToolStarted,
    TurnFailed,
    TurnStopped,
    ViewCompacted,
)
from clew.chat.commands import COMMANDS
from clew.chat.reports import meter
from clew.cli.terminal import Terminal
from clew.cli.text import arguments_line, count, hanging, one_line, printable
from clew.errors import ClewError
from clew.message import JsonObject
from clew.secrets import mask
from clew.settings import clew_home

MOST_HISTORY = 1_000


class InputLines:
    """Lines, one at a time."""

    is_tty = False

    def __init__(self, source: IO[str]) -> None:
        self._source = source
        self._waiting: list[str] = []

    @classmethod
    def of(cls, source: IO[str], out: TextIO) -> InputLines:
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


class TypedLines(InputLines):
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
    names = [f"/{command.name}" for command in COMMANDS if text]
    matching = [name for name in names if name.startswith(text)]
    return matching[state] if state < len(matching) else None


def _keep_history(line: str = "") -> None:
    import readline

    last = readline.get_current_history_length() - 1
    if last >= 0 and (kept := mask(line).text) != line:
        # Secrets that were typed are not written to the history file.
        readline.replace_history_item(last, kept)
    path = _history()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    readline.write_history_file(path)


def _history() -> Path:
    return clew_home() / "chat_history"


WIDTH = 100
"""Characters shown of a tool call's arguments and of its result."""
_FENCE = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}(?=[^`]*$)|~{3,})")
"""The beginning of a fence, also in the item of a list."""
_DEEPEST = 3
"""Columns by which the end of a fence may be indented deeper than its beginning, as CommonMark has it."""


class Screen:
    """Prints a chat: on a terminal replies as rendered Markdown blocks, otherwise text as it arrives."""

    question = "  allow? [y]es, [n]o, [a]lways: "

    def __init__(self, term: Terminal, is_tty: bool) -> None:
        self._console: Console = term.console()
        self._term = term
        self._is_tty = is_tty
        self._blocks = MarkdownBlocks()
        self._open = False
        """Part of a reply is on the current line, so the next notice needs a line break."""

    # Around a chat -------------------------------------------------------------------------------------

    def banner(self, chat: Chat) -> None:
        """Print the session, the model, the window and whether compaction is automatic."""
        session = chat.session
        about = ""
        if chat.model.name == OFFLINE:
            about = " (not a language model: it quotes the conversation and cites its sources)"
        auto = "on" if chat.auto else "off"
        self._term.note(printable(f"clew chat · {session.name} · {chat.model.name}{about}"))
        shown = len(session.view())
        resumed = f"{count(shown, 'message')} in view · " if shown else ""
        window = f"window {session.gauge.window.tokens:,} tokens"
        state = "everything off: a plain client" if session.is_off else f"automatic compaction {auto}"
        self._term.note(f"{resumed}{window} · {state} · /help lists the commands")
        self._term.err.flush()

    def farewell(self, chat: Chat) -> None:
        """Print how to continue this session later."""
        if chat.session.view():
            name = chat.session.name
            self._term.note(printable(f"saved as {name}; continue with `clew chat {name}`"))

    def prompt(self, chat: Chat) -> str:
        """Return the prompt, with how full the window is by region."""
        if chat.session.is_off:
            return "[off] › "
        try:
            return f"[{meter(chat.budget())}] › "
        except ClewError:
            return "[full] › "

    # Events --------------------------------------------------------------------------------------------

    def show(self, event: ChatEvent) -> None:
        """Print one event."""
        if isinstance(event, Delta):
            self._words(event)
            return
        self.settle()
        for row in rows(event):
            self._line(row)
        if isinstance(event, ApprovalRequested) and not self._is_tty:
            self._line(ScreenRow(self.question))

    def notify(self, text: str, style: str = "dim") -> None:
        """Print a notice about the chat itself."""
        self.settle()
        self._line(ScreenRow(text, style))

    def _line(self, row: ScreenRow) -> None:
        text = printable(row.text)
        if self._is_tty:
            text = hanging(text, self._console.width)
        self._console.print(Text(text, style=row.style), soft_wrap=not self._is_tty)

    # Replies -------------------------------------------------------------------------------------------

    def _words(self, delta: Delta) -> None:
        if delta.thinking:
            return  # thinking is kept in the log, but is not part of the answer
        if not self._is_tty:
            self._term.out.write(printable(delta.text))
            self._term.out.flush()
            self._open = True
            return
        for block in self._blocks.add(delta.text):
            self._render(block)

    def settle(self) -> None:
        """Print the rest of a reply."""
        if self._open:
            self._term.out.write("\n")
            self._term.out.flush()
            self._open = False
        self._render(self._blocks.take())

    def _render(self, block: str) -> None:
        if block.strip():
            self._console.print(Markdown(printable(block)))


class ScreenRow(NamedTuple):
    """A line and its style."""

    text: str
    style: str = ""


def rows(event: ChatEvent) -> Iterator[ScreenRow]:
    """Yield the lines of an event; none for text, which is streamed, and for events that are not shown."""
    match event:
        case ToolStarted(name=name, arguments=arguments):
            given: JsonObject = {key: value for key, value in arguments.items() if value is not None}
            yield ScreenRow(f"· {name} {arguments_line(given, WIDTH)}", "cyan")
        case ToolFinished(text=text, is_error=is_error):
            sign, style = ("✗", "red") if is_error else ("→", "dim")
            yield ScreenRow(f"  {sign} {one_line(text, WIDTH)}", style)
        case ApprovalRequested(what=what, against=rules):
            yield ScreenRow(f"? {what}", "bold yellow")
            yield from (ScreenRow(f"  against rule {rule}", "bold red") for rule in rules)
        case ViewCompacted(notice=notice):
            yield from (ScreenRow(f"◆ {line}", "yellow") for line in notice.lines())
        case ChatWarning(text=text):
            yield ScreenRow(f"⚠ {text}", "yellow")
        case TurnFailed(error=error, advice=advice):
            yield ScreenRow(f"✗ {error}{f' ({advice})' if advice else ''}", "red")
        case TurnStopped(kept=kept):
            note = f"; the partial reply is kept as {kept}" if kept else ""
            yield ScreenRow(f"interrupted{note}", "yellow")
        case CommandOutput(text=text):
            yield ScreenRow(text)


class MarkdownBlocks:
    """Splits Markdown that arrives in pieces into its blocks, each as soon as it is complete.

    A blank line ends a block, but not in a fence. Every line is read once.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._rest = ""
        """The last line, to which more may be added."""
        self._fence: tuple[str, int] | None = None
        """The characters that opened a fence, and their column; None outside of one."""

    def add(self, text: str) -> Iterator[str]:
        """Add a piece; yield the blocks that it completes."""
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self._lines.append(f"{line}\n")
            if self._fence is None:
                opened = _FENCE.match(line)
                self._fence = (opened[1], opened.start(1)) if opened else None
            elif _closes(line, *self._fence):
                self._fence = None
            if not line and self._fence is None:
                yield "".join(self._lines)
                self._lines.clear()

    def take(self) -> str:
        """Return what is left at the end, and start anew."""
        text = "".join([*self._lines, self._rest])
        self._lines, self._rest, self._fence = [], "", None
        return text


def _closes(line: str, fence: str, column: int) -> bool:
    """Return True if a line ends a fence: with as many of its characters or more, and nothing else."""
    marks = line.strip()
    is_indented = len(line) - len(line.lstrip()) > column + _DEEPEST
    return len(marks) >= len(fence) and not marks.strip(fence[0]) and not is_indented
