"""Read and write the ``content`` field of Anthropic and OpenAI: text, or a list of blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from clew.message import Json, Native, Part, Text, Trust, Unknown


def read_content(
    content: Json, trust: Trust, wire: str, read_block: Callable[[Json, Trust], Part]
) -> tuple[Part, ...]:
    """Read a ``content`` field. Empty text and null give no parts.

    Plain text becomes a ``Text`` without ``native``, because it has no block of its own.
    """
    if isinstance(content, str):
        return (Text(content, trust=trust),) if content else ()
    if isinstance(content, list):
        return tuple([read_block(block, trust) for block in content])
    if content is None:
        return ()
    return (Unknown("content", trust=trust, native=Native(wire, content)),)


def write_content(
    parts: Sequence[Part], given: Json, write_blocks: Callable[[Sequence[Part]], Iterable[Json]]
) -> Json:
    """Write parts in the form they were read in: plain text if it was text or absent, else blocks."""
    match parts:
        case [] if not given:
            return given
        case [Text(text=text, native=None)] if isinstance(given, str | None):
            return text
        case [Unknown(native=Native() as native)] if given is not None and native.value is given:
            return given  # was neither text nor a list
        case _:
            return list(write_blocks(parts))
