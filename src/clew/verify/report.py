"""The outcome of a verification: what was found, what would be lost. Plain data, kept with the compaction."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from clew.errors import StoreDamaged
from clew.ledger.codec import from_json, to_json
from clew.message import JsonObject

VERSION = 1
"""Of the JSON form."""


class Level(StrEnum):
    """What follows from a finding, hardest first."""

    REFUSE = "refuse"
    """The plan cannot be used."""
    DROP = "drop"
    """One claim must go; the rest may stay."""
    REPAIR = "repair"
    """Code can put it right from the ledger and the sources."""
    NOTE = "note"
    """Worth knowing, nothing to do."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a check has to say."""

    check: str
    level: Level
    subject: str
    """The id of the claim, rule, loop, message or digest that it is about."""
    what: str
    why: str = ""
    """The evidence, in words for people."""


def short(text: str, most: int = 120) -> str:
    """Return a text short enough to stand in a finding."""
    return text if len(text) <= most else f"{text[:most]}…"


class Matter(StrEnum):
    """What can be lost."""

    RULE = "rule"
    OPEN = "open item"
    DECISION = "decision"
    VALUE = "value"


@dataclass(frozen=True, slots=True)
class Lost:
    """Something that the model would no longer see. It stays in the log."""

    matter: Matter
    id: str
    """What to name in order to keep it: of a rule, loop or decision its own id, of a value its turn."""
    text: str
    source: str
    """The message that says it."""
    reachable: bool = False
    """Something that stays in the view names that message, so whoever reads it can look there."""


@dataclass(frozen=True, slots=True)
class Kept:
    """How many things of a sort there were, and what becomes of them."""

    matter: Matter
    before: int
    stand: int
    """Still to be read in the view, word for word."""
    reachable: int = 0
    """Of the others: named by the turn of something that stays."""

    @property
    def gone(self) -> int:
        """Return how many only a search of the log would find again."""
        return self.before - self.stand - self.reachable


@dataclass(frozen=True, slots=True)
class Loss:
    """What becomes of the things of one sort."""

    kept: Kept
    lost: tuple[Lost, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """What the checks say about a plan."""

    findings: tuple[Finding, ...] = ()
    kept: tuple[Kept, ...] = ()
    lost: tuple[Lost, ...] = ()
    """Every rule, open item and decision; of the values those that are most likely to be missed."""
    messages_before: int = 0
    messages_after: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    target_tokens: int = 0

    @property
    def accepted(self) -> bool:
        """Tell whether the plan may take effect as it is."""
        return all(finding.level is Level.NOTE for finding in self.findings)

    @property
    def refused(self) -> bool:
        """Tell whether something stands against it that no repair of claims and rules can mend."""
        return any(finding.level is Level.REFUSE for finding in self.findings)

    def to_json(self) -> JsonObject:
        """Return the report as JSON."""
        return {"version": VERSION, "report": to_json(self)}

    @classmethod
    def from_json(cls, value: JsonObject) -> Report:
        """Return the report that wrote this."""
        try:
            if value["version"] != VERSION:
                raise StoreDamaged(f"a verification report of version {value['version']}, not {VERSION}")
            return from_json(cls, value["report"])
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as cause:
            raise StoreDamaged(f"a verification report cannot be read back ({cause!r})") from cause
