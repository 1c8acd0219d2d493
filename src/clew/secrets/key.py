"""The key behind masks: with it a mask can be compared, without it nothing can be guessed from one."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from pathlib import Path

from clew.settings import clew_home

NAME = "mask.key"
SIZE = 32


def key_file(path: Path) -> bytes:
    """Return the key kept in a file that only its owner may read; make it where it is not there.

    Two processes that make it at once agree: the second finds the first one's.
    """
    with suppress(FileNotFoundError):
        kept = path.read_bytes()
        if len(kept) >= SIZE:
            return kept[:SIZE]
        path.unlink()  # a write that broke off: nothing was masked with it
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    made = os.urandom(SIZE)
    file = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(file, made)
    finally:
        os.close(file)
    try:
        os.link(fresh, path)  # whole or not at all, and never over another's
    except FileExistsError:
        made = path.read_bytes()[:SIZE]
    finally:
        fresh.unlink()
    return made


@cache
def own_key() -> bytes:
    """Return the key of this computer's clew; where its home cannot be written, one for this process."""
    try:
        return key_file(clew_home() / NAME)
    except OSError:
        return os.urandom(SIZE)
