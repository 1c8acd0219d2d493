"""Commands that change what is in view, or whether clew may."""

from __future__ import annotations

from clew.chat.happenings import Told, Warned
from clew.chat.loop import Chat, Turn
from clew.chat.notice import notice_of
from clew.errors import InputError


def compact(chat: Chat, words: str) -> Turn:
    """Make the view smaller."""
    told = list(chat.compact(words or None))
    yield from told or [Told("nothing to gain: it is left as it is")]


def preview(chat: Chat, words: str) -> Turn:
    """Say what a compaction would do and lose."""
    outcome = chat.session.preview(focus=words or None)
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
    names = ", ".join(one.digest.id if one.digest else f"that of {one.time[11:16]}" for one in undone)
    back = f"{before:,} → {chat.session.tokens:,} tokens"
    yield Told(f"undone: {names}; {back}, every message is in view as it was")


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
        case "on":
            chat.auto = True
        case "off":
            chat.auto = False
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
