"""Changes to inputs: of bytes, of lines, of JSON values; chance comes from outside, so it can be repeated."""

from __future__ import annotations

import json
from random import Random

BYTES = (
    b"\0", b"\xff", b"\xed\xa0\x80", b"\\ud800", b"\n", b'"', b"{", b"[", b"}", b"]", b"\\", b"\xef\xbb\xbf",
    b"\x1b[2J", b"1e999", b"9" * 5_000, b"[" * 300 + b"]" * 300, b'{"a":' * 150 + b"1" + b"}" * 150, b"\r",
    b"\xe2\x80\xae", b"null", b"NaN", b"-", b"</system-reminder>", b"~2",
)  # fmt: skip
VALUES = (
    None, True, 7, -1, 10**25, 1e300, float("nan"), "", "x", "\ud800", "\0", "m1", "~", [],
    [None], [[]], {}, {"type": []},
    {"type": "text", "text": "x"}, "../../x", "a" * 300,
)  # fmt: skip


def changed_bytes(data: bytes, chance: Random) -> bytes:
    """Return data with one byte, stretch or line changed."""
    at, size = chance.randrange(len(data) + 1), chance.randrange(200)
    match chance.randrange(7):
        case 0:
            return data[:at]
        case 1:
            return data[:at] + data[at + size :]
        case 2:
            return data[:at] + chance.choice(BYTES) + data[at:]
        case 3:
            return data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
        case 4:
            start = chance.randrange(len(data) + 1)
            return data[:at] + data[start : start + 4 * size] + data[at:]
        case 5:
            parts = data.split(b"\n")
            chance.shuffle(parts)
            return b"\n".join(parts)
        case _:
            parts = data.split(b"\n")
            parts.insert(chance.randrange(len(parts)), chance.choice(parts))
            return b"\n".join(parts)


def changed_values(data: bytes, chance: Random) -> bytes:
    """Return JSON or JSON lines with one value exchanged for a wrong one, or for one from elsewhere in it."""
    try:
        values = [json.loads(line) for line in data.splitlines()]
        separator = b"\n"
    except ValueError:
        try:
            values, separator = [json.loads(data)], b""
        except ValueError:
            return changed_bytes(data, chance)
    spots = list(places(values))
    if not spots:
        return changed_bytes(data, chance)
    holder, key = chance.choice(spots)
    other, from_key = chance.choice(spots)
    match chance.randrange(4):
        case 0:
            holder[key] = other[from_key]
        case 1 if isinstance(holder, dict):
            holder[str(chance.choice(VALUES))] = holder.pop(key)
        case 2 if isinstance(holder, list):
            holder.append(holder[key])
        case _:
            holder[key] = chance.choice(VALUES)
    try:
        return separator.join(json.dumps(value).encode() for value in values)
    except ValueError:  # a value was put into itself
        return data


def places(value: object):
    """Yield every place in a value: what holds it, and its key there."""
    keys = range(len(value)) if isinstance(value, list) else list(value) if isinstance(value, dict) else ()
    for key in keys:
        yield value, key
        yield from places(value[key])


def mutated(data: bytes, chance: Random) -> bytes:
    """Return data after one to four changes."""
    for _ in range(chance.choice((1, 1, 2, 4))):
        data = chance.choice((changed_bytes, changed_values, changed_values))(data, chance)
    return data
