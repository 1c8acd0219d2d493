"""The TokenBudget event, logged for each request: every slice of the window and the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from clew.budget.reading import count, reading, text
from clew.budget.regions import Allotment, Region, Slice
from clew.budget.signals import Trigger
from clew.budget.trigger import Calm, Compact, Stop, Verdict, Warn
from clew.message import JsonObject

KIND = "token_budget"
"""The kind of the event in the log."""
VERSION = 1


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """How the window was split for one request, and the verdict."""

    allotment: Allotment
    verdict: Verdict

    def to_json(self) -> JsonObject:
        """Return the body of the event."""
        return {
            "window_tokens": self.allotment.window_tokens,
            "free_tokens": self.allotment.free_tokens,
            "slices": [
                {
                    "region": slice_.region.value,
                    "asked": slice_.asked,
                    "given": slice_.given,
                    "cut": slice_.cut,
                    "why": slice_.why,
                }
                for slice_ in self.allotment.slices
            ],
            "verdict": {"is": _NAMES[type(self.verdict)], **asdict(self.verdict)},
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> TokenBudget:
        """Read what ``to_json`` wrote; raise if the numbers do not add up."""
        with reading("a token budget"):
            slices = tuple(_slice(entry) for entry in value["slices"])
            allotment = Allotment(count(value["window_tokens"]), slices)
            if [slice_.region for slice_ in slices] != list(Region):
                raise ValueError("not every region once")
            if allotment.free_tokens != count(value["free_tokens"]):
                raise ValueError("the slices do not add up to the window")
            return cls(allotment, _verdict(value["verdict"]))


_NAMES: dict[type[Verdict], str] = {Calm: "calm", Warn: "warn", Compact: "compact", Stop: "stop"}


def _slice(entry: Mapping[str, Any]) -> Slice:
    asked, given, cut = (count(entry[name]) for name in ("asked", "given", "cut"))
    if asked - given != cut:
        raise ValueError(f"{asked} less {given} is not {cut}")
    return Slice(Region(entry["region"]), asked, given, text(entry["why"]))


def _verdict(entry: Mapping[str, Any]) -> Verdict:
    why = text(entry["why"])
    match entry["is"]:
        case "calm":
            return Calm(why)
        case "warn":
            return Warn(why)
        case "compact":
            return Compact(Trigger(entry["trigger"]), why, count(entry["target_tokens"]))
        case "stop":
            return Stop(why, entry["fits"] is True)
    raise ValueError(f"unknown verdict {entry['is']!r}")
