"""What the compactions of one session's own tool dropped, item by item: ``clew lost``.

Looked for are rules, open work, findings and changed files, which are likely to be needed after any
compaction, and exact values that the session did use afterwards. Each is looked for in what the tool left and
in what clew keeps of the same messages in as many tokens. Rules are found by clew; everything else by the
plain rules of ``obligations.py`` and ``reuse.py``, which the compactor does not use.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import PurePosixPath

from clew.errors import BudgetExceeded, CompactionRefused
from clew.ledger import Ledger
from clew.message import Item, Origin, Trust
from clew.tokens import counter_for
from clew.transcripts import Entry, Transcript
from clew.transcripts.messages import typed_text
from clew.transcripts.transcript import ToolCompaction, tool_compactions
from clew_evals.needs import Probe
from clew_evals.obligations import (
    COMMAND_ARGUMENTS,
    changed_files,
    exchanges,
    failed_attempts,
    is_plan_call,
    last_test_status,
    open_tasks,
)
from clew_evals.passages import SYSTEM_ROLES, view_text
from clew_evals.policies import POLICIES
from clew_evals.questions import GAP
from clew_evals.reuse import reuse_probes
from clew_evals.score import RULE_SHARE, TASK_SHARE
from clew_evals.sessions import COUNTER, LEAST_BEFORE_COMPACTION, Cut
from clew_evals.words import Survival, first_place, key_of

PLAN_REQUESTS = 3
"""Requests of the user within which the agent's task list must have changed to count as open work."""
LAST_FAILURES = 3
"""Failures before a compaction that count as findings: older ones are usually fixed by then."""
_DENIED = re.compile(r"user doesn't want|rejected by user|denied by|<tool_use_error>", re.IGNORECASE)
_GREEN = re.compile(r"0 |\d+ pass")
"""A count that says that nothing failed: not needed later."""
AROUND = 40
"""Characters on either side of a value that show what it was used for."""


class NeedKind(StrEnum):
    """What can be forgotten."""

    RULE = "rule"
    OPEN = "open work"
    FINDING = "finding"
    FILE = "changed file"
    VALUE = "value used later"
    REREAD = "value read again"
    """The agent needed it, and a tool had to show it once more."""


@dataclass(frozen=True, slots=True)
class NeededItem:
    """Something that the session needed after a compaction, or is likely to need."""

    kind: NeedKind
    text: str
    by_tool: bool
    """It is in what the tool left, as far as that can be read."""
    by_clew: bool | None = None
    """clew keeps it in as many tokens; None if clew gives up at this size."""
    source: str | None = None
    """The message that said it last before the compaction, by its name: m12, or c1 for a summary."""
    used: str | None = None
    """The message that needed it afterwards; None if it is only likely to be needed."""
    use: str = ""
    """The words around that use."""


@dataclass(frozen=True, slots=True)
class CompactionLosses:
    """One compaction of a tool, and what became of each thing."""

    name: str
    time: str | None
    trigger: str | None
    tokens_before: int
    tokens_after: int
    """What the model saw then: the system prompt and the tools too, if the provider reported the call."""
    tokens_before_estimated: bool
    tokens_after_estimated: bool
    tokens_left: int
    """Of the summary and the kept messages: what clew may use too."""
    sealed: bool = False
    """The summary can be read by its provider only: of what the tool left, the kept messages are known."""
    unjudged: str = ""
    """Why nothing can be said of it; empty if something can."""
    things: tuple[NeededItem, ...] = ()

    @property
    def counted(self) -> list[NeededItem]:
        """Return what counts as lost if it is missing; what a tool showed again in time does not."""
        return [thing for thing in self.things if thing.kind is not NeedKind.REREAD]

    def of_kind(self, kind: NeedKind) -> list[NeededItem]:
        """Return the things of one kind."""
        return [thing for thing in self.things if thing.kind is kind]


def losses_of_session(
    session: Transcript, *, last: int | None = None, names: Container[str] | None = None
) -> list[CompactionLosses]:
    """Return the last or the named compactions of a session's tool, all by default, oldest first."""
    message_names = session.names()
    compactions = [
        compaction for compaction in tool_compactions(session) if names is None or compaction.name in names
    ]
    return [
        _losses_of(session, compaction, message_names)
        for compaction in (compactions[-last:] if last else compactions)
    ]


def _losses_of(session: Transcript, compaction: ToolCompaction, names: dict[str, str]) -> CompactionLosses:
    items = _items(compaction.before, names)
    system = next((n for n, item in enumerate(items) if item.message.role not in SYSTEM_ROLES), len(items))
    later = _items(compaction.after, names)
    cut = Cut(session.id, "", session.format, items[:system], items[system:], at=1.0, later=later)
    left = (*_items(compaction.summary, names), *_items(compaction.kept, names))
    tokens = COUNTER.count_all(item.message for item in left)
    sizes = compaction.sizes(counter_for(session.model or ""))
    losses = CompactionLosses(
        name=compaction.name,
        time=compaction.boundary.time,
        trigger=compaction.boundary.trigger,
        tokens_before=sizes.before,
        tokens_after=sizes.after,
        tokens_before_estimated=not sizes.before_reported,
        tokens_after_estimated=not sizes.after_reported,
        tokens_left=tokens,
        sealed=compaction.is_sealed,
    )
    if not compaction.summary:
        return replace(losses, unjudged="its summary was not recorded")
    if len(items) < LEAST_BEFORE_COMPACTION:
        return replace(losses, unjudged="too little was said before it")
    ours = _by_clew(replace(cut, budget_tokens=tokens))
    return replace(losses, things=tuple(_things(cut, view_text(left), ours)))


