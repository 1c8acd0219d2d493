"""A summariser that only quotes: it answers in claims, each the opening words of a message it is shown.

Summarisers are asked for ``{"claims": [{"kind", "text", "sources"}]}``. This one is honest and dull, which
makes it the model to try things out with, and the base of the bad ones in ``clew.testing``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from clew.message import Json, Message, Role, said, words
from clew.plan import ClaimKind
from clew.ports import Ask, Reply

LONGEST_QUOTE = 300
CHARS_PER_TOKEN = 3
"""A low guess, so that the answer stays under its limit."""


class Said(NamedTuple):
    """A message as a summariser sees it: under an id that it can cite."""

    id: str
    role: Role
    text: str


class Told(NamedTuple):
    """A claim as a summariser writes it."""

    kind: ClaimKind
    text: str
    sources: tuple[str, ...]


def extractive(ask: Ask) -> Reply:
    """Answer with quotes, first come first kept, as many as may be said."""
    room = ask.max_output_tokens * CHARS_PER_TOKEN
    claims: list[Told] = []
    for claim in quotes(shown(ask)):
        room -= len(claims_text([claim]))
        if room < 0:
            break
        claims.append(claim)
    return Reply(said(Role.ASSISTANT, claims_text(claims)))


def quotes(messages: Iterable[Said]) -> Iterator[Told]:
    """Yield a claim for each message that says something: its first words, verbatim."""
    goal = True
    for message in messages:
        text = message.text.strip()[:LONGEST_QUOTE].strip()
        if not text:
            continue
        kind = ClaimKind.FACT
        if message.role is Role.USER:
            kind, goal = (ClaimKind.GOAL if goal else ClaimKind.USER), False
        elif re.search(r"\b(?:error|failed|exception|traceback)\b", text, re.I):
            kind = ClaimKind.ERROR
        yield Told(kind, text, (message.id,))


def claims_text(claims: Iterable[Told]) -> str:
    """Write claims as summarisers are asked to."""
    listed: list[Json] = [
        {"kind": claim.kind.value, "text": claim.text, "sources": list(claim.sources)} for claim in claims
    ]
    return json.dumps({"claims": listed}, ensure_ascii=False)


# Reading what was shown ------------------------------------------------------------------------------

# How a prompt may mark a message: ``[m12 user]``, ``m12 user: …``, ``<message id="m12" role="user">``.
_MARK = re.compile(
    r'^[ \t]*(?:\[|#+ ?|<[a-z]+ id=")?(?P<id>m\d+)\b["\]:,]*[ \t]*(?:role=")?'
    r"(?P<role>system|developer|user|assistant|tool)?\b[\"\]:>]*[ \t]*",
    re.M,
)
_CLOSED = re.compile(r"</[a-z]+>\s*$")


def shown(ask: Ask) -> list[Said]:
    """Return the messages of a question under the ids that it marks them with.

    A question that marks none has its messages counted: ``m1``, ``m2``, …
    """
    marked = [one for text in _texts(ask) for one in _marked(text)]
    if marked:
        return marked
    return [Said(f"m{i}", message.role, _words(message)) for i, message in enumerate(ask.messages, start=1)]


def _texts(ask: Ask) -> Iterator[str]:
    yield from (_words(message) for message in ask.messages)
    yield ask.instruction


def _marked(text: str) -> Iterator[Said]:
    marks = list(_MARK.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    for mark, end in zip(marks, ends, strict=False):
        said_there = _CLOSED.sub("", text[mark.end() : end]).strip()
        yield Said(mark["id"], Role(mark["role"] or "user"), said_there)


def _words(message: Message) -> str:
    return "\n".join(filter(None, map(words, message.parts)))
