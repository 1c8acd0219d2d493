"""The sessions that are measured: their files, the labels in them, and where they are cut.

A session of 100,000 tokens is cut near 50,000 and near 75,000, at the next place where no tool call is parted
from its result: a policy compacts the first part, the second shows what was needed. The compactions that the
session's own tool made are cuts too, with what the tool left.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple, TypeAlias

from clew.errors import InputError
from clew.message import Item, Origin, cut_points, system_prefix
from clew.tokens import TokenCounter, counter_for
from clew.transcripts import Entry, Transcript, detect, open_source
from clew.transcripts.transcript import tool_compactions
from clew_evals.needs import Needs
from clew_evals.passages import Readable, join_passages

LABELS = Path("_labels", "user_constraints.jsonl")
"""Where labels lie, seen from the folder of the sessions or one above it."""
_SUB_AGENTS = "agent-"
"""Claude Code writes the conversations of sub-agents next to the session that started them."""


class SessionFile(NamedTuple):
    """A file (or a folder that is one session) and the set it belongs to."""

    path: Path
    set: str


class Label(NamedTuple):
    """A sentence of the user's that people read and found to be a rule or a decision."""

    text: str
    is_decision: bool


Labels: TypeAlias = Mapping[str, Sequence[Label]]
"""By ``session_name`` of the session's file."""


def session_files(paths: Iterable[Path]) -> list[SessionFile]:
    """Return every file under these paths that clew reads, each once, in the order of their names."""
    result: dict[Path, SessionFile] = {}
    for path in paths:
        for item in _under(path) if path.is_dir() else (path,):
            if item not in result and (item == path or _is_session(item)):
                result[item] = SessionFile(item, item.parent.name)
    return list(result.values())


def _under(folder: Path) -> Iterator[Path]:
    if _is_session(folder):
        yield folder
        return
    for child in sorted(folder.iterdir()):
        if child.is_dir():
            yield from _under(child)
        elif child.is_file() and not child.name.startswith(_SUB_AGENTS):
            yield child


def _is_session(path: Path) -> bool:
    try:
        detect(open_source(path))
    except InputError:
        return False
    return True


def labels_near(paths: Sequence[Path]) -> Labels:
    """Return the labels next to the first of these paths, or above it; none if there are none."""
    for path in paths[:1]:
        for folder in (path, *path.resolve().parents[:3]):
            if (folder / LABELS).is_file():
                return read_labels(folder / LABELS)
    return {}


def read_labels(path: Path) -> Labels:
    """Read labelled sentences: JSON lines with ``file``, ``label`` and ``text``."""
    result: defaultdict[str, list[Label]] = defaultdict(list)
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        result[session_name(Path(row["file"]))].append(Label(row["text"], row["label"] == "decision"))
    return dict(result)


def session_name(path: Path) -> str:
    """Return the name by which labels know a file: its own, without ``.zst`` or ``.gz``."""
    return path.name.removesuffix(".zst").removesuffix(".gz")


# Cuts -----------------------------------------------------------------------------------------------------

CUT_SHARES = (0.5, 0.75)
"""Where a session is cut, as shares of its tokens."""
LEAST_TOKENS = 12_000
"""Sessions with fewer tokens are left out: nobody compacts them."""
LEAST_BEFORE, LEAST_AFTER = 10, 8
"""Messages that a cut needs on either side to be judged."""
LEAST_BEFORE_COMPACTION = 20
"""Messages that a tool's own compaction needs before it; after it, ``LEAST_AFTER``."""

COUNTER: TokenCounter = counter_for("gpt-4o")
"""One ruler for all sessions and policies, whatever model they were held with."""


