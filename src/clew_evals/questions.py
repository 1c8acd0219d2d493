"""Round-trip questions: made from the old history alone, and asked of what a compaction left of it.

The agent said "The worker listens on 8123 by default": asked is ``The worker listens on ____ by default``.
A question is a sentence that the user or the agent said, with a gap in place of an exact value. Whether the
continuation needed the value plays no part: this is the side of a compaction that future reuse cannot see.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias
from zlib import crc32

from clew.message import ToolCall
from clew_evals.passages import PassageSpeaker, Readable, ReadablePassage
from clew_evals.words import content_words, key_of, spot

MOST_QUESTIONS = 12
FEWEST_WORDS = 5
"""Beside the gap: less than that asks for nothing in particular."""
LONGEST = 300
SEEDING = 10_000
"""Characters of a history that seed the draw: a session has its own, and always the same."""
GAP = "____"
_SENTENCE = re.compile(r"[^\n]+?(?:[.!?](?=\s)|(?=\n)|$)")


class ReaderQuestion(NamedTuple):
    """A sentence with a gap."""

    kind: str
    text: str
    answer: str
    turn: int
    """Of the message that said it."""


Answerer: TypeAlias = Callable[[str, Sequence[ReaderQuestion]], Sequence[str] | None]
"""Answers questions from a text alone, in their order; an empty answer if it does not say. None if the reader
could not be asked, which is not a wrong answer."""


def questions_of(before: Readable, is_common: Callable[[str], bool]) -> list[ReaderQuestion]:
    """Return questions about a history, drawn from all of it; the same each time."""
    by_answer: dict[str, ReaderQuestion] = {}
    for passage in before.passages:
        if passage.speaker not in (PassageSpeaker.USER, PassageSpeaker.AGENT):
            continue
        if isinstance(passage.part, ToolCall):
            continue
        for question in _questions_in(passage):
            if not is_common(question.answer):
                by_answer[question.answer] = question  # what was said last holds
    drawn = list(by_answer.values())
    random.Random(crc32(before.text[:SEEDING].encode("utf-8", "surrogatepass"))).shuffle(drawn)
    return sorted(drawn[:MOST_QUESTIONS], key=lambda question: question.turn)


def _questions_in(passage: ReadablePassage) -> Iterator[ReaderQuestion]:
    for sentence in _SENTENCE.finditer(passage.text):
        text = sentence[0].strip()
        values = spot(text) if len(text) <= LONGEST else []
        if len(values) != 1:
            continue  # of two values, one would give the other away
        (value,) = values
        masked = f"{text[: value.start]}{GAP}{text[value.end :]}"
        if len(content_words(masked.replace(GAP, " "))) >= FEWEST_WORDS:
            yield ReaderQuestion(value.kind, masked, key_of(value.kind, value.value), passage.turn)
