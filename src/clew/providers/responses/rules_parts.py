"""The content parts that each role accepts (P0)."""

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
"""Parts of this API and of others. Unlisted kinds may be new, and are not reported."""


def others_parts(where: str, item: JsonObject) -> Iterator[Finding]:
    """Yield the parts that a message of this role does not accept."""
    role = as_text(item.get("role"))
    wrong = _ANY_PART - _PART_KINDS[role] if role in _PART_KINDS else frozenset()
    for j, part in objects(item.get("content")):
        kind = as_text(part.get("type"))
        if kind in wrong:
            yield Finding(f"{where}.content.{j}.type", f"{role} messages do not accept {kind} parts")
