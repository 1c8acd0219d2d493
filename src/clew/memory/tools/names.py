"""Exact names in the messages that a search found and that the view no longer shows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from clew.memory.in_view import InView
from clew.memory.index.protocol import Entry

MOST_NAMES = 16
"""Names of one message: those nearest to what was found."""
MOST_CHARACTERS = 500
"""Of the names of one message."""
FAR = 12_000
"""Characters around a hit in which names are looked for."""
# Paths and files, names of several parts in camelCase, PascalCase or snake_case, ids of hexadecimal digits.
_NAME = re.compile(
    r"(?<![\w/.@-])(?:"
    r"(?:~|\.{1,2})?/?(?:[\w.@+-]+/)+[\w.@+-]*\w"
    r"|\w[\w-]*\.[A-Za-z]\w{0,4}(?![\w/(])"
    r"|[A-Za-z_]*[a-z0-9](?:_[A-Za-z0-9]+)+"
    r"|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+"
    r"|[A-Za-z]*[a-z0-9][A-Z][A-Za-z0-9]*"
    r"|(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}(?![\w-])"
    r")"
)
SHORTEST = 5


def lost_names(found: Sequence[tuple[Entry, str]], view: InView) -> Iterator[tuple[Entry, list[str]]]:
    """Yield names that stand near each hit in its message and that neither hits nor view show.

    ``found`` are hits with the whole text of their messages; each message is looked at once.
    """
    shown = "\n".join(entry.text for entry, _ in found)
    messages = {(entry.session, entry.ref): (entry, text) for entry, text in reversed(found)}
    for entry, text in reversed(messages.values()):
        middle = entry.start + len(entry.text) // 2
        names: list[str] = []
        for name in _nearest(text, middle):
            if name not in shown and not view.holds(name):
                names.append(name)
                shown += f"\n{name}"
            if len(names) == MOST_NAMES or sum(map(len, names)) > MOST_CHARACTERS:
                break
        if names:
            yield entry, names


def _nearest(text: str, middle: int) -> list[str]:
    """Return the names around a place of a text, the nearest first."""
    found = _NAME.finditer(text, max(0, middle - FAR), middle + FAR)
    near = sorted((abs(match.start() - middle), match[0].rstrip(".")) for match in found)
    return list(dict.fromkeys(name for _, name in near if SHORTEST <= len(name) <= 200))
