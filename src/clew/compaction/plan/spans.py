"""Compact notation for lists of ids: ``m2-m400,m402``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

MOST_IDS = 10_000_000
"""Upper bound on the ids one text may expand to, against hostile input; far above any real session."""
_ID = re.compile(r"([a-z]+)([1-9][0-9]{0,9})")
_LAST = 9_999_999_999
_RUN = re.compile(r"([a-z]+)([1-9][0-9]{0,9})-\1([1-9][0-9]{0,9})")


def spans(ids: Iterable[str]) -> str:
    """Write ids in order, with runs of consecutive ones as first-last."""
    return _spans(tuple(ids))


@lru_cache(maxsize=4)  # a digest is rendered several times per pass and may cover a million messages
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
    """Expand the notation; raise ``ValueError`` if the text expands to more than ``most`` ids."""
    ids: list[str] = []
    for piece in text.split(",") if text else ():
        run = _RUN.fullmatch(piece)
        if run is None:
            ids.append(piece)
            continue
        first, last = int(run[2]), int(run[3])
        if len(ids) + last - first > most:
            raise ValueError(f"{piece} expands to too many messages")
        ids.extend(f"{run[1]}{number}" for number in range(first, last + 1))
    return tuple(ids)
