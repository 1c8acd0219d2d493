"""List exact names in the found messages that the view no longer shows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from clew.memory.in_view import InView
from clew.memory.index.protocol import Entry

MOST_NAMES = 16
"""Names per message: those nearest to the hit. The limits here were chosen by hand."""
MOST_CHARACTERS = 500
"""Characters of the names of one message."""
FAR = 12_000
"""Characters around a hit in which names are searched."""
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
    """Yield names near each hit in its message that neither the hits nor the view show.

    ``found`` are hits with the whole text of their messages; each message is searched once.
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
    """Return the names around a position of a text, nearest first."""
    found = _NAME.finditer(text, max(0, middle - FAR), middle + FAR)
    near = sorted((abs(match.start() - middle), match[0].rstrip(".")) for match in found)
    return list(dict.fromkeys(name for _, name in near if SHORTEST <= len(name) <= 200))
