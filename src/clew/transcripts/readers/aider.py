"""aider: its chat history in Markdown, many sessions in one file (``.aider.chat.history.md``).

For example, with two spaces at the end of the second and third line::

    # aider chat started at 2026-01-05 10:00:00
    #### fix the login
    > Tokens: 2.1k sent, 300 received.
    I changed login.py …

``####`` starts the user's lines and ``>`` the output of aider and of commands it runs. Both end in two
spaces, aider's line break; a heading or quotation by the model does not. In architect mode aider passes the
reply of one model to another as if the user had typed it: such lines are not the user's words.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from clew.message import Message, Role, Trust, text_message
from clew.transcripts.fields import name_of
from clew.transcripts.messages import injected_message
from clew.transcripts.records import Boundary, Entry, Problem, Record, Start
from clew.transcripts.source import Source, text_lines

NAME = "aider"
_CHAT = "# aider chat started at "
_PERSON, _TOOL, _BREAK = "#### ", "> ", "  "
_LIKELY = 0.6
_FORGET = ("/clear", "/reset")
"""Commands after which the model no longer sees what was said before."""
_SHORTEST_ECHO = 40
"""Characters from which on aider, not a person, repeats a reply. Chosen by hand."""


def sniff(source: Source) -> float:
    """Return 1 if a line starts a chat, ``_LIKELY`` if there are a user's line and a tool's line, else 0."""
    if source.is_directory:
        return 0
    lines = source.peek().decode(errors="replace").splitlines()
    if any(line.startswith(_CHAT) for line in lines):
        return 1
    has_person = any(line.startswith(_PERSON) for line in lines)
    has_tool = any(line.startswith(_TOOL) and line.endswith(_BREAK) for line in lines)
    return _LIKELY if has_person and has_tool else 0


class _Speaker(Enum):
    PERSON = "person"
    TOOL = "tool"
    MODEL = "model"


def read(source: Source) -> Iterator[Record]:
    """Read every chat that has content."""
    name = name_of(source, ".md")
    chat = _AiderChat(name)
    for number, line in text_lines(source):
        if line.startswith(_CHAT):
            yield from chat.flush()
            time = line.removeprefix(_CHAT).strip().replace(" ", "T")
            chat = _AiderChat(f"{name}#L{number}@{time}", time)
        else:
            yield from chat.line(number, line)
    yield from chat.flush()
    if source.damage:
        yield Problem(source.damage)


@dataclass(slots=True)
class _AiderChat:
    """One chat: collects the lines of each speaker."""

    name: str
    """Every project's history has the same file name: position and time identify a chat."""
    time: str | None = None
    started: bool = False
    speaker: _Speaker | None = None
    since: int = 0
    words: list[str] = field(default_factory=list)
    reply: str = ""
    """The model's last reply, with single spaces."""

    def line(self, number: int, line: str) -> Iterator[Record]:
        """Add one line."""
        speaker, words = self._attribute(line)
        if speaker is not self.speaker:
            yield from self.flush()
            self.speaker, self.since = speaker, number
        self.words.append(words)

    def flush(self) -> Iterator[Record]:
        """Yield what the speaker said."""
        text = "\n".join(self.words).strip("\n")
        self.words.clear()
        if self.speaker is None or not text.strip():
            return
        if not self.started:
            self.started = True
            yield Start(self._id(text), NAME, time=self.time)
        yield Entry(self._message(text), f"L{self.since}", self.since)
        if self.speaker is _Speaker.PERSON and text.strip() in _FORGET:
            yield Boundary(f"L{self.since}:forgotten", self.since, trigger="clear")

    def _message(self, text: str) -> Message:
        match self.speaker:
            case _Speaker.MODEL:
                self.reply = " ".join(text.split())
                return text_message(Role.ASSISTANT, text)
            case _Speaker.PERSON if not self._is_echo(text):
                return text_message(Role.USER, text)
            case _Speaker.PERSON:
                return injected_message(text, Trust.ASSISTANT)
            case _:
                # aider's own text cannot be distinguished from the output of a command.
                return injected_message(text, Trust.UNTRUSTED)

    def _is_echo(self, text: str) -> bool:
        """Return True if a user's text is the model's last reply, or its end after the reasoning."""
        plain = " ".join(text.split())
        return len(plain) >= _SHORTEST_ECHO and self.reply.endswith(plain)

    def _id(self, first: str) -> str:
        """Return the chat's id; if its time is unknown, from a hash of its first text."""
        if self.time is not None:
            return self.name
        return f"{self.name}-{hashlib.sha256(first.encode(errors='replace')).hexdigest()[:8]}"

    def _attribute(self, line: str) -> tuple[_Speaker | None, str]:
        """Return the speaker of a line and its text: the model, if the line is not marked and not blank.

        Without its first line a page was edited by hand: there the marks alone decide.
        """
        is_break = line.endswith(_BREAK) or self.speaker is not _Speaker.MODEL or self.time is None
        if line.startswith(_PERSON) and is_break:
            return _Speaker.PERSON, line[len(_PERSON) :].removesuffix(_BREAK)
        if (line.startswith(_TOOL) or line.rstrip() == ">") and is_break:
            return _Speaker.TOOL, line[len(_TOOL) :].removesuffix(_BREAK)
        if line.strip() or self.speaker is _Speaker.MODEL:
            return _Speaker.MODEL, line
        return self.speaker, line
