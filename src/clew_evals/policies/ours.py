"""clew itself, behind one function: as a session compacts, checks and all, with no model."""

from __future__ import annotations

from collections.abc import Sequence

from clew.compaction.decide import decide
from clew.compaction.plan import Digest
from clew.compaction.plan.plan import apply
from clew.compaction.task import CompactionTask
from clew.ledger import Ledger
from clew.message import Item, Message
from clew.providers.model import drive
from clew.session.summariser import no_model
from clew_evals.cuts import COUNTER, Cut


def clew_policy(cut: Cut) -> Sequence[Item]:
    """Compact as clew does, with no model."""
    return ClewCompactor()(cut)


class ClewCompactor:
    """clew over one session: what it has read and condensed so far is remembered, as a session does."""

    def __init__(self) -> None:
        self._ledger = Ledger()
        self._read: dict[str, Message] = {}
        self._shown: tuple[str, Digest] | None = None
        self._count = 0

    def __call__(self, cut: Cut) -> Sequence[Item]:
        """Return the view of what is given: at first the session, later the last view and what came after."""
        view = (*cut.system, *cut.items)
        for item in view:
            if item.id not in self._read:
                self._read[item.id] = item.message
                self._ledger.add(item)
        self._count += 1
        task = CompactionTask(
            view=view,
            ledger=self._ledger,
            counter=COUNTER,
            target_tokens=cut.budget_tokens + COUNTER.count_all(item.message for item in cut.system),
            originals=self._read.get,
            shown=self._shown,
            digest_id=f"d{self._count}",
        )
        plan = drive(decide(task), no_model).plan
        for digest in plan.digests:
            self._shown = (digest.id, digest)
        after = apply(plan, view)
        for digest in plan.digests:
            self._read[digest.id] = next(item.message for item in after if item.id == digest.id)
        own = {item.id for item in cut.system}
        return [item for item in after if item.id not in own]