@dataclass(frozen=True)
class Cut:
    """A session up to a point, as a policy gets it."""

    session: str
    set: str
    format: str
    system: tuple[Item, ...]
    """The prompt that opens the session; no policy may touch it, and it does not count."""
    items: tuple[Item, ...]
    """What is to be compacted."""
    budget_tokens: int = 0
    """What the policy may return in place of ``items``."""
    at: float = 0.0
    """The share of the session's tokens before the cut."""
    later: tuple[Item, ...] = field(default=(), repr=False)
    """The real continuation: hidden from every policy but a ceiling."""
    needs: Needs | None = field(default=None, repr=False)
    """What the continuation needs: hidden likewise."""

    @cached_property
    def tokens(self) -> int:
        """Return the tokens of what is to be compacted."""
        return COUNTER.count_all(item.message for item in self.items)

    @cached_property
    def readable(self) -> Readable:
        """Return what is to be compacted as one text."""
        return join_passages(self.items)

    def budgeted(self, share: float) -> Cut:
        """Return the cut with room for this share of its tokens."""
        return replace(self, budget_tokens=int(self.tokens * share))

    def blind(self) -> Cut:
        """Return the cut without anything that lies in the future."""
        return replace(self, later=(), needs=None)


@dataclass(frozen=True)
class CutCompaction:
    """A compaction that the session's own tool made: what it saw, what it left, what came after."""

    cut: Cut
    left: tuple[Item, ...]
    """The summary, and the messages that were kept."""
    time: str | None
    trigger: str | None
    opaque: bool
    """Nothing can be read of what the model was left with but the kept messages."""
    can_be_judged: bool
    """Enough was said on both sides of it."""


def cuts_of(
    session: Transcript, set_name: str, shares: Sequence[float] = CUT_SHARES, least: int = LEAST_TOKENS
) -> Iterator[Cut]:
    """Yield the cuts of a session, none behind its tool's own first compaction: that part is not whole."""
    items = _numbered_items(_until_first_compaction(session))
    sizes = [COUNTER.count(item.message) for item in items]
    total = sum(sizes)
    if total < least:
        return
    legal = cut_points([item.message for item in items])
    first = system_prefix([item.message for item in items])
    for share in shares:
        place = _legal_cut(sizes, legal, share * total)
        if place - first >= LEAST_BEFORE and len(items) - place >= LEAST_AFTER:
            system, before = items[:first], items[first:place]
            yield Cut(session.id, set_name, session.format, system, before, at=share, later=items[place:])


def _legal_cut(sizes: Sequence[int], legal: Sequence[int], wanted: float) -> int:
    """Return the first legal cut after so many tokens."""
    running = enumerate(accumulate(sizes), start=1)
    reached = next((count for count, tokens in running if tokens >= wanted), len(sizes))
    return next(point for point in legal if point >= reached)


def compactions_of(session: Transcript, set_name: str) -> Iterator[CutCompaction]:
    """Yield the tool's own compactions, in order."""
    earlier_summary = 0  # messages of the compaction before, which are not new
    for compaction in tool_compactions(session):
        items = _numbered_items(compaction.before)
        first = system_prefix([item.message for item in items])
        later = _numbered_items(compaction.after, start=len(items) + 1)
        ids = frozenset(compaction.boundary.keeps)
        kept = [item for entry, item in zip(compaction.before, items, strict=True) if entry.id in ids]
        left = (*_numbered_items(compaction.summary, prefix="s"), *kept)
        new = len(compaction.before) - earlier_summary
        yield CutCompaction(
            cut=Cut(session.id, set_name, session.format, items[:first], items[first:], at=1.0, later=later),
            left=left,
            time=compaction.boundary.time,
            trigger=compaction.boundary.trigger,
            opaque=not any(item.message.text for item in left if item.message.origin is Origin.SUMMARY),
            can_be_judged=new >= LEAST_BEFORE_COMPACTION and len(later) >= LEAST_AFTER,
        )
        earlier_summary = len(compaction.summary)


def _until_first_compaction(session: Transcript) -> list[Entry]:
    """Return the main conversation up to its tool's first compaction; what was rewound is left out."""
    compactions = tool_compactions(session)
    if compactions:
        return list(compactions[0].before)
    gone = session.dropped
    return [entry for entry in session.entries if entry.sidechain is None and entry.id not in gone]


def _numbered_items(entries: Sequence[Entry], start: int = 1, prefix: str = "m") -> tuple[Item, ...]:
    """Return the messages as items with the names m1, m2 and so on."""
    return tuple(Item(f"{prefix}{n}", entry.message) for n, entry in enumerate(entries, start=start))
