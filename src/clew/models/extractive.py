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
        text = _opening(message.text.strip())
        if not text:
            continue
        kind = ClaimKind.FACT
        if message.role is Role.USER:
            kind, goal = (ClaimKind.GOAL if goal else ClaimKind.USER), False
        elif re.search(r"\b(?:error|failed|exception|traceback)\b", text, re.I):
            kind = ClaimKind.ERROR
        yield Told(kind, text, (message.id,))


def _opening(text: str) -> str:
    """Return how a text begins, up to the end of a word if there is one."""
    if len(text) <= LONGEST_QUOTE:
        return text
    cut = text[: LONGEST_QUOTE + 1]
    return (cut.rsplit(maxsplit=1)[0] if re.search(r"\s", cut) else cut[:-1]).strip()


def claims_text(claims: Iterable[Told]) -> str:
    """Write claims as summarisers are asked to."""
    listed: list[Json] = [
        {"kind": claim.kind.value, "text": claim.text, "sources": list(claim.sources)} for claim in claims
    ]
    return json.dumps({"claims": listed}, ensure_ascii=False)


# Reading what was shown ------------------------------------------------------------------------------


def shown(ask: Ask) -> list[Said]:
    """Return the messages of a question under the ids that it marks them with: ``[m12 user]``.

    Of a question with a transcript or an index only that is read. One that marks nothing has its messages
    counted: ``m1``, ``m2``, …
    """
    # Here and not above: whoever imports a model needs not have the rooms that compact.
    from clew.ladder.summary.transcript import read_fence, read_marks

    texts = [*map(_words, ask.messages), ask.instruction]
    fenced = [read for text in texts if (read := read_fence(text)) is not None]
    marked = fenced[-1] if fenced else [one for text in texts for one in read_marks(text)]
    if marked:
        return [Said(one.name, _role(one.speaker), one.text) for one in marked]
    return [Said(f"m{i}", message.role, _words(message)) for i, message in enumerate(ask.messages, start=1)]


def _role(speaker: str) -> Role:
    """Return who speaks; the lines of an earlier digest are a machine's."""
    return Role(speaker) if speaker in list(Role) else Role.ASSISTANT


def _words(message: Message) -> str:
    return "\n".join(filter(None, map(words, message.parts)))
