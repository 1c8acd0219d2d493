"""What an agent could find again by one search of what was compacted away, in an index as clew keeps it.

A value is *recoverable* if a search for it, to the letter, has a message that holds it among its five best
hits. It is *recalled* if a search for the words around its use has: an agent that lost a value does not know
it, but knows what it is wanted for. The first says that nothing is gone, the second that it is found again.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from clew.memory import Query, analyse, passages, search
from clew.memory.index.protocol import Entry
from clew.memory.index.sqlite import SqliteIndex
from clew.message import Item, lowest, words
from clew_evals.cuts import Cut
from clew_evals.probe import Probe
from clew_evals.questions import GAP
from clew_evals.reading import view_text

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
