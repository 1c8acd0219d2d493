"""What a person is told of a compaction: why, before and after, what was kept, what left, what it cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from clew.compaction.plan import Condense, Drop, Plan, Shrink
from clew.compaction.verify import Kept, Matter, Report
from clew.message import JsonObject
from clew.session import Compaction, Outcome

_PLURAL = {
    Matter.RULE: "rules",
    Matter.OPEN: "open items",
    Matter.DECISION: "decisions",
    Matter.VALUE: "exact values",
}
MOST_LOST = 4


@dataclass(frozen=True, slots=True)
class Notice:
    """A compaction, told."""

    why: str
    tokens_before: int
    tokens_after: int
    done: str
    """What was done to which messages."""
    kept: str
    left: tuple[str, ...]
    """What the model no longer sees; all of it stays in the log."""
    cost: str
    digest: str | None = None
    """The id of the digest, for ``/expand``."""
    seq: int | None = None
    """Its place in the log; None for a preview."""

    @property
    def undo(self) -> str:
        """Return how to take it back."""
        look = f"; /expand {self.digest} opens it" if self.digest else ""
        return f"/undo takes it back{look}" if self.seq else "/compact does it"

    def lines(self) -> Iterator[str]:
        """Yield it as lines for people."""
        share = self.tokens_after / max(1, self.tokens_before) - 1
        title = f"compacted as {self.digest}" if self.digest else "compacted"
        yield f"{title if self.seq else 'would compact'}: {self.why}"
        yield f"  {self.tokens_before:,} → {self.tokens_after:,} tokens ({share:.0%}); {self.done}"
        yield f"  kept: {self.kept}"
        yield f"  left: {'; '.join(self.left) or 'no rule, open item, decision or exact value'}"
        yield f"  cost: {self.cost} · {self.undo}"

    def to_json(self) -> JsonObject:
        """Return it as JSON, for pages."""
        return {
            "why": self.why,
            "tokens_before": self.tokens_before,
            "tokens_after": self.tokens_after,
            "done": self.done,
            "kept": self.kept,
            "left": list(self.left),
            "cost": self.cost,
            "digest": self.digest,
            "seq": self.seq,
            "undo": self.undo,
        }


def notice_of(made: Compaction | Outcome) -> Notice:
    """Tell of a compaction that took effect, or of one that would."""
    plan = made.plan
    digest = next(iter(plan.digests), None)
    return Notice(
        why=plan.reason,
        tokens_before=plan.tokens_before,
        tokens_after=plan.tokens_after,
        done="; ".join(_done(plan)) or "nothing changed",
        kept=_kept(made.report),
        left=tuple(_left(made.report)),
        cost=_cost(made),
        digest=digest.id if digest else None,
        seq=made.seq if isinstance(made, Compaction) else None,
    )


def _done(plan: Plan) -> Iterator[str]:
    did = Counter(type(operation) for operation in plan.operations)
    for operation in plan.operations:
        if isinstance(operation, Condense):
            yield f"{len(operation.ids):,} messages → {operation.digest.id}"
    if did[Shrink]:
        yield f"{did[Shrink]:,} shown smaller"
    if did[Drop]:
        yield f"{sum(len(one.ids) for one in plan.operations if isinstance(one, Drop)):,} left out"


def _kept(report: Report) -> str:
    told = [f"{one.stand:,} of {one.before:,} {_PLURAL[one.matter]}" for one in report.kept if one.before]
    return ", ".join([*told, f"{report.messages_after:,} messages in view"])


def _left(report: Report) -> Iterator[str]:
    for one in report.kept:
        if one.before > one.stand:
            yield _gone(one)
    # A value with blanks in it is a quotation: too long for a line, and no rule, though it may read like one.
    named = [one for one in report.lost if one.matter is not Matter.VALUE or " " not in one.text]
    lost = [f"{one.text} [{one.source}]" for one in named if not one.reachable][:MOST_LOST]
    if lost:
        yield f"among them {', '.join(lost)}"


def _gone(one: Kept) -> str:
    reach = f" ({one.reachable:,} within reach of a line that stays)" if one.reachable else ""
    return f"{one.before - one.stand:,} {_PLURAL[one.matter]}{reach}"


def _cost(made: Compaction | Outcome) -> str:
    if not made.calls:
        return "no model was asked"
    usage = made.usage
    calls = "1 call" if made.calls == 1 else f"{made.calls} calls"
    tokens = f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out"
    return f"{calls} of {made.attempts[-1].author}, {tokens}"
