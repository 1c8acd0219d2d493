"""Counters of a proxy: requests, compactions, errors, and the time that clew added."""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict, deque
from dataclasses import asdict, dataclass

from clew.message import Json, JsonObject

SAMPLES = 4_096
"""How many of the newest overheads are kept for percentiles."""
CONVERSATIONS = 256


@dataclass(slots=True)
class ConversationStats:
    """What happened to one conversation."""

    compactions: int = 0
    tokens_before: int = 0
    """Tokens of the conversation at its last compaction."""
    tokens_after: int = 0


class Stats:
    """Thread-safe counters, of bounded size."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._wall: deque[float] = deque(maxlen=SAMPLES)
        self._cpu: deque[float] = deque(maxlen=SAMPLES)
        self._conversations: OrderedDict[str, ConversationStats] = OrderedDict()
        self._begun = time.time()

    def count(self, name: str, number: int = 1) -> None:
        """Add to a counter."""
        with self._lock:
            self._counts[name] += number

    def __getitem__(self, name: str) -> int:
        """Return a counter."""
        return self._counts[name]

    def add_overhead(self, wall_ms: float) -> None:
        """Record the time that clew spent on one request before it was forwarded or answered."""
        with self._lock:
            self._wall.append(wall_ms)

    def add_cpu(self, milliseconds: float) -> None:
        """Record the CPU time of one whole request, its response included."""
        with self._lock:
            self._cpu.append(milliseconds)

    def compacted(self, session: str, before: int, after: int) -> None:
        """Record a compaction."""
        with self._lock:
            one = self._conversations.pop(session, ConversationStats())
            one.compactions += 1
            one.tokens_before, one.tokens_after = before, after
            self._conversations[session] = one
            while len(self._conversations) > CONVERSATIONS:
                self._conversations.popitem(last=False)

    def report(self) -> JsonObject:
        """Return everything, for ``/clew/health``."""
        with self._lock:
            counts: JsonObject = dict(self._counts)
            wall, cpu = sorted(self._wall), sorted(self._cpu)
            conversations: JsonObject = {name: asdict(one) for name, one in self._conversations.items()}
        return {
            "status": "ok",
            "seconds": round(time.time() - self._begun),
            "counts": counts,
            "overhead_ms": {"p50": _at(wall, 0.5), "p99": _at(wall, 0.99)},
            "cpu_ms": {"p50": _at(cpu, 0.5), "p99": _at(cpu, 0.99)},
            "conversations": conversations,
        }


def _at(ordered: list[float], share: float) -> Json:
    return round(ordered[min(len(ordered) - 1, int(len(ordered) * share))], 2) if ordered else None
