"""Compaction items that a client stores and sends back without reading them: sealed with a key on disk.

The Responses API defines a compaction item as opaque. clew's items hold the digest and its session,
compressed, encrypted and authenticated, so that an item sent back is known to be clew's own and unchanged.
Before a request goes upstream, each of them is replaced by the digest as a message; the text is the same in
every request, which keeps the prompt cache warm.
"""

from __future__ import annotations

import hmac
import json
import os
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b, shake_256
from pathlib import Path

from clew.message import Json, JsonObject
from clew.secrets.find import key_file
from clew.settings import clew_home

PREFIX = "clew1."
KEY_FILE = "proxy.key"
ITEM_TYPES = frozenset({"compaction", "compaction_summary", "context_compaction"})
_NONCE = 16
_TAG = 32
"""Bytes of the random part of a sealed item, and of the code that shows a change of it (HMAC-SHA256)."""


@dataclass(frozen=True, slots=True)
class SealedDigest:
    """A digest, and where it is in clew's log."""

    session: str
    digest: str
    text: str


@cache
def _key(home: Path) -> bytes:
    return key_file(home / KEY_FILE)


def _derived(purpose: bytes) -> bytes:
    return blake2b(purpose, key=_key(clew_home()), digest_size=32).digest()


def _encrypted(data: bytes, nonce: bytes) -> bytes:
    """Encrypt or decrypt: XOR with the output of a keyed SHAKE-256."""
    stream = shake_256(_derived(b"encrypt") + nonce).digest(len(data))
    return (int.from_bytes(data) ^ int.from_bytes(stream)).to_bytes(len(data))


def seal(digest: SealedDigest) -> str:
    """Return a digest as opaque text."""
    value = [digest.session, digest.digest, digest.text]
    nonce = os.urandom(_NONCE)
    hidden = _encrypted(zlib.compress(json.dumps(value).encode()), nonce)
    tag = hmac.digest(_derived(b"authenticate"), nonce + hidden, "sha256")
    return PREFIX + urlsafe_b64encode(nonce + tag + hidden).decode()


def unseal(text: str) -> SealedDigest | None:
    """Return the digest of a sealed text; None if it was not sealed with this key or was changed."""
    try:
        raw = urlsafe_b64decode(text.removeprefix(PREFIX))
    except ValueError:
        return None
    nonce, tag, hidden = raw[:_NONCE], raw[_NONCE : _NONCE + _TAG], raw[_NONCE + _TAG :]
    expected = hmac.digest(_derived(b"authenticate"), nonce + hidden, "sha256")
    if not text.startswith(PREFIX) or not hmac.compare_digest(tag, expected):
        return None
    session, digest, said = json.loads(zlib.decompress(_encrypted(hidden, nonce)))
    return SealedDigest(session, digest, said)


def sealed_item(digest: SealedDigest) -> JsonObject:
    """Return a compaction item of the Responses API."""
    return {"type": "compaction", "id": f"cmp_{os.urandom(12).hex()}", "encrypted_content": seal(digest)}


def digest_in(item: Json) -> SealedDigest | None:
    """Return the digest of clew's own compaction item; None for any other item."""
    if not isinstance(item, dict) or item.get("type") not in ITEM_TYPES:
        return None
    text = item.get("encrypted_content")
    return unseal(text) if isinstance(text, str) and text.startswith(PREFIX) else None


def holds_sealed(raw: bytes) -> bool:
    """Whether a body may contain an item of clew; costs one search."""
    return PREFIX.encode() in raw


def open_digests(items: list[Json]) -> list[Json]:
    """Return a list with clew's items replaced by their digests, as messages of the user role."""
    opened: list[Json] = []
    for item in items:
        if digest := digest_in(item):
            content: Json = [{"type": "input_text", "text": digest.text}]
            opened.append({"type": "message", "role": "user", "content": content})
        else:
            opened.append(item)
    return opened
