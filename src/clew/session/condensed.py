"""How to compact a list, and the list afterwards with all that can be asked about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from clew.budget import DEFAULT, FRESH, Policy, State, TokenBudget
from clew.errors import InputError
from clew.ledger.ledger import Ledger
from clew.ledger.pins import Pin
from clew.message import Item, Message
from clew.plan import Digest, Plan
from clew.ports import Usage
from clew.session.engine import Attempt
from clew.session.given import Reads
from clew.tokens import Family
from clew.verify import Report
from clew.wire import Wire


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to compact a list."""

    window: int | None = None
    """The window of the model that will see the list; without it, what ``model`` has."""
    target_tokens: int | None = None
    """Compact now, down to this, system prompt not counted; without it, only where the window asks for it."""
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


Counted: TypeAlias = Mapping[str, tuple[Message, int]]
"""Messages with their tokens, by id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condensed:
    """A list after ``clew.compact``, and all that can be asked about it."""

    messages: list[Any] = field(repr=False)
    """The list to send, in the format it came in; what was not touched is the very object that came in."""
    given: list[Any] = field(default_factory=list, repr=False)
    """The list as it came in."""
    system: Any = field(repr=False)
    """The system field, as it came; None where the list holds it."""
    wire: Wire | None = field(repr=False)
    """The format of the list; None for one of clew's own messages."""
    budget: TokenBudget | None = field(default=None, repr=False)
    """How full the window was, and whether it was time."""
    plan: Plan | None = field(default=None, repr=False)
    """What was done; None where nothing was."""
    report: Report | None = field(default=None, repr=False)
    """What the checks said of it."""
    attempts: tuple[Attempt, ...] = ()
    usage: Usage = field(default_factory=Usage)
    """What the models that were asked cost."""
    calls: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    items: tuple[Item, ...] = field(default=(), repr=False)
    """The view, each message under its id."""
    sizes: tuple[int, ...] = field(default=(), repr=False)
    """The tokens of the view's messages before anything was done."""
    ledger: Ledger = field(default_factory=Ledger, repr=False)
    digest: Digest | None = field(default=None, repr=False)
    """The digest that stands in the list."""
    originals: Mapping[str, Message] = field(default_factory=dict, repr=False)
    """Every message that went through these calls, by id: what the digest's lines lead to."""
    recovered: bool = field(default=False, repr=False)
    """The beginning of the session is known only from a digest in the list."""
    state: State = field(default=FRESH, repr=False)
    reads: Reads = field(default_factory=dict, repr=False, compare=False)
    """The entries of both lists as they were read: what the next call need not read again..."""
    counted: Counted = field(default_factory=dict, repr=False, compare=False)
    """...and what it need not count again..."""
    counted_by: Family | None = field(default=None, repr=False, compare=False)
    """...for a model of this family."""

    @property
    def changed(self) -> bool:
        """Tell whether anything was compacted."""
        return self.plan is not None

    @property
    def rules(self) -> tuple[Pin, ...]:
        """Return the rules in force, oldest first, whether or not there is a digest yet."""
        return self.ledger.pins.active

    @property
    def pins(self) -> tuple[Pin, ...]:
        """Return the same as ``rules``."""
        return self.rules
