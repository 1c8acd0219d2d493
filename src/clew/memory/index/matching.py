"""What both databases need to match entries: rows and keys, a first ranking, typos, similar vectors.

Each entry also has *scope terms*, with which filters are part of a full-text search: ``t3`` (trust), ``s7``
(session), ``kturn`` (kind), ``r…`` (role), ``f…`` (file), ``d20240131`` (day).

``spelled_like("recieve", read)`` returns ``receive`` if the index has it; ``Signs.nearest`` returns the keys
of the vectors most like one.
"""

from __future__ import annotations

import calendar
import hashlib
import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from heapq import nlargest
from typing import TYPE_CHECKING, Any

from clew.memory.index import Analysed, Entry, EntryKind, Filters, IndexRow
from clew.message import Trust

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray


MAX_POSTINGS = 5_000
"""How many matches are read for one query, over all its terms, rarest terms first. Terms too common to fit in
say little about what is meant. Chosen by hand for latency on large stores."""
COUNT_LIMIT = 4_000
"""Up to this many entries with a term are counted, for speed; beyond it, the count is extrapolated."""
RECOUNT_GROWTH = 1.05
"""Counts are refreshed when a workspace has grown by this factor: 5 % moves no ranking."""


class _Keys:
    """Layout of the integer keys of entries: workspace, number, and in the last 4 bits the length class.

    So a workspace is one range of keys, and a first ranking can weigh lengths without reading any entry.
    """

    _WORKSPACE_BITS = 40
    _LENGTH_BITS = 4
    _STEPS = 1.5  # length classes per doubling of the length

    def workspace_range(self, workspace_key: int) -> range:
        """Return the keys of a workspace."""
        return range(workspace_key << self._WORKSPACE_BITS, (workspace_key + 1) << self._WORKSPACE_BITS)

    def bounds(self, workspace_key: int) -> dict[str, Any]:
        """Return its first and last key as parameters of a statement."""
        keys = self.workspace_range(workspace_key)
        return {"first": keys[0], "last": keys[-1]}

    def next_key(self, key: int, length: int) -> int:
        """Return the key after ``key`` for an entry of this length."""
        step = min((1 << self._LENGTH_BITS) - 1, int(self._STEPS * math.log2(1 + length)))
        return ((key >> self._LENGTH_BITS) + 1 << self._LENGTH_BITS) + step

    def number(self, key: int) -> int:
        """Return how many entries its workspace had when this one was added, including removed ones."""
        return (key & (1 << self._WORKSPACE_BITS) - 1) >> self._LENGTH_BITS

    def length_factors(self, mean_length: float) -> list[float]:
        """Return for each length class how much a match counts: BM25's length factor, k1 = 1.2, b = 0.75."""
        lengths = (2 ** ((step + 0.5) / self._STEPS) - 1 for step in range(1 << self._LENGTH_BITS))
        return [2.2 / (1 + 1.2 * (0.25 + 0.75 * length / (mean_length or 1.0))) for length in lengths]

    @property
    def length_mask(self) -> int:
        """Return the mask of a key's last bits."""
        return (1 << self._LENGTH_BITS) - 1


KEYS = _Keys()


def best_keys(
    keys_by_term: Iterable[tuple[Sequence[int], float]], mean_length: float, limit: int
) -> list[int]:
    """Return the keys with the highest scores, best first, from each term's keys and weight."""
    scores: dict[int, float] = {}
    for keys, weight in keys_by_term:
        term_scores = dict.fromkeys(keys, weight)
        for key in scores.keys() & term_scores:
            term_scores[key] += scores[key]
        scores |= term_scores
    factors = KEYS.length_factors(mean_length)
    mask = KEYS.length_mask
    for key, total in scores.items():
        scores[key] = total * factors[key & mask]
    # Sorting all pairs would create thousands of objects for the garbage collector.
    least = min(nlargest(limit, scores.values()), default=0.0)
    best = [(total, key) for key, total in scores.items() if total >= least]
    return [key for _, key in sorted(best, reverse=True)[:limit]]


def fts_quote(words: str) -> str:
    """Return a text as one quoted string of an FTS5 expression."""
    return '"' + words.replace('"', '""') + '"'


def entry_row(analysed: Analysed, key: int, session: int, place: int) -> dict[str, Any]:
    """Return the row of an entry."""
    entry = analysed.entry
    return {
        "key": key,
        "session": session,
        "kind": str(entry.kind),
        "place": place,
        "ref": entry.ref,
        "start": entry.start,
        "time": entry.time,
        "role": entry.role,
        "speaker": entry.speaker,
        "trust": int(entry.trust),
        "files": json.dumps(entry.files),
        "length": analysed.length,
        "traits": analysed.traits,
        "days": " ".join(analysed.days),
        "terms": analysed.terms,
        "scope": " ".join(_scope_of(analysed, session)),
        "text": entry.text.encode("utf-8", "surrogatepass").decode("utf-8", "replace"),
        "seq": entry.seq,
        "sources": json.dumps(entry.sources),
    }


