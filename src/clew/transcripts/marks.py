"""Fingerprints that recognise a message without keeping it."""

from __future__ import annotations

from hashlib import blake2b

from clew.message import Message, ToolResult


def mark(value: Message | ToolResult) -> bytes:
    """Return a fingerprint of a message or result."""
    return blake2b(repr(value).encode(errors="replace"), digest_size=16).digest()
