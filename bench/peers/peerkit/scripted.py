"""The model that writes every peer's summaries: no model, and the same for all.

It answers a request for a summary with the first sentences of the messages that it was shown, all messages
alike, within its room. What a peer keeps from its model (by trimming, or by rendering less) cannot be in the
answer, so the peers differ by what they do and not by who writes.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from .chat import Chat, text_of

LEAST = 60
"""Characters of a message, below which it is not worth a line."""
RECOGNISED = range(12, 48)
"""Characters by which a message is known again in what the model was sent: enough to tell it by, and no more
than a line of a summary keeps, so that a summary of a summary knows it too."""
NEAR = 20_000
"""Characters ahead in which the next message is expected, before all is searched."""
OPENING = "Earlier in this conversation:"
SPEAKERS = {"user": "User", "assistant": "Assistant", "tool": "Result"}

_PLAIN = re.compile(r"[A-Za-z0-9_./ ,:-]+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


def summary(messages: Chat, shown: Sequence[int], room: int) -> str:
    """Return the first sentences of the messages shown, within so many characters.

    Each has the same share of the room. Where that is too little to say anything, a draw decides whose
    sentences there is room for, so that neither end of a list is favoured.
    """
    lines = [line for at in shown for line in lines_of(messages[at])]
    share = max(LEAST, room // max(1, len(lines)))
    room -= len(OPENING)
    kept = {}
    for at in random.Random(len(lines)).sample(range(len(lines)), len(lines)):
        opening = opening_of(lines[at], share - 1)
        if len(opening) >= room:
            break
        kept[at] = opening
        room -= len(opening) + 1
    return "\n".join([OPENING, *(kept[at] for at in sorted(kept))])


def lines_of(message: dict[str, object]) -> list[str]:
    """Return what there is to say of a message; a summary of ours is taken line by line."""
    text = text_of(message)
    if OPENING in text:
        return text.partition(OPENING)[2].strip().split("\n")
    return [f"{SPEAKERS.get(str(message['role']), 'System')}: {text}"] if text.strip() else []


def opening_of(text: str, most: int) -> str:
    """Return as many whole sentences of the beginning as fit, or as much of the first one."""
    kept = ""
    for sentence in _SENTENCE_END.split(text):
        longer = f"{kept} {sentence}".strip()
        if len(longer) > most:
            break
        kept = longer
    return kept or " ".join(text[:most].split())


def shown_in(prompt: str, messages: Chat) -> list[int]:
    """Return which messages have their beginning in what a model was sent, however it is written there."""
    found, at = [], 0
    for index, message in enumerate(messages):
        mark = mark_of(text_of(message))
        if not mark:
            continue
        place = prompt.find(mark, at, at + NEAR)
        if place >= 0:
            at = place
        elif mark not in prompt:
            continue
        found.append(index)
    return found


def mark_of(text: str) -> str:
    """Return some words of a text that no escaping changes; nothing where there are too few."""
    runs = (run.strip() for run in _PLAIN.findall(text[:400]))
    return next((run[: RECOGNISED.stop] for run in runs if len(run) >= RECOGNISED.start), "")
