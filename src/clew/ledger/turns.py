"""The turns of a session (request, last report), the agent's findings and its latest working notes.

For "Fix the login." and the agent's "Fixed: the token had expired.", there is one ``Turn`` with both
positions, and a finding. Only positions are stored, so that a session of any length costs little, and a
later digest quotes the original words instead of an earlier digest.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from clew.ledger.agent_findings import (
    LONGEST_READ,
    WEAKEST,
    RankedFinding,
    best_findings,
    finding_spans,
)
from clew.ledger.exchange import Reading
from clew.ledger.non_requests import is_confirmation
from clew.ledger.tool_actions import CHANGING
from clew.message import Cite, Json
from clew.message.text import lazy_pattern
from clew.rules.speech import ASSISTANT, PLAN, USER, Utterance

MOST_TURNS = 5_000
"""Turns kept; of a longer session the first turn and the latest. Far more than a digest has room for: the
number only bounds the memory."""
MOST_MISSING = 24
"""Findings that something is missing that each later edit is compared with: the comparison searches the
whole edit for each of them."""
SHORTEST_NOTE, FEWEST_ITEMS = 300, 3
"""Characters and list items from which an agent's text counts as a working note: two points or two lines
are part of an ordinary reply."""
MOST_NOTES = 2
"""Working notes kept: as many as a digest quotes."""
_LONGEST_ACKNOWLEDGEMENT = 60
"""Characters of up to four such words; longer texts are not matched."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn: the request, and the agent's last words before the user's next message."""

    ask: Cite
    asks: bool
    """Whether the request says more than "yes" or "go on"."""
    report: Cite | None = None


class SaidMissing(NamedTuple):
    """A finding that something is missing or no longer used."""

    source: Cite
    names: tuple[str, ...]
    """What is missing: the identifiers in it."""


@dataclass(slots=True)
class Turns:
    """The turns of a session, the agent's findings and its latest working notes, as positions."""

    all: list[Turn] = field(default_factory=list)
    findings: list[RankedFinding] = field(default_factory=list)
    notes: list[Cite] = field(default_factory=list)
    """Texts of the running turn in which the agent lists its plan, its progress or what it knows."""
    missing: list[SaidMissing] = field(default_factory=list)
    """The latest findings that something is missing, until an edit adds it."""

    def add(self, reading: Reading) -> None:
        """Read the next message."""
        for utterance in reading.said:
            if utterance.speaker is USER or utterance.speaker is PLAN:
                self._asked(utterance)
            elif utterance.speaker is ASSISTANT and utterance.text.strip():
                self._answered(utterance)

    def edited(self, reading: Reading) -> None:
        """Drop the findings that something is missing or unused if an edit of this message adds it."""
        for asked in reading.calls if self.missing else ():
            if asked.action.kind not in CHANGING:
                continue
            old, new = _texts_of_edit(asked.action.arguments)
            added = {
                one.source
                for one in self.missing
                if any(name in new and name not in old for name in one.names)
            }
            if added:
                self.missing = [one for one in self.missing if one.source not in added]
                self.findings = [one for one in self.findings if one.source not in added]

    def _asked(self, utterance: Utterance) -> None:
        last = self.all[-1] if self.all else None
        cite = utterance.cite(0, len(utterance.text))
        if last and last.ask.message == utterance.message and not last.asks:
            self.all.pop()  # of several texts in one message, the first that asks is the request
        elif last and last.ask.message == utterance.message:
            return
        self.all.append(Turn(cite, not is_acknowledgement(utterance.text)))
        if self.all[-1].asks:
            self.notes.clear()
        if len(self.all) > MOST_TURNS * 5 // 4:
            del self.all[1 : len(self.all) - MOST_TURNS]

    def _answered(self, utterance: Utterance) -> None:
        if self.all and not _BRACKETED.fullmatch(utterance.text):
            last = self.all[-1]
            self.all[-1] = Turn(last.ask, last.asks, utterance.cite(0, len(utterance.text)))
        if is_working_note(utterance.text):
            self.notes = [*self.notes[1 - MOST_NOTES :], utterance.cite(0, len(utterance.text))]
        for start, end, rank in finding_spans(utterance.text):
            self.findings.append(RankedFinding(utterance.cite(start, end), rank))
            if rank < WEAKEST and _MISSING.search(utterance.text, start, end):
                named = tuple(name[1] for name in _IDENTIFIER.finditer(utterance.text, start, end))
                self.missing = [
                    *self.missing[1 - MOST_MISSING :],
                    SaidMissing(utterance.cite(start, end), named),
                ]
        self.findings = best_findings(self.findings)


