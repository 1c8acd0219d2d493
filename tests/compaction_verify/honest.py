"""Honest plans: what the model-free ladder proposes, with what the ledger says must survive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from clew.compaction.ledger_claims import MandatoryContent, mandatory_content
from clew.compaction.plan import Claim, Plan
from clew.compaction.propose.ladder import propose
from clew.compaction.task import CompactionTask
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


@dataclass(frozen=True, kw_only=True)
class HonestTask(CompactionTask):
    """A task whose claims have no higher a label than their sources."""

    vouched: bool = True
    """Whether the ledger's claims are taken for the ledger's word."""

    def mandatory(self, span: Sequence[Item]) -> MandatoryContent:
        said = brief(self.ledger, span, self.view)
        return said if self.vouched else replace(said, claims=())


def proposed(
    view: Sequence[Item],
    share: float,
    counter: TokenCounter | None = None,
    wire: Wire | None = None,
) -> tuple[Plan, HonestTask]:
    """Return what the ladder proposes for a share of the view's size, and what to judge it by."""
    counter = counter or counter_for("claude-sonnet-4-5")
    ledger = read(view)
    target = int(sum(counter.count(item.message) for item in view) * share)
    originals = {item.id: item.message for item in view}
    task = HonestTask(
        view=view, counter=counter, target_tokens=target, ledger=ledger, originals=originals.get, wire=wire
    )
    return propose(task), task
