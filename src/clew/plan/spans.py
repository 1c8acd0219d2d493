"""Many ids in few words: ``m2-m400,m402``, and back."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

MOST_IDS = 10_000_000
"""That a text may stand for; more is nobody's session."""
_ID = re.compile(r"([a-z]+)([1-9][0-9]{0,9})")
_LAST = 9_999_999_999
_RUN = re.compile(r"([a-z]+)([1-9][0-9]{0,9})-\1([1-9][0-9]{0,9})")


def spans(ids: Iterable[str]) -> str:
    """Write ids in their order, runs of consecutive ones as their first and last."""
    return _spans(tuple(ids))


@lru_cache(maxsize=4)  # a digest is drawn several times while its room is measured, and may cover a million
def _spans(ids: tuple[str, ...]) -> str:
    runs: list[list[str]] = []
    word, number, following = "", 0, None
    for name in ids:
        if name == following:
            runs[-1][1:] = (name,)
            number += 1
        else:
            runs.append([name])
            known = _ID.fullmatch(name)
            word, number = (known[1], int(known[2])) if known else ("", 0)
        following = f"{word}{number + 1}" if word and number < _LAST else None
    return ",".join("-".join(run) for run in runs)


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
