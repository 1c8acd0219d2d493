"""Approvals: what the model asked permission for, and the person's answer.

They come from three places: a provider's approval request with its answer, a tool call that the person
refused or a plan that the person approved, and a question such as "Shall I push?" with a short "yes" or
"no" after it. ``ledger.approvals`` lists them; a refused call stays in force until the same call is made.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

from clew.ledger.exchange import Exchange, Reading
from clew.ledger.outcome import Ended
from clew.ledger.phrases import is_foreign, sentence_around
from clew.ledger.tool_actions import ActionKind
from clew.message import ApprovalAnswer, ApprovalRequest, Cite
from clew.message.text import lazy_pattern
from clew.rules.speech import ASSISTANT, USER, Utterance

MOST = 2_000
"""Approvals kept (chosen by hand); above that the oldest answered ones are dropped."""


class ApprovalState(StrEnum):
    """The answer to a request for approval."""

    ASKED = "asked"
    """Not answered yet."""
    GRANTED = "granted"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Approval:
    """A request for approval."""

    id: str
    what: str
    """The tool and its target, or the question in the model's words."""
    asked: Cite
    answer: ApprovalState = ApprovalState.ASKED
    answered: Cite | None = None
    words: str = ""
    """The person's answer, verbatim."""
    request: str = ""
    """The provider's id of the request, if it has one."""
    in_force: bool = False
    """The call was refused and has not been made since; making it later implies permission."""
    result: str = ""
    """First line of the result of a refused call, verbatim; empty if the tool may pass on outside text."""
    plan: str = ""
    """The plan that was approved, verbatim; of a long one, its headings and steps."""


_LONGEST_ANSWER = 400
"""Characters of an answer; a longer text is about more than the question. Chosen by hand."""
_LONGEST_SUBJECT = 200
"""Characters of what a call does that are kept; chosen by hand."""
_FEW_HEADINGS = 3
"""Up to so many headings do not tell the steps of a plan; then its list items are shown too."""
_LONGEST_PLAN = 1_200
"""Characters of a plan (chosen by hand): its headings tell what to do next, the call has the details."""
_LAST = 700
"""Characters at the end of a text of the model that may ask for permission; chosen by hand."""
_FEWEST_STEPS = 3
"""Numbered lines from which a text proposes a plan; chosen by hand."""


class Question(NamedTuple):
    """A question for permission, in the model's words."""

    text: str
    source: Cite
    plan: str = ""
    """The numbered steps above it, verbatim, with the line that introduces them."""


