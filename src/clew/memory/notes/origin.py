"""Whether words stem from text that nobody vouches for.

An agent says what a note rests on, but one that was talked into something says what it was told to say. So
its words are looked for in what it was shown: a run of them, or an exact value, that stands in a tool's
answer or a web page and in nothing that a person said, gives it away. What an agent puts into words of its
own is not found here, and waits for a person all the same.
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
"""Words in a row that nobody says twice by chance."""
SHORTEST = 3
"""Fewer words than this are anybody's."""
_SHAPELESS = dict.fromkeys([0xAD, *range(0x200B, 0x2010), *range(0x2060, 0x2065), 0xFEFF])


class Stem(NamedTuple):
    """Where words come from that nobody vouches for."""

    message: str
    trust: Trust
    words: str
    """What of it stands there; empty where the message was cited."""

    def __str__(self) -> str:
        if not self.words:
            return f"it rests on {self.message}, which is {self.trust.label}"
        return f"“{self.words}” stands in {self.message}, which is {self.trust.label}"


class Passage(NamedTuple):
    """Words of one trust."""

    message: str
    trust: Trust
    text: str


def stem_of(texts: Iterable[str], cited: Collection[str], seen: Iterable[Item]) -> Stem | None:
    """Return where one of some texts stems from, if it is somewhere that nobody vouches for."""
    passages = [one._replace(text=_plain(one.text)) for item in seen for one in passages_of(item)]
    doubtful = [passage for passage in passages if passage.trust <= Trust.SEMI_TRUSTED]
    for passage in doubtful:
        if passage.message in cited:
            return Stem(passage.message, passage.trust, "")
    vouched = [passage.text for passage in passages if passage.trust >= Trust.USER]
    said = [_plain(text) for text in texts]
    return _by_value(said, doubtful, vouched) or _by_run(said, doubtful, vouched)


def passages_of(item: Item) -> Iterator[Passage]:
    """Yield what a message says, by how far it may be believed; a digest line by line."""
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
    """Yield the words of a text, so many in a row; all of them where they are fewer."""
    said = list(surface(text))
    length = min(RUN, len(said))
    if length >= SHORTEST:
        yield from (f" {' '.join(said[i : i + length])} " for i in range(len(said) - length + 1))


def _plain(text: str) -> str:
    """Return a text as it is read: a page may part or disguise its words with what nobody sees."""
    return unicodedata.normalize("NFKC", text).translate(_SHAPELESS)


def _flat(text: str) -> str:
    return f" {' '.join(surface(text))} "
