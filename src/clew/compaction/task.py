"""The input of a compaction, for proposal and checks: the view, what is known about it, and the goal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace

from clew.budget import Trigger
from clew.compaction.asked import Asked
from clew.compaction.instructions import later_instructions
from clew.compaction.ledger_claims import LedgerContent, MandatoryContent, cited_by, ledger_content
from clew.compaction.plan import Claim, ClaimKind, Digest, RuleQuote
from clew.ledger.ledger import Ledger
from clew.message import Item, Message, Origin, fixed_prefix
from clew.message.text import once
from clew.providers import Wire
from clew.rules.rule import MadeBy
from clew.tokens import TokenCounter

PER_RULE_TOKENS = 12
"""What a rule takes in a digest besides its words: turn, speaker, marks."""
MOST_NAMED = 12
"""Turns that the line for collapsed rules cites, oldest first."""


@dataclass(frozen=True, slots=True)
class Keep:
    """How many recent messages stay verbatim."""

    messages: int = 8
    """The least number, if they fit at all; older ones are shortened if there is too little room."""
    verbatim: int = 0
    """How many must stay verbatim: otherwise a compaction to a size that a caller set is refused."""
    tokens: int | None = None
    """The least tokens of the last messages that stay verbatim, if they fit into the room for recent ones."""
    room: int | None = None
    """The least room for recent messages, verbatim or not; by default a share of the room."""
    summary_share: float = 1 / 3
    """Share of the room up to which the summary that another tool left stays as it is; chosen by hand."""
    for_text: int = 0
    """Tokens for the text of files in the digest; recent messages get that much less."""
    for_prose: bool = False
    """A model writes the digest: recent messages get less room, so that it can say more."""


AS_USUAL = Keep()


@dataclass(frozen=True, kw_only=True)
class CompactionTask:
    """A view to compact, and everything known about it."""

    view: Sequence[Item]
    counter: TokenCounter
    target_tokens: int
    """For the whole view, system prompt included."""
    ledger: Ledger = field(default_factory=Ledger)
    originals: Callable[[str], Message | None] | None = None
    """Finds any message of the session in its original form; without a log, the view holds the originals."""
    sizes: Sequence[int] | None = None
    """The tokens of the messages of the view, if already counted."""
    shown: tuple[str, Digest] | None = None
    """The id of the digest's message in the view, and the digest."""
    carried: MandatoryContent = field(default_factory=MandatoryContent)
    """What must survive besides the ledger's entries: for a list whose beginning only a digest records."""
    states_open: bool = False
    """The digest states open items from before a tool's compaction, also those that its summary quotes."""
    digest_id: str = "d1"
    keep: Keep = AS_USUAL
    focus: str | None = None
    """What a person said matters now."""
    chosen: tuple[int, int] | None = None
    """A range of the view that a person chose, as first index and one past the last; only it is compacted."""
    trigger: Trigger = Trigger.MANUAL
    reason: str = "asked for"
    wire: Wire | None = None
    """The wire format the view will be sent in, if known."""
    sized: bool = True
    """A person or the window set the target; otherwise it is a preference."""
    most_tokens: int | None = None
    """The size up to which the target may be raised to keep found rules whole; None if a person set it."""
    rule_tokens: int | None = None
    """Budget for rules found in the session; None for all of them. Rules set by hand are always kept."""
    beside_tokens: int = 0
    """Rules set by hand, sent beside the view until a digest states them; the target includes them."""

    @once
    def tokens(self) -> int:
        """The tokens of the view."""
        sizes = self.sizes or [self.counter.count(item.message) for item in self.view]
        return sum(sizes)

    def with_keep(self, keep: Keep, sizes: Sequence[int]) -> CompactionTask:
        """Return the task with other recent messages kept, and the view's sizes as counted.

        What was derived from view and ledger stays known: of all cached properties, only the total number of
        tokens depends on anything else.
        """
        task = replace(self, keep=keep, sizes=sizes)
        known = {name: value for name, value in self.__dict__.items() if name not in _GIVEN}
        vars(task).update(known)
        return task

    @once
    def _content(self) -> LedgerContent:
        """What the ledger has for any digest: a plan asks for several spans."""
        return ledger_content(self.ledger)

    def mandatory(self, span: Sequence[Item]) -> MandatoryContent:
        """Return what a digest of this span must contain."""
        own_content, more = self._content.of_span(span, self.shown, self.unseen), self.carried
        pins, claims = (*more.pins, *own_content.pins), (*more.claims, *own_content.claims)
        collapsed: list[RuleQuote] = []
        if self.rule_tokens is not None:
            pins, collapsed = self._collapse_rules(pins, self.rule_tokens)
            claims = (*_line_for(collapsed), *claims)
        return MandatoryContent(
            pins,
            claims,
            (*more.open_items, *own_content.open_items),
            (*more.decisions, *own_content.decisions),
            own_content.goals,
            tuple(collapsed),
        )

    @once
    def required(self) -> MandatoryContent:
        """The mandatory content for the whole view."""
        return self.mandatory(self.view)

    @once
    def instructions(self) -> tuple[Claim, ...]:
        """What system and developer messages behind the prompt say, their latest text, oldest first."""
        earlier = (*self.carried.claims, *(self.shown[1].claims if self.shown else ()))
        rules = [pin.quote for pin in self.ledger.pins.active]
        return later_instructions(self.view, self.source, earlier, rules)

    @once
    def asked(self) -> Asked:
        """What the user asked for."""
        return Asked(self.ledger, self.view, self.source)

    @property
    def request(self) -> Claim | None:
        """The user's last message that asks for something, whole."""
        return self.asked.request

    @property
    def goal(self) -> Claim | None:
        """The goal, whole."""
        return self.asked.goal

    def source(self, name: str) -> Message | None:
        """Return any message of the session in its original form, also one that a digest covers."""
        message = self.originals(name) if self.originals else None
        return message or self.by_id.get(name)

    @once
    def by_id(self) -> dict[str, Message]:
        """The messages of the view, by id."""
        return {item.id: item.message for item in self.view}

    @once
    def unseen(self) -> frozenset[str]:
        """The messages that the ledger cites and that neither the view shows nor its digest covers.

        There are some in a session that another tool compacted: only a digest can state what they said.
        """
        cited = {cite.message for cite in cited_by(self.ledger)}
        cited.difference_update(self.by_id)
        if cited and self.shown:
            cited.difference_update(self.shown[1].covers)
        return frozenset(name for name in cited if self.source(name) is not None)

    @once
    def needs_digest(self) -> bool:
        """Whether only a digest can state a rule or an open item.

        The message that contains it left the view in another tool's compaction. An open item that the tool's
        summary quotes needs none, as long as that stays in the summary.
        """
        if any(pin.source and pin.source.message in self.unseen for pin in self.ledger.pins.active):
            return True
        if not self.unseen_open or self.states_open:
            return bool(self.unseen_open)
        summary = "\n".join(self.view[index].message.text for index in self.tool_summary)
        return not all(text in summary for text in self.unseen_open)

    @once
    def unseen_open(self) -> tuple[str, ...]:
        """The open items whose messages left the view in another tool's compaction.

        The first digest after it states them, and every later digest repeats them.
        """
        if self.shown is not None:
            return ()
        gone = [loop for loop in self.ledger.loops.collapsed if loop.source.message not in self.by_id]
        return tuple(loop.text for loop in gone if self.source(loop.source.message) is not None)

    @once
    def tool_summary(self) -> range:
        """The indices of the summary that another tool left at the start of the view; perhaps empty."""
        first = last = fixed_prefix(self.view)
        if self.shown is None and self.chosen is None:
            while last < len(self.view) and self.view[last].message.origin is Origin.SUMMARY:
                last += 1
        return range(first, last)

    @property
    def has_found_rules(self) -> bool:
        """Whether some rules were found in the session rather than set by hand."""
        return bool(_found_rules(self.ledger))

    def _collapse_rules(
        self, pins: Sequence[RuleQuote], room: int
    ) -> tuple[tuple[RuleQuote, ...], list[RuleQuote]]:
        """Return the rules that are shown, and those for which there is no room."""
        by_id = {pin.id: pin for pin in pins}
        dropped_ids: set[str] = set()
        for name in _found_rules(self.ledger):
            pin = by_id.get(name)
            if pin is None:
                continue
            room -= self.counter.count_text(pin.quote) + PER_RULE_TOKENS
            if room < 0:
                dropped_ids.add(name)
        return tuple(pin for pin in pins if pin.id not in dropped_ids), [
            pin for pin in pins if pin.id in dropped_ids
        ]