def _items(entries: Sequence[Entry], names: dict[str, str]) -> tuple[Item, ...]:
    return tuple(Item(names[entry.id], entry.message) for entry in entries if entry.id in names)


def _by_clew(cut: Cut) -> str | None:
    """Return what clew leaves of a cut, as one text; None if it gives up at this size."""
    try:
        return view_text(POLICIES["clew"].compact(cut.blind()))
    except (BudgetExceeded, CompactionRefused):
        return None


def _things(cut: Cut, theirs: str, ours: str | None) -> Iterator[NeededItem]:
    """Yield everything that is needed, with whether what the tool left and what clew leaves hold it."""
    tool = Survival(theirs).share
    clew = Survival(ours).share if ours is not None else None

    def sentence(kind: NeedKind, text: str, share: float, source: str | None = None) -> NeededItem:
        """Return an item that is kept if this share of its words is."""
        by_clew = None if clew is None else clew(text) >= share
        return NeededItem(kind, text, tool(text) >= share, by_clew, source)

    ledger = Ledger()
    ledger.extend(cut.items)
    for pin in ledger.pins.active:
        if pin.trust is Trust.USER:
            yield sentence(NeedKind.RULE, pin.quote, RULE_SHARE, pin.source.message if pin.source else None)
    done = exchanges(cut.items)
    if _is_plan_current(cut.items):
        yield from (sentence(NeedKind.OPEN, task, TASK_SHARE) for task in dict.fromkeys(open_tasks(done)))
    # What an editing tool refuses is no finding, so only tools that run something count.
    runs = [one for one in done if not (one.call.input or {}).keys().isdisjoint(COMMAND_ARGUMENTS)]
    failed = [line for line in failed_attempts(runs) if not _DENIED.search(line)]
    yield from (sentence(NeedKind.FINDING, line, TASK_SHARE) for line in failed[-LAST_FAILURES:])
    tests = last_test_status(done)
    if not all(map(_GREEN.match, tests)):
        yield NeededItem(
            NeedKind.FINDING,
            f"last test run: {', '.join(tests)}",
            by_tool=all(test in theirs for test in tests),
            by_clew=None if ours is None else all(test in ours for test in tests),
        )
    yield from _files(changed_files(done), theirs, ours)
    yield from _values(cut, theirs, ours)


def _is_plan_current(items: Sequence[Item]) -> bool:
    """Whether the agent's task list was changed since the last requests; an older one is stale."""
    asked = [n for n, item in enumerate(items) if typed_text(item.message)]
    recent = items[asked[-PLAN_REQUESTS] :] if len(asked) >= PLAN_REQUESTS else items
    return any(map(is_plan_call, exchanges(recent)))


def _files(names: Sequence[str], theirs: str, ours: str | None) -> Iterator[NeededItem]:
    """Yield changed files: kept if their last two components are named, ``shop/tax.py``.

    The name alone is enough, ``tax.py``, if no other changed file has the same.
    """
    same_name = Counter(PurePosixPath(name).name for name in names)
    for name in names:
        path = PurePosixPath(name)
        is_unique = same_name[path.name] == 1
        yield NeededItem(
            NeedKind.FILE,
            "/".join(path.parts[-2:]),
            by_tool=_names_file(theirs, name, is_unique=is_unique),
            by_clew=None if ours is None else _names_file(ours, name, is_unique=is_unique),
        )


def _names_file(text: str, name: str, *, is_unique: bool) -> bool:
    if first_place(text, "path", key_of("path", name)) >= 0:
        return True
    base = re.escape(PurePosixPath(name).name)
    return is_unique and re.search(rf"(?<![\w.-]){base}(?!\w)", text) is not None


def _values(cut: Cut, theirs: str, ours: str | None) -> Iterator[NeededItem]:
    """Yield the exact values that the session wrote again after the compaction."""
    items = [item for item in cut.later if item.message.origin is not Origin.SUMMARY]
    seen: set[str] = set()
    for probe in reuse_probes(cut, lambda _key: False):
        if probe.key in seen or probe.value.startswith("/dev/"):
            continue
        seen.add(probe.key)
        yield NeededItem(
            NeedKind.REREAD if probe.refetched else NeedKind.VALUE,
            probe.value,
            by_tool=first_place(theirs, probe.kind, probe.key) >= 0,
            by_clew=None if ours is None else first_place(ours, probe.kind, probe.key) >= 0,
            source=cut.items[probe.last_turn].id,
            used=items[probe.use_turn - len(cut.items)].id,
            use=_use(probe),
        )


def _use(probe: Probe) -> str:
    before, _, after = probe.question.partition(GAP)
    return f"{before[-AROUND:]}{probe.value}{after[:AROUND]}".strip()