def _scope_of(analysed: Analysed, session: int) -> Sequence[str]:
    entry = analysed.entry
    files = [file_word(name) for name in entry.files]
    own = (f"t{int(entry.trust)}", f"s{session}", _kind(entry.kind), _role(entry.role))
    return (*own, *files, *analysed.days)


_NO_ENTRY = "none"
"""A scope term that no entry has."""


def scope_words(filters: Filters, sessions: Sequence[int]) -> list[Sequence[str]]:
    """Return the groups of scope terms that an entry must match: one of each group."""
    groups = [
        [f"s{key}" for key in sessions],
        [_kind(kind) for kind in filters.kinds],
        [_role(role) for role in filters.roles],
        [file_word(name) for name in filters.files],
        [f"t{int(trust)}" for trust in Trust if trust >= filters.trust] if filters.trust else [],
    ]
    if filters.after or filters.before:
        period = period_terms(filters.after, filters.before)
        groups.append([_NO_ENTRY] if period == [] else period or [])
    return [group for group in groups if group]


def _kind(kind: str) -> str:
    return f"k{kind}"


def _role(role: str) -> str:
    return _hashed_term("r", role)


def file_word(name: str) -> str:
    """Return the name of a file as one term."""
    return _hashed_term("f", name)


def _hashed_term(family: str, name: str) -> str:
    """Return a name as one term, whatever its characters."""
    return family + hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]


# Periods as terms -----------------------------------------------------------------------------------

FIRST, LAST = date(1900, 1, 1), date(2200, 12, 31)
"""The range that a period without a start or an end is limited to."""


def period_terms(after: str, before: str) -> list[str] | None:
    """Return terms such that every entry of the period has one; an empty list if the period is empty.

    30 January to 1 March 2024 is ``d20240130 d20240131 m202402 d20240301``: one term for each whole year or
    month in it, and for each remaining day.

    None means that terms cannot express it: a limit is not a time, or is outside of ``FIRST`` and ``LAST``.
    Both limits are ISO 8601 (in UTC if they have no offset) or empty. The last day is included: callers that
    need the exact time filter again.
    """
    try:
        first = _utc_day(after) if after else FIRST
        last = _utc_day(before) if before else LAST
    except (ValueError, OverflowError):
        return None
    if first > last:
        return []
    return list(_terms(first, last)) if first >= FIRST and last <= LAST else None


def _utc_day(text: str) -> date:
    moment = datetime.fromisoformat(text.upper())
    return (moment.astimezone(UTC) if moment.tzinfo else moment).date()


def _terms(day: date, last: date) -> Iterator[str]:
    while day <= last:
        end_of_year = date(day.year, 12, 31)
        end_of_month = day.replace(day=calendar.monthrange(day.year, day.month)[1])
        if (day.month, day.day) == (1, 1) and end_of_year <= last:
            yield f"y{day.year}"
            day = end_of_year
        elif day.day == 1 and end_of_month <= last:
            yield f"m{day:%Y%m}"
            day = end_of_month
        else:
            yield f"d{day:%Y%m%d}"
        day += timedelta(days=1)


# Rows -----------------------------------------------------------------------------------------------

# Looked up for every row of every search; an enum's own look-up takes longer than everything else.
_KINDS = {str(kind): kind for kind in EntryKind}
_LABELS = {int(trust): trust for trust in Trust}


def row_of(row: tuple[Any, ...], model: str) -> IndexRow:
    """Return an entry from its row, with its vector if that is by this model.

    The columns are those of the statements in ``index.sql`` that select entries, in that order.
    """
    key, place, ref, kind, session, time, role, trust, text, files, speaker, start, *rest = row
    seq, sources, terms, length, traits, days, by, vector = rest
    fields = (ref, session, time, role, _LABELS[trust], text, _KINDS[kind], _names(files))
    entry = Entry(*fields, speaker, start, seq, _names(sources))
    analysed = Analysed(entry, terms, length, traits, tuple(days.split()))
    return IndexRow(key, place, analysed, vector if by == model and model else b"")


def _names(listed: str) -> tuple[str, ...]:
    return tuple(json.loads(listed)) if listed != "[]" else ()


SHORTEST = 5
"""Shortest word, in letters, that may be misspelled; in a shorter one a typo often makes another word. The
limits in this module were chosen by hand."""
TWO_SLIPS = 9
"""Words of at least this many letters may have two typos, shorter ones one."""
ALIKE_AT_FIRST = 2
"""Leading letters that must be right: typos there are rare, and it limits what must be read."""
MOST_READ = 4_000
"""How many terms are compared at most, which bounds the time in a large store."""
MOST_LIKE = 3
"""Spellings that a misspelt word is replaced by; chosen by hand, because each adds unrelated hits."""


