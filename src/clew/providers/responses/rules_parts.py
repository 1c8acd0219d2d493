"""Which parts a message of each role takes (P0)."""

from __future__ import annotations

from collections.abc import Iterator

from clew.message import JsonObject
from clew.providers.rules import Finding
from clew.providers.shapes import as_text, objects

_GIVEN = frozenset({"input_text", "input_image", "input_file", "input_audio"})
_PART_KINDS = {
    "user": _GIVEN,
    "system": _GIVEN,
    "developer": _GIVEN,
    "assistant": frozenset({"output_text", "refusal"}),
}
_ANY_PART = _GIVEN | {"output_text", "refusal", "text", "image_url", "tool_use", "tool_result", "image"}
"""Parts of this API and of others. What is in no list may be new, and is let pass."""


def others_parts(where: str, item: JsonObject) -> Iterator[Finding]:
    """Yield the parts that a message of this role does not take: the API's error names those that it does."""
    role = as_text(item.get("role"))
    wrong = _ANY_PART - _PART_KINDS[role] if role in _PART_KINDS else frozenset()
    for j, part in objects(item.get("content")):
        kind = as_text(part.get("type"))
        if kind in wrong:
            yield Finding(f"{where}.content.{j}.type", f"{role} messages take no {kind} parts")
