"""Work with a provider's own compaction: instruct it, check what it kept, add what it lost.

A provider's block is never edited: Anthropic signs it, OpenAI encrypts it. What it lacks is added after it,
as a separate message::

    asked = instructions(fitted)            # for ``compaction={"type": "summarize", "instructions": asked}``
    ...                                     # the reply holds one compaction block
    messages = complemented([block_message, *later], fitted)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from clew.message import Compacted
from clew.session import CompactResult
from clew.session.parsed_input import ParsedInput

_SPACE = re.compile(r"\s+")
MOST_OPEN = 12
"""Open tasks that are listed, newest first; chosen by hand, there are seldom more."""


def must_survive(result: CompactResult) -> tuple[str, ...]:
    """Return what a summary of this conversation must contain: rules word for word, the goal, open work."""
    ledger = result.ledger
    goal = (ledger.goal.quote,) if ledger.goal else ()
    open_work = tuple(loop.text for loop in ledger.loops.collapsed[-MOST_OPEN:])
    return tuple(dict.fromkeys((*(rule.quote for rule in result.rules), *goal, *open_work)))


def instructions(result: CompactResult) -> str:
    """Return the instructions for a provider's summary; they replace its own, so they cover everything."""
    lines = "\n".join(f"- {line}" for line in must_survive(result))
    return (
        "Summarise the conversation so that another model can go on with the work: what was asked, what was "
        "done and found, which files were read and changed, what failed, what is next. Quote exact names, "
        "paths, numbers and commands. Repeat each of these lines word for word:\n" + lines
    )


def missing_from(text: str | None, result: CompactResult) -> tuple[str, ...]:
    """Return what must survive but is not in a summary; everything if it cannot be read."""
    line = _SPACE.sub(" ", text or "").casefold()
    return tuple(text for text in must_survive(result) if _SPACE.sub(" ", text).casefold() not in line)


def add_missing(messages: Sequence[Any], result: CompactResult) -> list[Any]:
    """Return a list with a provider's compaction, followed by a message with what it lacks."""
    parsed = ParsedInput.of(messages)
    for place, entry in enumerate(parsed.entries):
        for message in parsed.codec.read(entry, place):
            compacteds = [part for part in message.parts if isinstance(part, Compacted)]
            lost = missing_from(compacteds[-1].text, result) if compacteds else ()
            if lost:
                note = "Still in force from earlier in this conversation:\n" + "\n".join(
                    f"- {text}" for text in lost
                )
                return [
                    *parsed.entries[: place + 1],
                    {"role": "user", "content": note},
                    *parsed.entries[place + 1 :],
                ]
    return list(parsed.entries)
