"""A session in memory: the whole conversation, what its tool's model sees now, and the tool's compactions.

``Transcript.full()`` is every message that was said, ``current()`` what the model sees after the tool's last
compaction, ``tool_compactions(session)`` each compaction with what it replaced, wrote and kept.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

from clew.message import Item, Message, Origin, Part, Role, Text, ToolResult, pair, system_prefix, turns
from clew.tokens import TokenCounter
from clew.transcripts.formats import detect, format_named
from clew.transcripts.messages import first_telling, is_telling, typed_text
from clew.transcripts.records import Boundary, Cleared, Dropped, Entry, Problem, Record, Start
from clew.transcripts.source import Source, as_source

_LEADING_TAGS = re.compile(r"^(?:\s*<[\w-]+>)+")
"""Tags that a harness puts around a task; they are not part of its title."""
_HEADING = re.compile(r"^#+[ \t]+(\S[^\n]*)", re.MULTILINE)
MOST_COMPACTIONS = 1_000
"""Compactions of one session, at most: the step between the names of one summary's messages."""
HIDDEN = "[this output is no longer shown to the model]"
"""Shown instead of an output that the tool hides from its model."""


@dataclass(frozen=True, slots=True)
class TranscriptStats:
    """Counts of a session."""

    messages: int
    turns: int
    tool_calls: int
    unpaired: int
    """Calls without a result, and results without a call."""
    compactions: int
    dropped: int
    sidechain_messages: int
    problems: int


