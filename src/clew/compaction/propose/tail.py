"""Which recent messages stay: how far back they reach, and how older ones fade.

The newest messages stay whole; older ones keep their prose and calls and only a line or two of tool output.
Fitted with the reader benchmark (``bench/reader``): a model continues better from many faded messages than
from few whole ones.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from math import ceil
from typing import NamedTuple

from clew.compaction.task import Keep
from clew.message import (
    Item,
    Message,
    Origin,
    Part,
    Place,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    cut_points,
    pair,
    words,
)
from clew.message.text import lazy_pattern

SMALL_ROOM, LARGE_ROOM = 2_500, 7_500
"""Tokens. Between these two the shares below change linearly: in a small room the recent work is nearly all
that helps, in a large one the story and findings of a long session are worth more. Fitted with the reader
benchmark (``bench/reader``) and the questions of ``clew eval``."""
KEPT_SHARE = (0.88, 0.72)
"""Share of the room for recent messages, including faded ones; the rest is for the digest."""
SHARE_WITH_PROSE = 0.6
"""Factor on that share if a model writes the digest, or a person said what matters; chosen by hand."""
REACH_SHARE = (0.9, 0.75)
"""Share of that which recent messages may take when all are faded; it limits how far back they reach."""
NOTE_SHARE = 0.4
"""Share of that which texts of the agent just before the recent messages may take to stay together with the
text that these begin with; chosen by hand."""
MOST_VERBATIM = 0.9
"""Share of the room for recent messages that those kept verbatim may take; chosen by hand."""
ALL_FADED_SHARE = (0.75, 0.5)
"""Share of the room up to which all messages are kept, faded, and no digest is made."""
EXCERPT_SHARE, USUAL_MESSAGES = 0.5, 8
"""Share of the room for recent messages that one of them counts for at most, if it is kept in any case; and
the number of messages up to which that holds."""
LEAST_SHOWN = 60
"""Tokens below which an excerpt of a message says too little to keep it."""


def tail_start(
    view: Sequence[Item],
    faded: Sequence[int],
    kept_room: int,
    keep: Keep,
    floor: int,
    reserved: tuple[int, int] = (0, 0),
) -> int:
    """Return where the recent messages begin: always a legal cut, never before ``floor``.

    ``faded`` are the sizes of faded messages. The last atom is always kept. Among the messages that are kept
    in any case, a large one counts as its excerpt: fewer messages in full help more than many cut short, but
    a caller who asks for many gets them. ``reserved`` are the index of the running turn and the room that
    messages before it leave to its results.
    """
    turn, for_turn = reserved
    reach = int(kept_room * between(REACH_SHARE, kept_room / KEPT_SHARE[0]))
    share = EXCERPT_SHARE if keep.messages <= USUAL_MESSAGES else 1 / keep.messages
    excerpt = max(LEAST_SHOWN, int(kept_room * share))
    start = len(view)
    held = 0
    cuts = last_cuts(view, faded, floor, messages=keep.messages, tokens=kept_room)
    for point in reversed(cuts):
        wanted = len(view) - start < keep.messages
        size = sum(min(size, excerpt) if wanted else size for size in faded[point:start])
        most = kept_room if wanted else reach if point >= turn else min(reach, kept_room - for_turn)
        if start < len(view) and held + size > most:
            break
        start, held = point, held + size
    return _whole_note(view, faded, start, cuts, int(kept_room * NOTE_SHARE))


def _whole_note(
    view: Sequence[Item], faded: Sequence[int], start: int, cuts: Sequence[int], room: int
) -> int:
    """Return a start that does not separate texts that the agent wrote in a row, if they fit a room.

    Agents write what they know and what they plan as two messages; one says little without the other.
    """
    while (
        start < len(view)
        and start - 1 in cuts
        and all(_is_prose(view[i].message) for i in (start - 1, start))
    ):
        room -= faded[start - 1]
        if room < 0:
            break
        start -= 1
    return start


def _is_prose(message: Message) -> bool:
    """Whether a message is a text of the agent without a call."""
    return message.role is Role.ASSISTANT and not any(message.calls)


def tail_room(room: int, keep: Keep, *, focused: bool = False) -> int:
    """Return the tokens for recent messages; fewer if a person said what the digest should be about."""
    wanted = max(ceil((keep.tokens or 0) / MOST_VERBATIM), keep.room or 0)
    share = between(KEPT_SHARE, room) * (SHARE_WITH_PROSE if keep.for_prose or focused else 1.0)
    return max(int(room * share) - keep.for_text, min(wanted, room))


def between(shares: tuple[float, float], room: float) -> float:
    """Interpolate a share for a room of this size."""
    small, large = shares
    return small + (large - small) * min(1.0, max(0.0, (room - SMALL_ROOM) / (LARGE_ROOM - SMALL_ROOM)))


def last_cuts(
    view: Sequence[Item], sizes: Sequence[int], floor: int, *, messages: int, tokens: int
) -> list[int]:
    """Return the legal cuts from ``floor`` on that leave at most so many last messages or tokens.

    Looks only at recent turns if nothing in them answers an earlier call.
    """
    held = 0
    since = len(view)
    while since > floor and (held <= tokens or len(view) - since <= messages):
        since -= 1
        held += sizes[since]
    while since > floor and not opens_turn(view[since].message):
        since -= 1
    if since > floor:
        recent = [item.message for item in view[since:]]
        pairing = pair(recent)
        if not pairing.orphans:
            return [since + point for point in cut_points(recent, pairing)[:-1]]
    # Earlier messages may still belong to the same atom.
    points = cut_points([item.message for item in view])
    return [point for point in points if floor <= point < len(view)]


def opens_turn(message: Message) -> bool:
    """Whether a message is the user speaking."""
    return message.role is Role.USER and message.origin is Origin.SPOKEN and not any(message.results)


def water_level(sizes: Sequence[int], room: int) -> int:
    """Return the largest cap such that sizes cut down to it sum to at most ``room`` (water filling)."""
    left = room
    for i, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - i)
        if size > share:
            return max(0, share)
        left -= size
    return max(sizes, default=0)


WHOLE_REQUEST_SHARE = 1 / 3
"""Share of a view's room up to which the request in progress is shown whole: all else is read for it..."""
REQUEST_SHARE = (0.2, 0.3)
"""...share of a small and of a large room for a longer one..."""
LEAST_OF_REQUEST, MOST_OF_REQUEST = 1_600, 16_000
"""...and the limits of both, in characters: in more than that, a log or a document was pasted."""
CHARACTERS_PER_TOKEN = 3


