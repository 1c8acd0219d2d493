"""Replace secrets in a text by masks that keep their kind and position."""

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
    """What was masked, with positions in the original text."""


def mask(text: str, key: bytes | None = None) -> Masked:
    """Return a text with every secret replaced by ``[secret:<rule>:<4 hex>]``.

    The four digits come from a keyed hash, so equal secrets get equal masks and a mask reveals nothing.
    Masking twice changes nothing. Without ``key``, clew's own key is used.
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
    """Return the mask of a secret."""
    digest = blake2b(secret.encode("utf-8", "surrogatepass"), key=key, digest_size=2).hexdigest()
    return f"{MASK}{rule}:{digest}]"
