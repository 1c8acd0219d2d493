"""What is compared: a policy makes a smaller view of a cut. Then clew as a policy, with its search.

``EvalPolicy("tail", tail)`` with ``def tail(cut): ...`` is one; ``POLICIES`` has them all.

clew can also search what it dropped. A value is *recoverable* if a search for it, to the letter, has a
message that holds it among its five best hits. It is *recalled* if a search for the words around its use has:
an agent that lost a value does not know it, but knows what it is wanted for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

from clew.compaction.decide import decide
from clew.compaction.plan import Digest
from clew.compaction.plan.plan import apply
from clew.compaction.task import CompactionTask
from clew.ledger import Ledger
from clew.memory import Query, analyse, passages, search
from clew.memory.index import Entry
from clew.memory.index.sqlite import SqliteIndex
from clew.message import Item, Message, lowest, words
from clew.providers.model import drive
from clew.session.summariser import no_model
from clew_evals.needs import Probe
from clew_evals.passages import view_text
from clew_evals.questions import GAP
from clew_evals.sessions import COUNTER, Cut

Compact: TypeAlias = Callable[[Cut], Sequence[Item]]
"""Returns what replaces ``cut.items``, within ``cut.budget_tokens``."""

Recall: TypeAlias = Callable[[Cut, Probe], str]
"""Returns the text that a search for the probe's value finds."""


@dataclass(frozen=True, slots=True)
class EvalPolicy:
    """A named way to compact."""

    name: str
    compact: Compact
    begin: Callable[[], Compact] | None = None
    """Makes a compactor with a memory of its own, for sessions that are compacted again and again: it is
    then given its last view with what came after. Without it ``compact`` is used, which remembers nothing."""
    recall: Recall | None = None
    """Searches what was dropped for a value itself; None if nothing can be searched."""
    recall_by_words: Recall | None = None
    """Searches it for the words around the value's use."""
    keeps_budget: bool = True
    """False for policies that cannot aim at a size; their share is what they took."""
    sees_future: bool = False
    """The policy sees what will be needed: a ceiling, not a contender."""
    is_cheat: bool = False
    """Made to win the measure and nothing else."""

    def started(self) -> Compact:
        """Return a compactor for one session."""
        return self.begin() if self.begin else self.compact


# clew as a policy -----------------------------------------------------------------------------------------


def clew_policy(cut: Cut) -> Sequence[Item]:
    """Compact as clew does, with no model."""
    return ClewCompactor()(cut)


class ClewCompactor:
    """Compacts one session again and again, and remembers as a session does what it has read and written."""

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


HITS = 5
"""What the product's own search tool shows."""
WORKSPACE = "eval"
WHEN = "2026-01-01T00:00:00Z"
"""All is taken to be said at once: a recall is not to be helped by the clock."""


class RecallMemory:
    """The messages of one cut, to be searched."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._items = {item.id: item for item in items}
        self._folder = TemporaryDirectory(prefix="clew-eval-")
        self._index = SqliteIndex(Path(self._folder.name) / "index.db")
        self._index.add(WORKSPACE, [analyse(entry) for item in items for entry in passages(_entry(item))])

    def close(self) -> None:
        """Let go of the index."""
        self._index.close()
        self._folder.cleanup()

    def search(self, text: str) -> str:
        """Return what the messages say that a search finds first."""
        hits = search(self._index, WORKSPACE, Query(text=text, at=WHEN, limit=HITS))
        return view_text(self._items[ref] for ref in dict.fromkeys(hit.entry.ref for hit in hits))


def by_value(cut: Cut, probe: Probe) -> str:
    """Return what a search for the value itself brings back; of a path, also for its last two names."""
    spelled = dict.fromkeys((probe.value, probe.key))
    return "\n".join(_memory_of(cut).search(f'"{text}"') for text in spelled)


def by_words(cut: Cut, probe: Probe) -> str:
    """Return what a search for the words around its use brings back."""
    return _memory_of(cut).search(probe.question.replace(GAP, " "))


def _entry(item: Item) -> Entry:
    message = item.message
    return Entry(
        ref=item.id,
        session=WORKSPACE,
        time=WHEN,
        role=message.role,
        trust=lowest(part.trust for part in message.parts),
        text="\n".join(text for part in message.parts if (text := words(part))),
    )


_last: list[tuple[tuple[Item, ...], RecallMemory]] = []


def _memory_of(cut: Cut) -> RecallMemory:
    """Return the memory of a cut; the last one is kept, as every budget asks for the same."""
    if _last and _last[0][0] is cut.items:
        return _last[0][1]
    while _last:
        _last.pop()[1].close()
    _last.append((cut.items, RecallMemory(cut.items)))
    return _last[0][1]