def request_characters(room: int) -> int:
    """Return the characters shown of the request that the agent is working on, in a view of this room."""
    share = int(room * between(REQUEST_SHARE, room)) * CHARACTERS_PER_TOKEN
    return min(MOST_OF_REQUEST, max(LEAST_OF_REQUEST, share))


RESULT_TOKENS = 24
"""Size of a faded tool result: about its first and last line."""
SHORT_RESULT = 40
"""Size of a tool result up to which it stays whole: a note on what is left out would save little."""
FAILED_TOKENS, FAILED_SHARE = 120, 0.04
"""The same of the newest run that failed, in a small room this share of it: what went wrong is what comes
next. Chosen by hand."""
REPORT_SHARE = 0.03
"""Share of the room for the report of another agent: it says what a long search found. Chosen by hand."""
DIFF_TOKENS = 200
"""The same of a diff in the running turn: the names of its files. A review is about them to its end."""
DIFF_WITHIN = 1_000
"""Characters in which a diff begins, after a status or the header of a tool."""
AGENT_TOKENS, AGENT_SHARE, MOST_AGENT_TOKENS = 700, 0.3, 1_500
"""Size of faded agent text or arguments: most are shorter and stay whole, so that calls are not cut. In a
larger room that share of it, up to the limit."""
FEWER_AGENT_TOKENS = (300, 120, 50)
"""Sizes tried instead if fewer recent messages than usual fit: a running loop of tool calls may have no legal
cut between its beginning and its last steps..."""
FEW_SHARE = 0.5
"""...so that they fill less than this share of their room; chosen by hand."""
USER_TOKENS = 400
OTHER_TOKENS = 80
"""Size of faded text that a harness put into a message..."""
INSTRUCTIONS_SHARE = 0.1
"""...and share of the room for a file of instructions for agents among it; chosen by hand."""
_INSTRUCTIONS = lazy_pattern(
    r"(?:\s*<[\w-]+>)?\s*(?:# AGENTS\.md instructions for |As you answer the user's questions, you can use"
    r"|Contents of \S*(?:AGENTS|CLAUDE|GEMINI)\.md|# (?:claudeMd|AGENTS\.md|CLAUDE\.md)\b)"
)
"""How harnesses begin the text of such a file."""
GUIDE_SHARE, RUNNING_GUIDE_SHARE = 0.03, 0.1
"""Share of the room for a text of the running turn that says how to work, such as a skill or a task file, and
for the latest one; chosen by hand."""
PLAN_SHARE = 0.5
"""Share of the room up to which the latest text of a plan stays when other results fade: the next steps are
made from it. Chosen by hand."""
WHOLE_UNREAD_SHARE = 0.4
"""Share of the room up to which messages that the model has not answered yet stay whole..."""
UNREAD_SHARE = 0.1
"""...and share that they get first if they are larger: the agent's own words before a giant result help more
to continue than more of the giant."""
RESERVED_SHARE = (0.0, 0.3)
"""Share of a small and of a large room for recent messages that those before the running turn leave to its
results. With more, reports of earlier turns leave the view."""


def agent_tokens(room: int) -> int:
    """Return the size of faded agent text or arguments, in a room for recent messages of this size."""
    return min(MOST_AGENT_TOKENS, max(AGENT_TOKENS, int(room * AGENT_SHARE)))


def faded_part(
    message: Message, part: Part, tokens: int, most: int = AGENT_TOKENS, asked: int | None = None
) -> int:
    """Return the tokens of a part when faded; ``most`` is for text and arguments of the agent.

    ``asked`` is for the text of the request in progress.
    """
    match part:
        case ToolResult():
            return tokens if tokens <= SHORT_RESULT else RESULT_TOKENS
        case ToolCall():
            return min(tokens, most)
        case Text() if message.role is Role.ASSISTANT:
            return min(tokens, most)
        case Text():
            return min(tokens, asked or (USER_TOKENS if message.origin is Origin.SPOKEN else OTHER_TOKENS))
        case _:
            return tokens


