"""Thinking in a client's list of messages: find it, and leave it out.

A block is identified by a hash of its signature or encrypted content: clients send it back unchanged. With
``--drop-thinking``, ``in_flight.py`` leaves out what was thought before a compaction.
"""

from __future__ import annotations

from typing import Any

THINKING = ("thinking", "redacted_thinking", "reasoning")
"""Types of Anthropic's blocks and of the items of the Responses API."""


def _block_hash(value: object) -> int | None:
    """Return the hash of a thinking block or reasoning item; None if it is something else."""
    if not isinstance(value, dict) or value.get("type") not in THINKING:
        return None
    return hash(str(value.get("signature") or value.get("encrypted_content") or value.get("data") or value))


def _blocks(entry: object) -> list[Any]:
    content = entry.get("content") if isinstance(entry, dict) else None
    return content if isinstance(content, list) else []


def thinking_in(entries: list[Any]) -> list[int]:
    """Return the hashes of all thinking of a list, in order."""
    found = (_block_hash(block) for entry in entries for block in (entry, *_blocks(entry)))
    return [block_hash for block_hash in found if block_hash is not None]


def without_thinking(entries: list[Any], stale: set[int]) -> list[Any]:
    """Return a list without the thinking of these hashes, and without messages that held nothing else."""
    left = []
    for entry in entries:
        blocks = [one for one in _blocks(entry) if _block_hash(one) not in stale]
        if len(blocks) < len(_blocks(entry)):
            left += [{**entry, "content": blocks}] if blocks else []
        elif _block_hash(entry) not in stale:
            left.append(entry)
    return left


def running_loop(entries: list[Any]) -> list[Any]:
    """Return what follows the last message that a person wrote."""
    for start in range(len(entries) - 1, -1, -1):
        entry = entries[start]
        results = any(isinstance(one, dict) and one.get("type") == "tool_result" for one in _blocks(entry))
        if isinstance(entry, dict) and entry.get("role") == "user" and not results:
            return entries[start:]
    return entries
