"""The index of exact values: names, paths and numbers that leave the view and may be needed again.

Values are rated by who named them, how often and how recently. The index lists bare values under the message
that names them, so that the model knows what it can look up; it says nothing about them.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Iterator

from clew.compaction.plan import Claim, ClaimKind, Topic
from clew.compaction.plan.digest import VALUE_SEPARATOR
from clew.compaction.propose.citations import trust_at
from clew.compaction.propose.scene import Scene
from clew.ledger.kinds import ValueKind
from clew.ledger.passages import Voice
from clew.ledger.values import Value, values_of
from clew.message import Cite, Item, words

BY_VOICE = {
    Voice.USER: 6.0,
    Voice.CALL: 4.0,
    Voice.ASSISTANT: 3.0,
    Voice.BODY: 1.2,
    Voice.MACHINE: 0.6,
    Voice.RESULT: 0.4,
    Voice.SYSTEM: 0.0,
}
"""Weight of a speaker who named a value: people and the model name what matters, tools name everything.
These and the weights below were chosen by hand, and checked with ``bench/probes.py``."""
_NOT_NAMES = (ValueKind.NUMBER, ValueKind.QUOTED)
"""Kinds that say nothing without their sentence."""
IN_ERROR = 1.3
HALF_LIFE = 0.35
"""Share of the session after which a value that is not named again loses half of its recency."""
LONGEST_VALUE = 120
"""Characters: a longer value is a sentence or data, not a name."""
MOST_READ = 5_000
"""Messages that are read for values, the latest; chosen by hand."""
_WEIGHTS = [BY_VOICE[voice] for voice in Voice]


def value_index(scene: Scene, gone: Collection[str], most: int) -> Iterator[Claim]:
    """Yield the best values that only messages that leave the view name, best first.

    Only values that a person or the model named count; those in a person's focus come before all others.
    """
    for value in _best_values(scene, gone, most) if most else ():
        for cite in (value.last, value.best_line, value.first):
            message = scene.source(cite.message) if cite.message in gone else None
            trust = trust_at(message, cite) if message else None
            if message is None or trust is None:
                continue
            at = words(message.parts[cite.part]).find(value.text, cite.start, cite.end)
            if at >= 0:
                place = cite._replace(start=at, end=at + len(value.text))
                yield Claim("", ClaimKind.FACT, value.text, (place,), trust, verbatim=True, topic=Topic.NAMES)
                break


def _best_values(scene: Scene, gone: Collection[str], most: int) -> list[Value]:
    values = [
        candidate
        for candidate in values_of(
            [*leaving(scene, gone), *(item for item in scene.view if item.id not in gone)]
        )
        if candidate.last_message in gone
        and candidate.kind not in _NOT_NAMES
        and candidate.is_spoken
        and _is_name(candidate.text)
    ]
    length = 1 + max((value.last_index for value in values), default=0)
    focus = scene.focus

    def rating(value: Value) -> tuple[bool, float]:
        return bool(focus) and focus.meets(value.text), _rating(value, length)

    return heapq.nlargest(most, values, key=rating)


def leaving(scene: Scene, gone: Collection[str]) -> Iterator[Item]:
    """Yield the latest messages that leave the view, in their original form."""
    for name in sorted(gone, key=lambda name: Cite(name).number)[-MOST_READ:]:
        if message := scene.source(name):
            yield Item(name, message)


def _is_name(text: str) -> bool:
    return len(text) <= LONGEST_VALUE and "\n" not in text and VALUE_SEPARATOR not in text


def _rating(value: Value, length: int) -> float:
    """Rate how likely a value is needed again; only the order matters."""
    named = mentions = 0.0
    for weight, count in zip(_WEIGHTS, value.counts, strict=True):
        if count:
            named += weight
            mentions += count
    often = 1.0 + math.log2(1 + mentions) / 2
    recent = 0.3 + 0.7 * 0.5 ** ((length - value.last_index) / (length * HALF_LIFE))
    error = IN_ERROR if value.in_error else 1.0
    return float(named * often * recent * error)