@dataclass(slots=True)
class Approvals:
    """The approvals, in the order in which they were requested."""

    held: list[Approval] = field(default_factory=list)
    count: int = 0
    question: Question | None = None
    """The question for permission in the model's last text; it waits for the user's next words."""
    _refused: set[str] = field(init=False, default_factory=set)
    """The calls that were refused and not made since, by what they were to do."""

    def __post_init__(self) -> None:
        self._refused = {one.what for one in self.held if one.in_force}

    @property
    def refusals(self) -> tuple[Approval, ...]:
        """Return the calls that were refused and not made since, each once, oldest first."""
        return tuple({approval.what: approval for approval in self.held if approval.in_force}.values())

    @property
    def plan(self) -> Approval | None:
        """Return the approval of the latest approved plan."""
        return next((approval for approval in reversed(self.held) if approval.plan), None)

    @property
    def all(self) -> tuple[Approval, ...]:
        """Return every approval, oldest first; an unanswered question is the last."""
        if self.question is None:
            return tuple(self.held)
        return (*self.held, Approval(f"a{self.count + 1}", self.question.text, self.question.source))

    def add(self, reading: Reading) -> None:
        """Read a message."""
        for number, part in enumerate(reading.item.message.parts):
            if isinstance(part, ApprovalRequest):
                asked_at = Cite(reading.item.id, number)
                self._new(Approval("", part.name, asked_at, request=part.approval_id))
            elif isinstance(part, ApprovalAnswer):
                answer = ApprovalState.GRANTED if part.approved else ApprovalState.REFUSED
                self._answer(part.approval_id, answer, Cite(reading.item.id, number), part.reason or "")
        for exchange in reading.exchanges:
            self._add_refusal_or_plan(exchange, reading)
        for utterance in reading.said:
            if utterance.speaker is ASSISTANT:
                self.question = _question(utterance)
            elif utterance.speaker is USER:
                self._apply_answer(utterance)
        if reading.calls:
            self.question = None  # the model continued without waiting for an answer
        if len(self.held) > MOST:
            old, new = self.held[: MOST // 4], self.held[MOST // 4 :]
            self.held = [approval for approval in old if approval.answer is ApprovalState.ASKED] + new

    def _add_refusal_or_plan(self, exchange: Exchange, reading: Reading) -> None:
        """Record calls that the person refused, and plans that the person approved or refused."""
        refused = exchange.outcome.ended is Ended.REFUSED
        if refused and exchange.action.reads_web:
            return  # a page may say so; calls that only read need no permission later
        if self._refused and exchange.outcome.ended is Ended.OK:
            self._was_done(_what(exchange))
        if not refused and not (
            exchange.action.kind is ActionKind.PROPOSE
            and exchange.outcome.ended is Ended.OK
            and _APPROVED_PLAN.match(exchange.result.text)
        ):
            return
        words = next(
            (
                utterance.text
                for utterance in reading.said
                if utterance.part == exchange.answered.part and utterance.aside
            ),
            "",
        )
        answer = ApprovalState.REFUSED if refused else ApprovalState.GRANTED
        is_quoted = refused and not exchange.action.may_bring_outside_text
        result = exchange.result.text.strip().split("\n", 1)[0][:_LONGEST_SUBJECT] if is_quoted else ""
        fields = (_what(exchange), exchange.asked, answer, exchange.answered, words)
        plan = "" if refused else _plan(exchange)
        self._new(Approval("", *fields, in_force=refused, result=result, plan=plan))

    def _was_done(self, what: str) -> None:
        if what in self._refused:
            self._refused.discard(what)
            self.held = [
                replace(approval, in_force=False) if approval.what == what else approval
                for approval in self.held
            ]

    def _apply_answer(self, utterance: Utterance) -> None:
        question, self.question = self.question, None
        if question is None or len(utterance.text) > _LONGEST_ANSWER or utterance.aside:
            return
        yes, no = _YES.match(utterance.text), _NO.match(utterance.text)
        if yes or no:
            what, asked_at, plan = question
            start = len(utterance.text) - len(utterance.text.lstrip())
            end = len(utterance.text.rstrip())
            answer = ApprovalState.REFUSED if no else ApprovalState.GRANTED
            self._new(
                Approval(
                    "",
                    what,
                    asked_at,
                    answer,
                    utterance.cite(start, end),
                    utterance.text[start:end],
                    plan="" if no else plan,
                )
            )

    def _new(self, approval: Approval) -> None:
        self.count += 1
        self.held.append(replace(approval, id=f"a{self.count}"))
        if approval.in_force:
            self._refused.add(approval.what)

    def _answer(self, request: str, answer: ApprovalState, cite: Cite, words: str) -> None:
        """Answer the latest open request with this id."""
        for place in range(len(self.held) - 1, -1, -1):
            approval = self.held[place]
            if approval.request == request and approval.answer is ApprovalState.ASKED:
                in_force = answer is ApprovalState.REFUSED
                self.held[place] = replace(
                    approval, answer=answer, answered=cite, words=words, in_force=in_force
                )
                self._refused |= {approval.what} if in_force else set()
                return


def _what(exchange: Exchange) -> str:
    """Return the tool of a call and its target."""
    subject = exchange.action.title[:_LONGEST_SUBJECT]
    return f"{exchange.action.tool}: {subject}" if subject else exchange.action.tool


def _plan(exchange: Exchange) -> str:
    """Return the plan that a call proposed."""
    given = exchange.call.input.get("plan") if exchange.call.input else None
    if not isinstance(given, str) or not given.strip():
        repeated = _PLAN_IN_RESULT.search(exchange.result.text)
        given = exchange.result.text[repeated.end() :] if repeated else ""
    return _main_steps(given.strip())


def _main_steps(whole: str) -> str:
    """Return a plan; of a long one, its headings and top-level steps."""
    if len(whole) <= _LONGEST_PLAN:
        return whole
    title, *lines = map(str.rstrip, whole.split("\n"))
    steps = [line for line in lines if _STEP.match(line)]
    headings = [line for line in steps if line[0] == "#"]
    kept = [title, *(headings if len(headings) > _FEW_HEADINGS else steps)]
    return cut_lines("\n".join(kept), _LONGEST_PLAN)


def cut_lines(text: str, most: int) -> str:
    """Return the first whole lines of a text, up to so many characters, but always some of the first."""
    if len(text) <= most:
        return text
    end = text.rfind("\n", 0, most + 1)
    return text[: end if end > 0 else most].rstrip()


def _question(utterance: Utterance) -> Question | None:
    """Return the question for permission that ends a text of the model."""
    text = utterance.text.rstrip()
    at = text.rfind("?")
    if at < len(text) - _LAST or at < 0 or is_foreign(text, at):
        return None
    start, end = sentence_around(text, at, at + 1)
    if _EITHER_OR.search(text, start, end):
        return None  # "yes" does not answer an either-or question
    if not _ASKS.search(text, start, end):
        return None
    return Question(text[start:end], utterance.cite(start, end), _steps_before(text, start))


def _steps_before(text: str, end: int) -> str:
    """Return the plan that a text proposes before a place; empty if that text has no numbered steps."""
    steps = [match for match in _NUMBERED.finditer(text, 0, end) if not is_foreign(text, match.start())]
    if len(steps) < _FEWEST_STEPS or not _PROPOSES.search(text, 0, end):
        return ""
    start = text.rfind("\n", 0, max(0, text.rfind("\n", 0, steps[0].start()) - 1)) + 1
    return _main_steps(text[start : max(text.find("\n", steps[-1].start(), end), steps[-1].end())].strip())


# What the patterns recognise ---------------------------------------------------------------------------

_ASKS = lazy_pattern(
    r"\b(?:shall|should|may|can)\s+(?:I|we)\b|\b(?:would|do)\s+you\s+(?:like|want)\s+(?:me|us)\b|\b(?:ready|ok(?:ay)?|good)\s+to\s+(?:proceed|go|start|"
    r"continue|implement|commit|push|merge)\b|\bwant\s+me\s+to\b|\bproceed\b|\bsound\s+good\b|\blook\s+(?:good|right|ok)\b|\bapprove\b|\bgo\s+ahead\b",
    re.IGNORECASE,
)
"""A question for permission: "Shall I push?", "Want me to proceed?"."""
_YES = lazy_pattern(
    r"\W*(?:yes|yeah|yep|yup|sure|go\s+(?:ahead|for\s+it)|proceed|do\s+(?:it|that)|please\s+do|approved?|lgtm|sounds?\s+good|looks?\s+good|"
    r"let[’']?s\s+(?:go|do\s+it)|absolutely|definitely|make\s+it\s+so|ship\s+it|oui|ja|sí)\b|\W*(?:はい|是的|好的)"
    r"|\W*(?:ok(?:ay)?|perfect|correct|continue|great)\b[^?]{0,60}$",
    re.IGNORECASE,
)
"""An answer that permits: "yes, go ahead", "ok"."""
_NO = lazy_pattern(
    r"\W*(?:no(?:pe|t\s+yet)?|nah|don[’']?t|do\s+not|stop|wait|hold\s+(?:on|off)|cancel|never\s*mind|rather\s+not|nein|non)\b(?!\s+(?:problem|worries|rush))",
    re.IGNORECASE,
)
"""An answer that refuses: "not yet", "no, wait"; "no problem" is none."""
_EITHER_OR = lazy_pattern(r"\bor\b", re.IGNORECASE)
"""An either-or question, which "yes" does not answer."""
_APPROVED_PLAN = lazy_pattern(
    r"\s*(?:(?:The )?user has approved (?:the|your|exiting)(?: the)? plan"
    r"|(?:Your )?plan (?:was |has been )?approved)\b",
    re.IGNORECASE,
)
"""How a harness reports that the person approved a plan. Matched at the start only: a plan may contain any
words."""
_PLAN_IN_RESULT = lazy_pattern(r"^#+ Approved plan[^\n]*\n", re.IGNORECASE | re.MULTILINE)
"""Above the plan, if the harness repeats it because the call does not contain it."""
_STEP = lazy_pattern(r"#{1,4} |(?:[-*]|\d{1,2}[.)]) ")
_NUMBERED = lazy_pattern(
    r"^(?:\*\*|#{1,4} )?(?:step |phase )?\d{1,2}[.):][^\n]+", re.IGNORECASE | re.MULTILINE
)
"""A numbered step of a plan: "2. Add the tests"."""
_PROPOSES = lazy_pattern(
    r"\b(?:plan|steps?|phases?|approach|i(?:[’']ll| will| would|[’']d)|proposal)\b", re.IGNORECASE
)
"""What tells a plan from other numbered lists, such as options and findings."""
