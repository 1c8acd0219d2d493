"""Reports for people: the notice of a compaction, the drawn window, and counters of a session."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from clew.budget import Fill, Region, TokenBudget, Trigger
from clew.compaction.plan import Condense, Drop, Plan, Shrink
from clew.compaction.verify import LossKind, Report
from clew.log import APPROVAL, CALL, COMPACTION, MESSAGE, REFUSAL, UNDO
from clew.log.protocol import StoredEvent
from clew.message import JsonObject, Origin, Role
from clew.message.text import one_line
from clew.request.assembled import AssembledRequest
from clew.request.sections import Contribution
from clew.session import Compaction, DecidedCompaction, Session

MOST_LOST = 4


@dataclass(frozen=True, slots=True)
class CompactionNotice:
    """What a person is shown about a compaction: reason, sizes, what was kept and dropped, cost."""

    why: str
    tokens_before: int
    tokens_after: int
    done: str
    """The operations, as text."""
    kept: str
    left: tuple[str, ...]
    """What the model no longer sees; the log keeps all of it."""
    cost: str
    digest: str | None = None
    """The id of the digest, for ``/expand``."""
    seq: int | None = None
    """The number of its event in the log; None for a preview."""

    @property
    def undo(self) -> str:
        """Return the commands that undo and show it."""
        look = f"; /expand {self.digest} shows it" if self.digest else ""
        return f"/undo reverts it{look}" if self.seq else "/compact applies it"

    def lines(self) -> Iterator[str]:
        """Yield the notice as lines of text."""
        share = self.tokens_after / max(1, self.tokens_before) - 1
        title = f"compacted as {self.digest}" if self.digest else "compacted"
        yield f"{title if self.seq else 'would compact'}: {self.why}"
        yield f"  {self.tokens_before:,} → {self.tokens_after:,} tokens ({share:.0%}); {self.done}"
        yield f"  kept: {self.kept}"
        yield f"  left: {'; '.join(self.left) or 'no rule, open item, decision or exact value'}"
        yield f"  cost: {self.cost} · {self.undo}"

    def to_json(self) -> JsonObject:
        """Return the notice as JSON, for the inspector."""
        return {**asdict(self), "left": list(self.left), "undo": self.undo}


def compaction_notice(result: DecidedCompaction) -> CompactionNotice:
    """Return the notice of a compaction that took effect, or of a preview."""
    plan = result.plan
    digest = next(iter(plan.digests), None)
    return CompactionNotice(
        why=plan.reason,
        tokens_before=plan.tokens_before,
        tokens_after=plan.tokens_after,
        done="; ".join(_operation_phrases(plan)) or "nothing changed",
        kept=_survival_line(result.report),
        left=tuple(_loss_phrases(result.report)),
        cost=_cost(result),
        digest=digest.id if digest else None,
        seq=result.seq if isinstance(result, Compaction) else None,
    )


def _operation_phrases(plan: Plan) -> Iterator[str]:
    did = Counter(type(operation) for operation in plan.operations)
    for operation in plan.operations:
        if isinstance(operation, Condense):
            yield f"{len(operation.ids):,} messages → {operation.digest.id}"
    if did[Shrink]:
        yield f"{did[Shrink]:,} shortened"
    if did[Drop]:
        dropped = sum(len(operation.ids) for operation in plan.operations if isinstance(operation, Drop))
        yield f"{dropped:,} dropped"


def _survival_line(report: Report) -> str:
    lines = [
        f"{survival.stand:,} of {survival.before:,} {survival.matter.plural}"
        for survival in report.kept
        if survival.before
    ]
    return ", ".join([*lines, f"{report.messages_after:,} messages in view"])


def _loss_phrases(report: Report) -> Iterator[str]:
    for survival in report.kept:
        if survival.before > survival.stand:
            reachable = f" ({survival.reachable:,} reachable from a line that was kept)"
            lost_count = f"{survival.before - survival.stand:,} {survival.matter.plural}"
            yield f"{lost_count}{reachable if survival.reachable else ''}"
    # A value with spaces is a quotation: too long for a line, and it could be mistaken for a rule.
    lost_items = [loss for loss in report.lost if loss.matter is not LossKind.VALUE or " " not in loss.text]
    lost = [f"{loss.text} [{loss.source}]" for loss in lost_items if not loss.reachable][:MOST_LOST]
    if lost:
        yield f"among them {', '.join(lost)}"


def _cost(result: DecidedCompaction) -> str:
    if not result.calls:
        return "no model was called"
    usage = result.usage
    calls = "1 call" if result.calls == 1 else f"{result.calls} calls"
    tokens = f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out"
    return f"{calls} of {result.asked}, {tokens}"


# What was compacted ----------------------------------------------------------------------------------

MOST_QUOTED = 6
"""Messages that are quoted in one answer."""
LONGEST_QUOTE = 600


def compaction_line(compaction: Compaction) -> str:
    """Return a compaction as one line."""
    plan = compaction.plan
    when = compaction.time[:16].replace("T", " ")
    sizes = f"{plan.tokens_before:,} → {plan.tokens_after:,} tokens"
    return f"{compaction.name:<4} {when}  {sizes}, {plan.trigger}: {plan.reason}"


def digest_lines(session: Session, ref: str) -> list[str]:
    """Return the lines of a digest, each with its id for ``/expand``."""
    compaction = next((item for item in session.trace() if item.digest and item.digest.id == ref), None)
    if compaction is None or compaction.digest is None:
        return [str(session.explain(ref))]
    rules = [f'  {item.id:<6} rule "{item.quote}" [{item.source.message}]' for item in compaction.digest.pins]
    return rules + [
        f"  {claim.id:<6} {claim.kind.value}: {one_line(claim.text, 200)} [{claim.sources[0].message}]"
        for claim in compaction.digest.claims
    ]


def message_lines(session: Session, ids: tuple[str, ...]) -> list[str]:
    """Return the first of these messages, one line each."""
    shown_items = list(session.originals(ids[:MOST_QUOTED]))
    lines = []
    for item in shown_items:
        text = item.message.text or "\n".join(result.text for result in item.message.results)
        calls = [f"{call.name} {call.input_text}" for call in item.message.calls]
        lines.append(
            f"  [{item.id}] {item.message.role}: {one_line(' '.join([text, *calls]), LONGEST_QUOTE)}"
        )
    more = len(ids) - len(shown_items)
    return [*lines, f"  … and {more:,} more"] if more > 0 else lines


# How full the window is ------------------------------------------------------------------------------

BAR = 40
"""Characters of the bar that draws the window."""
MOST_SOURCES = 5
LETTERS = {
    Region.SYSTEM: "s",
    Region.TOOLS: "t",
    Region.PINNED: "p",
    Region.INSTRUCTIONS: "i",
    Region.MEMORY: "m",
    Region.HISTORY: "h",
    Region.TOOL_OUTPUTS: "o",
    Region.SUMMARY_CALL: "-",
    Region.NEXT_RESULT: "-",
    Region.REPLY: "r",
}
"""The letter of each region in a bar; a dash is reserved space."""


def meter(budget: TokenBudget) -> str:
    """Return how full the window is, in total and by region, in a few characters."""
    fill = Fill.of(budget.allotment)
    usable = max(1, fill.window.usable_tokens)
    lines = [
        f"{LETTERS[slice_.region]}{slice_.asked / usable:.0%}"
        for slice_ in budget.allotment.slices
        if slice_.asked / usable >= 0.01 and LETTERS[slice_.region] not in "-r"
    ]
    return f"{fill.used_tokens / usable:.0%} {' '.join(lines)}".rstrip()


def bar(budget: TokenBudget) -> str:
    """Return the window as a bar: a letter for used space, a dash for reserved space."""
    window = max(1, budget.allotment.window_tokens)
    cells = ""
    given = 0
    for slice_ in budget.allotment.slices:
        given += slice_.given
        cells += LETTERS[slice_.region] * max(0, round(given / window * BAR) - len(cells))
    return f"[{cells:.<{BAR}}]"


def budget_lines(budget: TokenBudget) -> Iterator[str]:
    """Yield the split of the window by region, then the verdict."""
    yield f"{bar(budget)} {Fill.of(budget.allotment)}"
    for slice_ in budget.allotment.slices:
        if slice_.asked:
            cut = f", {slice_.cut:,} cut" if slice_.cut else ""
            letter = LETTERS[slice_.region]
            yield f"  {letter} {slice_.region.value:<13}{slice_.given:>9,}{cut}  {slice_.why}"
    free, window = budget.allotment.free_tokens, budget.allotment.window_tokens
    yield f"  . {'free':<13}{free:>9,}  of a window of {window:,}"
    yield f"{type(budget.verdict).__name__.lower()}: {budget.verdict.why}"


def context_lines(assembled: AssembledRequest, budget: TokenBudget) -> Iterator[str]:
    """Yield the contents of the next request by section and source, the largest first."""
    yield f"{bar(budget)} {Fill.of(budget.allotment)}"
    sections: defaultdict[str, list[Contribution]] = defaultdict(list)
    for contribution in assembled.contributions:
        sections[contribution.section.name].append(contribution)
    for name, parts in sections.items():
        tokens = sum(part.given for part in parts)
        yield f"  {name:<13}{tokens:>9,}  {len(parts):,} {'source' if len(parts) == 1 else 'sources'}"
        for contribution in sorted(parts, key=lambda part: -part.given)[:MOST_SOURCES]:
            why = f"  {contribution.why}" if contribution.why else ""
            yield f"    {contribution.source:<24}{contribution.given:>7,}  {contribution.trust.label}{why}"
        if len(parts) > MOST_SOURCES:
            yield f"    … and {len(parts) - MOST_SOURCES:,} more"


RECALLING = frozenset({"recall_search", "recall_open", "artifact_open"})


@dataclass(slots=True)
class ChatStats:
    """Counters of one session."""

    turns: int = 0
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    compactions: Counter[str] = field(default_factory=Counter)
    """By trigger; all but ``manual`` are automatic."""
    refusals: int = 0
    undone: int = 0
    freed_tokens: int = 0
    """Tokens before minus tokens after, summed over all compactions."""
    recalls_before: int = 0
    """Calls of recall tools before the first compaction."""
    recalls_after: int = 0
    approvals: Counter[str] = field(default_factory=Counter)

    @property
    def automatic(self) -> int:
        """Return the number of automatic compactions."""
        return self.compactions.total() - self.compactions[Trigger.MANUAL.value]

    def to_json(self) -> JsonObject:
        """Return the counters as JSON."""
        counted: JsonObject = {item.name: getattr(self, item.name) for item in fields(self)}
        # ``asdict`` would pass the pairs of a Counter to its constructor, which counts them.
        by: JsonObject = {"compactions": {**self.compactions}, "approvals": {**self.approvals}}
        return {**counted, **by, "automatic": self.automatic}


def stats_of(events: Iterable[StoredEvent]) -> ChatStats:
    """Return the counters of a session's events."""
    stats = ChatStats()
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


def _message(stats: ChatStats, stored: StoredEvent) -> None:
    (message,) = MESSAGE.messages(MESSAGE.current(stored).event.body)
    stats.turns += message.role is Role.USER and message.origin is Origin.SPOKEN
    recalls = sum(call.name in RECALLING for call in message.calls)
    if stats.compactions.total():
        stats.recalls_after += recalls
    else:
        stats.recalls_before += recalls


def stats_lines(stats: ChatStats) -> Iterator[str]:
    """Yield the counters as lines of text."""
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
        text = ", ".join(f"{answer} {times:,}" for answer, times in sorted(stats.approvals.items()))
        yield _row("approvals", stats.approvals.total(), text)


def _row(name: str, number: int, about: str) -> str:
    return f"{name:<12}{number:>10,}  {about}".rstrip()
