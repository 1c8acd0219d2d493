"""The goal and its changes, in the words of whoever set it.

The first request opens it. Later ones change it where the user says so ("now let's…", "instead…", "new
task"), or asks for something new after the work was reported done. A plan that a model wrote and the
person approved is a goal as well; whatever else machines and tools write is none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from enum import StrEnum

from clew.ledger.exchange import Reading
from clew.ledger.phrases import Phrases
from clew.ledger.requests import asks_for_nothing
from clew.ledger.speech import ASSISTANT, PLAN, USER, Said
from clew.message import Cite, Trust

LONGEST_QUOTE = 2_000
"""Characters of a request that are quoted; a longer one ends at a paragraph before that."""


class GoalKind(StrEnum):
    """How a goal came about."""

    FIRST = "first"
    PLAN = "plan"
    """A plan that a model wrote and a person approved."""
    CHANGED = "changed"
    """The user turned to something else."""
    NEXT = "next"
    """A new task after the last one was reported done."""
    BACK = "back"
    """The user took the last one back; it is again the one before."""


@dataclass(frozen=True, slots=True)
class Goal:
    """What the session is about, from here on."""

    id: str
    kind: GoalKind
    quote: str
    source: Cite
    trust: Trust


_EMPTY_WORDS = re.compile(
    r"""\W*+(?:(?>
    good\ morning|thank\ you|go\ on|go\ ahead|do\ it|do\ that|run\ it|try\ again
    |commit\ (?:this|it|and\ push|please)
    |hi|hello|hey|yo|there|claude|everyone|all
    |yes|yeah|yep|yup|nope|no|okay|ok|k|sure|please|thanks|thank|thx|ty|lgtm
    |cool|great|good|nice|perfect|awesome|done
    |continue|go|proceed|retry|again|ping|test|commit|push
    )\b\W*+)++""",
    re.VERBOSE | re.IGNORECASE,
)
"""Greetings, thanks, and words that only move the work along."""
_FIRST_WORD = re.compile(r"\W*(\w+)")
_OPENERS = (
    r"^\W*(?:(?:ok(?:ay)?|great|perfect|cool|good|nice|alright|thanks|thank\ you|yes|so|and|done)\b[\s,.!]*)*"
)
_TURN = re.compile(
    _OPENERS
    + r"""(?:
      (?:now|next)\b[\s,]+
      (?:let[’']?s|please|we|can\ (?:you|we)|could\ you|i(?:[’']d|\ want|\ need|\ would)|implement|add|fix|do
        |write|create|build|make|update|refactor|move|start|work|look|run|review|test|check|the\ next)\b
    | (?:new|next|different|another|separate)[ ]
      (?:task|topic|issue|problem|feature|goal|thing|question|request)\b
    | let[’']?s\ (?:now\ )?
      (?:move\ on|switch\ (?:to|gears)|turn\ to|start\ (?:on|with|over)|go\ on\ to|work\ on|shift)\b
    | (?:forget|scrap|drop|abandon|ignore)[ ]
      (?:that|this|all\ (?:that|of)|it|about|the\ (?:previous|last|earlier))\b
    | (?:actually|wait|no|hold\ on|change\ of\ plans?)\b[,.!\s-]+
      (?:let[’']?s|instead|forget|i\ (?:want|need)|we\ (?:should|need)|do)\b
    | instead\b(?!\ of)
    | moving\ on\b
    | (?:switch|change)\ (?:of\ )?(?:topic|plan|direction)
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_REQUEST = re.compile(
    _OPENERS
    + r"""(?:(?:now|also|then|please|next)\b[\s,]*)*
    (?: (?:can|could|would)\ (?:you|we)\b | i(?:[’']d\ like|\ want|\ need|\ would\ like)\b
      | we\ (?:need|should|want|must)\b | let[’']?s\b
      | (?:implement|add|fix|write|create|build|make|update|refactor|move|rename|remove|delete|design|document
          |investigate|analy[sz]e|review|port|migrate|convert|optimi[sz]e|improve|replace|extract|set\ up|help
          |find|debug|redesign|change)\b )""",
    re.VERBOSE | re.IGNORECASE,
)
_OPENING_WORDS = "ok okay great perfect cool good nice alright thanks thank yes so and done"
_TURN_WORDS = frozenset(
    f"""{_OPENING_WORDS}
    now next new different another separate let lets forget scrap drop abandon ignore actually wait no hold
    change instead moving switch
    """.split()
)
"""What ``_TURN`` can begin with."""
_REQUEST_WORDS = frozenset(
    f"""{_OPENING_WORDS}
    now also then please next can could would i we let lets implement add fix write create build make update
    refactor move rename remove delete design document investigate analyse analyze review port migrate convert
    optimise optimize improve replace extract set help find debug redesign change
    """.split()
)
"""What ``_REQUEST`` can begin with."""
_DONE = re.compile(
    r"\b(?:done|completed?|finished|implemented|fixed|all (?:tests|checks) pass\w*|committed|pushed|merged"
    r"|created|updated|summary|successfully|ready)\b"
)
"""In lower case: a pattern that need not look at the case is several times as fast."""
_DONE_WORDS = Phrases(
    (
        "done complete completed finished implemented fixed all committed pushed merged created updated"
        " summary successfully ready",
    )
)
_ASIDE = re.compile(
    r"\b(?:explain|check|look\s+(?:at|once|again)|list|show|tell|give|print|again|confirm|clarify|discuss"
    r"|why|what|how)\b",
    re.IGNORECASE,
)
"""Who asks to be shown something stays with the goal."""
_WITHDRAWN = re.compile(
    r"""\W*(?:(?:ok(?:ay)?|actually|no|wait|sorry|oh|hm+)\b\W*)*
    (?:never\ ?mind|forget\ (?:it|that|about\ (?:it|that))
      |(?:scrap|cancel|drop)\ (?:it|that)|don[’']?t\ bother)
    (?:\W+(?:for\ now|then|please|thanks|thank\ you|sorry))*\W*""",
    re.VERBOSE | re.IGNORECASE,
)
"""Words that take back what was asked for last, and ask for nothing instead."""
_LONGEST_WITHDRAWAL = 80
_OPENING = 60
_WORD = re.compile(r"[^\W\d_]{4,}")
_NEW_TASK_WORDS = 5
_FAMILIAR = 0.34
"""Share of a request's words that the current goal has too, above which it is about the same thing."""
_DONE_SIDES = 400


@dataclass(slots=True)
class Goals:
    """Keeps the goals, oldest first; the last one is current."""

    goals: list[Goal] = field(default_factory=list)
    reported_done: bool = False
    """The model said that it is done, and made no call since."""

    @property
    def all(self) -> tuple[Goal, ...]:
        """Return every goal so far."""
        return tuple(self.goals)

    @property
    def current(self) -> Goal | None:
        """Return what the session is about now."""
        return self.goals[-1] if self.goals else None

    def add(self, reading: Reading) -> None:
        """Take in a message."""
        if reading.calls:
            self.reported_done = False
        for said in reading.said:
            if said.speaker is ASSISTANT:
                self.reported_done = not reading.calls and _says_done(said.text)
            elif self.goals and _takes_back(said):
                self._go_back()
            elif (kind := self._kind(said)) is not None:
                self._set_goal(kind, said)

    def _kind(self, said: Said) -> GoalKind | None:
        text = said.text
        if said.speaker is PLAN:
            # In the user's place, a model's words are a plan that was approved, or the task of a sub-agent.
            return GoalKind.PLAN
        if not self.goals:
            return None if asks_nothing_new(text) or asks_for_nothing(text) else GoalKind.FIRST
        kind = self._change(text)
        if kind is None or _ASIDE.search(text, 0, _OPENING) or asks_nothing_new(text):
            return None
        return kind

    def _change(self, text: str) -> GoalKind | None:
        """Return how words would change the goal, taken for what they are about."""
        first = _FIRST_WORD.match(text)
        word = first[1].lower() if first else ""
        if word in _TURN_WORDS and _TURN.match(text):
            return GoalKind.CHANGED
        if self.reported_done and word in _REQUEST_WORDS and _REQUEST.match(text) and self._is_new(text):
            return GoalKind.NEXT
        return None

    def _is_new(self, text: str) -> bool:
        words = _content_words(text)
        return (
            len(words) >= _NEW_TASK_WORDS
            and len(words & _content_words(self.goals[-1].quote)) / len(words) < _FAMILIAR
        )

    def _go_back(self) -> None:
        """Make the goal again what it was before the one that is taken back; the first one stays."""
        taken_back = self.goals[-1].quote
        before = next((goal for goal in reversed(self.goals) if goal.quote != taken_back), None)
        if before is not None and self.goals[-1].kind is not GoalKind.BACK:
            self.goals.append(replace(before, id=f"g{len(self.goals) + 1}", kind=GoalKind.BACK))
        self.reported_done = False

    def _set_goal(self, kind: GoalKind, said: Said) -> None:
        start, end = _quoted(said.text)
        quote = said.text[start:end]
        if self.goals and quote == self.goals[-1].quote:
            return
        self.goals.append(Goal(f"g{len(self.goals) + 1}", kind, quote, said.cite(start, end), said.trust))
        self.reported_done = False


def _takes_back(said: Said) -> bool:
    text = said.text
    return said.speaker is USER and len(text) <= _LONGEST_WITHDRAWAL and bool(_WITHDRAWN.fullmatch(text))


def _says_done(text: str) -> bool:
    """Tell whether the model says, in its first or last words, that it has done something."""
    ends = text if len(text) <= _DONE_SIDES else f"{text[:_DONE_SIDES]}\n{text[-_DONE_SIDES:]}"
    return _DONE_WORDS.may_stand_in(ends) and _DONE.search(ends.lower()) is not None


def asks_nothing_new(text: str) -> bool:
    """Tell whether words only greet, thank, or move the work along."""
    return bool(_EMPTY_WORDS.fullmatch(text[:LONGEST_QUOTE])) or not _WORD.search(text)


def _content_words(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(text[:LONGEST_QUOTE]))


def _quoted(text: str) -> tuple[int, int]:
    """Return which piece of a request is quoted: all of it, or its first paragraphs."""
    start = len(text) - len(text.lstrip())
    end = len(text.rstrip())
    if end - start <= LONGEST_QUOTE:
        return start, end
    for gap in ("\n\n", "\n", ". "):
        cut = text.rfind(gap, start, start + LONGEST_QUOTE)
        if cut > start + LONGEST_QUOTE // 4:
            return start, cut
    return start, start + LONGEST_QUOTE
