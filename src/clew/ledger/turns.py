"""The turns of a session (request, last report), the agent's findings and its latest working notes.

For "Fix the login." and the agent's "Fixed: the token had expired.", there is one ``Turn`` with both
positions, and a finding. Only positions are stored, so that a session of any length costs little, and a
later digest quotes the original words instead of an earlier digest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from clew.ledger.agent_findings import (
    LONGEST_READ,
    RankedFinding,
    best_findings,
    finding_spans,
    is_history,
)
from clew.ledger.exchange import Reading
from clew.ledger.non_requests import is_confirmation
from clew.ledger.shell import CHANGES
from clew.ledger.tool_actions import CHANGING, ActionKind, ToolAction, touches
from clew.message import Cite, Json
from clew.message.text import lazy_pattern
from clew.rules.speech import ASSISTANT, PLAN, USER, Utterance

MOST_TURNS = 5_000
"""Turns kept; of a longer session the first turn and the latest. Far more than a digest has room for: the
number only bounds the memory."""
MOST_STATED = 48
"""Findings that each later edit is compared with, the latest: the comparison searches the whole edit for the
names in each of them."""
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


class Stated(NamedTuple):
    """A finding that says how something is, which holds until that is changed."""

    source: Cite
    names: tuple[str, ...]
    """What it is about: the names in it."""


@dataclass(slots=True)
class Turns:
    """The turns of a session, the agent's findings and its latest working notes, as positions."""

    all: list[Turn] = field(default_factory=list)
    findings: list[RankedFinding] = field(default_factory=list)
    notes: list[Cite] = field(default_factory=list)
    """Texts of the running turn in which the agent lists its plan, its progress or what it knows."""
    stated: list[Stated] = field(default_factory=list)
    """The latest findings that say how something is, until an edit changes it."""

    def add(self, reading: Reading) -> None:
        """Read the next message."""
        for utterance in reading.said:
            if utterance.speaker is USER or utterance.speaker is PLAN:
                self._asked(utterance)
            elif utterance.speaker is ASSISTANT and utterance.text.strip():
                self._answered(utterance)

    def edited(self, reading: Reading) -> None:
        """Drop the findings on what an edit of this message changes: nobody knows whether they still hold."""
        for asked in reading.calls if self.stated else ():
            if written := _changing_text(asked.action):
                self._drop(written)

    def _drop(self, text: str) -> None:
        """Drop the findings with a name in this text: something else holds of it now."""
        over = {one.source for one in self.stated if any(map(text.__contains__, one.names))}
        if over:
            self.stated = [one for one in self.stated if one.source not in over]
            self.findings = [one for one in self.findings if one.source not in over]

    def _asked(self, utterance: Utterance) -> None:
        last = self.all[-1] if self.all else None
        cite = utterance.cite(0, len(utterance.text))
        if last and last.ask.message == utterance.message and not last.asks:
            self.all.pop()  # of several texts in one message, the first that asks is the request
        elif last and last.ask.message == utterance.message:
            return
        if self.stated and _OTHERWISE.search(utterance.text):
            self._drop(utterance.text)
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
            names = names_in(utterance.text[start:end])
            if names and not is_history(utterance.text[start:end]):
                self.stated = [*self.stated[1 - MOST_STATED :], Stated(utterance.cite(start, end), names)]
        self.findings = best_findings(self.findings)


def _changing_text(action: ToolAction) -> str:
    """Return paths, removed and written text of a call that changes files; empty if it changes none."""
    if action.kind in CHANGING:
        return "\n".join(_strings(action.arguments))
    is_shell = action.kind is ActionKind.SHELL
    changes = is_shell and any(touch.action in CHANGES for touch in touches(action, ""))
    return action.subject if changes else ""


def _strings(value: Json) -> Iterator[str]:
    """Yield the texts in the arguments of a call."""
    waiting: list[Json] = [value]
    while waiting:
        match waiting.pop():
            case str(text):
                yield text
            case dict(fields):
                waiting += fields.values()
            case list(values):
                waiting += values


def names_in(text: str) -> tuple[str, ...]:
    """Return the names in a sentence as code has them: the last part of a path or of a dotted name."""
    found = (match[1] or match[0] for match in _IDENTIFIER.finditer(text))
    return tuple(dict.fromkeys(_last_part(name) for name in found))


def _last_part(name: str) -> str:
    """Return the last part of a path or of a dotted name: "store.py" of "src/store.py"."""
    last = name.rsplit("/", 1)[-1]
    return last if _FILE.fullmatch(last) else last.rsplit(".", 1)[-1]


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
_OTHERWISE = lazy_pattern(
    r"\b(?:should|must|needs? to|move|rename|remove|instead|rather|actually|wrong|not|never)\b|n['’]t\b",
    re.IGNORECASE,
)
"""What the user says about something that is to be otherwise: "the callback should move"."""
_IDENTIFIER = lazy_pattern(
    r"`([A-Za-z_][\w./-]{3,80})(?:\(\))?`|[\w./-]*\w{2}\.[a-z]{1,4}\b(?!\()"
    r"|\b[A-Za-z]\w*(?:_\w+|[a-z][A-Z]\w*)\b"
)
"""A name in backticks, the name of a file, or an identifier of several words: "`retry_count`", "src/a.py"."""
_FILE = lazy_pattern(r".*\w\.[a-z]{1,4}")
"""The name of a file: "store.py"."""
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
