"""What a span of a session is condensed into: claims, each with its exact sources."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from clew.message import LONGEST_RULE, Cite, Item, Message, Role, Trust, words


class ClaimKind(StrEnum):
    """What a claim is about. The order is the order they are rendered in."""

    GOAL = "goal"
    """The request that the work is about now."""
    NEXT = "next"
    """Where the work stands: the next step, the plan."""
    OPEN = "open"
    """What is still open: a task, a question, a promise, a failing test."""
    USER = "user"
    """What the user said, verbatim; rendered in one story with reports."""
    REPORT = "report"
    """What the agent reported at the end of a turn, verbatim."""
    DECISION = "decision"
    FINDING = "finding"
    """What the agent found out: a verdict or a reason."""
    ERROR = "error"
    """What went wrong, why, what was tried, what fixed it."""
    ARTIFACT = "artifact"
    """A file, command or address that was touched, and how."""
    FACT = "fact"
    """A line that holds exact values."""


ORDER = {kind: place for place, kind in enumerate(ClaimKind)}
"""The place of each kind in a digest; requests and reports are one story, oldest first."""
ORDER[ClaimKind.REPORT] = ORDER[ClaimKind.USER]
ALSO = "also: "
"""How a claim begins that is nothing but a list of names."""


class Claim(NamedTuple):
    """One line of a digest. A tuple, for a pass makes thousands, and most are weighed and left out."""

    id: str
    """Unique in its session, short enough to cite: ``d3.17``."""
    kind: ClaimKind
    text: str
    sources: tuple[Cite, ...]
    """Where it comes from. Never empty: a claim without a source is refused."""
    trust: Trust
    """The lowest label of its sources."""
    verbatim: bool = False
    """The text is a quote of its first source, not a paraphrase."""


@dataclass(frozen=True, slots=True)
class Pin:
    """A rule that stands, word for word. No rung may touch it."""

    id: str
    quote: str
    source: Cite
    trust: Trust
    """Of the speaker: user, developer or system."""

    @property
    def is_cut(self) -> bool:
        """Whether the quote is only the beginning of what its source says."""
        return (self.source.end or 0) - self.source.start > max(LONGEST_RULE, len(self.quote))


@dataclass(frozen=True, slots=True)
class Digest:
    """The condensed form of a span of a session."""

    id: str
    """``d1``, ``d2``, …: counted in the session."""
    level: int
    """0 over messages; one more than the highest digest it folds."""
    covers: tuple[str, ...]
    """The ids of the messages it stands for, in order, those of folded digests included."""
    checksum: str
    """Over the covered messages, so that nobody can exchange a source unnoticed."""
    claims: tuple[Claim, ...]
    pins: tuple[Pin, ...] = ()
    """The rules that stood when it was made; rendered above its claims."""
    folds: tuple[str, ...] = ()
    """The ids of the digests that went into it."""
    author: str = "clew"
    """``clew`` for the model-free digest, else the model's name."""
    prompt_version: str | None = None
    """Of the prompt a model was given."""
    drawn: Message | None = field(default=None, init=False, repr=False, compare=False)
    """The message that it is shown as, kept by ``digest_message``: a pass asks for it several times."""

    @property
    def trust(self) -> Trust:
        """Return the lowest label of its claims; of none, untrusted."""
        return min((claim.trust for claim in self.claims), default=Trust.UNTRUSTED)


def checksum(items: Iterable[Item], before: str = "") -> str:
    """Return the hash over messages, chained to that of the digests they are folded with."""
    state = hashlib.sha256(before.encode())
    said: list[str] = []
    for name, message in items:
        parts = message.parts
        if len(parts) == 1:  # as most have
            said.append(f"\n{name} {_ROLES[message.role]}{words(parts[0])}")
        else:
            said.append(f"\n{name} {_ROLES[message.role]}")
            said += map(words, parts)
        if len(said) >= _AT_ONCE:
            state.update("".join(said).encode("utf-8", "surrogatepass"))
            said.clear()
    state.update("".join(said).encode("utf-8", "surrogatepass"))
    return f"sha256:{state.hexdigest()}"


_AT_ONCE = 100
"""Texts that are hashed together: few enough to be small, and quicker than one by one."""
_ROLES = {role: role.value for role in Role}
