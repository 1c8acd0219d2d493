"""How to compact a list, and the list afterwards with all that can be asked about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypedDict

from clew.budget import DEFAULT, FRESH, Policy, State, TokenBudget
from clew.compaction.decide import Attempt
from clew.compaction.plan import Digest, Plan
from clew.compaction.verify import Report
from clew.errors import InputError
from clew.ledger.ledger import Ledger
from clew.ledger.pins import Pin
from clew.message import Item, JsonObject, Message
from clew.providers import Wire
from clew.providers.model import Usage
from clew.providers.sdk import plain
from clew.session.conversation import Carry
from clew.session.saved import saved_state


class CompactOptions(TypedDict, total=False):
    """The keyword arguments of ``clew.compact``; ``Options`` describes each."""

    target_tokens: int | None
    model: str | None
    focus: str | None
    policy: Policy
    fixed_tokens: int
    wire: str | None
    mask_secrets: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to compact a list."""

    window: int | None = None
    """The window of the model that will see the list; without it, what ``model`` has."""
    target_tokens: int | None = None
    """Compact now, down to this, system prompt not counted; without it, only if the window asks for it."""
    model: str | None = None
    """The model that will see the list: sets how tokens are counted. Without it, the one a body names."""
    focus: str | None = None
    """What matters now, in a person's words."""
    policy: Policy = DEFAULT
    fixed_tokens: int = 0
    """What else is sent each time, such as tools."""
    wire: str | None = None
    """The format of the list; without it, guessed."""
    mask_secrets: bool = True
    """Mask keys, tokens and passwords in all that clew writes; what it does not touch stays as it is."""

    def __post_init__(self) -> None:
        for name in ("window", "target_tokens", "fixed_tokens"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
                raise InputError(f"{name} is {value!r}", "give a number of tokens")


@dataclass(frozen=True, kw_only=True)
class CompactResult:
    """A list after ``clew.compact``, and all that can be asked about it."""

    messages: list[Any] = field(repr=False)
    """The list to send, in the format it came in; what was not touched is the very object that came in."""
    system: Any = field(default=None, repr=False)
    """The system field, as it came; None if the list holds it."""
    budget: TokenBudget | None = field(default=None, repr=False)
    """How full the window was, and whether it was time."""
    plan: Plan | None = field(default=None, repr=False)
    """What was done; None if nothing was."""
    report: Report | None = field(default=None, repr=False)
    """What the checks said of it."""
    attempts: tuple[Attempt, ...] = ()
    usage: Usage = field(default_factory=Usage)
    """What the models that were asked cost."""
    calls: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    digest: Digest | None = field(default=None, repr=False)
    """The digest in the list."""
    carry: Carry | None = field(default=None, repr=False, compare=False)
    """What the next call goes on from; None for a result that was read back..."""
    saved: JsonObject | None = field(default=None, repr=False, compare=False)
    """...which has this instead."""

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

    @property
    def wire(self) -> Wire | None:
        """Return the provider's format of the list; None for one of clew's own messages."""
        return self.carry.record.codec.wire if self.carry else None

    @property
    def items(self) -> tuple[Item, ...]:
        """Return the view, each message under its id."""
        return tuple(self.carry.view.items[: self.carry.messages]) if self.carry else ()

    @property
    def ledger(self) -> Ledger:
        """Return what the messages laid down: rules, goal, open work, files, values."""
        if self.carry is None:
            return Ledger()
        record, count = self.carry.record, self.carry.entries
        with record.lock:
            return record.ledger if len(record.entries) == count else record.until(count).ledger

    @property
    def originals(self) -> Mapping[str, Message]:
        """Return every message that went through these calls, by id: what the digest's lines lead to."""
        return MappingProxyType(self.carry.record.originals if self.carry else {})

    @property
    def state(self) -> State:
        """Return what the budget remembers of earlier compactions."""
        return self.carry.view.state if self.carry else FRESH

    def to_json(self) -> JsonObject:
        """Return it as plain JSON, with all that another process needs to go on (``previous=``).

        The messages are in it if they are in a provider's format; a framework's objects are not.
        """
        return {
            "messages": plain(self.messages) if self.wire else [],
            "tokens_before": self.tokens_before,
            "tokens_after": self.tokens_after,
            "state": self.saved or (saved_state(self.carry) if self.carry else None),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> CompactResult:
        """Read what ``to_json`` wrote."""
        try:
            messages, state = list(value["messages"]), value["state"]
            before, after = int(value["tokens_before"]), int(value["tokens_after"])
        except (KeyError, TypeError, ValueError) as cause:
            raise InputError(
                f"this is no saved result ({cause!r})", "give what to_json() returned"
            ) from cause
        return cls(messages=messages, tokens_before=before, tokens_after=after, saved=state)

    def __getstate__(self) -> dict[str, Any]:
        state = self.saved or (saved_state(self.carry) if self.carry else None)
        kept = {"messages", "system", "tokens_before", "tokens_after", "usage", "calls"}
        return {**{name: vars(self)[name] for name in kept}, "saved": state}

    def __setstate__(self, state: dict[str, Any]) -> None:
        empty = CompactResult(messages=[])
        vars(self).update({**vars(empty), **state})
