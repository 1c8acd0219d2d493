"""Find the fields of an object that its neutral part does not represent, to report their loss."""

from __future__ import annotations

from clew.message import Json, JsonObject
from clew.providers.shapes import as_object

# Useless outside their original exchange, so their loss is not reported.
_BOOKKEEPING = frozenset(
    {"id", "status", "type", "index", "object", "model", "usage", "stop_reason", "stop_sequence"}
    | {"logprobs", "caller"}
)
_UNDERSTOOD_INSIDE = {
    "image_url": frozenset({"url"}),
    "input_audio": frozenset({"data", "format"}),
    "file": frozenset({"file_id", "filename", "file_data"}),
    "function": frozenset({"name", "arguments"}),
    "custom": frozenset({"name", "input"}),
    "source": frozenset({"type", "media_type", "data", "url", "file_id", "content"}),
}


def unread_fields(value: JsonObject, understood: frozenset[str]) -> list[str]:
    """Return the non-empty fields that are not understood, with the path of nested ones."""
    outside = sorted(key for key in value.keys() - understood - _BOOKKEEPING if _says_something(value[key]))
    inside = sorted(
        f"{holder}.{key}"
        for holder, known in _UNDERSTOOD_INSIDE.items()
        for key, inner in as_object(value.get(holder)).items()
        if key not in known and _says_something(inner)
    )
    return outside + inside


def _says_something(value: Json) -> bool:
    return value is not False and value not in (None, "", [], {})
