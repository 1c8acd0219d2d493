"""How the recent past fades: the newest messages whole, older ones with less and less of their tool output.

What the agent said and which calls it made helps more to go on than what tools printed, so older messages
keep most of the first and a line or two of the second. Fitted with the reader measure (``bench/reader``): a
model continues better from many faded messages than from few whole ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from clew.ladder.tail import water_level
from clew.message import Item, Message, Origin, Part, Role, Text, Thinking, ToolCall, ToolResult

RESULT_TOKENS = 36
"""A faded tool result: about its first and its last line."""
AGENT_TOKENS = 600
"""Faded prose or arguments of the agent: most are shorter and stay whole, so that no call is cut."""
USER_TOKENS = 400
OTHER_TOKENS = 80
"""Text that a harness put into a message."""
LARGEST_SHARE = 0.3
"""Of what is left after fading: the most that one message gets back, so that no giant takes it all,
unless the model has not answered it yet."""
WORTH_AN_EXCERPT = 60
"""Tokens: a message that cannot get back so many of what fading took stays faded."""


def faded_part(message: Message, part: Part, tokens: int) -> int:
    """Return the tokens that a part takes when it is faded."""
    match part:
        case ToolResult():
            return min(tokens, RESULT_TOKENS)
        case ToolCall():
            return min(tokens, AGENT_TOKENS)
        case Text() if message.role is Role.ASSISTANT:
            return min(tokens, AGENT_TOKENS)
        case Text() if message.origin is Origin.SPOKEN:
            return min(tokens, USER_TOKENS)
        case Text():
            return min(tokens, OTHER_TOKENS)
        case _:
            return tokens


def faded_sizes(
    view: Sequence[Item], sizes: Sequence[int], room: int, loop: int, count: Callable[[Part], int]
) -> tuple[list[int], list[int]]:
    """Return the sizes of a view, and those with its recent messages faded, as far back as ``room`` reaches.

    Thoughts count only from ``loop`` on, where the turn that is still running begins: those of earlier turns
    are left out whenever messages fade. Providers do not read them either.
    """
    whole, faded = list(sizes), list(sizes)
    held = 0
    for i in reversed(range(len(view))):
        message = view[i].message
        if sizes[i] > RESULT_TOKENS:
            gone = thought = 0
            for part in message.parts:
                tokens = count(part)
                if isinstance(part, Thinking):
                    thought += tokens if i < loop else 0
                else:
                    gone += tokens - faded_part(message, part, tokens)
            whole[i] -= thought
            faded[i] = whole[i] - gone
        held += faded[i]
        if held > room:
            break
    return whole, faded


def allotments(sizes: Sequence[int], faded: Sequence[int], room: int, unread: int) -> list[int] | None:
    """Share out a room among recent messages, newest first; None if there is too little for all of them.

    ``unread`` is the index from which on the model has not answered yet.
    """
    left = total = room - sum(faded)
    if left < 0:  # more was to be kept than fits even faded: what is largest gives way
        level = water_level(faded, room)
        return [min(size, level) for size in faded] if level >= RESULT_TOKENS else None
    given = list(faded)
    for i in reversed(range(len(sizes))):
        wanted = sizes[i] - faded[i]
        if wanted <= 0:
            continue
        most = total if i >= unread else total * LARGEST_SHARE
        back = int(min(wanted, most, left))
        if back < wanted and back < WORTH_AN_EXCERPT:
            continue
        given[i] += back
        left -= back
    return given


def part_level(message: Message, tokens: int, count: Callable[[Part], int]) -> int:
    """Return the most tokens that a part may take for the message to take no more than ``tokens``."""
    return water_level([count(part) for part in message.parts if not isinstance(part, Thinking)], tokens)
