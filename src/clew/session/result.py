"""The options and the result of ``clew.compact``, and the result's state as JSON for another process.

The state says which entries of the caller's list are sent as they are, and which clew wrote in place of
others: ``"slots": [{"first": 0, "last": 40, "messages": […]}, 41, 42]``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypedDict

from clew.budget import DEFAULT, FRESH, Policy, Region, State, TokenBudget
from clew.errors import ClewError, InputError
from clew.ledger.ledger import Ledger
from clew.message import Item, Json, JsonObject, Message, Part, Role, ToolResult, Usage
from clew.message.codec import message_from_json, message_to_json
from clew.providers import WIRES, Wire
from clew.providers.marked_entries import chain_hash
from clew.providers.shapes import plain
from clew.rules.codec import from_json, to_json
from clew.rules.pins import Pins
from clew.rules.rule import Pin
from clew.session.conversation import ConversationState, ListRecord
from clew.session.list_view import SYSTEM_FIELD, ListView, OwnEntry
from clew.session.message_range import check_focus
from clew.tokens import TokenCounter

if TYPE_CHECKING:
    from clew.compaction.decide import DigestAttempt
    from clew.compaction.plan import Digest, Plan
    from clew.compaction.task import CompactionTask
    from clew.compaction.verify import Report

VERSION = 1
"""The version of a saved state; a state of another version is ignored, and the list is parsed again."""


def saved_state(conversation: ConversationState) -> JsonObject:
    """Return the state of a conversation as JSON."""
    from clew.compaction.plan.codec import digest_to_json  # to save or restore a state only

    record, count, view, slots, _ = conversation
    stored: dict[int, list[Item]] = {}
    for item, slot in zip(view.items, view.slot_of, strict=True):
        stored.setdefault(slot, []).append(item)
    return {
        "version": VERSION,
        "format": record.codec.name,
        "count": count,
        "hash": _hash(record, count),
        "slots": [_slot_to_json(slot, stored.get(n, [])) for n, slot in enumerate(view.slots[:slots])],
        "digest": digest_to_json(view.digest) if view.digest else None,
        "recovered": view.recovered,
        "budget": view.state.to_json(),
        "judged": _judged_rules(record.ledger.pins),
    }


def _judged_rules(pins: Pins) -> Json:
    """Return what a model said about rules, which a search of the list does not find again."""
    judged = {pin.id: pin for pin in pins.all if pin.verdict is not None}
    return to_json(Pins(judged, judged_upto=pins.judged_upto)) if judged else None


def _hash(record: ListRecord, count: int) -> str:
    """Return a hash of the content of the first entries, independent of object types and cache marks."""
    messages = (item.message for items in record.items[:count] for item in items)
    return chain_hash(message_to_json(without_natives(message)) for message in messages)


def _slot_to_json(slot: int | OwnEntry, items: list[Item]) -> Json:
    if isinstance(slot, int):
        return slot
    messages: list[Json] = [
        {"id": item.id, **message_to_json(without_natives(item.message))} for item in items
    ]
    entry = plain(slot.entry) if isinstance(slot.entry, dict) else None
    body: JsonObject = {"first": slot.first, "last": slot.last, "messages": messages, "entry": entry}
    return {**body, "continues": True} if slot.continues else body


def restore_conversation(
    saved: JsonObject, record: ListRecord, counter: TokenCounter
) -> ConversationState | None:
    """Return the restored conversation; None if the list is a different one."""
    from clew.compaction.plan.codec import digest_from_json  # as above

    body: dict[str, Any] = saved
    try:
        count = body["count"]
        if body["version"] != VERSION or body["format"] != record.codec.name or count > len(record.entries):
            return None
        if _hash(record, count) != body["hash"]:
            return None
        view = ListView(counter.family)
        for item in record.system:
            view.add(item, SYSTEM_FIELD, counter)
        for slot in body["slots"]:
            _restore_slot(view, slot, record, counter)
        view.digest = digest_from_json(body["digest"]) if body["digest"] else None
        view.recovered, view.state = bool(body["recovered"]), State.from_json(body["budget"])
        if isinstance(body.get("judged"), dict):
            record.ledger.pins.judge_alike(from_json(Pins, body["judged"]), record.originals.get)
    except (ClewError, KeyError, IndexError, TypeError, ValueError):
        return None  # written by another version; the conversation continues from the list alone
    view.find_marks(record.entries[:count])
    view.extend(record.entries[count:], record.items[count:], count, counter)
    return ConversationState(record, len(record.entries), view, len(view.slots), len(view.items))


def _restore_slot(view: ListView, slot: Any, record: ListRecord, counter: TokenCounter) -> None:  # noqa: ANN401  # JSON
    place = len(view.slots)
    if isinstance(slot, int):
        view.extend(record.entries[slot : slot + 1], record.items[slot : slot + 1], slot, counter)
        return
    items = [Item(item["id"], message_from_json(item)) for item in slot["messages"]]
    items = [Item(item.id, _graft_natives(item.message, record.originals.get(item.id))) for item in items]
    for item in items:
        view.add(item, place, counter)
    entry = slot["entry"]
    if entry is None:
        (entry,) = record.codec.write([item.message for item in items])
    view.slots.append(OwnEntry(entry, slot["first"], slot["last"], slot.get("continues", False)))
    view.shown.append(entry)


def without_natives(message: Message) -> Message:
    """Return a message without the objects that it was read from."""
    return replace(message, parts=tuple(map(_bare_part, message.parts)), native=None)


def _bare_part(part: Part) -> Part:
    if isinstance(part, ToolResult):
        part = replace(part, parts=tuple(map(_bare_part, part.parts)))
    return replace(part, native=None)


def _graft_natives(message: Message, original: Message | None) -> Message:
    """Return a shortened message with the native objects of its original."""
    if original is None:
        return message
    parts = list(message.parts)
    if len(parts) == len(original.parts):
        pairs = zip(parts, original.parts, strict=True)
        parts = [replace(new, native=old.native) if type(new) is type(old) else new for new, old in pairs]
    return replace(message, parts=tuple(parts), native=original.native)


class CompactOptions(TypedDict, total=False):
    """The keyword arguments of ``clew.compact``; ``Options`` describes each."""

    target_tokens: int | None
    model: str | None
    focus: str | None
    policy: Policy
    fixed_tokens: int
    wire: str | None
    mask_secrets: bool


@dataclass(frozen=True, slots=True)
class Options:
    """The options of ``clew.compact``, checked."""

    window: int | None = None
    """The context window of the model that receives the list; by default that of ``model``."""
    target_tokens: int | None = None
    """Compact now to this size, system prompt excluded; by default only when the window is nearly full."""
    model: str | None = None
    """The model that receives the list: decides how tokens are counted. By default the body's ``model``."""
    focus: str | None = None
    """What matters now, in a person's words."""
    policy: Policy = DEFAULT
    fixed_tokens: int = 0
    """Tokens sent with every request in addition to the list, such as tool definitions."""
    wire: str | None = None
    """The format of the list; detected by default."""
    mask_secrets: bool = True
    """Mask keys, tokens and passwords in everything clew writes; untouched messages stay unchanged."""

    def __post_init__(self) -> None:
        for name in ("window", "target_tokens", "fixed_tokens"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
                raise InputError(f"{name} is {value!r}", "pass a number of tokens")
        for name in ("model", "focus", "wire"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise InputError(f"{name} is {value!r}", "pass a string")
        check_focus(self.focus)
        if not isinstance(self.policy, Policy):
            raise InputError(f"policy is {self.policy!r}", "pass a clew.Policy")


@dataclass(frozen=True, kw_only=True, repr=False)
class CompactResult:
    """The result of ``clew.compact``: the list to send, what was done, and how it was checked."""

    messages: list[Any] = field(repr=False)
    """The list to send, in the format of the input; untouched entries are the caller's own objects, or
    equal ones of an earlier call."""
    system: Any = field(default=None, repr=False)
    """The system field of the body, unchanged; None if the system prompt is part of the list."""
    budget: TokenBudget | None = field(default=None, repr=False)
    """How full the window was, and the verdict on it."""
    plan: Plan | None = field(default=None, repr=False)
    """What was done; None if the list was left unchanged."""
    checked: Report | None = field(default=None, repr=False)
    """The result of the checks, without exact values."""
    task: CompactionTask | None = field(default=None, repr=False, compare=False)
    """What was compacted."""
    attempts: tuple[DigestAttempt, ...] = ()
    usage: Usage = field(default_factory=Usage)
    """Tokens used by the summariser."""
    calls: int = 0
    not_judged: str = ""
    """Why the summariser did not say which sentences are rules, although it was asked; empty if it did."""
    tokens_before: int = 0
    tokens_after: int = 0
    digest: Digest | None = field(default=None, repr=False)
    """The digest in the list."""
    conversation: ConversationState | None = field(default=None, repr=False, compare=False)
    """The state that the next call continues from; None for a result read from JSON..."""
    saved: JsonObject | None = field(default=None, repr=False, compare=False)
    """...which holds the saved state instead."""

    def __repr__(self) -> str:
        """Say what happened: the tokens and messages before and after, the rules, the digest."""
        if self.saved:
            sizes = f"{self.tokens_before:,} → {self.tokens_after:,} tokens, {len(self.messages)} messages"
            return f"CompactResult(saved: {sizes})"
        if not self.changed:
            return f"CompactResult(unchanged: {self.tokens_after:,} tokens, {len(self.messages)} messages)"
        rules = len(self.rules)
        parts = [
            f"{self.tokens_before:,} → {self.tokens_after:,} tokens",
            f"{len(self.messages)} messages",
            f"digest {self.digest.id}" if self.digest else "no digest",
            f"{rules} rule{'' if rules == 1 else 's'}",
            f"by {self.attempts[-1].author}" if self.attempts else "",
        ]
        return f"CompactResult({', '.join(filter(None, parts))})"

    @cached_property
    def report(self) -> Report | None:
        """The result of the checks; exact values are counted at its first use: that takes time."""
        if self.checked is None or self.plan is None or self.task is None:
            return self.checked
        from clew.compaction.verify import count_values

        return count_values(self.checked, self.plan, self.task)

    @property
    def changed(self) -> bool:
        """Whether anything was compacted."""
        return self.plan is not None

    @property
    def rules(self) -> tuple[Pin, ...]:
        """Return the rules in force, oldest first, whether or not there is a digest yet."""
        return self.ledger.pins.active

    @property
    def pins(self) -> tuple[Pin, ...]:
        """Return the same as ``rules``."""
        return self.rules

    def with_rules(self) -> list[Any]:
        """Return the list to send, followed by the rules that only the digest shows, if there are any.

        Models follow best what they read last. Send this list, but do not keep it: the next call continues
        from ``messages``, or from your whole list.
        """
        return [*self.messages, *self._restated_rules()]

    def _restated_rules(self) -> list[Any]:
        """Return the entry that ``with_rules`` adds, in a list; empty if there is nothing to restate.

        Also empty if the list ends with words of the model, which it is to continue, or with a tool result
        while the model thinks in a tool loop, or if the window has no room for it.
        """
        from clew.request.assemble import end_message  # only if it is used
        from clew.request.assembled import with_end
        from clew.request.pieces import restated_rules

        conversation, items = self.conversation, self.items
        if conversation is None or self.digest is None or conversation.record.counter is None:
            return []
        messages = [item.message for item in items]
        if not messages or messages[-1].role is Role.ASSISTANT:
            return []
        codec, (_, counter) = conversation.record.codec, conversation.record.counter
        piece = restated_rules(self.rules, items, counter.count_text)
        end = end_message([piece], None, announced=True) if piece else None
        if end is None or not self._has_room(counter.count_all([end])):
            return []
        if codec.wire is not None and with_end(messages, end, codec.wire)[-1] is not end:
            return []  # it would go into the last tool result, which the client may have marked to be cached
        return list(codec.write([end]))

    def _has_room(self, tokens: int) -> bool:
        """Whether the window has room for more beside the list, the fixed parts and the reply."""
        if self.budget is None:
            return False
        allotment = self.budget.allotment
        beside = (Region.SYSTEM, Region.TOOLS, Region.REPLY)
        taken = self.tokens_after + sum(allotment.of(region).given for region in beside)
        return taken + tokens <= allotment.window_tokens

    @property
    def wire(self) -> Wire | None:
        """Return the provider's format of the list; None for one of clew's own messages."""
        if self.conversation:
            return self.conversation.record.codec.wire
        return WIRES.get(str(self.saved.get("format"))) if self.saved else None

    @property
    def items(self) -> tuple[Item, ...]:
        """Return the messages of the view with their ids."""
        return tuple(self.conversation.view.items[: self.conversation.messages]) if self.conversation else ()

    @property
    def ledger(self) -> Ledger:
        """Return what code extracted from the messages: rules, goal, open work, files, values."""
        if self.conversation is None:
            return Ledger()
        record, count = self.conversation.record, self.conversation.entries
        with record.lock:
            return record.ledger if len(record.entries) == count else record.until(count).ledger

    @property
    def originals(self) -> Mapping[str, Message]:
        """Return every message of these calls by id: the sources of the digest's lines."""
        return MappingProxyType(self.conversation.record.originals if self.conversation else {})

    @property
    def state(self) -> State:
        """Return the budget's state: what the last compaction left, failures, sizes of tool results."""
        return self.conversation.view.state if self.conversation else FRESH

    def to_json(self) -> JsonObject:
        """Return the result as plain JSON, with the state that another process needs for ``previous=``.

        The messages are included if they are in a provider's format, but not a framework's objects.
        """
        return {
            "messages": plain(self.messages) if self.wire else [],
            "tokens_before": self.tokens_before,
            "tokens_after": self.tokens_after,
            "state": self.saved or (saved_state(self.conversation) if self.conversation else None),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> CompactResult:
        """Read what ``to_json`` wrote."""
        try:
            messages, state = list(value["messages"]), value["state"]
            before, after = int(value["tokens_before"]), int(value["tokens_after"])
        except (KeyError, TypeError, ValueError) as cause:
            raise InputError(
                f"this is not a saved result ({cause!r})", "pass what to_json() returned"
            ) from cause
        return cls(messages=messages, tokens_before=before, tokens_after=after, saved=state)

    def __getstate__(self) -> dict[str, Any]:
        state = self.saved or (saved_state(self.conversation) if self.conversation else None)
        kept = {"messages", "system", "tokens_before", "tokens_after", "usage", "calls"}
        return {**{name: vars(self)[name] for name in kept}, "saved": state}

    def __setstate__(self, state: dict[str, Any]) -> None:
        empty = CompactResult(messages=[])
        vars(self).update({**vars(empty), **state})
