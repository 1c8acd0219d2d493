"""The requests of a recorded session: what each call of the model saw and what the provider reported of it.

A transcript records messages, not requests. Every reply of the model was one request, which saw the messages
before it: for ``user, reply, tool result, reply`` there are two, the second of them with three messages in
view. After a compaction of the session's tool, the view begins anew with its summary. ``whole_bill.py``
prices these requests. Sub-agents are not counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from clew.budget.cost import FIVE_MINUTES
from clew.message import Origin, Role
from clew.tokens import ModelInfo, counter_for, model_named
from clew.transcripts import Boundary, Entry, Transcript, Usage
from clew.transcripts.transcript import tool_compactions


@dataclass(frozen=True, slots=True)
class SessionRequest:
    """One call of the model."""

    reply: tuple[Entry, ...]
    """The entries in which the reply is recorded, at least one."""
    model: ModelInfo
    messages_before: int
    """Of the whole conversation, whatever was compacted away."""
    view_tokens: int
    """Of what the model saw, as clew counts."""
    new_tokens: int
    """Of the messages since the request before, as clew counts."""
    idle_seconds: float | None
    """Since the reply before; None if that is not recorded."""
    compacted: Boundary | None = None
    """The tool's compaction between the request before and this one."""
    summary_tokens: int = 0
    """Of the summary that this compaction wrote."""

    @property
    def usage(self) -> Usage | None:
        """Return what the provider reported of the prompt, if it did."""
        reported = (entry.usage for entry in self.reply)
        return next((usage for usage in reported if usage and usage.input_tokens), None)

    @property
    def warm(self) -> bool:
        """Whether the provider's cache still held the request before; assumed if the time is not known."""
        return self.idle_seconds is None or self.idle_seconds < FIVE_MINUTES


def session_requests(session: Transcript) -> Iterator[SessionRequest]:
    """Yield the requests of the main conversation, in order."""
    counter = counter_for(session.model or "")
    compactions = {item.boundary.id: item for item in tool_compactions(session)}
    replies = _replies(session)
    messages_before = view_tokens = new_tokens = summary_tokens = 0
    compacted: Boundary | None = None
    last_time: str | None = None
    for record in _entries_and_compactions(session):
        if isinstance(record, Boundary):
            compaction, compacted = compactions[record.id], record
            summary_tokens = counter.count_all(entry.message for entry in compaction.summary)
            view_tokens = summary_tokens + counter.count_all(entry.message for entry in compaction.kept)
            continue
        if reply := replies.get(record.id):
            yield SessionRequest(
                reply,
                model=model_named(record.model or session.model or ""),
                messages_before=messages_before,
                view_tokens=view_tokens,
                new_tokens=new_tokens,
                idle_seconds=_seconds_between(last_time, record.time),
                compacted=compacted,
                summary_tokens=summary_tokens,
            )
            compacted, summary_tokens, new_tokens = None, 0, 0
            last_time = reply[-1].time or last_time
        messages_before += 1
        size = counter.count(record.message)
        view_tokens, new_tokens = view_tokens + size, new_tokens + size


def _entries_and_compactions(session: Transcript) -> Iterator[Entry | Boundary]:
    """Yield the whole conversation, and the tool's compactions where they were."""
    whole = {entry.id for entry in session.full_entries()}
    for record in session.records:
        if isinstance(record, Entry):
            if record.id in whole:
                yield record
        elif isinstance(record, Boundary) and record.id not in session.dropped:
            yield record


def _replies(session: Transcript) -> dict[str, tuple[Entry, ...]]:
    """Return the replies of the model by their first entry.

    Tools record one reply in several entries and report its tokens with the first or the last of them.
    """
    replies: list[list[Entry]] = []
    last_was_reply = False
    for entry in session.full_entries():
        is_reply = entry.message.role is Role.ASSISTANT and entry.message.origin is Origin.SPOKEN
        if is_reply:
            # A second report of tokens is that of another reply.
            goes_on = last_was_reply and not (entry.usage and any(part.usage for part in replies[-1]))
            if not goes_on:
                replies.append([])
            replies[-1].append(entry)
        last_was_reply = is_reply
    return {reply[0].id: tuple(reply) for reply in replies}


def _seconds_between(before: str | None, now: str | None) -> float | None:
    if not before or not now:
        return None
    try:
        return (datetime.fromisoformat(now) - datetime.fromisoformat(before)).total_seconds()
    except (ValueError, TypeError):  # not a time, or one without its zone
        return None
