"""Replace secrets in a text by masks that keep their kind and position.

A mask holds four digits of a keyed hash: equal secrets get equal masks, and a mask reveals nothing without
the key.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path
from tempfile import mkstemp

from clew.secrets.find import MASK, FoundSecret, find
from clew.settings import clew_home

KEY_FILE = "mask.key"
KEY_BYTES = 32


def key_file(path: Path) -> bytes:
    """Return the key kept in a file that only its owner can read; create the file if it is missing.

    If two processes create it at once, both use the one that was written first.
    """
    with suppress(FileNotFoundError):
        kept = path.read_bytes()
        if len(kept) >= KEY_BYTES:
            return kept[:KEY_BYTES]
        path.unlink()  # an incomplete write: nothing was masked with it
    path.parent.mkdir(parents=True, exist_ok=True)
    data = os.urandom(KEY_BYTES)
    # A random name: two containers that share a home may have the same process id.
    file, name = mkstemp(prefix=f"{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        os.write(file, data)
    finally:
        os.close(file)
    try:
        os.link(temporary, path)  # atomic, and never replaces another process's key
    except FileExistsError:
        data = path.read_bytes()[:KEY_BYTES]
    finally:
        temporary.unlink()
    return data


@cache
def own_key() -> bytes:
    """Return this user's key; if clew's home is not writable, a random one for this process."""
    try:
        return key_file(clew_home() / KEY_FILE)
    except OSError:
        return os.urandom(KEY_BYTES)


@dataclass(frozen=True, slots=True)
class MaskedText:
    """A text without its secrets."""

    text: str
    found: tuple[FoundSecret, ...] = ()
    """What was masked, with positions in the original text."""


def mask(text: str, key: bytes | None = None) -> MaskedText:
    """Return a text with every secret replaced by ``[secret:<rule>:<4 hex>]``.

    The four digits come from a keyed hash, so equal secrets get equal masks and a mask reveals nothing.
    Masking twice changes nothing. Without ``key``, clew's own key is used.
    """
    secrets = find(text)
    if not secrets:
        return MaskedText(text)
    key = own_key() if key is None else key
    pieces: list[str] = []
    done = 0
    for rule, start, end in secrets:
        pieces += [text[done:start], mask_of(rule, text[start:end], key)]
        done = end
    return MaskedText("".join(pieces) + text[done:], tuple(secrets))


def mask_of(rule: str, secret: str, key: bytes) -> str:
    """Return the mask of a secret."""
    digest = blake2b(secret.encode("utf-8", "surrogatepass"), key=key, digest_size=2).hexdigest()
    return f"{MASK}{rule}:{digest}]"
