"""Compactions as log events, and the compaction history of a session: in force, undone, folded.

An undo names a compaction and ends it and every later one: after the compactions d1, d2, d3 and an undo of
d2, only d1 is in force. A digest that was folded into a later one is still in force through it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from clew.budget import State
from clew.compaction.decide import DecidedCompaction, DigestAttempt
from clew.compaction.plan import Condense, Digest, Plan, Shrink
from clew.compaction.plan.codec import plan_from_json, plan_to_json, shown_messages
from clew.compaction.plan.digest import checksum
from clew.compaction.verify import Report
from clew.errors import StoreDamaged
from clew.log import COMPACTION, REFUSAL, Ref, Splice, message_to_json, new_event, splices_to_json
from clew.log.protocol import Event, StoredEvent
from clew.message import Item, Json, JsonObject, Usage
from clew.message.atoms import check_fields
from clew.secrets import mask, mask_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction(DecidedCompaction):
    """A compaction that took effect, as recorded in the log."""

    seq: int
    """Its position in the log, which an undo refers to."""
    time: str
    focus: str | None = None
    asked_range: str | None = None
    """The range of messages that a person chose, such as ``m5-m11``; None if the whole view was compacted."""
    number: int = 0
    """Its number in the session, counted from 1; set only if there is no digest, whose id has the number."""
    tools: tuple[str, ...] = ()
    """The tools whose calls or results it changed, most used first; empty in logs of earlier versions."""
    shortened: tuple[str, ...] = field(default=(), repr=False)
    """The messages that it pruned or shortened in place, and..."""
    shortened_checksum: str = field(default="", repr=False)
    """...the checksum of what the view showed of them before; empty in logs of earlier versions."""

    @property
    def name(self) -> str:
        """Return its name, d1, d2 and so on, which is also the id of its digest."""
        return self.digest.id if self.digest else f"d{self.number}"

    @property
    def digest(self) -> Digest | None:
        """Return its digest; None if pruning was enough."""
        return next(iter(self.plan.digests), None)

    @property
    def covers(self) -> tuple[str, ...]:
        """Return the messages that its digest covers, or those that it shortened if there is no digest."""
        return self.digest.covers if self.digest else self.shortened

    @property
    def checksum(self) -> str:
        """Return the checksum of the messages that it covers."""
        return self.digest.checksum if self.digest else self.shortened_checksum


def compaction_event(
    outcome: DecidedCompaction,
    view: Sequence[Item],
    refs: Mapping[str, Ref],
    state: State,
    focus: str | None = None,
    asked_range: str | None = None,
) -> Event:
    """Return the event of a compaction; ``refs`` are the log positions of the view's messages."""
    shown = shown_messages(outcome.plan)
    shrunk = {operation.id for operation in outcome.plan.operations if isinstance(operation, Shrink)}
    shortened = [item for item in view if item.id in shrunk]
    body: JsonObject = {
        "splices": splices_to_json(_splices(outcome.plan, refs)),
        "names": [name for name, _ in shown],
        "messages": [message_to_json(message) for _, message in shown],
        "plan": plan_to_json(outcome.plan),
        "report": outcome.report.to_json(),
        "attempts": [_attempt_to_json(attempt) for attempt in outcome.attempts],
        "usage": asdict(outcome.usage),
        "calls": outcome.calls,
        "not_judged": mask(outcome.not_judged).text,
        "focus": focus,
        "range": asked_range,
        "tools": [*changed_tools(outcome.plan, view)],
        "shortened": [item.id for item in shortened],
        "shortened_checksum": checksum(shortened) if shortened else "",
        "state": mask_json(state.to_json()),
    }
    return new_event(COMPACTION.name, body, COMPACTION.version)


def changed_tools(plan: Plan, view: Sequence[Item]) -> list[str]:
    """Return the tools whose calls or results a plan changes, most used first, then by name."""
    changed: set[str] = set()
    for operation in plan.operations:
        changed.update(operation.ids)
    names = {call.call_id: call.name for item in view for call in item.message.calls}
    messages = [item.message for item in view if item.id in changed]
    call_ids = {call.call_id for message in messages for call in message.calls}
    call_ids.update(result.call_id for message in messages for result in message.results)
    uses = Counter(names[call_id] for call_id in call_ids if call_id in names)
    return sorted(uses, key=lambda name: (-uses[name], name))  # the counter has the order of a set


