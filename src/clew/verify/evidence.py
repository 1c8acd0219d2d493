"""What a plan is judged by: the view it is for, and what the ledger says must survive."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from clew.ledger.values import Value
from clew.message import Cite, Item, Message
from clew.plan import Claim, Digest, Pin
from clew.tokens import TokenCounter
from clew.wire import Wire


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A line of the ledger: an open loop, a decision."""

    id: str
    text: str
    """Verbatim."""
    source: Cite


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is known without the plan and without whoever wrote its digests."""

    view: Sequence[Item]
    """The view before."""
    counter: TokenCounter
    target_tokens: int
    """For the whole view, system prompt included."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """Tokens of messages of the view, by id, where they are known; the rest is counted."""
    originals: Callable[[str], Message | None] | None = None
    """Finds a message in the log; where there is no log, the view holds the originals."""
    pins: tuple[Pin, ...] = ()
    """The rules that stand now."""
    loops: tuple[LedgerEntry, ...] = ()
    """What is open now."""
    decisions: tuple[LedgerEntry, ...] = ()
    ledger_claims: tuple[Claim, ...] = ()
    """What code made of the ledger for a digest to say. These need no grounding: no summariser wrote them."""
    values: Iterable[Value] = ()
    """The session's exact values, for the loss record; gone through once each time."""
    shown: Mapping[str, Digest] = field(default_factory=dict)
    """The digests that the view shows, by the ids of their messages."""
    keep_messages: int = 1
    """So many of the most recent messages, and the atom they begin in, are neither condensed nor dropped."""
    wire: Wire | None = None
    """The wire format that the view is to be sent in, where that is known."""
