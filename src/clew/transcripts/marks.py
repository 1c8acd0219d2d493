"""Marks by which a message is known again without being kept."""

from __future__ import annotations

from hashlib import blake2b

from clew.message import Message, ToolResult


def mark(value: Message | ToolResult) -> bytes:
    """Return a mark that differs where what was said differs."""
    return blake2b(repr(value).encode(errors="replace"), digest_size=16).digest()
