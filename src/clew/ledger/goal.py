"""The goal of the session and its changes, quoted from the speaker who set it.

The first request sets the goal; rules, facts and hook output alone are not requests. Later requests change it
if the user says so ("now let's…", "instead…", "new task"), or asks for something new after the work was
reported done. A plan that a model wrote and a person approved is a goal too; other text of machines and tools
is not. ``Ledger.goal`` returns the current one; every digest begins with it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from enum import StrEnum

from clew.ledger.exchange import Reading
from clew.ledger.non_requests import LONGEST_QUOTE, asks_for_nothing, asks_nothing_new, is_command
from clew.ledger.phrases import Phrases
from clew.ledger.withdrawals import withdrawal_in
from clew.message import Cite, Item, Origin, Role, Text, Trust
from clew.message.text import lazy_pattern
from clew.rules.speech import ASSISTANT, PLAN, USER, Utterance

_LONGEST_WITHDRAWAL = 80
"""Characters of a text that only withdraws the last request; chosen by hand."""
_OPENING = 60
"""Characters at the start of a request where it says that it only wants to be shown something; chosen by
hand."""
_NEW_TASK_WORDS = 5
"""Content words below which a request is taken for a detail of the current task; chosen by hand."""
_FAMILIAR = 0.34
"""Share of a request's words also in the current goal, from which on it is about the same thing; chosen by
hand."""
_DONE_SIDES = 400
"""Characters at both ends of a reply where a model reports that it is done; chosen by hand."""


class GoalKind(StrEnum):
    """How a goal was set."""

    FIRST = "first"
    PLAN = "plan"
    """A plan that a model wrote and a person approved."""
    CHANGED = "changed"
    """The user switched to something else."""
    NEXT = "next"
    """A new task after the last one was reported done."""
    BACK = "back"
    """The user withdrew the last goal; the one before it is current again."""


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal of the session."""

    id: str
    kind: GoalKind
    quote: str
    source: Cite
    trust: Trust


@dataclass(slots=True)
class Goals:
    """The goals, oldest first; the last one is current."""

    goals: list[Goal] = field(default_factory=list)
    reported_done: bool = False
    """The model reported the work done and made no call since."""
    cleared: bool = False
    """The user cleared the conversation: the next request sets the goal."""
    prompt: Goal | None = None
    """What a harness said in the user's role before the first call; the goal of a session without
    another one."""
    begun: bool = False
    """The model has made a call."""

    @property
    def all(self) -> tuple[Goal, ...]:
        """Return every goal so far."""
        return tuple(self.goals)

    @property
    def current(self) -> Goal | None:
        """Return the current goal."""
        return self.goals[-1] if self.goals else self.prompt

    def add(self, reading: Reading) -> None:
        """Read a message."""
        if reading.calls:
            self.reported_done, self.begun = False, True
        if not self.begun and not self.goals:
            self._see_prompt(reading.item)
        for utterance in reading.said:
            self.cleared |= utterance.speaker is USER and _CLEARS.match(utterance.text) is not None
            if utterance.speaker is ASSISTANT:
                self.reported_done = not reading.calls and _says_done(utterance.text)
            elif self.goals and _takes_back(utterance, self.goals[-1].quote):
                self._go_back()
            elif (kind := self._kind(utterance)) is not None:
                self._set_goal(kind, utterance)

    def _see_prompt(self, item: Item) -> None:
        """Keep a text of a harness in the user's role that says something; the last before work starts."""
        message = item.message
        if message.role is not Role.USER or message.origin is not Origin.INJECTED or any(message.results):
            return
        for number, part in enumerate(message.parts):
            if not isinstance(part, Text):
                continue
            words = _WITHOUT_TAG.sub("", part.text)
            if len(_content_words(words)) >= _NEW_TASK_WORDS:
                start = part.text.find(words)
                first, last = _quoted(words)
                place = Cite(item.id, number, start + first, start + last)
                self.prompt = Goal("g0", GoalKind.FIRST, words[first:last], place, part.trust)

    def _kind(self, utterance: Utterance) -> GoalKind | None:
        """Return how a text sets the goal; None if it does not."""
        text = utterance.text
        if utterance.speaker is PLAN:
            # A model's words with the user's role are an approved plan, or the task of a sub-agent.
            return GoalKind.PLAN
        if not self.goals or self.cleared:
            if asks_nothing_new(text) or is_command(text) or asks_for_nothing(text):
                return None
            return GoalKind.CHANGED if self.goals else GoalKind.FIRST
        withdrawn = withdrawal_in(text) if utterance.speaker is USER else None
        if withdrawn is not None and withdrawn.asks and withdrawn.is_of(self.goals[-1].quote):
            return GoalKind.CHANGED
        request = text[_after_opening(text) :]
        kind = self._change(text) or (self._change(request) if request != text else None)
        if kind is None or _ASIDE.search(request, 0, _OPENING) or asks_nothing_new(text):
            return None
        return kind

    def _change(self, text: str) -> GoalKind | None:
        """Return how a text would change the goal, judging by its opening words."""
        first = _FIRST_WORD.match(text)
        word = first[1].lower() if first else ""
        if word in _CHANGE_WORDS and _CHANGE.match(text):
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
        """Return to the goal before the withdrawn one; the first goal cannot be withdrawn."""
        taken_back = self.goals[-1].quote
        before = next((goal for goal in reversed(self.goals) if goal.quote != taken_back), None)
        if before is not None and self.goals[-1].kind is not GoalKind.BACK:
            self.goals.append(replace(before, id=f"g{len(self.goals) + 1}", kind=GoalKind.BACK))
        self.reported_done = False

    def _set_goal(self, kind: GoalKind, utterance: Utterance) -> None:
        start, end = _quoted(utterance.text)
        quote = utterance.text[start:end]
        if self.goals and quote == self.goals[-1].quote:
            return
        self.goals.append(
            Goal(f"g{len(self.goals) + 1}", kind, quote, utterance.cite(start, end), utterance.trust)
        )
        self.reported_done = self.cleared = False


