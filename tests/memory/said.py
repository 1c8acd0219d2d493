"""Turns for tests."""

from datetime import date

from clew.memory.index import Entry
from clew.message import Trust

MONDAY = date(2023, 5, 8)
AT = "2023-06-01T12:00:00.000Z"


def turn(text, n=0, **fields):
    """Return a turn of a small session."""
    own = {"ref": f"m{n}", "session": "main", "time": "2023-05-08T10:00:00.000Z", "role": "user"}
    return Entry(**{**own, "trust": Trust.USER, "text": text, **fields})


def together(pieces):
    """Return the text that overlapping pieces add up to; there must be no gap between them."""
    text = ""
    for piece in pieces:
        assert piece.start <= len(text)
        assert text[piece.start :] == piece.text[: len(text) - piece.start]
        text = text[: piece.start] + piece.text
    return text
