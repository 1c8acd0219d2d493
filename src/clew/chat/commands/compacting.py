"""Commands that change what is in view, or whether clew may."""

from __future__ import annotations

from clew.budget import Calm
from clew.chat.choices import Choices
from clew.chat.happenings import Told, Turn, Warned
from clew.chat.loop import Chat
from clew.chat.notice import notice_of
from clew.errors import BudgetExceeded, InputError


def compact(chat: Chat, words: str) -> Turn:
    """Make the view smaller."""
    try:
        told = list(chat.compact(words or None))
    except BudgetExceeded:
        if not _is_calm(chat):
            raise
        told = []  # what must stay is all there is
    yield from told or [Told("nothing to gain: it is left as it is")]


def _is_calm(chat: Chat) -> bool:
    """Tell whether there is room, so that a compaction which frees nothing is no trouble."""
    return isinstance(chat.budget().verdict, Calm)


def preview(chat: Chat, words: str) -> Turn:
    """Say what a compaction would do and lose."""
    try:
        outcome = chat.session.preview(focus=words or None)
    except BudgetExceeded:
        if not _is_calm(chat):
            raise
        outcome = None
    if outcome is None or not outcome.plan.operations:
        yield Told("nothing to gain: it would be left as it is")
        return
    lines = [*notice_of(outcome).lines()]
    lost = [f"    {one.matter}: {one.text} [{one.source}]" for one in outcome.report.lost]
    yield Told("\n".join([*lines, *(["  would leave the view:", *lost[:20]] if lost else [])]))


def undo(chat: Chat, words: str) -> Turn:
    """Take compactions back."""
    before = chat.session.tokens
    undone = chat.session.undo(number(words, 1))
    names = ", ".join(one.name for one in undone)
    back = f"{before:,} → {chat.session.tokens:,} tokens"
    left = [one.name for one in chat.session.trace()]
    now = f"still in force: {', '.join(left)}" if left else "every message is in view as it was"
    yield Told(f"undone: {names}; {back}, {now}")


def number(words: str, default: int) -> int:
    """Read a number above zero; nothing is the default."""
    if not words:
        return default
    if not words.isdecimal() or not int(words):
        raise InputError(f"{words!r} is no number", "type a number above zero")
    return int(words)


def auto(chat: Chat, words: str) -> Turn:
    """Let clew compact on its own, or not."""
    match words.lower():
        case "on" | "off":
            chat.choose(Choices(auto=words.lower() == "on"))
        case "":
            pass
        case _:
            raise InputError(f"{words!r} is neither on nor off", "type /auto on or /auto off")
    now = "on: clew compacts when it is time, and tells you" if chat.auto else "off: only /compact compacts"
    yield Told(f"automatic compaction is {now}")
    if chat.auto and chat.session.is_off:
        yield Warned("everything is switched off; /on first")


def off(chat: Chat, _words: str) -> Turn:
    """Switch everything off."""
    chat.session.switch_off()
    yield Told("off: all is sent as a plain client would, without tools, notes or compaction; /on ends that")


def on(chat: Chat, _words: str) -> Turn:
    """Switch everything on again."""
    chat.session.switch_on()
    yield Told(f"on: the compacted view is sent again, {chat.session.tokens:,} tokens")
