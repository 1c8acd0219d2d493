"""What a plan is checked against: the view it is for, and what the ledger says must survive."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from clew.compaction.plan import Claim, Digest, Pin
from clew.ledger.values import Value
from clew.message import Cite, Item, Message
from clew.providers import Wire
from clew.tokens import TokenCounter


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """An entry of the ledger: an open item or a decision."""

    id: str
    text: str
    """Verbatim."""
    source: Cite


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is known independently of the plan and of the author of its digests."""

    view: Sequence[Item]
    """The view before."""
    counter: TokenCounter
    target_tokens: int
    """For the whole view, system prompt included."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """Known token counts of messages of the view, by id; the others are counted."""
    originals: Callable[[str], Message | None] | None = None
    """Finds a message in the log; without a log, the view holds the originals."""
    pins: tuple[Pin, ...] = ()
    """The active rules."""
    loops: tuple[LedgerEntry, ...] = ()
    """The open items."""
    decisions: tuple[LedgerEntry, ...] = ()
    ledger_claims: tuple[Claim, ...] = ()
    """The ledger's claims for a digest. They need no grounding, because code made them."""
    values: Iterable[Value] = ()
    """The session's exact values, for the loss record; iterated once per check."""
    shown: Mapping[str, Digest] = field(default_factory=dict)
    """The digests in the view, by the ids of their messages."""
    keep_messages: int = 1
    """The most recent messages that, with the atom they begin in, may not be condensed or dropped."""
    wire: Wire | None = None
    """The wire format the view will be sent in, if known."""