@dataclass(frozen=True, slots=True)
class Transcript:
    """One session: its records, in the order they were read."""

    start: Start
    records: tuple[Record, ...]

    @property
    def id(self) -> str:
        """Return the tool's id of the session."""
        return self.start.session_id

    @property
    def format(self) -> str:
        """Return the name of the format it was read from."""
        return self.start.format

    @property
    def title(self) -> str | None:
        """Return its title, if the tool gave it one."""
        return self.start.title

    @property
    def label(self) -> str:
        """Return a label: its title, the user's first telling request, a plan's heading, or its id."""
        words = self.title or first_telling(self.user_words())
        if not self.title and not is_telling(words):  # "commit", after a plan that was handed over
            words = self._heading("plan") or words or self._heading()
        return " ".join(_LEADING_TAGS.sub("", words).split()) or self.id

    def _heading(self, about: str = "") -> str:
        """Return the first heading in text of the harness whose first line has a word."""
        values = (
            entry.message.text for entry in self._live_entries() if entry.message.origin is Origin.INJECTED
        )
        texts = (text for text in values if about in text.lstrip().split("\n", 1)[0].lower())
        return next((match[1] for text in texts if (match := _HEADING.search(text[:2_000]))), "")

    def user_words(self) -> Iterator[str]:
        """Yield what the user typed, message by message."""
        for entry in self._live_entries():
            if words := typed_text(entry.message):
                yield words

    @property
    def model(self) -> str | None:
        """Return the model of the main conversation, the last one if there were several."""
        entries = [entry for entry in reversed(self.entries) if entry.model]
        main = (entry.model for entry in entries if entry.sidechain is None)
        return next(main, self.start.model or (entries[0].model if entries else None))

    @property
    def window(self) -> int | None:
        """Return the context window that the tool recorded last; None if it recorded none."""
        return next((entry.window for entry in reversed(self.entries) if entry.window), None)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Return every message, including those of sub-agents and dropped ones."""
        return tuple(record for record in self.records if isinstance(record, Entry))

    @property
    def boundaries(self) -> tuple[Boundary, ...]:
        """Return the tool's own compactions."""
        return tuple(record for record in self.records if isinstance(record, Boundary))

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Return what could not be read."""
        return tuple(record for record in self.records if isinstance(record, Problem))

    @property
    def dropped(self) -> frozenset[str]:
        """Return the ids of the entries and compactions on abandoned branches."""
        return frozenset(id_ for record in self.records if isinstance(record, Dropped) for id_ in record.ids)

    def full(self) -> list[Message]:
        """Return the whole conversation, without dropped messages and summaries of included ones."""
        return [entry.message for entry in self.full_entries()]

    def full_entries(self) -> list[Entry]:
        """Return the whole conversation as entries, with ids and positions."""
        entries: list[Entry] = []
        has_originals = False
        for entry in self._live_entries():
            if entry.message.origin is Origin.SUMMARY and has_originals:
                continue
            entries.append(entry)
            is_said = entry.message.role is not Role.SYSTEM and entry.message.origin is Origin.SPOKEN
            has_originals = has_originals or is_said
        return entries

    def names(self) -> dict[str, str]:
        """Return the name of each entry, by its id: the one that every command and page uses.

        ``m12`` is message 12 of the whole conversation, ``c1`` the summary of the tool's first compaction.
        Messages of sub-agents and of abandoned branches have none.
        """
        live = self._live()
        whole = {entry.id: f"m{number}" for number, entry in enumerate(self.full_entries(), start=1)}
        names = {place: whole[entry.id] for place, entry in live.items() if entry.id in whole} | whole
        for compaction in tool_compactions(self):
            for name, entry in zip(compaction.summary_names, compaction.summary, strict=True):
                names.setdefault(entry.id, name)
        return names

    def current(self) -> list[Message]:
        """Return what the tool's model sees now: the last summary, what it kept, and everything after."""
        return [item.message for item in self.current_items()]

    def current_items(self) -> list[Item]:
        """Return what the tool's model sees now, with the names of the messages."""
        hidden = frozenset(
            id_ for record in self.records if isinstance(record, Cleared) for id_ in record.call_ids
        )
        names = self.names()
        items = []
        for number, entry in enumerate(self._current_entries(), start=1):
            name = names.get(entry.id) or names.get(entry.replaces or "", f"x{number}")
            items.append(Item(name, _as_shown(entry, hidden)))
        return items

    def earlier_items(self) -> list[Item]:
        """Return the messages of the whole conversation that the tool's model no longer sees."""
        seen = {entry.replaces or entry.id for entry in self._current_entries()}
        return [
            Item(f"m{number}", entry.message)
            for number, entry in enumerate(self.full_entries(), start=1)
            if (entry.replaces or entry.id) not in seen
        ]

    def _current_entries(self) -> list[Entry]:
        """Return what the model sees now: the system prompt, what the last compaction left, what followed.

        Of ``system, a, b, Boundary(keeps=b), summary, c`` that is ``system, summary, b, c``; if the boundary
        has ``kept_first=1``, ``system, b, summary, c``.
        """
        hidden_ids = self.dropped
        cut, keeps, first = (
            0,
            frozenset[str](),
            frozenset[str](),
        )  # the last compaction: where, and what it kept
        for place, record in enumerate(self.records):
            if isinstance(record, Boundary) and record.id not in hidden_ids:
                cut, keeps = place, frozenset(record.keeps)
                first = frozenset(record.keeps[: record.kept_first])
        before = list(self._live_entries(self.records[:cut]))
        live = {entry.replaces or entry.id: entry for entry in self._live_entries()}
        opening = system_prefix([entry.message for entry in before])
        # The system prompt always stays, in its latest version.
        prompt = [
            live[entry.replaces or entry.id]
            for place, entry in enumerate(before)
            if entry.message.role is Role.SYSTEM or (place < opening and entry.id in keeps)
        ]
        known = {entry.id for entry in prompt}
        kept_entries = [entry for entry in before if entry.id in keeps and entry.id not in known]
        # A later version of an entry before the cut is not something said after it.
        replaced = {entry.replaces or entry.id for entry in before}
        after = [entry for entry in self._live_entries(self.records[cut:]) if entry.replaces not in replaced]
        summary, later = _after_compaction(after)
        kept_before = [entry for entry in kept_entries if entry.id in first]
        kept_after = [entry for entry in kept_entries if entry.id not in first]
        return [*prompt, *kept_before, *summary, *kept_after, *later]

    def stats(self) -> TranscriptStats:
        """Count what there is in the whole conversation."""
        messages = self.full()
        pairing = pair(messages)
        return TranscriptStats(
            messages=len(messages),
            turns=sum(1 for _ in turns(messages)),
            tool_calls=sum(1 for message in messages for _ in message.calls),
            unpaired=len(pairing.dangling) + len(pairing.orphans),
            compactions=len(self.boundaries),
            dropped=len(self.dropped),
            sidechain_messages=sum(entry.sidechain is not None for entry in self.entries),
            problems=len(self.problems),
        )

    def _live_entries(self, records: Iterable[Record] | None = None) -> Iterator[Entry]:
        yield from self._live(records).values()

    def _live(self, records: Iterable[Record] | None = None) -> dict[str, Entry]:
        """Return the entries of the conversation by id; one that was replaced, under its first id."""
        hidden_ids = self.dropped
        result: dict[str, Entry] = {}
        for record in self.records if records is None else records:
            if isinstance(record, Entry) and record.sidechain is None and record.id not in hidden_ids:
                place = record.replaces if record.replaces in result else record.id
                result[place or record.id] = record
        return result