def _after_opening(text: str) -> int:
    """Return where a text goes on after a short first sentence: "That works. Now let's deploy it."."""
    first = _FIRST_SENTENCE.match(text)
    return first.end() if first else 0


def _takes_back(utterance: Utterance, goal: str) -> bool:
    """Return True if the user only withdraws the goal, and asks for nothing instead."""
    text = utterance.text
    if utterance.speaker is not USER:
        return False
    if len(text) <= _LONGEST_WITHDRAWAL and _WITHDRAWN.fullmatch(text):
        return True
    withdrawn = withdrawal_in(text)
    return withdrawn is not None and bool(withdrawn.words) and not withdrawn.asks and withdrawn.is_of(goal)


def _says_done(text: str) -> bool:
    """Return True if the first or last words of a text report something done."""
    ends = text if len(text) <= _DONE_SIDES else f"{text[:_DONE_SIDES]}\n{text[-_DONE_SIDES:]}"
    return _DONE_WORDS.may_match(ends) and _DONE.search(ends.lower()) is not None


def _content_words(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(text[:LONGEST_QUOTE]))


def _quoted(text: str) -> tuple[int, int]:
    """Return the span of a request that is quoted: all of it, or its first paragraphs."""
    start = len(text) - len(text.lstrip())
    end = len(text.rstrip())
    if end - start <= LONGEST_QUOTE:
        return start, end
    for gap in ("\n\n", "\n", ". "):
        cut = text.rfind(gap, start, start + LONGEST_QUOTE)
        if cut > start + LONGEST_QUOTE // 4:
            return start, cut
    return start, start + LONGEST_QUOTE


# What the patterns recognise ------------------------------------------------------------------------------

