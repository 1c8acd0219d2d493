"""What the work is about now: how much each file and each passage of a file matters for the next steps.

``Topics`` is made from the agent's last replies, the request and the goal. A file that the last reply names
weighs most; a passage weighs by the names in it that these texts mention::

    topics = Topics(view, ["Fix the rate table in rates.py"])
    topics.of_file("src/rates.py")  # 2.5: only the request names it
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import compress
from math import prod

from clew.compaction.propose.named_lines import NamedLines
from clew.compaction.propose.named_parts import names_in
from clew.compaction.propose.terms import NAME
from clew.message import Item, Role, words

REPLIES = 6
"""Last replies of the agent that say which files the work is about; chosen by hand."""
LONGEST_READ = 4_000
"""Characters of each text and call of a reply that are read for that."""
NAMED_LAST, NAMED_RECENTLY, NAMED_IN_REQUEST, NAMED_BY_FAILURE = 8.0, 2.0, 4.0, 4.0
"""Factors on the weight of a file that the last reply, recent replies, the request or what went wrong last
names..."""
TEST_FACTOR = 0.5
"""...and of a test or its data, unless the request is about tests. Each is about what it does to the odds
that the next edits are in the file (``bench/next_edits.py``)."""
TERM_LAST, TERM_RECENT, TERM_REQUEST, TERM_FAILED = 1.0, 1.0, 0.5, 1.0
"""Weights of the names in a passage that these mention. Chosen by hand."""
MOST_PARTS = 2
"""A text that names more parts of a plan is about none of them; chosen by hand."""
_GENERATED = re.compile(
    r"(?:^|/)(?:_build|build|dist|out|target|coverage|node_modules|__pycache__|\.next)/"
    r"|\.(?:lock|log|svg|map|csv|min\.\w+)$"
)
"""Paths of files that programs write; an agent looks at them and edits others."""
_TEST = re.compile(
    r"(?:^|[/_.\-])(?:tests?|__tests__|mocks?|__mocks__|fixtures?|testdata|snapshots?|e2e)(?=[/_.\-])"
    r"|[._\-]spec\.\w+$|[a-z](?:Tests?|Spec)\.\w+$|(?:^|/)(?:package|tsconfig[\w.]*)\.json$"
)
"""The path of a test, of what tests are made with, or of a package's settings."""
_ABOUT_TESTS = re.compile(r"\b(?:tests?|testing|specs?|mock(?:s|ed)?|fixtures?|coverage)\b", re.IGNORECASE)
_COMMON_STEM = re.compile(
    r"__init__|index|main|mod|lib|types?|utils?|conf(?:ig)?|setup|page|layout|routes?|README"
)
"""Names of files that many folders have: they are told apart by their folder."""
_IN_CODE = re.compile(r"[a-z\d][A-Z]|_")
"""What tells a name in code from a long word."""
_WORD = re.compile(r"[A-Za-z_]\w{3,}")


class Topics:
    """What the work is about now: by the last replies, the request, and what went wrong last."""

    def __init__(
        self, view: Sequence[Item], asked: Iterable[str], failed: str = "", done: Collection[str] = ()
    ) -> None:
        """Read the last replies of a view, what the user ``asked`` for, and what ``failed`` last.

        ``done`` are the files whose changes were committed: only a later reply or failure brings them back.
        """
        replies = [item.message for item in view if item.message.role is Role.ASSISTANT][-REPLIES:]
        said = ["\n".join(words(part)[:LONGEST_READ] for part in reply.parts) for reply in replies]
        self._texts = (said[-1] if said else "", "\n".join(said), "\n".join(asked), failed)
        self._names = tuple(frozenset(NAME.findall(text)) for text in self._texts)
        self._done = frozenset(done)
        self._lines = [NamedLines(text) for text in (self._texts[0], *self._texts[2:])]
        self._is_about_tests = _ABOUT_TESTS.search(self._texts[2]) is not None
        named = (names_in(text) for text in (self._texts[0], self._texts[2]))
        self.parts = frozenset().union(*(names for names in named if len(names) <= MOST_PARTS))
        """The parts of a plan or a backlog that the last reply or the request names, if they are few."""

    def of_file(self, path: str) -> float:
        """Return how much the work is about a file; 0 if nothing names it, or a program writes it."""
        name = "" if _GENERATED.search(path) else _short_name(path)
        factors = (NAMED_LAST, NAMED_RECENTLY, NAMED_IN_REQUEST, NAMED_BY_FAILURE)
        found = [name != "" and name in text for text in self._texts]
        if path in self._done and not (found[0] or found[3]):
            return 0.0
        return prod(compress(factors, found)) * self.of_kind(path) if any(found) else 0.0

    def is_next(self, path: str) -> bool:
        """Whether the last reply names a file."""
        return _short_name(path) in self._texts[0] and not _GENERATED.search(path)

    @property
    def asked_names(self) -> frozenset[str]:
        """The names in code that the last reply, the request or a failure mentions."""
        last, _, *others = self._names
        return frozenset(name for name in last.union(*others) if _IN_CODE.search(name))

    def lines_of(self, path: str) -> list[tuple[int, int]]:
        """Return the ranges of lines of a file that the last reply, the request or a failure names."""
        return [lines for named in self._lines for lines in named.of_file(path)]

    def of_kind(self, path: str) -> float:
        """Return the factor on the weight of a file: tests come last, unless the work is about them."""
        return TEST_FACTOR if _TEST.search(path) and not self._is_about_tests else 1.0

    def of_passages(self, texts: Sequence[str]) -> list[float]:
        """Return how much the work is about the names in each passage; a name in few of them counts more."""
        every = frozenset().union(*self._names)
        names_in = [every.intersection(_WORD.findall(text)) for text in texts]
        common = Counter(name for names in names_in for name in names)
        return [sum(self._weight(name) / common[name] for name in names) for names in names_in]

    def _weight(self, name: str) -> float:
        shares = zip((TERM_LAST, TERM_RECENT, TERM_REQUEST, TERM_FAILED), self._names, strict=True)
        return sum(weight for weight, names in shares if name in names)


def is_generated(path: str) -> bool:
    """Whether a program writes a file, by its path."""
    return _GENERATED.search(path) is not None


def _short_name(path: str) -> str:
    """Return the name by which people mean a file: ``rates.py``, but ``billing/index.ts``."""
    folder, _, name = path.rpartition("/")
    is_common = _COMMON_STEM.fullmatch(name.partition(".")[0]) is not None
    return f"{folder.rpartition('/')[2]}/{name}" if is_common and folder else name
