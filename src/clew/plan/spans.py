"""Many ids in few words: ``m2-m400,m402``, and back."""

from __future__ import annotations

import re
from collections.abc import Iterable

MOST_IDS = 10_000_000
"""That a text may stand for; more is nobody's session."""
_ID = re.compile(r"([a-z]+)([1-9][0-9]{0,9})")
_RUN = re.compile(r"([a-z]+)([1-9][0-9]{0,9})-\1([1-9][0-9]{0,9})")


def spans(ids: Iterable[str]) -> str:
    """Write ids in their order, runs of consecutive ones as their first and last."""
    runs: list[tuple[str, int, int]] = []
    for name in ids:
        known = _ID.fullmatch(name)
        word, number = (known[1], int(known[2])) if known else (name, -1)
        if runs and known and runs[-1][0] == word and runs[-1][2] == number - 1:
            runs[-1] = (word, runs[-1][1], number)
        else:
            runs.append((word, number, number))
    return ",".join(_run(*run) for run in runs)


def _run(word: str, first: int, last: int) -> str:
    if last < 0:
        return word
    return f"{word}{first}" if first == last else f"{word}{first}-{word}{last}"


def unspan(text: str, most: int = MOST_IDS) -> tuple[str, ...]:
    """Read ids back; a ``ValueError`` where the text stands for more than there can be."""
    ids: list[str] = []
    for piece in text.split(",") if text else ():
        run = _RUN.fullmatch(piece)
        if run is None:
            ids.append(piece)
            continue
        first, last = int(run[2]), int(run[3])
        if len(ids) + last - first > most:
            raise ValueError(f"{piece} stands for too many messages")
        ids.extend(f"{run[1]}{number}" for number in range(first, last + 1))
    return tuple(ids)
