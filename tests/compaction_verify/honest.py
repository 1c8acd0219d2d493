"""Honest plans: what the model-free ladder proposes, with what the ledger says must survive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from clew.compaction.plan import Claim, Plan
from clew.compaction.propose.brief import MandatoryContent
from clew.compaction.propose.ladder import Situation, propose
from clew.compaction.propose.ledger_claims import mandatory_content
from clew.compaction.verify import Evidence, LedgerEntry
from clew.ledger import Ledger
from clew.message import Item, Message
from clew.providers import Wire
from clew.tokens import TokenCounter, counter_for


def items(messages: Sequence[Message]) -> list[Item]:
    return [Item(f"m{i}", message) for i, message in enumerate(messages, start=1)]


def read(view: Sequence[Item]) -> Ledger:
    ledger = Ledger()
    ledger.extend(view)
    return ledger


def brief(ledger: Ledger, span: Sequence[Item], view: Sequence[Item]) -> MandatoryContent:
    """Return what the ledger has to say, each claim with no higher a label than its sources."""
    said = mandatory_content(ledger, span)
    parts = {item.id: item.message.parts for item in view}

    def labelled(claim: Claim) -> Claim:
        found = [parts[cite.message][cite.part].trust for cite in claim.sources]
        return claim._replace(trust=min([claim.trust, *found]))

    return replace(said, claims=tuple(map(labelled, said.claims)))


def evidence(
    view: Sequence[Item], ledger: Ledger, counter: TokenCounter, target_tokens: int, wire: Wire | None = None
) -> Evidence:
    """Return what a plan for a view is judged by, with the view as the log."""
    originals = {item.id: item.message for item in view}
    said = brief(ledger, view, view)
    return Evidence(
        view=view,
        counter=counter,
        target_tokens=target_tokens,
        originals=originals.get,
        pins=said.pins,
        loops=tuple(LedgerEntry(loop.id, loop.text, loop.source) for loop in ledger.loops.open),
        decisions=tuple(LedgerEntry(one.id, one.quote, one.source) for one in ledger.decisions),
        ledger_claims=said.claims,
        values=ledger.values,
        wire=wire,
    )


def proposed(
    view: Sequence[Item],
    share: float,
    counter: TokenCounter | None = None,
    wire: Wire | None = None,
) -> tuple[Plan, Evidence]:
    """Return what the ladder proposes for a share of the view's size, and what to judge it by."""
    counter = counter or counter_for("claude-sonnet-4-5")
    ledger = read(view)
    target = int(sum(counter.count(item.message) for item in view) * share)
    situation = Situation(view, counter, target, ledger.values, lambda span: brief(ledger, span, view))
    return propose(situation), evidence(view, ledger, counter, target, wire)
