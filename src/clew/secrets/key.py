"""The key of the keyed hash in masks: equal secrets get equal masks, which reveal nothing without the key."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from pathlib import Path

from clew.settings import clew_home

NAME = "mask.key"
SIZE = 32


def key_file(path: Path) -> bytes:
    """Return the key kept in a file that only its owner can read; create the file if it is missing.

    If two processes create it at once, both use the one that was written first.
    """
    with suppress(FileNotFoundError):
        kept = path.read_bytes()
        if len(kept) >= SIZE:
            return kept[:SIZE]
        path.unlink()  # an incomplete write: nothing was masked with it
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    made = os.urandom(SIZE)
    file = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(file, made)
    finally:
        os.close(file)
    try:
        os.link(fresh, path)  # atomic, and never replaces another process's key
    except FileExistsError:
        made = path.read_bytes()[:SIZE]
    finally:
        fresh.unlink()
    return made


@cache
def own_key() -> bytes:
    """Return this user's key; if clew's home is not writable, a random one for this process."""
    try:
        return key_file(clew_home() / NAME)
    except OSError:
        return os.urandom(SIZE)