_GIVEN = frozenset((*(one.name for one in fields(CompactionTask)), "tokens"))
"""The attributes of a task that are no values derived from its view and its ledger."""


def _found_rules(ledger: Ledger) -> list[str]:
    """Return the ids of the rules found in the session, those most worth showing first.

    Each is ranked by how recent and how certain it is.
    """
    rules = [pin for pin in ledger.pins.active if pin.made_by is MadeBy.FOUND]
    by_certainty = sorted(range(len(rules)), key=lambda place: rules[place].confidence)
    rank = {place: place + certainty for certainty, place in enumerate(by_certainty)}
    return [rules[place].id for place in sorted(rank, key=lambda place: -rank[place])]


def _line_for(rules: Sequence[RuleQuote]) -> list[Claim]:
    """Return the line that replaces rules there is no room for, with the turns to read them in."""
    if not rules:
        return []
    cites = {pin.source.message: pin.source for pin in reversed(rules)}
    sources = tuple(cites[name] for name in list(reversed(cites))[:MOST_NAMED])
    text = f"{len(rules)} more rules apply, not shown for lack of room: read them in these turns"
    if len(cites) > MOST_NAMED:
        text += f" and {len(cites) - MOST_NAMED} later ones"
    return [Claim("", ClaimKind.OPEN, text, sources, min(pin.trust for pin in rules))]
