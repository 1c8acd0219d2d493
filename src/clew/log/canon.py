"""Encode event bodies as canonical bytes and hash them.

The bytes are compact JSON in UTF-8, keys in the given order. Half a surrogate pair, which broken streams
leave in real sessions, is encoded as the three bytes that UTF-8 would give it: decoding returns the same
text, and everything else is plain UTF-8.
"""

from __future__ import annotations

import hashlib
import json
from typing import cast

from clew.errors import InputError, NotJson
from clew.message import Json, JsonObject


def canonical(body: JsonObject) -> bytes:
    """Return the canonical encoding of a body: equal bodies with equal key order give equal bytes."""
    try:
        return _write(body).encode("utf-8", "surrogatepass")
    except (TypeError, ValueError, RecursionError) as cause:
        raise InputError(f"this body cannot be written as JSON ({cause})") from cause


def parse(text: bytes) -> JsonObject:
    """Return the body with these canonical bytes."""
    try:
        body = json.loads(text.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as cause:
        raise NotJson(f"a body cannot be read ({cause})") from cause
    if not isinstance(body, dict):
        raise NotJson("a body is not a JSON object")
    return cast(JsonObject, body)


def digest(content: bytes) -> str:
    """Return the hash of bytes, prefixed with its algorithm: ``sha256:9f86d0…``."""
    return "sha256:" + hashlib.sha256(content).hexdigest()


def digest_of_fields(*fields: Json) -> str:
    """Return the hash of a list of values, encoded as a JSON array in ASCII, which is unambiguous."""
    return digest(_write_ascii(fields).encode("ascii"))


_write = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_write_ascii = json.JSONEncoder(separators=(",", ":")).encode
