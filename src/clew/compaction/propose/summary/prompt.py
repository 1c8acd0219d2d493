"""Build the prompts for a summariser. Their texts are in ``prompts/``, one file per version.

There are two ways of asking. *Transcript*: the messages are in the prompt, each under its mark; works with
any model. *Session*: the request is the session's own plus one message, so that its provider
reads it from the prompt cache; the messages have no marks there, so an index lists them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template

from clew.compaction.ledger_claims import MandatoryContent
from clew.compaction.plan import ClaimKind
from clew.compaction.propose.brief import Outline
from clew.compaction.propose.summary.transcript import (
    DIGEST,
    Piece,
    Portion,
    escape_marks,
    fenced,
    nonce,
    pieces_of,
)
from clew.message import JsonObject, Message, Native
from clew.providers.model import Ask
from clew.tokens import TokenCounter


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on the calls for one digest."""

    calls: int = 64
    """In all. A span that needs more is read from its newest part backwards."""
    retries: int = 1
    """Of a question whose answer failed or was unusable."""
    losses: int = 2
    """Portions that may fail in a row; then the model is taken to be broken."""


LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class SessionRequest:
    """The session's own request, with the fields of an ``Ask``."""

    messages: tuple[Message, ...]
    system: str | tuple[Message, ...] = ()
    rest: Native | None = None


@dataclass(frozen=True, slots=True)
class SummaryTask:
    """One digest to write."""

    outline: Outline
    model_name: str
    window_tokens: int
    counter: TokenCounter
    focus: str = ""
    request: SessionRequest | None = None
    misses: tuple[str, ...] = ()
    limits: Limits = LIMITS


PROMPT_VERSION = "summary-2"
"""The version of the texts in ``prompts/``. A released version never changes: write the next."""

WORDS_PER_TOKEN = 0.6
"""Words that a model is asked for per token of room: English has about 0.75, claims have JSON around them."""
FEWEST_WORDS = 40
"""Words that a model is asked for at least."""
LEAST_ANSWER = 256
"""Tokens that an answer may always have."""
ANSWER_SHARE = 0.25
"""Largest share of the window for the answer."""
THINKING_TOKENS = 8_192
"""Tokens left free for models that think before they answer..."""
THINKING_SHARE = 0.125
"""...but never more than this share of the window."""
SAFETY = 0.92
"""Share of the room for the question that is used: the count may be an estimate."""
KEPT_SHARE = 0.1
"""Largest share of the window for the list of what is kept anyway."""
MOST_KEPT_TOKENS = 3_000
"""Most tokens of that list."""
LONGEST_LINE, LONGEST_FOCUS, INDEX_CHARACTERS = 300, 2_000, 80
"""Characters of a line of context, of the focus, and of a message in the index."""
MOST_MISSES = 20
"""Findings about an earlier attempt that are listed."""

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "claims": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "kind": {
                        "type": "string",
                        "enum": [kind.value for kind in ClaimKind if kind is not ClaimKind.INSTRUCTION],
                    },
                    "text": {"type": "string"},
                    "sources": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["kind", "text", "sources"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["claims"],
    "additionalProperties": False,
}


