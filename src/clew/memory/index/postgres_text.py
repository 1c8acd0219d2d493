"""Terms, days, files and vectors of the search index in the text forms that PostgreSQL searches.

One full-text column holds everything of all workspaces, so each lexeme begins with the key of its workspace:
in workspace 7 the term ``login`` at word 3 is ``'7:login':3``, and a day or file is ``'7.d20260301'``. The
query functions return ``tsquery`` text over the same lexemes: ``'7:login' <-> '7:page':*``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

LONGEST_LEXEME = 200
"""Most characters of a lexeme; of a longer term its hash is stored. PostgreSQL allows 2,046 bytes."""
MOST_POSITIONS = 16_383
"""The highest position that PostgreSQL stores for a lexeme."""


def text_vector(workspace_key: int, terms: Iterable[str], marks: Iterable[str]) -> str:
    """Return the lexemes of an entry: its terms with their positions, then its days and files (marks)."""
    lexemes = [
        f"{term_query(workspace_key, term)}:{min(position, MOST_POSITIONS)}"
        for position, term in enumerate(terms, start=1)
    ]
    return " ".join([*lexemes, *(_mark(workspace_key, mark) for mark in marks)])


def term_query(workspace_key: int, term: str) -> str:
    """Return a query for one term; this is also the term's lexeme."""
    if len(term) > LONGEST_LEXEME:
        term = hashlib.sha256(term.encode("utf-8", "surrogatepass")).hexdigest()
    return f"'{workspace_key}:{term}'"


def phrase_query(workspace_key: int, terms: Sequence[str], last_is_prefix: bool) -> str:
    """Return a query for terms that follow each other."""
    phrase = " <-> ".join(term_query(workspace_key, term) for term in terms)
    return f"{phrase}:*" if last_is_prefix else phrase


def marks_query(workspace_key: int, marks: Sequence[str]) -> str:
    """Return a query for entries of any of these days or files; empty without any."""
    return f"({' | '.join(_mark(workspace_key, mark) for mark in marks)})" if marks else ""


def both(*queries: str) -> str:
    """Return a query for entries that match all of these; empty ones match every entry."""
    return " & ".join(query for query in queries if query)


def _mark(workspace_key: int, mark: str) -> str:
    return f"'{workspace_key}.{mark}'"


def sign_bits(vector: bytes) -> str:
    """Return the signs of a vector's signed bytes as a bit string: 1 for a positive number."""
    return "".join("1" if 0 < number < 128 else "0" for number in vector)
