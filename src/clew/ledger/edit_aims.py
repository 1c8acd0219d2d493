"""What an edit would write, to tell whether a failed one was made after all.

Of four edits of ``a.go`` that fail because the file was not read, one is made again: three are still undone.
``aims_of(call)`` returns an ``Aim`` for each text that a call writes into a file; ``not_reached`` returns the
aims of failed calls that a successful call did not reach. Texts are compared by their words, because an agent
that tries again often writes slightly different ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from clew.ledger.tool_actions import CHANGING, ActionKind, ToolAction, touches
from clew.message import Json
from clew.message.text import lazy_pattern

MOST_WORDS = 80
"""Words of a text that are kept: enough to tell one edit of a file from another."""
MOST_AIMS = 24
"""Aims of one failure that are kept; more edits than that rarely fail together."""
SAME_AIM = 0.8
"""Share of common words from which a failed call tries the same once more; chosen by hand."""
REACHED = 0.5
"""Share of common words from which a later edit makes the failed one, the one that is most alike. By hand."""
CONTAINED = 0.8
"""Share of the words of a failed edit that a script or a new version of the file contains; chosen by hand."""


class Aim(NamedTuple):
    """A text that a call would write into a file."""

    file: str
    words: tuple[str, ...]
    """Different words of it; empty if the call does not show them."""


def aims_of(action: ToolAction) -> list[Aim]:
    """Return what a call writes into which files; nothing for a call that edits no files."""
    if action.kind not in CHANGING:
        return []
    files = list(dict.fromkeys(touch.name for touch in touches(action, "") if touch.name))
    if action.kind is ActionKind.PATCH:
        return list(_aims_of_patch(action.subject, files))
    texts = list(_written(action.arguments))
    return [Aim(file, _words_of(text)) for file in files for text in texts or [""]]


def with_aims(before: Sequence[Aim], failed: Iterable[Aim]) -> tuple[Aim, ...]:
    """Return the aims that are open after another failed call: one that is tried once more counts once."""
    aims = list(before)
    for aim in failed:
        aims = [one for one in aims if one.file != aim.file or _share(one, aim) < SAME_AIM]
        aims.append(aim)
    return tuple(aims[-MOST_AIMS:])


def not_reached(aims: Sequence[Aim], file: str, action: ToolAction) -> tuple[Aim, ...]:
    """Return the aims that are still open after a successful call that changed a file."""
    left = [aim for aim in aims if not same_file(aim.file, file)]
    here = [aim for aim in aims if same_file(aim.file, file) and aim.words]
    if action.kind in (ActionKind.EDIT, ActionKind.PATCH):
        for made in (one for one in aims_of(action) if same_file(one.file, file)):
            best = max(here, key=lambda aim: _share(aim, made), default=None)
            if best and (not made.words or _share(best, made) >= REACHED):
                here.remove(best)
    else:
        text = action.subject if action.kind is ActionKind.SHELL else "\n".join(_written(action.arguments))
        written = frozenset(_WORD.findall(text))
        here = [aim for aim in here if len(written.intersection(aim.words)) < CONTAINED * len(aim.words)]
    return (*left, *here)


def same_file(path: str, other: str) -> bool:
    """Return True if two paths are equal, or one is the end of the other: ``a.py`` and ``src/a.py``."""
    return bool(path) and (path == other or path.endswith(f"/{other}") or other.endswith(f"/{path}"))


def _share(one: Aim, other: Aim) -> float:
    first, second = set(one.words), set(other.words)
    return len(first & second) / len(first | second) if first | second else 1.0


def _written(value: Json) -> Iterator[str]:
    """Yield the texts that a call writes; of an edit that only removes something, what it removes."""
    match value:
        case dict(fields):
            texts = {key.lower(): text for key, text in fields.items() if isinstance(text, str)}
            new = [text for key, text in texts.items() if key.startswith(_NEW) and text.strip()]
            old = [text for key, text in texts.items() if key.startswith(_OLD)]
            yield from new or old
            for inner in fields.values():
                if isinstance(inner, dict | list):
                    yield from _written(inner)
        case list(values):
            for inner in values:
                yield from _written(inner)


def _aims_of_patch(patch: str, files: Sequence[str]) -> Iterator[Aim]:
    """Yield the lines that a patch adds to each file."""
    sections = _SECTION.split(patch)[1:]
    for file in files:
        text = next((body for head, body in _pairs(sections) if same_file(head.strip(), file)), "")
        added = "\n".join(line[1:] for line in text.split("\n") if line.startswith("+"))
        yield Aim(file, _words_of(added))


def _pairs(values: Sequence[str]) -> Iterator[tuple[str, str]]:
    return zip(values[::2], values[1::2], strict=False)


def _words_of(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_WORD.findall(text)))[:MOST_WORDS]


# What the patterns recognise ---------------------------------------------------------------------------

_NEW = ("new", "content", "file_text", "replace", "insert_text")
"""How the arguments are called that hold the text to write: "new_string", "content"."""
_OLD = ("old", "search")
"""How those are called that hold the text to remove: "old_string"."""
_WORD = lazy_pattern(r"\w+")
"""A word of code or text."""
_SECTION = lazy_pattern(r"^\*\*\* (?:Add|Update|Delete) File: (.*)$", re.MULTILINE)
"""The heading of a file in a patch."""
