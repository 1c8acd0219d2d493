"""One model request as the log records it: token usage, and what the prompt cache read, wrote and missed."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

from clew.message import JsonObject
from clew.providers.model import Usage
from clew.request.cache.cause import ALIVE, Cause, Life, Miss, cause_of_miss
from clew.request.cache.layout import Layout


@dataclass(frozen=True, slots=True)
class Call:
    """The usage of one request and its cache outcome."""

    layout: Layout
    usage: Usage
    cause: Cause
    missed_tokens: int = 0
    """Tokens that the previous request left in the cache and this one did not read."""

    @classmethod
    def after(cls, before: Call | None, layout: Layout, usage: Usage, life: Life = ALIVE) -> Call:
        """Return a call with the cause of its cache miss, judged against the previous call."""
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
        """Return the tokens the next request can read from the cache.

        Anthropic reports what it stores; other providers are assumed to store the whole input.
        """
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
