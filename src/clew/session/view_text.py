"""A compacted view as one text, for programs that accept nothing but a summary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from clew.message import Item, Origin, Role
from clew.message.text import ellipsize, escape_tags

RESULT_CHARS = 600
"""Most characters of a tool call or result that a view still shows."""


def view_text(items: Iterable[Item], *, compacted: bool) -> str:
    """Return the digest of a view, then its messages: the newest ones, or shortened ones."""
    digests: list[str] = []
    messages: list[str] = []
    shortened = compacted
    for item in items:
        if item.message.origin is Origin.SUMMARY:
            digests.append(item.message.text)
        elif item.message.role is not Role.SYSTEM:
            messages += _lines(item)
            shortened = shortened or _is_cut(item)
    if digests:
        head = "The newest messages, shortened:"
    elif shortened:
        head = "The conversation, shortened:"
    else:
        head = "The conversation, word for word:"
    return "\n\n".join([*digests, *(["\n".join([head, *messages])] if messages else ())])


def _is_cut(item: Item) -> bool:
    """Return True if ``_lines`` shows only the beginning of a call or result."""
    texts = (
        *(call.input_text for call in item.message.calls),
        *(result.text for result in item.message.results),
    )
    return any(len(text) > RESULT_CHARS for text in texts)


def _lines(item: Item) -> Iterator[str]:
    message = item.message
    if message.text.strip():
        yield f"[{item.id}, {message.role.value}] {escape_tags(message.text.strip())}"
    for call in message.calls:
        yield f"[{item.id}, tool call] {call.name}({escape_tags(ellipsize(call.input_text, RESULT_CHARS))})"
    for result in message.results:
        yield f"[{item.id}, tool result: data] {escape_tags(ellipsize(result.text, RESULT_CHARS))}"