@cache
def sections() -> dict[str, str]:
    """Return the texts of the prompt by section name."""
    path = files("clew.compaction.propose.summary").joinpath("prompts", f"{PROMPT_VERSION}.md")
    _, *pieces = re.split(r"^# (\w+)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {name: text.strip() for name, text in zip(pieces[::2], pieces[1::2], strict=True)}


# Two ways of asking ----------------------------------------------------------------------------------


def transcript_ask(task: SummaryTask, portion: Portion, room_tokens: int, more: Sequence[str] = ()) -> Ask:
    """Return the question with a portion of the span as transcript; ``more`` are the latest misses."""
    misses = (*more, *task.misses)
    shown = "\n".join(piece.shown for piece in portion.pieces)
    key = nonce([shown, *_prompt_texts(task, misses)])
    blocks = (
        sections()["transcript"],
        _part_note(portion),
        *_context(task, misses, key),
        fenced("transcript", key, shown),
        _closing(room_tokens),
    )
    return Ask(
        system=sections()["task"],
        instruction="\n\n".join(filter(None, blocks)),
        max_output_tokens=answer_tokens(room_tokens, task.window_tokens),
        schema=SCHEMA,
    )


def session_ask(task: SummaryTask, request: SessionRequest) -> Ask:
    """Return the session's own request with the question appended and nothing before it changed.

    It has no schema: providers put that before the messages, which would miss the cache.
    """
    room = task.outline.room_tokens
    index = "\n".join(_index_lines(pieces_of(task.outline)))
    key = nonce([index, *_prompt_texts(task, task.misses)])
    words = sections()
    blocks = (
        words["session"],
        words["task"],
        words["index"],
        *_context(task, task.misses, key),
        fenced("index", key, index),
        _closing(room),
    )
    return Ask(
        messages=request.messages,
        system=request.system,
        rest=request.rest,
        instruction="\n\n".join(filter(None, blocks)),
        max_output_tokens=answer_tokens(room, task.window_tokens),
    )


def _index_lines(pieces: Iterable[Piece]) -> Iterator[str]:
    """Yield a line for each speaker in each message, and one for an earlier digest."""
    listed: set[str] = set()
    for piece in pieces:
        if piece.speaker != DIGEST:
            yield f"{piece.mark} {escape_marks(_one_line(piece.text, INDEX_CHARACTERS))}".rstrip()
        elif piece.owner not in listed:
            listed.add(piece.owner)
            yield f"[{piece.owner} {DIGEST}]"


# Context besides the messages ------------------------------------------------------------------------


def _context(task: SummaryTask, misses: Sequence[str], key: str) -> Iterator[str]:
    """Yield the fenced context of the question: what is kept anyway, focus, misses."""
    kept = list(_kept_lines(task))
    for name, lines in (("kept", kept), ("focus", _focus(task)), ("misses", _miss_lines(misses))):
        if lines:
            body = "\n".join(f"- {escape_marks(line)}" for line in lines)
            yield f"{sections()[name]}\n\n{fenced(name, key, body)}"


def _kept_lines(task: SummaryTask) -> Iterator[str]:
    """Yield what code puts into the digest, up to a share of the window."""
    left = min(MOST_KEPT_TOKENS, int(task.window_tokens * KEPT_SHARE))
    for line in _brief_lines(task.outline.brief):
        left -= task.counter.count_text(line) + 2
        if left < 0:
            return
        yield line


def _brief_lines(brief: MandatoryContent) -> Iterator[str]:
    yield from (f"rule: {_one_line(pin.quote)}" for pin in brief.pins)
    yield from (f"{claim.kind.value}: {_one_line(claim.text)}" for claim in brief.claims)


def _focus(task: SummaryTask) -> list[str]:
    focus = _one_line(task.focus, LONGEST_FOCUS)
    return [focus] if focus else []


def _miss_lines(misses: Sequence[str]) -> list[str]:
    return [line for line in map(_one_line, misses[:MOST_MISSES]) if line]


def _prompt_texts(task: SummaryTask, misses: Sequence[str]) -> list[str]:
    """Return all texts in a prompt besides the messages."""
    return [*_brief_lines(task.outline.brief), task.focus, *misses]


def _one_line(text: str, most: int = LONGEST_LINE) -> str:
    """Return the beginning of a text on one line."""
    line = " ".join(text[: 4 * most].split())  # a message may have megabytes
    if len(line) <= most:
        return line
    return line[: most + 1].rpartition(" ")[0] or line[:most]


def _part_note(portion: Portion) -> str:
    if portion.begins and portion.ends:
        return ""
    if portion.begins:
        return sections()["part_begin"]
    return sections()["part_end" if portion.ends else "part_middle"]


def _closing(room_tokens: int) -> str:
    words = max(FEWEST_WORDS, int(room_tokens * WORDS_PER_TOKEN) // 10 * 10)
    return Template(sections()["closing"]).substitute(words=words)


# Sizes ----------------------------------------------------------------------------------------------


def answer_tokens(room_tokens: int, window_tokens: int) -> int:
    """Return the limit for an answer: the claims, the JSON around them, and a margin."""
    return min(LEAST_ANSWER + 2 * room_tokens, max(LEAST_ANSWER, int(window_tokens * ANSWER_SHARE)))


def question_room(task: SummaryTask) -> int:
    """Return how many tokens a question may have in the summariser's window."""
    thinking = min(THINKING_TOKENS, int(task.window_tokens * THINKING_SHARE))
    answer = answer_tokens(task.outline.room_tokens, task.window_tokens)
    return int((task.window_tokens - answer - thinking) * SAFETY)


def portion_room(task: SummaryTask) -> int:
    """Return how many tokens of messages fit into a question; may be negative."""
    nothing = transcript_ask(task, Portion((), 0, begins=False, ends=False), 0)
    return question_room(task) - ask_tokens(nothing, task)


def ask_tokens(ask: Ask, task: SummaryTask) -> int:
    """Return the tokens of a question, including its tools."""
    rest = json.dumps(ask.rest.value, ensure_ascii=False) if ask.rest else ""
    texts = (ask.instruction, rest)
    return task.counter.count_all(ask.history) + sum(map(task.counter.count_text, texts))
