"""clew itself, behind one function."""

from __future__ import annotations

from collections.abc import Sequence

from clew.compact.ladder import Situation, propose
from clew.compact.told import brief_of
from clew.evals.cuts import COUNTER, Cut
from clew.ledger import Ledger
from clew.message import Item
from clew.plan import Digest
from clew.plan.apply import apply


def clew_policy(cut: Cut) -> Sequence[Item]:
    """Compact as clew does, with no model."""
    return Compactor()(cut)


class Compactor:
    """clew over one session: what it has read and condensed so far is remembered, as a session does."""

    def __init__(self) -> None:
        self._ledger = Ledger()
        self._read: set[str] = set()
        self._shown: tuple[str, Digest] | None = None
        self._count = 0

    def __call__(self, cut: Cut) -> Sequence[Item]:
        """Return the view of what is given: at first the session, later the last view and what came after."""
        view = (*cut.system, *cut.items)
        for item in view:
            if item.id not in self._read:
                self._read.add(item.id)
                self._ledger.add(item)
        self._count += 1
        system_tokens = COUNTER.count_all(item.message for item in cut.system)
        situation = Situation(
            view,
            COUNTER,
            cut.budget_tokens + system_tokens,
            self._ledger.values,
            lambda span: brief_of(self._ledger, span),
            shown=self._shown,
            digest_id=f"d{self._count}",
        )
        plan = propose(situation)
        for digest in plan.digests:
            self._shown = (digest.id, digest)
            self._read.add(digest.id)
        own = {item.id for item in cut.system}
        return [item for item in apply(plan, view) if item.id not in own]
