"""One request to a model as the log keeps it: what it used, and what its cache read, wrote and missed."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

from clew.context.cache.cause import ALIVE, Cause, Life, Miss, cause_of_miss
from clew.context.cache.layout import Layout
from clew.message import JsonObject
from clew.ports import Usage


@dataclass(frozen=True, slots=True)
class Call:
    """What one request cost, and what became of its cache."""

    layout: Layout
    usage: Usage
    cause: Cause
    missed_tokens: int = 0
    """What the request before had left in the cache and this one did not read."""

    @classmethod
    def after(cls, before: Call | None, layout: Layout, usage: Usage, life: Life = ALIVE) -> Call:
        """Return a call with the cause of its miss, judged by the call before it."""
        kept = before.kept_tokens if before else 0
        missed = max(0, kept - usage.cache_read_tokens)
        if life.prefix_tokens is None and before:
            life = replace(life, prefix_tokens=before.usage.input_tokens)
        cause = cause_of_miss(before.layout if before else None, layout, life)
        if cause.miss is Miss.NONE and missed and not usage.cache_read_tokens:
            cause = Cause(Miss.UNKNOWN, "nothing changed, and the provider read nothing from its cache")
        return cls(layout, usage, cause, missed)

    @property
    def kept_tokens(self) -> int:
        """Return what the next request can hope to read: Anthropic tells what it keeps, others keep all."""
        if self.layout.wire == "anthropic":
            return self.usage.cache_read_tokens + self.usage.cache_write_tokens
        return self.usage.input_tokens

    def to_json(self) -> JsonObject:
        """Return the body of the event of kind ``call``."""
        return {
            "wire": self.layout.wire,
            "model": self.layout.model,
            "blocks": self.layout.kept,
            "prefix": self.layout.chain[self.layout.kept - 1].hex() if self.layout.kept else "",
            "usage": asdict(self.usage),
            "cache": {
                "read": self.usage.cache_read_tokens,
                "written": self.usage.cache_write_tokens,
                "missed": self.missed_tokens,
                "cause": self.cause.miss.value,
                "why": self.cause.why,
                "block": self.cause.block,
            },
        }
