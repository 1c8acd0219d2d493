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
    """One word after ``/``."""

    name: str
    takes: str
    """What stands behind it, as help shows it."""
    about: str
    example: str
    does: Callable[[Chat, str], Turn]

    @property
    def usage(self) -> str:
        """Return how it is typed."""
        return f"/{self.name} {self.takes}".rstrip()


PRIVATE = 0o600


def is_command(line: str) -> bool:
    """Tell whether a line is a command and no words for the model."""
    return line.startswith("/") or line.split(maxsplit=1)[:1] in [[name] for name in ALIASES]


def run_command(chat: Chat, line: str) -> Turn:
    """Do what a line asks for; what is wrong with it is an ``InputError`` that says what to type."""
    name, _, words = line.strip().partition(" ")
    return command_named(name).does(chat, words.strip())


def command_named(name: str) -> Command:
    """Return a command by its name, with or without its slash, or by the beginning of one only."""
    plain = ALIASES.get(name, name.removeprefix("/"))
    for command in COMMANDS:
        if command.name == plain:
            return command
    near = [command.name for command in COMMANDS if plain and command.name.startswith(plain)]
    if len(near) == 1:
        return command_named(near[0])
    advice = f"did you mean /{' or /'.join(near)}?" if near else "/help lists what there is"
    raise InputError(f"there is no command {name!r}", advice)


ALIASES = {
    "!contextBudget": "budget",
    "!contextSnapshot": "snapshot",
    "!listContributors": "contributors",
    "!traceSummaries": "summaries",
}
"""Names that agents know the diagnostics by."""


# About the chat itself -------------------------------------------------------------------------------


def _model(chat: Chat, words: str) -> Turn:
    if words:
        chat.set_model(named_model(words, chat.session))
    yield CommandOutput(
        f"talking to {chat.model.name}, a window of {chat.session.gauge.window.tokens:,} tokens"
    )


def _export(chat: Chat, words: str) -> Turn:
    path = Path(words or f"{chat.session.name.replace('/', '-')}.clew.jsonl").expanduser()
    write = export_session_zstd if path.suffix == ".zst" else export_session
    # Opened so that a file of that name is never overwritten, and read by nobody else.
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
    except FileExistsError:
        raise InputError(f"{path} is there already", "choose another name") from None
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
        "\n".join(["What you type goes to the model, except:", *rows, "/help COMMAND shows an example."])
    )


def _quit(_chat: Chat, _words: str) -> Turn:
    yield ChatEnded()


COMMANDS = (
    Command(
        "compact",
        "[focus]",
        "make the view smaller now; say what matters",
        "/compact the parser",
        compact,
    ),
    Command("preview", "[focus]", "say what /compact would do and lose", "/preview", preview),
    Command("undo", "[n]", "take the last compaction back, or the last n", "/undo 2", undo),
    Command("expand", "REF", "show what stands behind m12, d1, d1.4 or p2", "/expand d1.4", expand),
    Command("pin", "RULE", "set a rule that no compaction touches", "/pin never touch legacy/", pin),
    Command("unpin", "ID [why]", "take a rule off", "/unpin p2 done with that", unpin),
    Command("pins", "", "list the rules that stand", "/pins", pins),
    Command("remember", "TEXT", "keep a note that outlives the session", "/remember Use uv.", remember),
    Command("forget", "NOTE [why]", "let a note hold no more", "/forget w3", forget),
    Command("notes", "", "list the notes", "/notes", notes),
    Command("trust", "FILE", "follow instructions that this session wrote", "/trust AGENTS.md", trust),
    Command("recall", "WORDS", "search all that was ever said", "/recall deploy token", recall),
    Command("context", "", "draw what is sent, by region and contributor", "/context", context),
    Command("trace", "[REF]", "tell the compactions, or why REF is shown so", "/trace m12", trace),
    Command("budget", "", "tell how the window is split (!contextBudget)", "/budget", budget),
    Command("snapshot", "", "tell every region and section (!contextSnapshot)", "/snapshot", snapshot),
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
        "tell where summaries come from (!traceSummaries)",
        "/summaries d1",
        summaries,
    ),
    Command("stats", "", "count compactions, what they freed, recalls", "/stats", stats),
    Command("auto", "on|off", "let clew compact on its own, or not", "/auto on", auto),
    Command("off", "", "switch everything off: a plain client", "/off", off),
    Command("on", "", "switch everything on again", "/on", on),
    Command("progress", "", "tell what got done, what is open and what is next", "/progress", _progress),
    Command(
        "model", "[NAME]", "show the model, or talk to another", "/model anthropic/claude-sonnet-4-5", _model
    ),
    Command("export", "[FILE]", "write the session as one file", "/export chat.clew.zst", _export),
    Command("retry", "", "ask the model again for what was said last", "/retry", _retry),
    Command("help", "[COMMAND]", "this list, or one of them", "/help compact", _help),
    Command("quit", "", "end the chat; the session stays", "/quit", _quit),
)
"""All of them, in the order that help lists them."""