def _texts_of_edit(arguments: Json) -> tuple[str, str]:
    """Return what an edit removes and what it writes, as far as its arguments tell them apart."""
    old: list[str] = []
    new: list[str] = []
    waiting: list[tuple[str, Json]] = [("", arguments)]
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.items()
        elif isinstance(value, list):
            waiting += [(key, one) for one in value]
        elif isinstance(value, str) and "*** Begin Patch" in value:
            old += [line for line in value.split("\n") if not line.startswith("+")]
            new += [line for line in value.split("\n") if line.startswith("+")]
        elif isinstance(value, str):
            (old if key.lower().startswith(("old", "search")) else new).append(value)
    return "\n".join(old), "\n".join(new)


def is_working_note(text: str) -> bool:
    """Whether a text lists several points: a plan, a status, facts gathered so far."""
    if len(text) < SHORTEST_NOTE:
        return False
    prose = _FENCED.sub("", text[:LONGEST_READ]) if "```" in text else text[:LONGEST_READ]
    return sum(1 for _ in islice(_ITEM.finditer(prose), FEWEST_ITEMS)) == FEWEST_ITEMS


def is_acknowledgement(text: str) -> bool:
    """Return True if a text only greets, agrees or continues the work."""
    if not text.strip() or is_confirmation(text):
        return True
    return len(text) <= _LONGEST_ACKNOWLEDGEMENT and _ACKNOWLEDGEMENT.fullmatch(text.lower()) is not None


# What the patterns recognise ---------------------------------------------------------------------------

_BRACKETED = lazy_pattern(r"\s*\[[^\[\]\n]{0,200}\]\s*")
"""A note of a harness in place of a text: "[Compacted history content evicted to durable cold storage]"."""
_MISSING = lazy_pattern(
    r"\bno longer\b|\bunused\b|\bmissing\b|\b(?:does|do|did|is|are|was)(?:n['’]t| not)\s"
    r"(?:(?:yet|actually|even|currently)\s)?(?:used|exist|there|needed|defined|set|available|implemented)\b",
    re.IGNORECASE,
)
"""Something is missing or not used: "`retry` is no longer used"."""
_IDENTIFIER = lazy_pattern(r"`([A-Za-z_][\w.-]{3,80})(?:\(\))?`")
"""A name in backticks: "`retry_count`"."""
_ITEM = lazy_pattern(r"^[ \t]*(?:[-*•+]|\d{1,2}[.)]|#{1,4}|\[[ x~]\])[ \t]+\S", re.MULTILINE)
"""A list item or a heading."""
_FENCED = lazy_pattern(r"^[ \t]*```.*?(?:^[ \t]*```[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
"""A block of code: its comments look like headings."""
_ACKNOWLEDGEMENT = lazy_pattern(
    r"\W*(?:(?:yes|yeah|yep|yup|ok|okay|k|sure|thanks?|thank you|thx|cool|great|good|nice|perfect|awesome"
    r"|lgtm|please|continue|proceed|go|go on|go ahead|do it|keep going|next|done|hi|hello|hey"
    r"|ja|genau|passt|danke|weiter|s[ií]|vale|perfecto|gracias|oui|d[’']accord|merci|parfait|sim|obrigad[oa]"
    r"|да|хорошо|отлично|спасибо|네|응|좋아요?|고마워|はい|了解|ありがとう|好的?|谢谢|可以)\b\W*){1,4}"
)
"""Matched against lower-case text: case-insensitive matching takes twice as long."""
