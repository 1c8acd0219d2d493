"""A rule and the values it consists of: kind, scope, strength, duration, reasons, state.

"Never push to main" is a prohibition (kind) about ``push`` and ``main`` (scope) that must be kept (strength)
until it is lifted (duration), found because of the cue ``ban`` (reason), and active (state).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from clew.message import Cite, Trust
from clew.rules.codec import STORED_NAME


class Kind(StrEnum):
    """What a rule does."""

    PROHIBITION = "prohibition"
    REQUIREMENT = "requirement"
    LIMIT = "limit"
    PREFERENCE = "preference"
    SCOPE = "scope"
    """It restricts the work to something: these files, this database, the report."""
    PERMISSION = "permission"


class Strength(StrEnum):
    """How binding the speaker made it."""

    MUST = "must"
    SHOULD = "should"
    MAY = "may"


class Lasts(StrEnum):
    """How long a rule holds."""

    OPEN = "open"
    """Nothing was said: until it is lifted."""
    ONWARD = "from now on"
    SESSION = "this session"
    UNTIL = "until"
    """Until the event in ``Duration.words``."""
    FOR_NOW = "for now"
    TASK = "this task"
    TURN = "this turn"
    """Until the speaker's next message."""


class Force(StrEnum):
    """How far a binding sentence reaches."""

    STANDING = "standing"
    """It holds from now on: pinned until it ends."""
    LIKELY = "likely"
    """It may be a rule, but is not certain enough to be pinned: it stays in the speaker's own words."""
    DECISION = "decision"
    """A lasting choice about this work, which a later one may replace."""
    REQUEST = "request"
    """It concerns only the current step."""


class Verdict(StrEnum):
    """The label that a model gave to a sentence."""

    STANDING = "standing"
    DECISION = "decision"
    REQUEST = "request"
    NONE = "none"


class Span(NamedTuple):
    """A piece of a message: characters ``start`` to ``end`` of the text of part ``part``."""

    part: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Duration:
    """How long a rule holds, and the words that said so."""

    lasts: Lasts = Lasts.OPEN
    words: str = ""


@dataclass(frozen=True, slots=True)
class Scope:
    """What a rule is about, in the speaker's words, in order."""

    paths: tuple[str, ...] = ()
    """Files, folders and globs."""
    tools: tuple[str, ...] = ()
    """Commands and actions: ``git push``, ``commit``, ``npm``."""
    names: tuple[str, ...] = ()
    """Identifiers of code, and text in backticks."""
    topics: tuple[str, ...] = ()
    """The other content words, in lower case."""
    duration: Duration = Duration()


BAN_LEAD = "ban_lead"
"""The cue of an item whose heading or lead forbids it: "Please don't:", "## Forbidden"."""


class Reason(NamedTuple):
    """A cue that fired: its name, the matched words, its weight."""

    cue: str
    words: str
    weight: float


class RuleStatus(StrEnum):
    """Whether a rule is in force, and if not, why."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    """A newer rule replaced it; ``replaced_by`` has its id if that is kept too."""
    LIFTED = "lifted"
    """Its speaker withdrew it."""
    REVOKED = "revoked"
    """A person removed it by hand."""
    EXPIRED = "expired"
    """Its time is over."""
    DISMISSED = "dismissed"
    """A model judged that it is no standing rule; its words stay in the user's messages and their summary."""
    WAITING = "waiting"
    """Set by hand in an imported file; it is in force once a person here confirms it."""


class MadeBy(StrEnum):
    """Where a rule comes from."""

    FOUND = "found"
    """Found in a message of the session."""
    PERSON = "person"
    """Set by hand."""
    IMPORTED = "imported"
    """Set by hand elsewhere and imported with a file."""


class RuleRef(NamedTuple):
    """Identifies a rule by its words and their position; ``source`` is None for a rule set by hand."""

    quote: str
    source: Cite | None