_WITHOUT_TAG = lazy_pattern(r"\A\s*<[^<>\n]*>|</[^<>\n]*>\s*\Z")
"""The tags around a text of a harness."""
_FIRST_WORD = lazy_pattern(r"\W*(\w+)")
"""The first word of a text."""
_FIRST_SENTENCE = lazy_pattern(r"[^.!?\n,;:]{2,60}[.!]+\s+(?=\S)|[^.!?\n]{2,60}\n+")
"""A short first sentence, which may say what the user thinks of the last result: "That works."."""
# What may precede a request: "Great, thanks. Now …".
_OPENERS = (
    r"^\W*(?:(?:ok(?:ay)?|great|perfect|cool|good|nice|alright|thanks|thank\ you|yes|so|and|done)\b[\s,.!]*)*"
)
_ASKS = (
    r"(?:(?:now|also|then|please|next|instead|and)\b[\s,]*)*"
    r"(?:(?:can|could|would)\ (?:you|we)\b|i(?:[’']d\ like|\ want|\ need|\ would\ like)\b"
    r"|we\ (?:need|should|want|must)\b|let[’']?s\b"
    r"|(?:implement|add|fix|write|create|build|make|update|refactor|move|rename|remove|delete|design|document"
    r"|investigate|analy[sz]e|review|port|migrate|convert|optimi[sz]e|improve|replace|extract|set\ up|help"
    r"|find|debug|redesign|change)\b)"
)
"""What asks for work: "can you…", "I want…", "now add…"."""
_CHANGE = lazy_pattern(
    _OPENERS
    + r"""(?:
      (?:now|next)\b[\s,]+
      (?:let[’']?s|please|we|can\ (?:you|we)|could\ you|i(?:[’']d|\ want|\ need|\ would)|implement|add|fix|do
        |write|create|build|make|update|refactor|move|start|work|look|run|review|test|check|the\ next)\b
    | (?:new|next|different|another|separate)[ ]
      (?:task|topic|issue|problem|feature|goal|thing|question|request)\b
    | let[’']?s\ (?:now\ )?
      (?:move\ on|switch\ (?:to|gears)|turn\ to|start\ (?:on|with|over)|go\ on\ to|work\ on|shift)\b
    | (?:actually|wait|no|hold\ on|change\ of\ plans?)\b[,.!\s-]+
      (?:let[’']?s|instead|(?:i\ (?:want|need)|we\ (?:should|need))
        (?!\ (?:it|this|that|them|these|those)\b))\b
    | instead\b(?!\ of)
    | moving\ on\b
    | (?:switch|change)\ (?:of\ )?(?:topic|plan|direction)
    | (?:(?:actually|wait|no|hold\ on|change\ of\ plans?)\b[,.!\s-]+)*
      (?:forget|scrap|drop|abandon|ignore)\ (?:about\ )?
      (?:that|this|it|all\ (?:of\ )?(?:that|this|it)
        |(?:that|this|the\ (?:previous|last|earlier|old|whole))
          \ (?:task|request|plan|goal|idea|question|thing|one)
        |(?<=about\ )(?:the|that|this|my)\ [^.,;:!?\n]{1,60})
      (?:\ (?:for\ now|then|please))*(?:\s*[.,;:!–—-]+\s*|\s+(?=and\b))"""
    + _ASKS
    + ")",
    re.VERBOSE | re.IGNORECASE,
)
"""The user turns to something else: "now let's…", "new task", "forget that, build…", "instead…"."""
_REQUEST = lazy_pattern(_OPENERS + _ASKS, re.IGNORECASE)
"""A request for work, perhaps after words about the last result: "great, now add…"."""
_OPENING_WORDS = "ok okay great perfect cool good nice alright thanks thank yes so and done"
"""First words of ``_OPENERS``, for the prefilters below."""
_CHANGE_WORDS = frozenset(
    f"""{_OPENING_WORDS}
    now next new different another separate let lets forget scrap drop abandon ignore actually wait no hold
    change instead moving switch
    """.split()
)
"""First words of ``_CHANGE``, as a prefilter."""
_REQUEST_WORDS = frozenset(
    f"""{_OPENING_WORDS}
    now also then please next can could would i we let lets implement add fix write create build make update
    refactor move rename remove delete design document investigate analyse analyze review port migrate convert
    optimise optimize improve replace extract set help find debug redesign change
    """.split()
)
"""First words of ``_REQUEST``, as a prefilter."""
_DONE = lazy_pattern(
    r"(?<!not )(?<!n't )(?<!n’t )(?<!not \*\*)(?<!not yet )(?<!n't yet )(?<!not been )(?<!n't been )"
    r"(?<!not be )(?<!not fully )(?<!never )(?<!nothing is )(?<!will be )(?<!to be )"
    r"\b(?:done|completed?|finished|implemented|fixed|all (?:tests|checks) pass\w*|committed|pushed|merged"
    r"|created|updated|summary|successfully|ready)\b"
)
"""A report that the work is done: "all tests pass", "pushed", but not "not fixed yet". Matched against
lower-case text, because case-insensitive matching is several times slower."""
_DONE_WORDS = Phrases(
    (
        "done complete completed finished implemented fixed all committed pushed merged created updated"
        " summary successfully ready",
    )
)
"""Words of which each text that ``_DONE`` matches has one, as a prefilter."""
_ASIDE = lazy_pattern(
    r"\b(?:explain|check|look\s+(?:at|once|again)|list|show|tell|give|print|again|confirm|clarify|discuss"
    r"|why|what|how)\b",
    re.IGNORECASE,
)
"""Requests to be shown something, which do not change the goal: "explain why", "list the files"."""
_WITHDRAWN = lazy_pattern(
    r"""\W*(?:(?:ok(?:ay)?|actually|no|wait|sorry|oh|hm+)\b\W*)*
    (?:never\ ?mind|forget\ (?:it|that|about\ (?:it|that))
      |(?:scrap|cancel|drop)\ (?:it|that)|don[’']?t\ bother)
    (?:\W+(?:for\ now|then|please|thanks|thank\ you|sorry))*\W*""",
    re.VERBOSE | re.IGNORECASE,
)
"""Words that withdraw the last request and ask for nothing instead: "actually, never mind"."""
_WORD = lazy_pattern(r"[^\W\d_]{4,}")
"""A content word: four letters or more."""
_CLEARS = lazy_pattern(r"/(?:clear|new|reset)\b")
"""A command that starts the conversation again."""
