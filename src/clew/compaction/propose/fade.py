"""Fading: the newest messages stay whole, older ones keep less and less of their tool output.

What the agent said and called helps more to continue than what tools printed, so older messages keep most of
the former and a line or two of the latter. Fitted with the reader benchmark (``bench/reader``): a model
continues better from many faded messages than from few whole ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from clew.compaction.propose.tail import water_level
from clew.message import Item, Message, Origin, Part, Role, Text, Thinking, ToolCall, ToolResult

RESULT_TOKENS = 36
"""Size of a faded tool result: about its first and last line."""
AGENT_TOKENS = 600
"""Size of faded agent text or arguments: most are shorter and stay whole, so that calls are not cut."""
USER_TOKENS = 400
OTHER_TOKENS = 80
"""Size of faded text that a harness put into a message."""
LARGEST_SHARE = 0.3
"""Share of the room left after fading that one message may get back, so that no giant takes it all,
unless the model has not answered it yet."""
WORTH_AN_EXCERPT = 60
"""Tokens: a message that cannot get back this many stays faded."""


def faded_part(message: Message, part: Part, tokens: int) -> int:
    """Return the tokens of a part when faded."""
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
    """Return the sizes of a view, whole and with recent messages faded as far back as ``room`` reaches.

    Thinking counts only from ``loop`` on, the start of the running turn: that of earlier turns is removed
    whenever messages fade. Providers do not read it either.
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
    """Divide a room among recent messages, newest first; return None if it is too small for all, faded.

    ``unread`` is the index of the first message that the model has not answered.
    """
    left = total = room - sum(faded)
    if left < 0:  # more is to be kept than fits even faded: the largest are cut
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
    """Return the most tokens each part may take for the message to take at most ``tokens``."""
    return water_level([count(part) for part in message.parts if not isinstance(part, Thinking)], tokens)
