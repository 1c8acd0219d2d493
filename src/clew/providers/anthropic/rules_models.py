"""Request parameters that each Claude model accepts. Rules do not apply to models that are not listed.

``known_family({"model": "claude-opus-4-7"}).sampling`` is ``Sampling.NONE``: a temperature is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto

from clew.message import Json, JsonObject
from clew.providers.shapes import as_text


class Sampling(Enum):
    """Whether ``temperature``, ``top_p`` and ``top_k`` may be given."""

    ANY = auto()
    DEFAULTS = auto()
    """Only with their default values."""
    NONE = auto()


BASIC_EFFORTS = ("low", "medium", "high")
MAX_EFFORTS = (*BASIC_EFFORTS, "max")
ALL_EFFORTS = (*BASIC_EFFORTS, "xhigh", "max")


@dataclass(frozen=True, slots=True)
class ClaudeFamily:
    """The parameters that the models of one family accept."""

    efforts: tuple[str, ...] = ()
    prefill: bool = True
    """The request may end with the beginning of the answer."""
    thinking_budget: bool = True
    """``thinking: {type: enabled, budget_tokens}`` is accepted."""
    thinking_off: bool = True
    """``thinking: {type: disabled}`` is accepted."""
    sampling: Sampling = Sampling.ANY
    system_turns: bool = False
    """``role: system`` is accepted in the message list."""


_CLASSIC = ClaudeFamily()
_ADAPTIVE = ClaudeFamily(MAX_EFFORTS, prefill=False)
_OPUS_4_7 = ClaudeFamily(ALL_EFFORTS, prefill=False, thinking_budget=False, sampling=Sampling.NONE)
_OPUS_4_8 = ClaudeFamily(
    ALL_EFFORTS, prefill=False, thinking_budget=False, sampling=Sampling.NONE, system_turns=True
)
# Sonnet 5 accepts a system turn and ignores it, so no rule reports it.
_SONNET_5 = ClaudeFamily(
    ALL_EFFORTS, prefill=False, thinking_budget=False, sampling=Sampling.DEFAULTS, system_turns=True
)
_FABLE_5 = ClaudeFamily(
    ALL_EFFORTS,
    prefill=False,
    thinking_budget=False,
    thinking_off=False,
    sampling=Sampling.NONE,
    system_turns=True,
)

FAMILIES: dict[str, ClaudeFamily] = {
    "3-haiku": _CLASSIC,
    "3-opus": _CLASSIC,
    "3-sonnet": _CLASSIC,
    "3-5-haiku": _CLASSIC,
    "3-5-sonnet": _CLASSIC,
    "3-7-sonnet": _CLASSIC,
    "haiku-4-5": _CLASSIC,
    "opus-4": _CLASSIC,
    "opus-4-1": _CLASSIC,
    "opus-4-5": ClaudeFamily(BASIC_EFFORTS),
    "opus-4-6": _ADAPTIVE,
    "opus-4-7": _OPUS_4_7,
    "opus-4-8": _OPUS_4_8,
    "opus-5": _OPUS_4_8,
    "sonnet-4": _CLASSIC,
    "sonnet-4-5": _CLASSIC,
    "sonnet-4-6": _ADAPTIVE,
    "sonnet-5": _SONNET_5,
    "fable-5": _FABLE_5,
    "mythos-5": _FABLE_5,
}
"""From Anthropic's claude-api skill (July 2026), pydantic-ai's profiles (August 2026) and recordings."""

# claude-opus-4-8, us.anthropic.claude-sonnet-4-5-20250929-v1:0, anthropic/claude-opus-4.7
_NAME = re.compile(r"claude-(?:(\d(?:[-.]\d)?)-([a-z]+)|([a-z]+)-(\d(?:[-.]\d{1,2})?))(?!\d)")


def family_of(model: Json) -> str | None:
    """Return the family in a model's name, in any provider's spelling; None if it is not a Claude."""
    match = _NAME.search(as_text(model).lower())
    if match is None:
        return None
    old_version, old_tier, tier, version = match.groups()
    name = f"{old_version}-{old_tier}" if old_tier else f"{tier}-{version}"
    return name.replace(".", "-").removesuffix("-0")


def known_family(body: JsonObject) -> ClaudeFamily | None:
    """Return the family of the request's model, or None if it is not listed."""
    return FAMILIES.get(family_of(body.get("model")) or "")