ANYTHING = Scope()
"""The scope of a rule that names nothing."""
LIKELY = frozenset(
    (
        "it says how to work",
        "it says what to do in a case",
        "it says what the speaker prefers",
        "it restrains the work",
    )
)
"""Values of ``because`` that are wrong in about one case in ten; the others are clear."""
CALLED = {
    Verdict.STANDING: "a standing rule",
    Verdict.DECISION: "a decision about the work",
    Verdict.REQUEST: "a request for one step",
    Verdict.NONE: "not binding",
}
"""What a model calls a sentence, in words."""
CALLED_RULE = "the summariser calls it a rule"
"""The value of ``because`` of a rule that only a model found."""
LEAST_CLEAR = 0.9
"""Confidence of the finder below which a rule is only likely; chosen by hand."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A sentence that binds the work: as the finder returns it, and with its state as the ledger keeps it.

    The finder leaves ``id`` and the message of ``source`` empty; ``Pins`` fills them in.
    """

    quote: str
    """Verbatim."""
    source: Cite | None
    """Its position; None for one that was set by hand."""
    kind: Kind = Kind.REQUIREMENT
    scope: Scope = ANYTHING
    strength: Strength = Strength.MUST
    trust: Trust = Trust.USER
    """The label of the text it was found in."""
    confidence: float = 1.0
    """Between 0 and 1; see ``reasons``."""
    reasons: tuple[Reason, ...] = ()
    """The cues in its words that made it a rule, heaviest first."""
    lead: str = ""
    """The line that introduces the list the quote is an item of: "Please don't:" above "push"."""
    force: Force = Force.STANDING
    because: str = ""
    """Why it is a standing rule, a decision or a request, in one line; empty if it was set by hand."""
    id: str = ""
    made_by: MadeBy = MadeBy.FOUND
    repeated: tuple[Cite, ...] = ()
    """Where the same words were repeated, at most ``MOST_REPEATED`` places."""
    status: RuleStatus = RuleStatus.ACTIVE
    ended_by: Cite | None = None
    """The words that ended it, or may have (``end_is_certain``); None if a person did it by hand."""
    replaced_by: str = ""
    """The id of the rule that replaced it."""
    why: str = ""
    """Why it ended, in one line."""
    end_is_certain: bool = field(default=True, metadata={STORED_NAME: "certain"})
    """False if ``ended_by`` may not have ended it: it stays in force, and a person should decide."""
    verdict: Verdict | None = None
    """What the model that judged it calls it; None if none did."""
    judged_by: str = ""
    """The model that judged it."""

    @property
    def span(self) -> Span:
        """Return its position in the message; empty for a rule set by hand."""
        return Span(*self.source[1:3], self.source.end or 0) if self.source else Span(0, 0, 0)

    @property
    def needed_lead(self) -> str:
        """Return the lead if the quote needs it: "push" alone would order what "Please don't:" forbids."""
        by_lead = not self.reasons or any(reason.cue == BAN_LEAD for reason in self.reasons)
        # A digest prints it between brackets before the quote: no quotation mark may be in it.
        return " ".join(self.lead.replace('"', "'").split()) if by_lead else ""

    @property
    def readable(self) -> str:
        """Return the words so that they can be read alone."""
        return f"{self.needed_lead} {self.quote}".lstrip()

    @property
    def is_active(self) -> bool:
        """Whether it is in force."""
        return self.status is RuleStatus.ACTIVE

    @property
    def found_because(self) -> str:
        """Return why it is a rule, in one line."""
        if self.made_by is not MadeBy.FOUND:
            return "a person set it"
        words = ", ".join(f'"{reason.words}"' for reason in self.reasons[:2] if reason.words)
        return self.because or (f"it says {words}" if words else "it was found in an earlier part")

    @property
    def certainty(self) -> str:
        """Return how certain it is that this is a rule: "certain", "clear", "likely" or "doubted"."""
        if self.made_by is not MadeBy.FOUND:
            return "certain"
        if self.verdict is not None:
            return "clear" if self.verdict is Verdict.STANDING else "doubted"
        return "likely" if self.because in LIKELY or self.confidence < LEAST_CLEAR else "clear"

    @property
    def judgement(self) -> str:
        """Return what the summariser said about it, in words; empty if it was not asked."""
        if self.verdict is None:
            return ""
        if self.verdict is Verdict.STANDING:
            how = "found" if self.because == CALLED_RULE else "confirmed"
            return f"{how} by the summariser ({self.judged_by})"
        holds = "; it holds until you switch it off" if self.is_active else ""
        return f"doubted: the summariser ({self.judged_by}) calls it {CALLED[self.verdict]}{holds}"

    @property
    def ref(self) -> RuleRef:
        """Return the reference by which the log identifies it."""
        return RuleRef(self.quote, self.source)


Pin = Rule
"""The public name of a rule that a session keeps."""


class How(StrEnum):
    """How a rule ended."""

    LIFTED = "lifted"
    """The speaker withdrew it: "you can push now"."""
    SUPERSEDED = "superseded"
    """A newer rule on the same subject contradicts it: "use tabs, not spaces"."""
    EXPIRED = "expired"
    """It was provisional, and the speaker gave the go-ahead."""


@dataclass(frozen=True, slots=True)
class Retirement:
    """The end of an active rule, with the words that ended it."""

    rule: str
    """The id of the ended rule."""
    how: How
    quote: str
    span: Span
    why: str
    """One line a person can check: which words matched what."""
    certain: bool = True
    """False if the words name no rule ("ignore that") and the most recent one was taken."""
