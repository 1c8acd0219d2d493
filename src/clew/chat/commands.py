"""The commands of a chat (``/compact``, ``/undo``, …): each is a function whose docstring is its help.

``run_command(chat, "/undo 2")`` runs the function of a line: a generator of events, like a turn.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from clew.budget import Cache, Calm
from clew.chat.events import ChatEnded, ChatWarning, CommandOutput, Turn
from clew.chat.loop import Chat
from clew.chat.opening import named_model
from clew.chat.reports import (
    MOST_QUOTED,
    budget_lines,
    compaction_line,
    compaction_notice,
    context_lines,
    digest_lines,
    message_lines,
    stats_lines,
    stats_of,
)
from clew.chat.sessions import Choices
from clew.errors import BudgetExceeded, InputError
from clew.log import export_session, export_session_zstd
from clew.memory.notes import Draft
from clew.memory.notes.note import LIVE, key_of
from clew.request.diagnostics import context_budget, context_snapshot, list_contributors, trace_summaries
from clew.request.progress_log import as_text
from clew.session.gauge import undo_price_of
from clew.session.message_range import split_range

PARTS = ("budget", "snapshot", "contributors", "summaries")
"""What ``/context`` can show: the split of the window, every section, every source, every summary."""


@dataclass(frozen=True, slots=True)
class ChatCommand:
    """A chat command: its name, arguments, help, an example and its function."""

    name: str
    takes: str
    """Its arguments, as help shows them."""
    about: str
    example: str
    run: Callable[[Chat, str], Turn]

    @property
    def usage(self) -> str:
        """Return the command with its arguments."""
        return f"/{self.name} {self.takes}".rstrip()


GROUPS: dict[str, list[ChatCommand]] = {}
"""The commands by topic, as ``/help`` lists them."""


_Run = Callable[[Chat, str], Turn]


def _command(group: str, takes: str, example: str) -> Callable[[_Run], _Run]:
    """Add a function to the commands of a group; its name and docstring are those of the command."""

    def add(run: _Run) -> _Run:
        about = str(run.__doc__)
        command = ChatCommand(run.__name__[1:], takes, about[0].lower() + about[1:-1], example, run)
        GROUPS.setdefault(group, []).append(command)
        return run

    return add


# Compaction ---------------------------------------------------------------------------------------


@_command("compaction", "[m1-m20] [focus]", "/compact the parser")
def _compact(chat: Chat, words: str) -> Turn:
    """Compact now; name messages, or what to keep."""
    if chat.session.is_off:
        raise InputError("compaction is switched off", _how_to_switch_on(chat))
    try:
        events = list(chat.compact(words))
    except BudgetExceeded:
        if not _is_calm(chat):
            raise
        events = []  # only mandatory content is left
    yield from events or [CommandOutput("nothing to gain: the view is unchanged")]


def _how_to_switch_on(chat: Chat) -> str:
    return "unset CLEW_OFF, --off or off in clew.toml" if chat.session.is_off_here else "type /on first"


def _is_calm(chat: Chat) -> bool:
    """Return whether the window has room, so that a compaction that frees nothing is not an error."""
    return isinstance(chat.budget().verdict, Calm)


@_command("compaction", "[m1-m20] [focus]", "/preview")
def _preview(chat: Chat, words: str) -> Turn:
    """Show what /compact would do and drop."""
    try:
        messages, focus = split_range(words)
        outcome = chat.session.preview(focus=focus, messages=messages)
    except BudgetExceeded:
        if not _is_calm(chat):
            raise
        outcome = None
    if outcome is None or not outcome.plan.operations:
        yield CommandOutput("nothing to gain: the view would not change")
        return
    lines = [*compaction_notice(outcome).lines()]
    lines.append(f"  cache: {chat.session.price(outcome, cache_age_seconds=chat.cache_age_seconds)}")
    lost = [f"    {loss.matter}: {loss.text} [{loss.source}]" for loss in outcome.report.lost]
    yield CommandOutput("\n".join([*lines, *(["  would leave the view:", *lost[:20]] if lost else [])]))


@_command("compaction", "[n]", "/undo 2")
def _undo(chat: Chat, words: str) -> Turn:
    """Undo the last compaction, or the last n."""
    if chat.session.is_off_here:  # the chat records nothing of compactions, and shows none
        raise InputError("compaction is switched off: every message is in view", _how_to_switch_on(chat))
    before, view = chat.session.tokens, chat.session.view()
    undone = chat.session.undo(_number(words, 1))
    cache = Cache(chat.session.gauge.model, chat.cache_age_seconds)
    price = undo_price_of(view, chat.session.view(), chat.session.counter, cache)
    names = ", ".join(compaction.name for compaction in undone)
    back = f"{before:,} → {chat.session.tokens:,} tokens"
    left = [compaction.name for compaction in chat.session.trace()]
    now = f"still in force: {', '.join(left)}" if left else "every message is in view again"
    yield CommandOutput(f"undone: {names}; {back}, {now}\n  cache: {price}")


def _number(words: str, default: int) -> int:
    """Parse a number above zero; empty text is the default."""
    if not words:
        return default
    if not words.isdecimal() or not int(words):
        raise InputError(f"{words!r} is not a number", "type a number above zero")
    return int(words)


@_command("compaction", "REF", "/expand d1.4")
def _expand(chat: Chat, words: str) -> Turn:
    """Show the sources of m12, d1, d1.4 or p2."""
    ref = _require_argument(words, "a reference", "/expand d1").split()[0]
    expansion = chat.session.expand(ref)
    lines = [f"{ref} is a {expansion.what}{f': {expansion.text}' if expansion.text else ''}"]
    if expansion.what == "digest":
        lines += digest_lines(chat.session, ref)
    elif expansion.quotes:
        lines += [f'  [{quote.cite.message}] "{quote.words}"' for quote in expansion.quotes]
    else:
        lines += message_lines(chat.session, expansion.ids)
    yield CommandOutput("\n".join(lines))


@_command("compaction", "[REF]", "/trace m12")
def _trace(chat: Chat, words: str) -> Turn:
    """List compactions, or explain why REF is shown so."""
    if words:
        yield CommandOutput(str(chat.session.explain(words.split(maxsplit=1)[0])))
        return
    rows = "\n".join(map(compaction_line, chat.session.trace()))
    yield CommandOutput(rows or "no compaction is in force: every message is in view unchanged")


@_command("compaction", "on|off", "/auto on")
def _auto(chat: Chat, words: str) -> Turn:
    """Switch automatic compaction on or off."""
    match words.lower():
        case "on" | "off":
            chat.choose(Choices(auto=words.lower() == "on"))
        case "":
            pass
        case _:
            raise InputError(f"{words!r} is neither on nor off", "type /auto on or /auto off")
    now = "on: clew compacts when needed and shows a notice" if chat.auto else "off: only /compact compacts"
    yield CommandOutput(f"automatic compaction is {now}")
    if chat.auto and chat.session.is_off:
        yield ChatWarning("everything is switched off; /on first")


# Rules --------------------------------------------------------------------------------------------


@_command("rules", "", "/rules")
def _rules(chat: Chat, _words: str) -> Turn:
    """List the rules in force."""
    rows = []
    for rule in chat.session.pins:
        origin = f"[{rule.source.message}] {rule.certainty}: {rule.found_because}" if rule.source else ""
        judged = f"; {rule.judgement}" if rule.judgement else ""
        rows.append(f'{rule.id:<4} "{rule.quote}" {origin or "(by hand)"}{judged}')
    none = "no rules are in force; /pin sets one, and clew finds those in your messages"
    yield CommandOutput("\n".join(rows) or none)


@_command("rules", "RULE", "/pin never touch legacy/")
def _pin(chat: Chat, words: str) -> Turn:
    """Set a rule that every compaction keeps."""
    rule = chat.session.pin(_require_argument(words, "the rule", "/pin never touch legacy/"))
    yield CommandOutput(f'{rule.id} is pinned: "{rule.quote}"')


@_command("rules", "ID [why]", "/unpin p2 done with that")
def _unpin(chat: Chat, words: str) -> Turn:
    """Remove a rule."""
    id_, _, why = _require_argument(words, "a rule's id", "/unpin p2").partition(" ")
    ended_rule = chat.session.unpin(id_, why.strip() or "revoked by hand")
    yield CommandOutput(f'{ended_rule.id} is no longer in force: "{ended_rule.quote}"')


@_command("rules", "FILE", "/trust AGENTS.md")
def _trust(chat: Chat, words: str) -> Turn:
    """Trust an instruction file written here."""
    path = _require_argument(words, "a file", "/trust AGENTS.md")
    chat.trust(path)
    yield CommandOutput(f"{path} is trusted as instructions from now on, with its current content")


# Memory -------------------------------------------------------------------------------------------


@_command("memory", "WORDS", "/recall deploy token")
def _recall(chat: Chat, words: str) -> Turn:
    """Search all messages."""
    query = _require_argument(words, "what to look for", "/recall deploy token")
    arguments = {"query": query, "limit": MOST_QUOTED, "where": None}
    yield CommandOutput(chat.toolset.run("recall_search", arguments).text)


@_command("memory", "TEXT", "/remember Use uv.")
def _remember(chat: Chat, words: str) -> Turn:
    """Save a note for later sessions."""
    text = _require_argument(words, "what to keep", "/remember Use uv, never pip.")
    note = chat.memory.notebook.add(Draft(key=key_of(text), text=text))
    yield CommandOutput(f"{note.id} is {note.status}: {note.text}")


@_command("memory", "NOTE [why]", "/forget w3")
def _forget(chat: Chat, words: str) -> Turn:
    """Retire a note."""
    wanted, _, why = _require_argument(words, "a note's id or key", "/forget w3").partition(" ")
    note = chat.memory.notebook.forget(chat.memory.notebook.find(wanted).id, why=why.strip())
    yield CommandOutput(f"{note.id} is forgotten: {note.text}")


@_command("memory", "", "/notes")
def _notes(chat: Chat, _words: str) -> Turn:
    """List the notes."""
    live = [note for note in chat.memory.notebook.notes() if note.status in LIVE]
    rows = [f"{note.id:<4} {note.status:<11} {note.text}" for note in live]
    yield CommandOutput("\n".join(rows) or "no notes; /remember saves one")


@_command("memory", "", "/progress")
def _progress(chat: Chat, _words: str) -> Turn:
    """Show what is done, open and next."""
    checkpoints = "\n\n".join(map(as_text, chat.session.progress()))
    yield CommandOutput(checkpoints or "nothing has happened yet")


# The next request ---------------------------------------------------------------------------------


@_command("the next request", "[PART]", "/context contributors history")
def _context(chat: Chat, words: str) -> Turn:
    """Show it by region, or one PART: budget, snapshot, contributors, summaries."""
    part, _, of = words.partition(" ")
    scope = of.strip() or None
    match part:
        case "":
            assembled = chat.requests.assembled()
            lines = [*context_lines(assembled, chat.session.measure(assembled))]
        case "budget":
            lines = [context_budget(chat.request_state()).text, *budget_lines(chat.budget())]
        case "snapshot":
            lines = [context_snapshot(chat.request_state()).text]
        case "contributors":
            lines = [list_contributors(chat.request_state(), scope).text]
        case "summaries":
            lines = [trace_summaries(chat.request_state(), scope).text]
        case _:
            raise InputError(f"/context has no part {part!r}", f"use one of {', '.join(PARTS)}")
    yield CommandOutput("\n".join(lines))


@_command("the next request", "", "/stats")
def _stats(chat: Chat, _words: str) -> Turn:
    """Count compactions, freed tokens and recalls."""
    yield CommandOutput("\n".join(stats_lines(stats_of(chat.session.events()))))


@_command("the next request", "", "/off")
def _off(chat: Chat, _words: str) -> Turn:
    """Send it as a plain client would; /on ends that."""
    chat.session.switch_off()
    yield CommandOutput(
        "off: requests are those of a plain client, without tools, notes or compaction; /on ends that"
    )


def _on(chat: Chat, _words: str) -> Turn:
    chat.session.switch_on()
    yield CommandOutput(f"on: the compacted view is sent again, {chat.session.tokens:,} tokens")


_ON = ChatCommand("on", "", "switch clew on again after /off", "/on", _on)
"""Not in the list of /help, which is about a chat that is on."""


# The chat -----------------------------------------------------------------------------------------


@_command("the chat", "[NAME]", "/model anthropic/claude-sonnet-4-5")
def _model(chat: Chat, words: str) -> Turn:
    """Show the model, or switch to another."""
    if words:
        chat.set_model(named_model(words, chat.session))
    yield CommandOutput(f"model {chat.model.name}, a window of {chat.session.gauge.window.tokens:,} tokens")


@_command("the chat", "", "/retry")
def _retry(chat: Chat, _words: str) -> Turn:
    """Call the model again for the last message."""
    yield from chat.again()


@_command("the chat", "[FILE]", "/export chat.clew.zst")
def _export(chat: Chat, words: str) -> Turn:
    """Write the session as one file."""
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


@_command("the chat", "[COMMAND]", "/help compact")
def _help(_chat: Chat, words: str) -> Turn:
    """Show this list, or help for one command."""
    if words:
        command = command_named(words.split(maxsplit=1)[0])
        yield CommandOutput(f"{command.usage}\n  {command.about}\n  for example: {command.example}")
        return
    wide = max(len(command.usage) for command in COMMANDS)
    lines = ["Everything you type is sent to the model, except:"]
    for title, group in GROUPS.items():
        lines += [f"{title}:", *(f"  {command.usage:<{wide}}  {command.about}" for command in group)]
    yield CommandOutput("\n".join([*lines, "/help COMMAND shows an example."]))


@_command("the chat", "", "/quit")
def _quit(_chat: Chat, _words: str) -> Turn:
    """End the chat; the session is kept."""
    yield ChatEnded()


def _require_argument(words: str, what: str, example: str) -> str:
    """Return the argument of a command; raise ``InputError`` with an example if it is missing."""
    if not words:
        raise InputError(f"this command needs {what}", f"for example: {example}")
    return words


# Find the command of a line --------------------------------------------------------------------------

COMMANDS = tuple(command for group in GROUPS.values() for command in group)
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
    return command_named(name).run(chat, " ".join((*first, *rest)).strip())


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