def _has_instructions(message: Message, part: Part) -> bool:
    """Whether a harness put a file of instructions for agents here; they bind everything."""
    injected = message.origin is not Origin.SPOKEN and isinstance(part, Text)
    return injected and _INSTRUCTIONS.match(words(part)) is not None


def diff_start(text: str) -> int:
    """Return where a text becomes a diff, perhaps after a few other lines; -1 if it is none."""
    return text.find("diff --git ", 0, DIFF_WITHIN)


class Fading(NamedTuple):
    """What stays of recent messages when they fade."""

    thinking: int
    """The index from which thinking stays."""
    asked: Collection[int] = ()
    """The indices of the goal and of the request in progress, of which more stays."""
    agent_tokens: int | None = None
    """Size of text and arguments of the agent; by default, it depends on the room."""
    turn: int = 0
    """The index at which the running turn begins."""
    plan: int | None = None
    """The index of the message with the latest text of a plan, if there is one."""
    guides: Collection[Place] = ()
    """Parts of the running turn that say how to work; the last is the one that is followed."""
    failed: Collection[int] = ()
    """The indices of the messages with the newest run that failed."""
    reports: Collection[Place] = ()
    """The last reports of other agents that the agent asked."""
    edited: Collection[Place] = ()
    """The newest result of each file's edits if only results show the text: it fades as arguments do."""


def faded_sizes(
    view: Sequence[Item], sizes: Sequence[int], room: int, fading: Fading, count: Callable[[Part], int]
) -> tuple[list[int], list[int]]:
    """Return the sizes of a view, whole and with recent messages faded as far back as ``room`` reaches.

    Thinking of earlier turns is removed whenever messages fade, unless it is to stay verbatim; providers do
    not read it either.
    """
    whole, faded = list(sizes), list(sizes)
    held, most = 0, fading.agent_tokens or agent_tokens(room)
    for_requests = max(request_characters(room) // CHARACTERS_PER_TOKEN, int(room * WHOLE_REQUEST_SHARE))
    of_request = max(USER_TOKENS, water_level([sizes[i] for i in fading.asked], for_requests))
    for i in reversed(range(len(view))):
        message = view[i].message
        # What is not larger than a short result never fades; only thinking may leave.
        if sizes[i] > SHORT_RESULT or (sizes[i] > RESULT_TOKENS and _thinks(message)):
            gone = thought = 0
            asked = of_request if i in fading.asked else None
            for j, part in enumerate(message.parts):
                tokens = count(part)
                if isinstance(part, Thinking):
                    thought += tokens if i < fading.thinking else 0
                elif Place(i, j) in fading.edited:
                    gone += max(0, tokens - most)
                elif tokens > SHORT_RESULT and (least := _more_of(message, Place(i, j), fading, room)):
                    gone += max(0, tokens - least)
                elif i == fading.plan and isinstance(part, ToolCall | ToolResult):
                    gone += max(0, tokens - max(most, int(room * PLAN_SHARE)))
                else:
                    gone += tokens - faded_part(message, part, tokens, most, asked)
            whole[i] -= thought
            faded[i] = whole[i] - gone
        held += faded[i]
        if held > room:
            break
    return whole, faded


def _more_of(message: Message, place: Place, fading: Fading, room: int) -> int:
    """Return the tokens of a faded part of which more stays than of others of its kind; 0 for any other."""
    part = message.parts[place.part]
    result = part if isinstance(part, ToolResult) else None
    if place.message >= fading.turn and result and diff_start(result.text) >= 0:
        return DIFF_TOKENS
    if place.message == fading.plan:
        return 0
    if place in fading.reports:
        return max(SHORT_RESULT, int(room * REPORT_SHARE))
    if place.message in fading.failed and result:
        return max(SHORT_RESULT, min(FAILED_TOKENS, int(room * FAILED_SHARE)))
    if place in fading.guides:
        share = RUNNING_GUIDE_SHARE if place == max(fading.guides) else GUIDE_SHARE
        return max(OTHER_TOKENS, int(room * share))
    return max(OTHER_TOKENS, int(room * INSTRUCTIONS_SHARE)) if _has_instructions(message, part) else 0


def _thinks(message: Message) -> bool:
    for part in message.parts:  # noqa: SIM110  # ``any`` would create thousands of generators
        if isinstance(part, Thinking):
            return True
    return False


def unread_room(tokens: int, room: int) -> int:
    """Return the room that unanswered messages of so many tokens get before all others."""
    return tokens if tokens <= room * WHOLE_UNREAD_SHARE else int(room * UNREAD_SHARE)


def part_level(message: Message, tokens: int, count: Callable[[Part], int]) -> int:
    """Return the most tokens each part may take for the message to take at most ``tokens``."""
    return water_level([count(part) for part in message.parts if not isinstance(part, Thinking)], tokens)