def refusal_event(reason: str, trigger: str, state: State) -> Event:
    """Return the event of a compaction that did not take effect."""
    body: JsonObject = {"reason": reason, "trigger": trigger, "state": state.to_json()}
    return new_event(REFUSAL.name, mask_json(body), REFUSAL.version)


def _splices(plan: Plan, refs: Mapping[str, Ref]) -> list[Splice]:
    """Return a plan as splices of the view's references.

    The n-th message of the event itself, a digest or a shortened message, is ``Ref(0, n)``: its position in
    the log is known only once it is appended.
    """
    splices: list[Splice] = []
    inserted = 0
    for operation in plan.operations:
        if isinstance(operation, Shrink | Condense):
            first, last = refs[operation.ids[0]], refs[operation.ids[-1]]
            splices.append(Splice(first, last, (Ref(0, inserted),)))
            inserted += 1
        else:
            splices += [Splice(refs[name], refs[name], ()) for name in operation.ids]
    return splices


def read_compaction(stored: StoredEvent) -> Compaction:
    """Read a compaction from its event."""
    body: dict[str, Any] = stored.event.body
    messages = COMPACTION.messages(stored.event.body)
    try:
        return check_fields(
            Compaction(
                plan_from_json(body["plan"], messages),
                Report.from_json(body["report"]),
                tuple(
                    DigestAttempt(item["author"], item["outcome"], tuple(item["misses"]))
                    for item in body["attempts"]
                ),
                Usage(**body["usage"]),
                body["calls"],
                str(body.get("not_judged", "")),
                seq=stored.seq,
                time=stored.event.time,
                focus=body["focus"],
                asked_range=body.get("range"),
                tools=tuple(body.get("tools", ())),
                shortened=tuple(body.get("shortened", ())),
                shortened_checksum=body.get("shortened_checksum", ""),
            )
        )
    except (KeyError, TypeError) as cause:
        raise StoreDamaged(f"the compaction of event {stored.seq} cannot be read ({cause!r})") from cause


def state_of(body: JsonObject) -> State | None:
    """Return the budget state stored in an event; None if it has none."""
    value = body.get("state")
    return State.from_json(value) if isinstance(value, dict) else None


def _attempt_to_json(attempt: DigestAttempt) -> Json:
    # A provider's error message may quote the API key.
    misses: Sequence[Json] = [mask(miss).text for miss in attempt.misses]
    return {"author": attempt.author, "outcome": attempt.outcome, "misses": list(misses)}


@dataclass(frozen=True, slots=True)
class PastCompaction:
    """A compaction of a session, in force or not."""

    name: str
    """By its number: ``d2`` is the second compaction, and its digest if it made one."""
    compaction: Compaction
    undone: str | None = None
    """The time of the undo; None if it was not undone."""
    folded_into: str | None = None
    """The later digest that its digest was folded into."""

    @property
    def in_force(self) -> bool:
        """Whether it still applies to the view."""
        return self.undone is None

    @property
    def folds(self) -> tuple[str, ...]:
        """Return the digests that were folded into its own."""
        return self.compaction.digest.folds if self.compaction.digest else ()


def compaction_history(events: Iterable[StoredEvent]) -> list[PastCompaction]:
    """Return all compactions, oldest first, from the compaction and undo events of a log."""
    past: list[PastCompaction] = []
    for stored in events:
        if stored.event.kind == COMPACTION.name:
            past.append(PastCompaction(f"d{len(past) + 1}", read_compaction(COMPACTION.current(stored))))
        else:
            past = _undone(past, stored.event.body.get("compaction"), stored.event.time)
    folded_into = {name: later.name for later in past if later.in_force for name in later.folds}
    return [replace(one, folded_into=folded_into.get(one.name)) for one in past]


def _undone(past: list[PastCompaction], seq: Json, time: str) -> list[PastCompaction]:
    """Return the compactions after an undo event; one that names a compaction not in force has no effect."""
    for first, one in enumerate(past):
        if one.in_force and one.compaction.seq == seq:
            return past[:first] + [replace(later, undone=later.undone or time) for later in past[first:]]
    return past
