"""A value that a session turned out to need again."""

from __future__ import annotations

from dataclasses import dataclass, field

from clew_evals.reading import PassageSpeaker

RARE_MENTIONS = 3
FAR_SHARE = 0.25
HARD_SHARE = 0.10


@dataclass(frozen=True, slots=True)
class Probe:
    """A value that the session turned out to need again."""

    kind: str
    value: str
    key: str
    """What must be found in a view: of a path its last two components."""
    origin: PassageSpeaker
    """Who named it first."""
    first_turn: int
    last_turn: int
    """Of the messages that are compacted, counted from 0."""
    use_turn: int
    use: str
    """Where the agent wrote it: ``text``, ``thinking``, or the tool and the argument."""
    question: str
    """The words around its use, with a gap in its place."""
    mentions: int
    gap_tokens: int
    """Between its last mention and the cut."""
    gap_share: float
    """The same as a share of what is compacted."""
    refetched: bool
    """A tool had to show it again before the agent wrote it."""
    fetch: tuple[int, int] | None
    """The smallest tool result that holds it: its turn and its tokens; what losing the value costs."""
    lines: tuple[str, ...] = field(repr=False)
    """Where it was said: first, last, and some between."""

    @property
    def rare(self) -> bool:
        """Whether it was said at most three times."""
        return self.mentions <= RARE_MENTIONS

    @property
    def far(self) -> bool:
        """Whether it was last said more than a quarter of the compacted part ago."""
        return self.gap_share > FAR_SHARE

    @property
    def hard(self) -> bool:
        """Whether it is rare and no short tail would hold it."""
        return self.rare and self.gap_share > HARD_SHARE
