"""The result of a verification as plain data: findings and losses. Stored with the compaction.

``Finding("grounding", Level.DROP, "d1.4", '"port 9" is invented', "nothing in m3 says it")`` is one finding;
``LostItem(LossKind.VALUE, "m3", "8123", "m3")`` is a value that leaves the view with m3.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from clew.errors import StoreDamaged
from clew.message import JsonObject
from clew.rules.codec import from_json, to_json

VERSION = 1
"""Of the JSON form."""


class Level(StrEnum):
    """The consequence of a finding, most severe first."""

    REFUSE = "refuse"
    """The plan cannot be used."""
    DROP = "drop"
    """One claim must go; the rest may stay."""
    REPAIR = "repair"
    """Code can fix it from the ledger and the sources."""
    NOTE = "note"
    """For information."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding of a check."""

    check: str
    level: Level
    subject: str
    """The id of the claim, rule, item, message or digest concerned."""
    what: str
    why: str = ""
    """The evidence, for people."""


def short(text: str, most: int = 120) -> str:
    """Return a text short enough for a finding."""
    return text if len(text) <= most else f"{text[:most]}…"


class LossKind(StrEnum):
    """The sorts of things that can be lost."""

    RULE = "rule"
    INSTRUCTION = "host text"
    """What a system or developer message behind the prompt said."""
    OPEN = "open item"
    DECISION = "decision"
    GOAL = "earlier goal"
    """A goal that the user has moved on from."""
    FAILURE = "reported failure"
    """A sentence of a long text of the agent, which was shortened, that states a failure."""
    VALUE = "value"

    @property
    def plural(self) -> str:
        """Return the word for several, for people: ``open items``, ``exact values``."""
        return "exact values" if self is LossKind.VALUE else f"{self.value}s"


@dataclass(frozen=True, slots=True)
class LostItem:
    """Something that the model would no longer see. It stays in the log."""

    matter: LossKind
    id: str
    """The id with which to keep it: the rule's, item's or decision's own, for a value that of its turn."""
    text: str
    source: str
    """The message that contains it."""
    reachable: bool = False
    """Whether something that stays in the view cites that message."""


@dataclass(frozen=True, slots=True)
class SurvivalCount:
    """Counts for one sort of things: how many there were and what becomes of them."""

    matter: LossKind
    before: int
    stand: int
    """Still in the view, word for word. (The log stores reports by field name, so the name is fixed.)"""
    reachable: int = 0
    """Of the others: those whose turn is cited by something that stays."""

    @property
    def gone(self) -> int:
        """Return how many only a search of the log would find."""
        return self.before - self.stand - self.reachable


@dataclass(frozen=True, slots=True)
class Loss:
    """What becomes of the things of one sort."""

    kept: SurvivalCount
    lost: tuple[LostItem, ...] = ()
    values: tuple[str, ...] = ()
    """Exact values that a digest or an excerpt keeps, of messages that are no longer shown whole."""


@dataclass(frozen=True, slots=True)
class Report:
    """The results of all checks of a plan."""

    findings: tuple[Finding, ...] = ()
    kept: tuple[SurvivalCount, ...] = ()
    lost: tuple[LostItem, ...] = ()
    """Every lost rule, open item and decision; of the values those most likely to be missed."""
    messages_before: int = 0
    messages_after: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    target_tokens: int = 0
    kept_values: tuple[str, ...] = ()
    """Exact values that digests and excerpts keep of messages no longer shown whole, the best first."""

    @property
    def accepted(self) -> bool:
        """Whether the plan may take effect as it is."""
        return all(finding.level is Level.NOTE for finding in self.findings)

    @property
    def refused(self) -> bool:
        """Whether there is a finding that no repair of claims and rules can fix."""
        return any(finding.level is Level.REFUSE for finding in self.findings)

    def to_json(self) -> JsonObject:
        """Return the report as JSON."""
        return {"version": VERSION, "report": to_json(self)}

    @classmethod
    def from_json(cls, value: JsonObject) -> Report:
        """Read back what ``to_json`` wrote."""
        try:
            if value["version"] != VERSION:
                raise StoreDamaged(f"a verification report of version {value['version']}, not {VERSION}")
            return from_json(cls, value["report"])
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as cause:
            raise StoreDamaged(f"a verification report cannot be read back ({cause!r})") from cause