def spelled_like(word: str, read: Callable[[Mapping[str, Any]], Iterable[str]]) -> list[str]:
    """Return the terms from ``read`` that are spelled almost like this word, nearest first.

    ``read`` takes a range of words (first, beyond), of lengths (shortest, longest) and a limit.
    """
    if len(word) < SHORTEST or word.isdigit():
        return []
    slips = 2 if len(word) >= TWO_SLIPS else 1
    first = word[:ALIKE_AT_FIRST]
    wanted = {
        "first": first,
        "beyond": first[:-1] + chr(ord(first[-1]) + 1),
        "shortest": len(word) - slips,
        "longest": len(word) + slips,
        "limit": MOST_READ,
    }
    near = ((distance(word, text, slips), text) for text in read(wanted))
    return [text for slip, text in sorted(near) if 0 < slip <= slips][:MOST_LIKE]


def distance(text: str, other: str, most: int) -> int:
    """Return the edit distance (letters wrong, missing, added or swapped), at most ``most + 1``."""
    if abs(len(text) - len(other)) > most:
        return most + 1
    before: list[int] = []
    last = list(range(len(other) + 1))
    for i, letter in enumerate(text, start=1):
        row = [i]
        for j, against in enumerate(other, start=1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != against))
            if before and j > 1 and letter == other[j - 2] and text[i - 2] == against:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
        before, last = last, row
    return min(last[-1], most + 1)


PAGE = 50_000
"""Vectors read at a time, to bound the memory that it takes; chosen by hand."""


class Signs:
    """One bit per vector component: 32 MB for a million vectors of 256 components.

    Signs are enough to pick a few hundred candidates out of a million; their scores are computed from the
    full vectors.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start over: the file has changed."""
        self.last = -1
        self._keys: NDArray[numpy.int64] | None = None
        self._bits: NDArray[numpy.uint64] | None = None
        self._used = 0

    def catch_up(self, rows: Iterable[tuple[int, bytes]]) -> None:
        """Read vectors added since; ``rows`` are ordered by key."""
        page: list[tuple[int, bytes]] = []
        for row in rows:
            page.append(row)
            if len(page) == PAGE:
                self._extend(page)
                page = []
        if page:
            self._extend(page)

    def nearest(self, vector: bytes, keys: range, allowed: Collection[int] | None, limit: int) -> list[int]:
        """Return the keys of the vectors whose signs differ least."""
        if self._keys is None or self._bits is None:
            return []
        import numpy as np

        known = self._keys[: self._used]
        begin, end = np.searchsorted(known, (keys.start, keys.stop))
        where: Any = slice(begin, end)
        if allowed is not None:
            wanted = np.fromiter(allowed, dtype=np.int64, count=len(allowed))
            where = np.flatnonzero(np.isin(known, wanted))
        bits = self._bits[: self._used][where]
        if not len(bits):
            return []
        differing = np.zeros(len(bits), dtype=np.uint16)
        for column, word in enumerate(_pack_signs([vector])[0]):
            differing += np.bitwise_count(bits[:, column] ^ word)
        # Few distinct values, each many times: counting them is faster than sorting.
        enough = int(np.searchsorted(np.cumsum(np.bincount(differing)), limit))
        best = np.flatnonzero(differing <= enough)
        best = best[np.argsort(differing[best], kind="stable")][:limit]
        result: list[int] = known[where][best].tolist()
        return result

    def _extend(self, page: list[tuple[int, bytes]]) -> None:
        """Add a page of keys and vectors to the arrays."""
        import numpy as np

        bits = _pack_signs([vector for _, vector in page])
        keys = np.fromiter((key for key, _ in page), dtype=np.int64, count=len(page))
        used = self._used + len(page)
        if self._keys is None or self._bits is None:
            self._keys, self._bits = keys, np.asfortranarray(bits)
        else:
            if used > len(self._keys):
                room = max(used, len(self._keys) * 5 // 4 + 1024)  # grown rarely, so that adding stays cheap
                self._keys = np.resize(self._keys, room)
                wider = np.empty((room, bits.shape[1]), dtype=np.uint64, order="F")
                wider[: self._used] = self._bits[: self._used]
                self._bits = wider
            self._keys[self._used : used] = keys
            self._bits[self._used : used] = bits
        self._used = used
        self.last = page[-1][0]


def _pack_signs(vectors: list[bytes]) -> NDArray[numpy.uint64]:
    """Return the signs of vectors, packed 64 to an integer."""
    import numpy as np

    numbers = np.frombuffer(b"".join(vectors), dtype=np.int8).reshape(len(vectors), -1) > 0
    width = -(-numbers.shape[1] // 64) * 64
    padded = np.zeros((len(vectors), width), dtype=bool)
    padded[:, : numbers.shape[1]] = numbers
    words: NDArray[numpy.uint64] = np.packbits(padded, axis=1).view(np.uint64)
    return words