def load(
    source: Source | str | os.PathLike[str],
    format: str | None = None,  # noqa: A002 - the word people use
) -> list[Transcript]:
    """Read every session of a file into memory; use ``read`` for files that may not fit."""
    source = as_source(source)
    format_ = format_named(format) if format else detect(source)
    return list(collect(format_.read(source), Start(source.name, format_.name)))


def collect(records: Iterable[Record], unnamed: Start) -> Iterator[Transcript]:
    """Collect the records of each session; ``unnamed`` is used if no record starts one."""
    start: Start | None = None
    stored: list[Record] = []
    for record in records:
        if isinstance(record, Start):
            if start is not None:
                yield Transcript(start, tuple(stored))
                stored = []
            start = record
        else:
            stored.append(record)
    if start is not None or stored:
        yield Transcript(start or unnamed, tuple(stored))


def _after_compaction(entries: list[Entry]) -> tuple[list[Entry], list[Entry]]:
    """Split entries into what a compaction produced, up to its summary, and what was said later."""
    made = 0  # how many entries the compaction produced
    for place, entry in enumerate(entries, start=1):
        if entry.message.origin is Origin.SPOKEN:
            break
        if entry.message.origin is Origin.SUMMARY:
            made = place
    return entries[:made], entries[made:]


def _as_shown(entry: Entry, hidden: frozenset[str]) -> Message:
    """Return a message as the tool's model sees it: hidden outputs are replaced."""
    if entry.shown is not None:
        return entry.shown
    hidden_ids = hidden.union(entry.hidden_results)
    if not hidden_ids or not any(result.call_id in hidden_ids for result in entry.message.results):
        return entry.message
    return replace(entry.message, parts=tuple(_hide(part, hidden_ids) for part in entry.message.parts))


def _hide(part: Part, hidden_ids: frozenset[str]) -> Part:
    if not isinstance(part, ToolResult) or part.call_id not in hidden_ids:
        return part
    return replace(part, parts=(Text(HIDDEN, trust=part.trust),), native=None)


