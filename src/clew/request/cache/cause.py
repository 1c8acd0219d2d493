"""Find out why a prompt cache did not read what the previous request sent."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from clew.budget import FIVE_MINUTES
from clew.request.cache.layout import Layout


class Miss(StrEnum):
    """Reasons for a cache miss, in the order in which they are checked."""

    NONE = "none"
    """Everything sent before is sent again unchanged."""
    FIRST = "first"
    MODEL = "model changed"
    TOOLS = "tools changed"
    SYSTEM = "system changed"
    SETTINGS = "settings changed"
    COMPACTION = "compaction"
    UNDO = "undo"
    PREFIX = "prefix changed"
    EXPIRED = "expired"
    BELOW_MINIMUM = "below minimum"
    UNKNOWN = "unknown"
    """Nothing changed, but the provider read nothing from its cache."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a cache missed, or ``Miss.NONE``."""

    miss: Miss
    why: str
    """The explanation shown to people."""
    block: int | None = None
    """The first block that differs, counted from 1; None if none does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """Conditions besides the bytes that decide whether a cached prefix can be read."""

    seconds_since: float = 0.0
    """Since the previous request."""
    life_seconds: float = FIVE_MINUTES
    prefix_tokens: int | None = None
    """Tokens of the prefix that both requests share; None if not counted."""
    minimum_tokens: int | None = None
    """The shortest prefix that the provider caches."""


ALIVE = Life()


def cause_of_miss(before: Layout | None, after: Layout, life: Life = ALIVE) -> Cause:
    """Return why the second of two requests cannot read all of the first from the cache."""
    if before is None:
        return Cause(Miss.FIRST, "no earlier request is known")
    if (before.wire, before.model) != (after.wire, after.model):
        return Cause(Miss.MODEL, f"the model changed from {before.model or '?'} to {after.model or '?'}", 1)
    shared = before.shared(after)
    if shared < before.kept:
        return _changed(before, after, shared)
    if before.settings != after.settings:
        return Cause(Miss.SETTINGS, "the choice of tools, or the settings for thinking, changed")
    if life.seconds_since >= life.life_seconds:
        return Cause(
            Miss.EXPIRED,
            f"{life.seconds_since:,.0f} seconds passed; the cache lives {life.life_seconds:,.0f}",
        )
    least = life.minimum_tokens
    if least is not None and life.prefix_tokens is not None and life.prefix_tokens < least:
        return Cause(
            Miss.BELOW_MINIMUM, f"{life.prefix_tokens:,} shared tokens, below the minimum of {least:,}"
        )
    return Cause(Miss.NONE, "all that was sent before was sent again")


def _changed(before: Layout, after: Layout, shared: int) -> Cause:
    block = shared + 1
    # If one of the two requests ends here, the other's block was added or removed.
    places = {layout.places[shared] for layout in (before, after) if shared < len(layout.places)}
    if "tools" in places:
        return Cause(Miss.TOOLS, f"the list of tools changed at block {block}", block)
    if "system" in places:
        return Cause(Miss.SYSTEM, f"the system prompt changed at block {block}", block)
    made, gone = _latest(after), _latest(before)
    if made > gone:
        return Cause(Miss.COMPACTION, f"the prefix changed at block {block} by compaction d{made}", block)
    if gone > made:
        return Cause(Miss.UNDO, f"the prefix changed at block {block} by the undo of d{gone}", block)
    return Cause(Miss.PREFIX, f"the prefix changed at block {block}", block)


def _latest(layout: Layout) -> int:
    """Return the number of the newest digest in a request; 0 if it has none."""
    return max((int(one.removeprefix("d")) for one in layout.digests), default=0)
