"""Counters of a session: how often it was compacted, what that freed, and what was recalled after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any

from clew.budget import Trigger
from clew.log import APPROVAL, CALL, COMPACTION, MESSAGE, REFUSAL, UNDO
from clew.log.protocol import Stored
from clew.message import JsonObject, Origin, Role

RECALLING = frozenset({"recall_search", "recall_open", "artifact_open"})


@dataclass(slots=True)
class Stats:
    """What is counted."""

    turns: int = 0
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    compactions: Counter[str] = field(default_factory=Counter)
    """By what called for them; all but ``manual`` are automatic."""
    refusals: int = 0
    undone: int = 0
    freed_tokens: int = 0
    """Before less after, of all compactions."""
    recalls_before: int = 0
    """Calls of tools that bring something back, before the first compaction."""
    recalls_after: int = 0
    approvals: Counter[str] = field(default_factory=Counter)

    @property
    def automatic(self) -> int:
        """Return how many compactions nobody asked for."""
        return self.compactions.total() - self.compactions[Trigger.MANUAL.value]

    def to_json(self) -> JsonObject:
        """Return the counters as JSON."""
        counted: JsonObject = {one.name: getattr(self, one.name) for one in fields(self)}
        # ``asdict`` would count the pairs of a Counter anew.
        by: JsonObject = {"compactions": {**self.compactions}, "approvals": {**self.approvals}}
        return {**counted, **by, "automatic": self.automatic}


def stats_of(events: Iterable[Stored]) -> Stats:
    """Count what happened in a session."""
    stats = Stats()
    for stored in events:
        body: dict[str, Any] = stored.event.body
        match stored.event.kind:
            case MESSAGE.name:
                _message(stats, stored)
            case COMPACTION.name:
                plan = body["plan"]
                stats.compactions[str(plan["trigger"])] += 1
                stats.freed_tokens += plan["tokens_before"] - plan["tokens_after"]
            case REFUSAL.name:
                stats.refusals += 1
            case UNDO.name:
                stats.undone += 1
            case CALL.name:
                stats.requests += 1
                stats.input_tokens += body["usage"]["input_tokens"]
                stats.output_tokens += body["usage"]["output_tokens"]
                stats.cache_read_tokens += body["usage"]["cache_read_tokens"]
            case APPROVAL.name:
                stats.approvals[str(body.get("answer"))] += 1
    return stats


def _message(stats: Stats, stored: Stored) -> None:
    (message,) = MESSAGE.messages(MESSAGE.current(stored).event.body)
    stats.turns += message.role is Role.USER and message.origin is Origin.SPOKEN
    recalls = sum(call.name in RECALLING for call in message.calls)
    if stats.compactions.total():
        stats.recalls_after += recalls
    else:
        stats.recalls_before += recalls


def stats_lines(stats: Stats) -> Iterator[str]:
    """Yield the counters as lines for people."""
    cached = f", {stats.cache_read_tokens:,} from a cache" if stats.cache_read_tokens else ""
    by = "".join(f"; {name} {times:,}" for name, times in stats.compactions.most_common())
    yield _row("turns", stats.turns, "")
    spent = f"{stats.input_tokens:,} tokens in{cached}, {stats.output_tokens:,} out"
    yield _row("requests", stats.requests, spent)
    yield _row("compactions", stats.compactions.total(), f"{stats.automatic:,} automatic{by}")
    yield _row("freed", stats.freed_tokens, f"tokens; {stats.undone:,} undone, {stats.refusals:,} refused")
    yield _row(
        "recalls", stats.recalls_after, f"after a compaction; {stats.recalls_before:,} before the first"
    )
    if stats.approvals:
        told = ", ".join(f"{answer} {times:,}" for answer, times in sorted(stats.approvals.items()))
        yield _row("approvals", stats.approvals.total(), told)


def _row(name: str, number: int, about: str) -> str:
    return f"{name:<12}{number:>10,}  {about}".rstrip()
