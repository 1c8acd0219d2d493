"""The commands of a chat (``/compact``, ``/undo``, …): their table, and those about the chat itself.

The other functions are in ``command_actions.py``.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from clew.chat import command_actions as do
from clew.chat.events import ChatEnded, CommandOutput, Turn
from clew.chat.loop import Chat
from clew.chat.opening import named_model
from clew.errors import InputError
from clew.log import export_session, export_session_zstd
from clew.request.progress_log import as_text


@dataclass(frozen=True, slots=True)
class ChatCommand:
    """A chat command: its name, arguments, help, an example and its function."""

    name: str
    takes: str
    """Its arguments, as help shows them."""
    about: str
    example: str
    does: Callable[[Chat, str], Turn]

    @property
    def usage(self) -> str:
        """Return the command with its arguments."""
        return f"/{self.name} {self.takes}".rstrip()


ALIASES = {
    "!contextBudget": "/context budget",
    "!contextSnapshot": "/context snapshot",
    "!listContributors": "/context contributors",
    "!traceSummaries": "/context summaries",
    "/budget": "/context budget",
    "/snapshot": "/context snapshot",
    "/contributors": "/context contributors",
    "/summaries": "/context summaries",
    "/pins": "/rules",
}
"""Other names of commands: diagnostics as other agents call them (``!…``), and names of earlier versions."""


def is_command(line: str) -> bool:
    """Return whether a line is a command; a line that begins with a space is a message for the model."""
    return line.startswith("/") or (line.startswith("!") and line.split(maxsplit=1)[0] in ALIASES)


def run_command(chat: Chat, line: str) -> Turn:
    """Run the command of a line; raise ``InputError`` with advice if it is wrong."""
    typed, *rest = line.split(maxsplit=1) or [""]
    name, *first = ALIASES.get(typed, typed).split(maxsplit=1) or [""]
    return command_named(name).does(chat, " ".join((*first, *rest)).strip())


def command_named(name: str) -> ChatCommand:
    """Return a command by its name or alias, with or without slash, or by a unique prefix."""
    slashed = name if name.startswith(("/", "!")) else f"/{name}"
    plain = ALIASES.get(slashed, slashed).partition(" ")[0].removeprefix("/")
    for command in (*COMMANDS, _ON):
        if command.name == plain:
            return command
    near = [command.name for command in (*COMMANDS, _ON) if plain and command.name.startswith(plain)]
    if len(near) == 1:
        return command_named(near[0])
    near = near or difflib.get_close_matches(plain, [command.name for command in COMMANDS], 2)
    advice = f"did you mean /{' or /'.join(near)}?" if near else "/help lists the commands"
    raise InputError(f"unknown command {name!r}", advice)


# Commands about the chat itself ----------------------------------------------------------------------


def _model(chat: Chat, words: str) -> Turn:
    if words:
        chat.set_model(named_model(words, chat.session))
    yield CommandOutput(f"model {chat.model.name}, a window of {chat.session.gauge.window.tokens:,} tokens")


def _export(chat: Chat, words: str) -> Turn:
    path = Path(words or f"{chat.session.name.replace('/', '-')}.clew.jsonl").expanduser()
    write = export_session_zstd if path.suffix == ".zst" else export_session
    # An existing file is never overwritten, and only the owner can read the new one.
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise InputError(f"{path} already exists", "choose another name") from None
    try:
        with os.fdopen(handle, "wb") as out:
            head = write(chat.session.store, chat.session.ctx, out)
    except BaseException:
        path.unlink(missing_ok=True)  # a partial file would block the next try
        raise
    yield CommandOutput(f"{path}: {head.seq:,} events; `clew import {path}` reads it back")


def _retry(chat: Chat, _words: str) -> Turn:
    yield from chat.again()


def _progress(chat: Chat, _words: str) -> Turn:
    checkpoints = "\n\n".join(map(as_text, chat.session.progress()))
    yield CommandOutput(checkpoints or "nothing has happened yet")


def _help(_chat: Chat, words: str) -> Turn:
    if words:
        command = command_named(words.split(maxsplit=1)[0])
        yield CommandOutput(f"{command.usage}\n  {command.about}\n  for example: {command.example}")
        return
    wide = max(len(command.usage) for command in COMMANDS)
    lines = ["Everything you type is sent to the model, except:"]
    for title, group in GROUPS.items():
        lines += [f"{title}:", *(f"  {command.usage:<{wide}}  {command.about}" for command in group)]
    yield CommandOutput("\n".join([*lines, "/help COMMAND shows an example."]))


def _quit(_chat: Chat, _words: str) -> Turn:
    yield ChatEnded()


GROUPS: dict[str, tuple[ChatCommand, ...]] = {
    "compaction": (
        ChatCommand(
            "compact",
            "[m1-m20] [focus]",
            "compact now; name messages, or what to keep",
            "/compact the parser",
            do.compact,
        ),
        ChatCommand(
            "preview", "[m1-m20] [focus]", "show what /compact would do and drop", "/preview", do.preview
        ),
        ChatCommand("undo", "[n]", "undo the last compaction, or the last n", "/undo 2", do.undo),
        ChatCommand("expand", "REF", "show the sources of m12, d1, d1.4 or p2", "/expand d1.4", do.expand),
        ChatCommand(
            "trace", "[REF]", "list compactions, or explain why REF is shown so", "/trace m12", do.trace
        ),
        ChatCommand("auto", "on|off", "switch automatic compaction on or off", "/auto on", do.auto),
    ),
    "rules": (
        ChatCommand("rules", "", "list the rules in force", "/rules", do.rules),
        ChatCommand(
            "pin", "RULE", "set a rule that every compaction keeps", "/pin never touch legacy/", do.pin
        ),
        ChatCommand("unpin", "ID [why]", "remove a rule", "/unpin p2 done with that", do.unpin),
        ChatCommand("trust", "FILE", "trust an instruction file written here", "/trust AGENTS.md", do.trust),
    ),
    "memory": (
        ChatCommand("recall", "WORDS", "search all messages", "/recall deploy token", do.recall),
        ChatCommand("remember", "TEXT", "save a note for later sessions", "/remember Use uv.", do.remember),
        ChatCommand("forget", "NOTE [why]", "retire a note", "/forget w3", do.forget),
        ChatCommand("notes", "", "list the notes", "/notes", do.notes),
        ChatCommand("progress", "", "show what is done, open and next", "/progress", _progress),
    ),
    "the next request": (
        ChatCommand(
            "context",
            "[PART]",
            f"show it by region, or one PART: {', '.join(do.PARTS)}",
            "/context contributors history",
            do.context,
        ),
        ChatCommand("stats", "", "count compactions, freed tokens and recalls", "/stats", do.stats),
        ChatCommand("off", "", "send it as a plain client would; /on ends that", "/off", do.off),
    ),
    "the chat": (
        ChatCommand(
            "model",
            "[NAME]",
            "show the model, or switch to another",
            "/model anthropic/claude-sonnet-4-5",
            _model,
        ),
        ChatCommand("retry", "", "call the model again for the last message", "/retry", _retry),
        ChatCommand("export", "[FILE]", "write the session as one file", "/export chat.clew.zst", _export),
        ChatCommand("help", "[COMMAND]", "show this list, or help for one command", "/help compact", _help),
        ChatCommand("quit", "", "end the chat; the session is kept", "/quit", _quit),
    ),
}
"""The commands by topic, as ``/help`` lists them."""
COMMANDS = tuple(command for group in GROUPS.values() for command in group)
_ON = ChatCommand("on", "", "switch clew on again after /off", "/on", do.on)
