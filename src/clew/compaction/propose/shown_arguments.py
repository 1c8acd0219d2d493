"""The arguments of a call in a shorter form: under the tool's own names, with notes for what is left out.

A model may imitate what it sees, so a shortened call has no argument that the tool does not have::

    {"file_path": "a.py", "old_string": "[failed, done in m108; kept as m103]", "new_string": "[…]"}
"""

from __future__ import annotations

import json
from collections.abc import Callable

from clew.message import Json

SHORT_VALUE = 80
"""Characters of a value that stays in a call shown as a note: a mode, a status. Chosen by hand."""
LEFT_OUT = "[…]"
"""What is shown instead of a second long value."""


def dumped(given: Json) -> str:
    """Return arguments as the text of a stub: JSON, or the text that they are."""
    return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)


def with_strings(given: Json, shorter: Callable[[str], str]) -> Json:
    """Return arguments with each string replaced by what a function makes of it."""
    if isinstance(given, str):
        return shorter(given)
    if isinstance(given, list):
        return [with_strings(one, shorter) for one in given]
    if isinstance(given, dict):
        return {key: with_strings(one, shorter) for key, one in given.items()}
    return given


def noted(given: Json, note: str, path: str = "") -> Json:
    """Return arguments with a note in place of their long values; the first element stays of each list.

    A path stays, and the line of a patch that names its first file.
    """
    notes = iter((note,))

    def shorter(text: str) -> str:
        if "\n" not in text and (text == path or len(text) <= SHORT_VALUE):
            return text
        return _noted_text(text, next(notes, LEFT_OUT))

    return with_strings(_with_first_elements(given), shorter)


def _noted_text(text: str, note: str) -> str:
    if "*** Begin Patch" not in text:
        return note
    begin, *names, end = [line for line in text.split("\n") if line.startswith("*** ")]
    return "\n".join((begin, *names[:1], note, end))


def _with_first_elements(given: Json) -> Json:
    if isinstance(given, list):
        return [_with_first_elements(one) for one in given[:1]]
    if isinstance(given, dict):
        return {key: _with_first_elements(one) for key, one in given.items()}
    return given


def noted_list(given: Json, note: str) -> Json:
    """Return arguments with a list, such as of tasks, as its first element, whose longest value is a note."""
    if not isinstance(given, dict):
        return given
    return {
        key: _noted_rows(value, note) if isinstance(value, list) else value for key, value in given.items()
    }


def _noted_rows(rows: list[Json], note: str) -> Json:
    row = rows[0] if rows else None
    texts = {key: text for key, text in row.items() if isinstance(text, str)} if isinstance(row, dict) else {}
    if not isinstance(row, dict) or not texts:
        return [note] if isinstance(row, str) else rows
    longest = max(texts, key=lambda key: len(texts[key]))
    return [{**row, longest: note}]
