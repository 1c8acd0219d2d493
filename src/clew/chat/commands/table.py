"""The table of chat commands, and the commands about the chat itself (model, export, retry, help)."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from clew.chat.commands.actions import (
    auto,
    budget,
    compact,
    context,
    contributors,
    expand,
    forget,
    notes,
    off,
    on,
    pin,
    pins,
    preview,
    recall,
    remember,
    snapshot,
    stats,
    summaries,
    trace,
    trust,
    undo,
    unpin,
)
from clew.chat.events import ChatEnded, CommandOutput, Turn
from clew.chat.loop import Chat
from clew.chat.opening import named_model
from clew.errors import InputError
from clew.log import export_session, export_session_zstd


@dataclass(frozen=True, slots=True)
class Command:
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


PRIVATE = 0o600


def is_command(line: str) -> bool:
    """Return whether a line is a command and not a message for the model."""
    return line.startswith("/") or line.split(maxsplit=1)[:1] in [[name] for name in ALIASES]


def run_command(chat: Chat, line: str) -> Turn:
    """Run the command of a line; raise ``InputError`` with advice if it is wrong."""
    name, _, words = line.strip().partition(" ")
    return command_named(name).does(chat, words.strip())


def command_named(name: str) -> Command:
    """Return a command by its name, with or without slash, or by a unique prefix."""
    plain = ALIASES.get(name, name.removeprefix("/"))
    for command in COMMANDS:
        if command.name == plain:
            return command
    near = [command.name for command in COMMANDS if plain and command.name.startswith(plain)]
    if len(near) == 1:
        return command_named(near[0])
    advice = f"did you mean /{' or /'.join(near)}?" if near else "/help lists the commands"
    raise InputError(f"unknown command {name!r}", advice)


ALIASES = {
    "!contextBudget": "budget",
    "!contextSnapshot": "snapshot",
    "!listContributors": "contributors",
    "!traceSummaries": "summaries",
}
"""The names of the diagnostics as agents call them."""


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
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
    except FileExistsError:
        raise InputError(f"{path} already exists", "choose another name") from None
    with os.fdopen(handle, "wb") as out:
        head = write(chat.session.store, chat.session.ctx, out)
    yield CommandOutput(f"{path}: {head.seq:,} events; `clew import {path}` reads it back")


def _retry(chat: Chat, _words: str) -> Turn:
    yield from chat.again()


def _progress(chat: Chat, _words: str) -> Turn:
    yield CommandOutput(chat.progress.text() or "nothing has happened yet")


def _help(_chat: Chat, words: str) -> Turn:
    if words:
        command = command_named(words.split(maxsplit=1)[0])
        yield CommandOutput(f"{command.usage}\n  {command.about}\n  for example: {command.example}")
        return
    wide = max(len(command.usage) for command in COMMANDS)
    rows = [f"  {command.usage:<{wide}}  {command.about}" for command in COMMANDS]
    yield CommandOutput(
        "\n".join(
            ["Everything you type is sent to the model, except:", *rows, "/help COMMAND shows an example."]
        )
    )


def _quit(_chat: Chat, _words: str) -> Turn:
    yield ChatEnded()


COMMANDS = (
    Command(
        "compact",
        "[focus]",
        "compact now; name what to keep",
        "/compact the parser",
        compact,
    ),
    Command("preview", "[focus]", "show what /compact would do and drop", "/preview", preview),
    Command("undo", "[n]", "undo the last compaction, or the last n", "/undo 2", undo),
    Command("expand", "REF", "show the sources of m12, d1, d1.4 or p2", "/expand d1.4", expand),
    Command("pin", "RULE", "set a rule that every compaction keeps", "/pin never touch legacy/", pin),
    Command("unpin", "ID [why]", "remove a rule", "/unpin p2 done with that", unpin),
    Command("pins", "", "list the rules in force", "/pins", pins),
    Command("remember", "TEXT", "save a note for later sessions", "/remember Use uv.", remember),
    Command("forget", "NOTE [why]", "retire a note", "/forget w3", forget),
    Command("notes", "", "list the notes", "/notes", notes),
    Command("trust", "FILE", "trust an instruction file that this session wrote", "/trust AGENTS.md", trust),
    Command("recall", "WORDS", "search all messages", "/recall deploy token", recall),
    Command("context", "", "show the next request by region and source", "/context", context),
    Command("trace", "[REF]", "list compactions, or explain why REF is shown so", "/trace m12", trace),
    Command("budget", "", "show the split of the window (!contextBudget)", "/budget", budget),
    Command("snapshot", "", "show every region and section (!contextSnapshot)", "/snapshot", snapshot),
    Command(
        "contributors",
        "[SECTION]",
        "list what is in the request (!listContributors)",
        "/contributors history",
        contributors,
    ),
    Command(
        "summaries",
        "[DIGEST]",
        "list the sources of summaries (!traceSummaries)",
        "/summaries d1",
        summaries,
    ),
    Command("stats", "", "count compactions, freed tokens and recalls", "/stats", stats),
    Command("auto", "on|off", "switch automatic compaction on or off", "/auto on", auto),
    Command("off", "", "switch everything off: a plain client", "/off", off),
    Command("on", "", "switch everything on again", "/on", on),
    Command("progress", "", "show what is done, open and next", "/progress", _progress),
    Command(
        "model",
        "[NAME]",
        "show the model, or switch to another",
        "/model anthropic/claude-sonnet-4-5",
        _model,
    ),
    Command("export", "[FILE]", "write the session as one file", "/export chat.clew.zst", _export),
    Command("retry", "", "call the model again for the last message", "/retry", _retry),
    Command("help", "[COMMAND]", "show this list, or help for one command", "/help compact", _help),
    Command("quit", "", "end the chat; the session is kept", "/quit", _quit),
)
"""All commands, in the order of ``/help``."""
