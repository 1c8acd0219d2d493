"""Passwords in the columns of tables: Markdown, CSV, and lines with tabs.

A header names the column (``| user | password |``, ``username,password``), and the values stand in lines
below it, out of the reach of a pattern. A value counts if it has a letter, a digit and no white space.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_HEADER = re.compile(
    r"(?i)(?:[^\W\d]{1,20}[ _-]){0,2}"
    r"(?:passwor[dt]|passwd|passphrase|pwd|kennwort|contraseña|clave|senha|mot de passe|密码|密碼|口令|пароль"
    r"|パスワード)"
)
"""The name of a column of passwords, whole."""
_MARKS = (
    *("assw", "ASSW", "assph", "pwd", "PWD", "ennwort", "ontrase", "lave", "enha", "ot de passe"),
    *("密码", "密碼", "口令", "ароль", "パスワード"),
)
"""What a text with such a header contains: plain strings, because substring search is fast."""
_NAME = re.compile(r"[^\W\d][\w .#/()-]{0,40}")
"""The name of a column; lines of code have other signs."""
_RULER = re.compile(r"[\s|:+=-]+")
"""The line below a header of Markdown."""
_VALUE = re.compile(r"(?=\D*\d)(?=[^A-Za-z]*[A-Za-z])[^\s<>{}()\[\]$]{6,128}")
_NO_SECRET = re.compile(
    r"(?i)\[secret:.*|.*(?:passw(?:or)?d|example|redacted|changeme|xxxx|\*\*\*\*).*|[\d.,:/-]+\w?"
    r"|[a-z]+\d{0,4}(?:_[a-z0-9]{1,24})+"
)
"""Values that stand for a password, and dates, sizes, numbers, names of code."""
_SEPARATORS = ("|", "\t", ";", ",")
MOST_COLUMNS = 40
MOST_ROWS = 1_000
"""Limits on a table, chosen by hand."""


def table_passwords(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the values in columns of passwords."""
    if not any(map(text.__contains__, _MARKS)) or not any(map(text.__contains__, _SEPARATORS)):
        return
    column: tuple[str, int, int] | None = None  # separator, how many cells, which one
    rows = at = 0
    for line in text.splitlines(keepends=True):
        start, at = at, at + len(line)
        if column is not None and rows < MOST_ROWS:
            cells = _cells(line, column[0])
            rows += 1
            if len(cells) == column[1]:
                begin, end = cells[column[2]]
                value = line[begin:end]
                if _VALUE.fullmatch(value) and not _NO_SECRET.fullmatch(value):
                    yield start + begin, start + end
                continue
            if _RULER.fullmatch(line):
                continue
        column, rows = _password_column(line), 0


def _password_column(line: str) -> tuple[str, int, int] | None:
    """Return the separator of a header, its number of cells, and which of them names passwords."""
    if not any(map(line.__contains__, _MARKS)):
        return None
    sign = next((sign for sign in _SEPARATORS if sign in line), None)
    cells = _cells(line, sign) if sign else []
    names = [line[begin:end] for begin, end in cells]
    named = [*filter(None, names)]  # a line of a list in code has one, and its comma
    if not 2 <= len(named) <= len(names) <= MOST_COLUMNS or not all(map(_NAME.fullmatch, named)):
        return None
    return next(
        ((sign or "", len(names), n) for n, name in enumerate(names) if _HEADER.fullmatch(name)), None
    )


def _cells(line: str, sign: str) -> list[tuple[int, int]]:
    """Return the spans of the cells of a line, without the space, quotes and marks around them."""
    spans: list[tuple[int, int]] = []
    begin = 0
    for cell in line.rstrip("\r\n").split(sign):
        inner = cell.strip(" \t\"'`*")
        offset = begin + (cell.index(inner) if inner else 0)
        spans.append((offset, offset + len(inner)))
        begin += len(cell) + len(sign)
    return spans
