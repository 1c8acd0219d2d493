"""How a body becomes bytes, and bytes a hash.

The bytes are compact JSON in UTF-8, keys in the order given. Half a surrogate pair, which broken streams
leave behind in real sessions, is written as the three bytes that UTF-8 would give it if it were a
character: reading gives back the very same text, and everything else stays plain UTF-8.
"""

from __future__ import annotations

import hashlib
import json
from typing import cast

from clew.errors import InputError, NotJson
from clew.message import Json, JsonObject


def canonical(body: JsonObject) -> bytes:
    """Return the one encoding of a body: equal bodies with equal key order give equal bytes."""
    try:
        return _write(body).encode("utf-8", "surrogatepass")
    except (TypeError, ValueError, RecursionError) as cause:
        raise InputError(f"this body cannot be written as JSON ({cause})") from cause


def parse(text: bytes) -> JsonObject:
    """Return the body whose canonical bytes these are."""
    try:
        body = json.loads(text.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as cause:
        raise NotJson(f"a body cannot be read ({cause})") from cause
    if not isinstance(body, dict):
        raise NotJson("a body is not a JSON object")
    return cast(JsonObject, body)


def digest(content: bytes) -> str:
    """Return the hash of bytes, with the name of its algorithm: ``sha256:9f86d0…``."""
    return "sha256:" + hashlib.sha256(content).hexdigest()


def digest_of_fields(*fields: Json) -> str:
    """Return the hash of a list of values: written as a JSON array in ASCII, so no two lists look alike."""
    return digest(_write_ascii(fields).encode("ascii"))


_write = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_write_ascii = json.JSONEncoder(separators=(",", ":")).encode
