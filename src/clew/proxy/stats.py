"""Figures of a proxy: requests, compactions, errors, added time; usage and cost of each conversation.

``UsageReader`` reads the usage that a response reports while it is relayed, without holding it back. It keeps
only the beginning and the end: Anthropic reports input in the first event and output in one of the last;
OpenAI's APIs report both at the end.
"""

from __future__ import annotations

import json
import re
import threading
import time
import zlib
from collections import Counter, OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from clew.budget.cost import relative_output_price
from clew.message import Json, JsonObject, Usage
from clew.tokens import model_named

SAMPLES = 4_096
"""How many of the newest overheads are kept for percentiles."""
CONVERSATIONS = 256
"""Conversations whose bills are kept, the newest; chosen by hand, far above what one person runs at once."""
SUMMARY_TOKENS = 2_000
"""Output of the summary that a model would have written; agents' own summaries have 1,000 to 8,000 tokens."""
COLD_SHARE = 0.2
"""A request that read less of its input than this from the cache found it cold, with or without clew."""


@dataclass(slots=True)
class ConversationStats:
    """What happened to one conversation; costs are in tokens of plain input."""

    model: str = ""
    session: str = ""
    """Its session in clew's log, after a compaction."""
    requests: int = 0
    tokens: int = 0
    """Input of the last request."""
    input_tokens: int = 0
    cache_reads: int = 0
    cache_writes: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    cost_without: float = 0.0
    """Estimated: the client's own requests, and a model's summary for each compaction that clew answered."""
    compactions: int = 0
    tokens_before: int = 0
    """Tokens of the conversation at its last compaction."""
    tokens_after: int = 0
    seen: float = 0.0
    """Seconds since 1970."""
    whole: float = 0.0
    """Input of the last request as the client sent it, before a compaction in flight."""

    def add_usage(self, usage: Usage, growth: float, *, rewritten: bool) -> None:
        """Add a request: its usage, and how much larger the client's own body was than the one sent.

        Without clew the client's own body would have been sent. Its cost is estimated: what the last request
        held is read from the cache, unless that was cold, and the new part is written to it.
        """
        model = model_named(self.model)
        read_price, write_price = model.cache_read, model.cache_write
        output = usage.output_tokens * relative_output_price(model)
        fresh = usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens
        cost = fresh + usage.cache_read_tokens * read_price + usage.cache_write_tokens * write_price + output
        whole = usage.input_tokens * growth
        grown = whole - self.whole
        is_cold = not rewritten and usage.cache_read_tokens < COLD_SHARE * usage.input_tokens
        if grown < 0 or not self.whole or (growth == 1.0 and not rewritten):
            without = cost  # the same request with and without clew
        elif is_cold:
            without = whole * write_price + output
        else:
            without = self.whole * read_price + grown * write_price + output
        self.requests += 1
        self.whole, self.tokens = whole, usage.input_tokens
        self.input_tokens += usage.input_tokens
        self.cache_reads += usage.cache_read_tokens
        self.cache_writes += usage.cache_write_tokens
        self.output_tokens += usage.output_tokens
        self.cost += cost
        self.cost_without += without

    def add_compaction(self, before: int, after: int, *, answered: bool) -> None:
        """Add a compaction."""
        self.compactions += 1
        self.tokens_before, self.tokens_after = before, after
        if answered:
            model = model_named(self.model)
            self.cost_without += (self.whole or before) * model.cache_read
            self.cost_without += SUMMARY_TOKENS * relative_output_price(model)

    def report(self) -> JsonObject:
        """Return it as JSON; costs in US dollars if the price of the model is known."""
        price = model_named(self.model).input_price
        value: JsonObject = {key: one for key, one in asdict(self).items() if key != "whole"}
        for name, cost in (("cost", self.cost), ("cost_without", self.cost_without)):
            value[name] = round(cost if price is None else cost * price / 1e6, 4)
        return value | {"unit": "tokens of input" if price is None else "US dollars"}


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

    @contextmanager
    def conversation(self, name: str) -> Iterator[ConversationStats]:
        """Return the figures of a conversation, to be changed; those not seen for the longest are dropped."""
        with self._lock:
            stats = self._conversations.pop(name, None) or ConversationStats()
            self._conversations[name] = stats
            stats.seen = time.time()
            while len(self._conversations) > CONVERSATIONS:
                self._conversations.popitem(last=False)
            yield stats

    def report(self) -> JsonObject:
        """Return everything, for ``/clew/health``."""
        with self._lock:
            counts: JsonObject = dict(self._counts)
            wall, cpu = sorted(self._wall), sorted(self._cpu)
            conversations: JsonObject = {name: stats.report() for name, stats in self._conversations.items()}
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


# The usage of a response -----------------------------------------------------------------------------

HEAD_BYTES, TAIL_BYTES = 16 << 10, 64 << 10
_USAGE = re.compile(r'"usage":\s*')
_GZIP_OR_ZLIB = zlib.MAX_WBITS | 32  # zlib tells the two encodings apart by their headers


class UsageReader:
    """Takes the pieces of one response; ``usage`` is what it reported."""

    def __init__(self, encoding: str = "") -> None:
        self._head, self._tail = bytearray(), bytearray()
        kind = encoding.strip().lower()
        self._readable = kind in ("", "identity", "gzip", "deflate")
        self._inflate = zlib.decompressobj(_GZIP_OR_ZLIB) if kind in ("gzip", "deflate") else None

    def add(self, piece: bytes) -> None:
        """Look at the next piece; an unreadable response is ignored."""
        if not self._readable:
            return
        try:
            data = self._inflate.decompress(piece) if self._inflate else piece
        except zlib.error:
            self._readable = False
            return
        room = HEAD_BYTES - len(self._head)
        self._head += data[: max(0, room)]
        self._tail += data[max(0, room) :]
        if len(self._tail) > 2 * TAIL_BYTES:
            del self._tail[:-TAIL_BYTES]

    @property
    def usage(self) -> Usage | None:
        """Return the usage; None if the response reports none or cannot be read."""
        found: dict[str, Any] = {}
        for part in (self._head, self._tail[-TAIL_BYTES:]):
            text = bytes(part).decode("utf-8", "replace")
            for match in _USAGE.finditer(text):
                found |= _object_at(text, match.end())
        return _usage(found) if found else None


def _object_at(text: str, place: int) -> dict[str, Any]:
    """Return the fields with a value of the JSON object that begins at a place; empty if it is cut off."""
    try:
        value, _ = json.JSONDecoder().raw_decode(text, place)
    except ValueError:
        return {}
    return {key: one for key, one in value.items() if one is not None} if isinstance(value, dict) else {}


def _usage(found: dict[str, Any]) -> Usage | None:
    """Return a usage of any of the three APIs; Anthropic alone does not count cached input as input."""
    details = found.get("input_tokens_details") or found.get("prompt_tokens_details") or {}
    read, written = (_number(found, f"cache_{name}_input_tokens") for name in ("read", "creation"))
    cached, kept = _number(details, "cached_tokens"), _number(details, "cache_write_tokens")
    fresh = _number(found, "input_tokens") + _number(found, "prompt_tokens")
    output = _number(found, "output_tokens") + _number(found, "completion_tokens")
    whole = fresh + read + written
    return Usage(whole, output, read + cached, written + kept) if whole else None


def _number(value: Any, name: str) -> int:  # noqa: ANN401  # JSON
    number = value.get(name) if isinstance(value, dict) else None
    return number if isinstance(number, int) else 0
