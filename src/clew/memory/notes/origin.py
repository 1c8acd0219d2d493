"""Detect whether a proposed note was copied from untrusted text.

An agent names the sources of a note, but a manipulated agent names what it was told to name. So the note's
text is searched in what the agent was shown: a run of words or an exact value that occurs in tool output or
a web page, and in nothing the user said, marks it as copied. Paraphrases are not detected; they still need a
person's approval.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from clew.compaction.plan.render import parse_digest
from clew.memory.notes.relevance import exact_values
from clew.memory.words import surface
from clew.message import Item, Origin, Text, ToolResult, Trust, words

RUN = 6
"""Words in a row that do not repeat by chance (chosen by hand)."""
SHORTEST = 3
"""Shorter runs are too common to prove anything."""
_SHAPELESS = dict.fromkeys([0xAD, *range(0x200B, 0x2010), *range(0x2060, 0x2065), 0xFEFF])


class Stem(NamedTuple):
    """Untrusted text that a note was copied from."""

    message: str
    trust: Trust
    words: str
    """The copied words; empty if the message was cited."""

    def __str__(self) -> str:
        if not self.words:
            return f"it is based on {self.message}, which is {self.trust.label}"
        return f"“{self.words}” occurs in {self.message}, which is {self.trust.label}"


class Passage(NamedTuple):
    """Text of one trust."""

    message: str
    trust: Trust
    text: str


def stem_of(texts: Iterable[str], cited: Collection[str], seen: Iterable[Item]) -> Stem | None:
    """Return the untrusted text that one of these texts was copied from; None if there is none."""
    passages = [one._replace(text=_plain(one.text)) for item in seen for one in passages_of(item)]
    doubtful = [passage for passage in passages if passage.trust <= Trust.SEMI_TRUSTED]
    for passage in doubtful:
        if passage.message in cited:
            return Stem(passage.message, passage.trust, "")
    vouched = [passage.text for passage in passages if passage.trust >= Trust.USER]
    said = [_plain(text) for text in texts]
    return _by_value(said, doubtful, vouched) or _by_run(said, doubtful, vouched)


def passages_of(item: Item) -> Iterator[Passage]:
    """Yield the texts of a message with their trust; a digest line by line."""
    id_, message = item
    digest = parse_digest(message.text) if message.origin is Origin.SUMMARY else None
    if digest is not None:
        yield from (Passage(id_, pin.trust, pin.quote) for pin in digest.pins)
        for claim in digest.claims:
            yield Passage(id_, Trust.UNTRUSTED if claim.untrusted else Trust.ASSISTANT, claim.text)
        return
    for part in message.parts:
        if isinstance(part, Text | ToolResult):
            yield Passage(id_, part.trust, words(part))


def _by_value(texts: list[str], doubtful: list[Passage], vouched: list[str]) -> Stem | None:
    for value in (value for text in texts for value in exact_values(text)):
        if any(value in said for said in vouched):
            continue
        for passage in doubtful:
            if value in passage.text:
                return Stem(passage.message, passage.trust, value)
    return None


def _by_run(texts: list[str], doubtful: list[Passage], vouched: list[str]) -> Stem | None:
    runs = [run for text in texts for run in _runs(text)]
    own = [_flat(said) for said in vouched] if runs else []
    borrowed = [run for run in runs if not any(run in said for said in own)]
    for passage in doubtful if borrowed else ():
        flat = _flat(passage.text)
        for run in borrowed:
            if run in flat:
                return Stem(passage.message, passage.trust, run.strip())
    return None


def _runs(text: str) -> Iterator[str]:
    """Yield all runs of ``RUN`` words; the whole text if it is shorter."""
    said = list(surface(text))
    length = min(RUN, len(said))
    if length >= SHORTEST:
        yield from (f" {' '.join(said[i : i + length])} " for i in range(len(said) - length + 1))


def _plain(text: str) -> str:
    """Return normalized text without invisible characters, which a page may use to disguise words."""
    return unicodedata.normalize("NFKC", text).translate(_SHAPELESS)


def _flat(text: str) -> str:
    return f" {' '.join(surface(text))} "
