"""A chat as a terminal shows it: draws happenings, and decides nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import singledispatch
from typing import NamedTuple

from rich.console import Console
from rich.markdown import Markdown
from rich.text import Text

from clew.chat import (
    OFFLINE,
    ApprovalWanted,
    Chat,
    Compacted,
    Delta,
    Failed,
    Happening,
    Stopped,
    Told,
    ToolAsked,
    ToolDone,
    Warned,
)
from clew.chat.picture import meter
from clew.cli.terminal import Terminal
from clew.cli.text import arguments_line, count, one_line, printable
from clew.errors import ClewError
from clew.message import JsonObject

WIDTH = 100
"""Characters of a line that only hints at what a tool was told or answered."""
_FENCE = re.compile(r"^(?:```|~~~)", re.M)


class Screen:
    """Draws a chat: for people, replies block by block; for scripts, words as they come."""

    question = "  allow? [y]es, [n]o, [a]lways: "

    def __init__(self, term: Terminal, is_tty: bool) -> None:
        self._console: Console = term.console()
        self._term = term
        self._is_tty = is_tty
        self._pending = ""
        self._open = False
        """Words of a reply stand on the line that is being written."""

    # Around a chat -------------------------------------------------------------------------------------

    def banner(self, chat: Chat) -> None:
        """Say what this is and who answers."""
        session = chat.session
        kind = (
            " (no language model: it quotes what was said and cites where)"
            if chat.model.name == OFFLINE
            else ""
        )
        auto = "on" if chat.auto else "off"
        self._term.note(printable(f"clew chat · {session.name} · {chat.model.name}{kind}"))
        shown = len(session.view())
        resumed = f"{count(shown, 'message')} in view · " if shown else ""
        window = f"window {session.gauge.window.tokens:,} tokens"
        self._term.note(f"{resumed}{window} · automatic compaction {auto} · /help lists commands")
        self._term.err.flush()

    def farewell(self, chat: Chat) -> None:
        """Say how to come back."""
        if chat.session.view():
            self._term.note(
                printable(f"kept as {chat.session.name}; `clew chat {chat.session.name}` goes on")
            )

    def prompt(self, chat: Chat) -> str:
        """Return the prompt, with how full the window is by region."""
        if chat.session.is_off:
            return "[off] › "
        try:
            return f"[{meter(chat.budget())}] › "
        except ClewError:
            return "[full] › "

    # What happens --------------------------------------------------------------------------------------

    def show(self, happening: Happening) -> None:
        """Draw one happening."""
        if isinstance(happening, Delta):
            self._words(happening)
            return
        self.settle()
        for row in rows(happening):
            self._line(row)
        if isinstance(happening, ApprovalWanted) and not self._is_tty:
            self._line(Row(self.question))

    def complain(self, error: ClewError, advice: str = "") -> None:
        """Say what went wrong and what to do."""
        self.show(Failed(error, advice))

    def tell(self, text: str) -> None:
        """Say something about the chat itself."""
        self.settle()
        self._line(Row(text, "dim"))

    def _line(self, row: Row) -> None:
        self._console.print(Text(printable(row.text), style=row.style), soft_wrap=not self._is_tty)

    # Replies -------------------------------------------------------------------------------------------

    def _words(self, delta: Delta) -> None:
        if delta.thinking:
            return  # kept in the log; not everybody's to read, and never the answer
        if not self._is_tty:
            self._term.out.write(printable(delta.text))
            self._term.out.flush()
            self._open = True
            return
        self._pending += delta.text
        while (cut := _block_end(self._pending)) is not None:
            block, self._pending = self._pending[:cut], self._pending[cut:]
            self._render(block)

    def settle(self) -> None:
        """Draw what of a reply is not drawn yet."""
        if self._open:
            self._term.out.write("\n")
            self._term.out.flush()
            self._open = False
        if self._pending.strip():
            self._render(self._pending)
        self._pending = ""

    def _render(self, block: str) -> None:
        if block.strip():
            self._console.print(Markdown(printable(block)))


class Row(NamedTuple):
    """A line, and how it looks."""

    text: str
    style: str = ""


@singledispatch
def rows(_happening: object) -> Iterator[Row]:
    """Yield what a happening looks like; what is shown by its words alone, or not at all, has no lines."""
    yield from ()


@rows.register
def _(asked: ToolAsked) -> Iterator[Row]:
    given: JsonObject = {name: value for name, value in asked.arguments.items() if value is not None}
    yield Row(f"· {asked.name} {arguments_line(given, WIDTH)}", "cyan")


@rows.register
def _(done: ToolDone) -> Iterator[Row]:
    sign, style = ("✗", "red") if done.is_error else ("→", "dim")
    yield Row(f"  {sign} {one_line(done.text, WIDTH)}", style)


@rows.register
def _(wanted: ApprovalWanted) -> Iterator[Row]:
    yield Row(f"? {wanted.what}", "bold yellow")
    for rule in wanted.against:
        yield Row(f"  against rule {rule}", "bold red")


@rows.register
def _(compacted: Compacted) -> Iterator[Row]:
    for line in compacted.notice.lines():
        yield Row(f"◆ {line}", "yellow")


@rows.register
def _(warned: Warned) -> Iterator[Row]:
    yield Row(f"⚠ {warned.text}", "yellow")


@rows.register
def _(failed: Failed) -> Iterator[Row]:
    yield Row(f"✗ {failed.error}{f' ({failed.advice})' if failed.advice else ''}", "red")


@rows.register
def _(stopped: Stopped) -> Iterator[Row]:
    yield Row(
        f"interrupted{f'; the part that came is kept as {stopped.kept}' if stopped.kept else ''}", "yellow"
    )


@rows.register
def _(told: Told) -> Iterator[Row]:
    yield Row(told.text)


def _block_end(text: str) -> int | None:
    """Return where the first block of Markdown ends; None while it may go on. A fence is never cut."""
    start = 0
    while (blank := text.find("\n\n", start)) >= 0:
        if len(_FENCE.findall(text[:blank])) % 2 == 0:
            return blank + 2
        start = blank + 2
    return None
