"""Future reuse: exact values that the agent wrote after the cut and can only have taken from before it.

A probe is a value that is in the first part, that the agent itself writes later in its words or in a
short argument, that no user said again before that, that the system prompt does not hold, and that is not
common to the set's sessions. Where a tool showed it again first, the agent needed it and had it fetched
again: such probes are marked ``refetched`` and counted only as ``need``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from clew.message import Json, Origin, Thinking, ToolCall, ToolResult
from clew_evals.needs import Fetch, Probe
from clew_evals.passages import PassageSpeaker, Readable, ReadablePassage, passages, with_forward_slashes
from clew_evals.questions import GAP
from clew_evals.sessions import COUNTER, Cut
from clew_evals.words import SpottedValue, first_place, key_of, places, spot

SHORT_ARGUMENT = 300
"""Characters up to which an argument is something the agent typed; longer ones are bodies of files."""
BODIES = frozenset({"description", "old_string", "new_string", "content"})
"""Arguments that are never looked at, however short."""
MOST_IN_A_LIST = 8
MOST_READ = 6_000
"""Characters of what the agent writes at a time."""
MOST_PER_MESSAGE = 4
"""Probes, so that one long message does not outweigh the others."""
BEFORE_USE, AFTER_USE = 90, 60
"""Characters of the question on either side of the gap."""
MOST_MENTIONS = 200
MOST_LINES = 8


def reuse_probes(cut: Cut, is_common: Callable[[str], bool]) -> list[Probe]:
    """Return what the continuation of a cut needed again, in the order of its use."""
    finder = _Finder(cut, is_common)
    probes: list[Probe] = []
    turn, taken = -1, 0
    for use in _uses(cut):
        if use.turn != turn:
            turn, taken = use.turn, 0
        for spotted in spot(use.text):
            probe = finder.probe(use, spotted)
            if probe is None or (not probe.refetched and taken >= MOST_PER_MESSAGE):
                continue
            taken += not probe.refetched
            probes.append(probe)
    return probes


@dataclass(frozen=True, slots=True)
class _Use:
    """A piece of what the agent wrote after the cut, and how much others had shown until then."""

    turn: int
    name: str
    """``text``, ``thinking``, or the tool and the argument."""
    text: str
    shown_by_tools: int
    """Characters of ``_Finder.tools`` that had been shown by then."""
    shown_by_users: int


def _uses(cut: Cut) -> Iterator[_Use]:
    by_tools = by_users = 0
    for passage in _later(cut):
        if passage.speaker is PassageSpeaker.AGENT:
            for name, text in _written(passage):
                yield _Use(passage.turn, name, text[:MOST_READ], by_tools, by_users)
        elif passage.speaker is PassageSpeaker.TOOL:
            by_tools += len(passage.text) + 1
        else:
            by_users += len(passage.text) + 1


def _later(cut: Cut) -> Iterator[ReadablePassage]:
    """Yield what was said after the cut; a summary is what is tested, not new evidence."""
    items = [item for item in cut.later if item.message.origin is not Origin.SUMMARY]
    for passage in passages(items, len(cut.items)):
        if passage.speaker is not PassageSpeaker.SYSTEM:
            yield passage


def _written(passage: ReadablePassage) -> Iterator[tuple[str, str]]:
    part = passage.part
    if not isinstance(part, ToolCall):
        yield "thinking" if isinstance(part, Thinking) else "text", passage.text
        return
    data = part.input
    if data is None:
        if len(part.input_text) <= 2 * SHORT_ARGUMENT:
            yield part.name, with_forward_slashes(part.input_text)
        return
    for name, text in _short(data, "argument"):
        yield f"{part.name}.{name}", with_forward_slashes(text)


def _short(value: Json, name: str) -> Iterator[tuple[str, str]]:
    """Yield the arguments that the agent typed, without the bodies it wrote into files."""
    if isinstance(value, str):
        if len(value) <= SHORT_ARGUMENT:
            yield name, value
    elif isinstance(value, dict):
        for key, child in value.items():
            if key not in BODIES:
                yield from _short(child, key)
    elif isinstance(value, list):
        for child in value[:MOST_IN_A_LIST]:
            yield from _short(child, name)


class _Finder:
    """Judges one candidate after another; each key once."""

    def __init__(self, cut: Cut, is_common: Callable[[str], bool]) -> None:
        self._is_common = is_common
        self._before: Readable = cut.readable
        later = list(_later(cut))
        self._tools = "\n".join(passage.text for passage in later if passage.speaker is PassageSpeaker.TOOL)
        others = (PassageSpeaker.USER, PassageSpeaker.MACHINE)
        self._users = "\n".join(passage.text for passage in later if passage.speaker in others)
        self._system = _system_words(cut)
        self._judged: set[str] = set()

    def probe(self, use: _Use, spotted: SpottedValue) -> Probe | None:
        """Return the probe for a value at its first use after the cut; None if it is none."""
        kind, value = spotted.kind, spotted.value
        key = key_of(kind, value)
        if key in self._judged:
            return None
        self._judged.add(key)
        if self._is_common(key) or first_place(self._system, kind, key) >= 0:
            return None
        text = self._before.text
        mentions = list(islice(places(text, kind, key), MOST_MENTIONS))
        if not mentions or 0 <= first_place(self._users, kind, key) < use.shown_by_users:
            return None
        gap = (len(text) - mentions[-1]) / len(text)
        first, last = self._before.at(mentions[0]), self._before.at(mentions[-1])
        before = use.text[max(0, spotted.start - BEFORE_USE) : spotted.start]
        after = use.text[spotted.end : spotted.end + AFTER_USE]
        return Probe(
            kind=kind,
            value=value,
            key=key,
            origin=first.speaker,
            first_turn=first.turn,
            last_turn=last.turn,
            use_turn=use.turn,
            use=use.name,
            question=f"{before}{GAP}{after}".replace("\n", " "),
            mentions=len(mentions),
            gap_share=gap,
            refetched=0 <= first_place(self._tools, kind, key) < use.shown_by_tools,
            fetch=self._cheapest(mentions),
            lines=self._lines(mentions, len(key)),
        )

    def _lines(self, mentions: list[int], length: int) -> tuple[str, ...]:
        """Return the lines that say it: the first and the last, and evenly chosen ones between."""
        step = max(1, -(-len(mentions) // (MOST_LINES - 1)))
        chosen = (mentions[0], mentions[-1], *mentions[1:-1:step])
        return tuple(self._before.line(place, length) for place in chosen)

    def _cheapest(self, mentions: list[int]) -> Fetch | None:
        """Return the smallest tool result among the mentions; of two of one size, the earlier."""
        passages = map(self._before.at, mentions)
        results = {id(passage.part): passage for passage in passages if isinstance(passage.part, ToolResult)}
        costs = ((COUNTER.count_part(passage.part), passage.turn) for passage in results.values())
        cheapest = min(costs, default=None)
        return Fetch(tokens=cheapest[0], turn=cheapest[1]) if cheapest else None


def _system_words(cut: Cut) -> str:
    """Return what the system says, at the start and in between: no compaction can lose it."""
    every = passages([*cut.system, *cut.items])
    return "\n".join(passage.text for passage in every if passage.speaker is PassageSpeaker.SYSTEM)
