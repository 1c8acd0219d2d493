"""A scripted summariser for tests: ``extractive``, a line for a ``ScriptedModel`` or a ``ScriptedServer``.

It answers ``{"claims": [{"kind", "text", "sources"}]}`` with the beginning of each message that it is shown:
correct but unselective. The model named ``scripted`` answers with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from clew.compaction.plan import ClaimKind
from clew.message import Json, Message, Role, text_message, words
from clew.providers.model import Ask, Reply

LONGEST_QUOTE = 300
CHARS_PER_TOKEN = 3
"""A low estimate, so that the answer stays under its token limit."""


class ShownMessage(NamedTuple):
    """A message as shown to a summariser, with an id that it can cite."""

    id: str
    role: Role
    text: str


class SummaryClaim(NamedTuple):
    """A claim as a summariser writes it."""

    kind: ClaimKind
    text: str
    sources: tuple[str, ...]


def extractive(ask: Ask) -> Reply:
    """Answer with the first quotes that fit the token limit."""
    room = ask.max_output_tokens * CHARS_PER_TOKEN
    claims: list[SummaryClaim] = []
    for claim in quotes(shown_messages(ask)):
        room -= len(claims_text([claim]))
        if room < 0:
            break
        claims.append(claim)
    return Reply(text_message(Role.ASSISTANT, claims_text(claims)))


def quotes(messages: Iterable[ShownMessage]) -> Iterator[SummaryClaim]:
    """Yield a claim for each message with text: its beginning, verbatim."""
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
        yield SummaryClaim(kind, text, (message.id,))


def _opening(text: str) -> str:
    """Return the first ``LONGEST_QUOTE`` characters of a text, cut after a word if possible."""
    if len(text) <= LONGEST_QUOTE:
        return text
    cut = text[: LONGEST_QUOTE + 1]
    return (cut.rsplit(maxsplit=1)[0] if re.search(r"\s", cut) else cut[:-1]).strip()


def claims_text(claims: Iterable[SummaryClaim]) -> str:
    """Return claims as the JSON text that summarisers are asked for."""
    listed: list[Json] = [
        {"kind": claim.kind.value, "text": claim.text, "sources": list(claim.sources)} for claim in claims
    ]
    return json.dumps({"claims": listed}, ensure_ascii=False)


# Reading what was shown ------------------------------------------------------------------------------


def shown_messages(ask: Ask) -> list[ShownMessage]:
    """Return the messages that a request shows, with the ids it marks them with: ``[m12 user]``.

    If the request has a transcript or an index, only that is read. If it marks no messages, they are
    numbered ``m1``, ``m2``, …
    """
    # Imported here so that importing a model does not import the compaction code.
    from clew.compaction.propose.summary.transcript import read_fence, read_marks

    texts = [*map(_words, ask.messages), ask.instruction]
    fenced = [pieces for text in texts if (pieces := read_fence(text)) is not None]
    marked = fenced[-1] if fenced else [mark for text in texts for mark in read_marks(text)]
    if marked:  # lines of an earlier digest count as the assistant's
        roles = {role.value: role for role in Role}
        return [ShownMessage(it.name, roles.get(it.speaker, Role.ASSISTANT), it.text) for it in marked]
    return [
        ShownMessage(f"m{i}", message.role, _words(message))
        for i, message in enumerate(ask.messages, start=1)
    ]


def _words(message: Message) -> str:
    return "\n".join(filter(None, map(words, message.parts)))
