"""Helpers for text shown to people: put it on one line, cut it to a length with an ellipsis."""

_CHARACTERS_READ = 4
"""Read per character shown, so that a message of megabytes is not split for one line (chosen by hand)."""


def one_line(text: str, limit: int | None = None) -> str:
    """Return a text on one line, whitespace as single spaces, cut to ``limit`` by ``ellipsize``."""
    if limit is None:
        return " ".join(text.split())
    read = text[: limit * _CHARACTERS_READ]
    line = " ".join(read.split())
    return ellipsize(line if len(read) == len(text) else f"{line}…", limit)


def ellipsize(text: str, limit: int) -> str:
    """Return a text of at most ``limit`` characters; if it is cut, ``…`` is the last of them."""
    if len(text) <= limit:
        return text
    return f"{text[: limit - 1].rstrip()}…" if limit > 0 else ""
