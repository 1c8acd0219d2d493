"""Masking: a secret's place is kept, and its kind; what it was is gone."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

from clew.secrets.find import MASK, Found, find
from clew.secrets.key import own_key


@dataclass(frozen=True, slots=True)
class Masked:
    """A text without its secrets."""

    text: str
    found: tuple[Found, ...] = ()
    """What was masked, by its place in the text as it was."""


def mask(text: str, key: bytes | None = None) -> Masked:
    """Return a text with every secret replaced by ``[secret:<rule>:<4 hex>]``.

    The four digits are of a keyed hash: the same secret has the same mask, and a mask tells nothing. Masking
    what is masked changes nothing. Without ``key``, clew's own is used.
    """
    found = find(text)
    if not found:
        return Masked(text)
    key = own_key() if key is None else key
    pieces: list[str] = []
    done = 0
    for rule, start, end in found:
        pieces += [text[done:start], mask_of(rule, text[start:end], key)]
        done = end
    return Masked("".join(pieces) + text[done:], tuple(found))


def mask_of(rule: str, secret: str, key: bytes) -> str:
    """Return what stands in a secret's place."""
    digest = blake2b(secret.encode("utf-8", "surrogatepass"), key=key, digest_size=2).hexdigest()
    return f"{MASK}{rule}:{digest}]"