@dataclass(frozen=True, slots=True)
class ToolCompaction:
    """One compaction that the tool made."""

    name: str
    """``c1``, ``c2``, …"""
    boundary: Boundary
    before: tuple[Entry, ...] = field(repr=False)
    """What the model saw: an earlier summary, and everything after it."""
    summary: tuple[Entry, ...] = field(repr=False)
    """The summary that the tool wrote instead; empty if it was not recorded."""
    kept: tuple[Entry, ...] = field(repr=False)
    """What was kept verbatim."""
    after: tuple[Entry, ...] = field(repr=False)
    """What was said until the next compaction."""

    @property
    def summary_names(self) -> list[str]:
        """Return the name of each message of the summary: its own, and others if there are several (rare)."""
        number = int(self.name.removeprefix("c"))
        return [f"c{number + nth * MOST_COMPACTIONS}" for nth in range(len(self.summary))]

    @property
    def is_sealed(self) -> bool:
        """Return True if only the provider can read the summary."""
        return bool(self.summary) and not any(entry.message.text for entry in self.summary)

    def sizes(self, counter: TokenCounter) -> CompactionSizes:
        """Return the tokens that the model saw before and after.

        What the provider reported for the call before or after decides, because a tool often records the
        size of its summary alone; then what the tool recorded; then an estimate.
        """
        left = counter.count_all(entry.message for entry in (*self.summary, *self.kept))
        first = _first_report(self.after, counter)
        before = self.boundary.tokens_before or _last_report(self.before, counter)
        after = max(first, left) if first else self.boundary.tokens_after
        return CompactionSizes(
            before or counter.count_all(entry.message for entry in self.before),
            after or left,
            bool(before),
            bool(after),
        )


class CompactionSizes(NamedTuple):
    """The tokens that the model saw before and after a compaction."""

    before: int
    after: int
    before_reported: bool
    """By the tool or the provider; otherwise it is an estimate."""
    after_reported: bool

    def __str__(self) -> str:
        """Return both; ``~`` marks estimates."""
        before = f"{'' if self.before_reported else '~'}{self.before:,}"
        return f"{before} → {'' if self.after_reported else '~'}{self.after:,} tokens"


def _first_report(entries: Sequence[Entry], counter: TokenCounter) -> int:
    """Return the size of the first reported request without what was said until its reply; 0 if unknown."""
    reported = 0
    for entry in entries:
        reported += counter.count(entry.message)
        if entry.usage and entry.usage.input_tokens:
            return max(0, entry.usage.input_tokens + entry.usage.output_tokens - reported)
    return 0


def _last_report(entries: Sequence[Entry], counter: TokenCounter) -> int:
    """Return the size of the last reported request with its reply and what was said since; 0 if unknown."""
    reported = 0
    for entry in reversed(entries):
        if entry.usage and entry.usage.input_tokens:
            return entry.usage.input_tokens + entry.usage.output_tokens + reported
        reported += counter.count(entry.message)
    return 0


@dataclass(slots=True)
class _Stretch:
    """The entries from one compaction to the next; the first stretch begins with the session."""

    boundary: Boundary | None
    summary: list[Entry] = field(default_factory=list)
    said: list[Entry] = field(default_factory=list)
    """Everything but the summary."""


def tool_compactions(session: Transcript) -> list[ToolCompaction]:
    """Return the tool's own compactions, oldest first, without those on an abandoned branch."""
    compactions: list[ToolCompaction] = []
    earlier: list[Entry] = []
    places: dict[str, int] = {}  # where in ``earlier`` each entry is, by its id
    for before, after in pairwise(_stretches(session)):
        assert after.boundary is not None
        for entry in before.said:
            places[entry.id] = len(earlier)
            earlier.append(entry)
        kept = sorted({places[id_] for id_ in after.boundary.keeps if id_ in places})
        compactions.append(
            ToolCompaction(
                f"c{len(compactions) + 1}",
                after.boundary,
                before=(*before.summary, *before.said),
                summary=tuple(after.summary),
                kept=tuple(earlier[place] for place in kept),
                after=tuple(after.said),
            )
        )
    return compactions


def _stretches(session: Transcript) -> list[_Stretch]:
    hidden_ids = session.dropped
    stretches = [_Stretch(None)]
    for record in session.records:
        if isinstance(record, Boundary) and record.id not in hidden_ids:
            stretches.append(_Stretch(record))
        elif isinstance(record, Entry) and record.sidechain is None and record.id not in hidden_ids:
            last = stretches[-1]
            is_summary = record.message.origin is Origin.SUMMARY and last.boundary is not None
            (last.summary if is_summary else last.said).append(record)
    return stretches
